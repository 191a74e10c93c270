"""Every parameter that a user can get wrong is answered by a sentence that names it."""

import inspect

import numpy as np
import pytest

from thresher import (
    BatchNMF,
    FaceRecognizer,
    ImageSegmenter,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    SymmetricManhattanNMF,
    TopicModel,
)
from thresher.tasks.tfidf import TfIdf

rng = np.random.default_rng(0)
X = rng.random((12, 5))
TEXTS = ["rain and wind today", "wind and snow today", "cats chase dogs", "dogs chase cats"] * 5
NAMES = np.arange(12) % 2
IMAGE = np.tile([0.0, 1.0], (4, 3))

LEARN = {
    OnlineRobustNMF: lambda model: model.fit(X),
    RobustNMF: lambda model: model.fit(X),
    OnlineNMF: lambda model: model.fit(X),
    BatchNMF: lambda model: model.fit(X),
    OnlineL1Dictionary: lambda model: model.fit(X),
    L1Dictionary: lambda model: model.fit(X),
    ManhattanNMF: lambda model: model.fit(X),
    OnlineOrthogonalDictionary: lambda model: model.fit(X),
    SymmetricManhattanNMF: lambda model: model.fit(X @ X.T),
    TopicModel: lambda model: model.fit(TEXTS),
    NovelDocumentDetector: lambda model: model.fit(TEXTS),
    FaceRecognizer: lambda model: model.fit(X, NAMES),
    ImageSegmenter: lambda model: model.fit(IMAGE),
    TfIdf: lambda model: model.fit(np.round(4 * X)),
}

NAN, INF = float("nan"), float("inf")
NOT_WHOLE = [True, 2.5, "3", 0, -2, NAN, [3]]

REFUSED = {
    "n_components": NOT_WHOLE,
    "batch_size": [*NOT_WHOLE, None],
    "max_iter": [*NOT_WHOLE, None],
    "max_words": [*NOT_WHOLE, None],
    "n_neighbors": [*NOT_WHOLE, None],
    "n_new_atoms": [True, 2.5, "3", -2],
    "n_nonzero": NOT_WHOLE,
    "n_passes": NOT_WHOLE,
    "n_segments": NOT_WHOLE,
    "n_starts": NOT_WHOLE,
    "n_superpixels": NOT_WHOLE,
    "n_words": NOT_WHOLE,
    "warm_up": NOT_WHOLE,
    "n_jobs": ["2", 0, -3, 1.5, True],
    "tol": [None, NAN, INF, -1e-3, "small", True],
    "verbose": ["yes", None, -1, 0.5],
    "shuffle": ["no", None, 2],
    "whiten": ["no", None, 1],
    "random_state": ["x", -1, 1.5, True, 2**40, np.random.default_rng(0)],
    "callbacks": [["x"], "x", print, 3, [None]],
    "forgetting": [0, -5, NAN, True, "slow", [3], dict],
    "frozen_atoms": ["all", 3, [7.5], [-1], [99], [[0, 1]], [[0], [1, 2]], {0}, [True] * 9, [True]],
    "outlier_weight": [True, NAN, INF, 0, -1, "huge", None, [1.0]],
    "outlier_bound": [True, NAN, 0, -1, "1"],
    "outlier_sign": ["minus", None, 1, ["free"]],
    "outlier_penalty": ["l7", None, 1.0],
    "scale_samples": ["mean", 1, True],
    "code_penalty": [True, NAN, INF, -0.1, "l1", [0.1]],
    "dictionary_penalty": [True, NAN, INF, -0.1, "l1", [0.1]],
    "code_set": ["ball", 3, None],
    "dictionary_set": ["ball", 3],
    "zero_weight": [True, NAN, INF, -1, "1", None],
    "square_weight": [True, NAN, INF, -1, "1", None],
    "graph": ["knn", True, 0, 12, 2.5, np.ones((3, 3))],
    "graph_weight": [True, NAN, INF, -1, "1", None],
    "init": ["nndsvd", None, 3, [["a"]], np.ones((2, 2, 2)), np.ones(5), [[1, 2], [3]]],
    "solver": ["magic", None, 3, ["auto"]],
    "p": [5, "3", None],
    "divergence": ["magic", None, 3, ["kl"]],
    "divergence_parameter": ["x", 3, NAN],
    "threshold": [NAN, INF, "x", True],
    "top_share": [0, 1, NAN, "x", True],
    "false_alarm_rate": [0, 1, NAN, "x", True, None],
    "feature_scale": [0, -1, NAN, INF, "x", True, None],
    "location_scale": [0, -1, NAN, INF, "x", True, None],
    "radius": [0, -1, NAN, INF, "x", True],
    "mode": ["magic", None, ["auto"]],
    "method": ["magic", None, ["codes"]],
    "features": ["magic", None, ["colour"]],
    "weighting": ["magic", 3, True],
    "model": [3, "nmf", OnlineNMF],
    "vectorizer": [3, "words", dict],
    "vocabulary": [3, "words", [], ["a", "a"]],
}
"""What every class that has the parameter must refuse."""


def quiet(kind, **parameters):
    """Small, seeded and quick, with some parameters."""
    small = {"n_components": 2, "max_iter": 3, "n_passes": 1, "verbose": 0, "random_state": 0}
    small |= {"n_superpixels": 24, "n_segments": 2, "n_neighbors": 1}
    known = inspect.signature(kind).parameters
    wanted = {name: value for name, value in small.items() if name in known}
    return kind().set_params(**{**wanted, **parameters})


@pytest.mark.parametrize("kind", LEARN, ids=lambda kind: kind.__name__)
def test_each_parameter_that_is_wrong_is_named_with_what_would_work(kind):
    for name in inspect.signature(kind).parameters:
        assert name in REFUSED, f"{name} of {kind.__name__} is not in the table."
        for value in REFUSED[name]:
            with pytest.raises(ValueError) as caught:
                LEARN[kind](quiet(kind, **{name: value}))
            sentence = str(caught.value)
            assert name in sentence, f"{name}={value!r}: {sentence}"
            assert len(sentence) > 30, f"{name}={value!r}: {sentence}"
