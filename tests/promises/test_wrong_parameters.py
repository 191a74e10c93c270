"""Every parameter that cannot work is refused with its name; nothing is learned from wrong ones."""

import inspect

import numpy as np
import pytest

import thresher
from thresher import MannWhitneyDrift, OnlineNMF

X = np.random.default_rng(0).random((12, 5))
TEXTS = ["rain and wind today", "wind and snow today", "cats chase dogs", "dogs chase cats"] * 5
DATA = {
    "FaceRecognizer": (X, np.arange(12) % 2),
    "ImageSegmenter": (np.tile([0.0, 1.0], (4, 3)),),
    "NovelDocumentDetector": (TEXTS,),
    "SymmetricManhattanNMF": (X @ X.T,),
    "TopicModel": (TEXTS,),
}
CLASSES = [
    *("BatchNMF", "FaceRecognizer", "ImageSegmenter", "L1Dictionary", "ManhattanNMF"),
    *("NovelDocumentDetector", "OnlineL1Dictionary", "OnlineNMF", "OnlineOrthogonalDictionary"),
    *("OnlineRobustNMF", "RobustNMF", "SymmetricManhattanNMF", "TopicModel"),
]

NAN, INF = float("nan"), float("inf")
NOT_WHOLE = [True, 2.5, "3", 0, -2, NAN, [3]]

REFUSED = {
    "n_components": NOT_WHOLE,
    "implicit_zeros": [True, 0, "zeros", "nan"],
    "batch_size": [*NOT_WHOLE, None],
    "max_iter": [*NOT_WHOLE, None],
    "code_max_iter": [*NOT_WHOLE, None],
    "code_tol": [NAN, INF, -1e-3, "small", True],
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
    "drift": [0.01, True, "often", {}, object(), MannWhitneyDrift],
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
    "fdr": [0, 1, NAN, "x", True],
    "keep_texts": [1, None, "yes"],
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


def model(name, **parameters):
    """Small, seeded and quick, with some parameters."""
    kind = getattr(thresher, name)
    small = {"n_components": 2, "max_iter": 3, "n_passes": 1, "verbose": 0, "random_state": 0}
    small |= {"n_superpixels": 24, "n_segments": 2, "n_neighbors": 1}
    known = inspect.signature(kind).parameters
    small = {key: value for key, value in small.items() if key in known}
    return kind().set_params(**{**small, **parameters})


def fitted(name, **parameters):
    return model(name, **parameters).fit(*DATA.get(name, (X,)))


@pytest.mark.parametrize("name", CLASSES)
def test_each_parameter_that_is_wrong_is_named(name):
    for parameter in inspect.signature(getattr(thresher, name)).parameters:
        assert parameter in REFUSED, f"{parameter} of {name} is not in the table."
        for value in REFUSED[parameter]:
            wrong = model(name, **{parameter: value})
            with pytest.raises(ValueError, match=parameter):
                wrong.fit(*DATA.get(name, (X,)))
            assert not hasattr(wrong, "components_")


@pytest.mark.parametrize("kind", ["OnlineNMF", "BatchNMF", "SymmetricManhattanNMF"])
def test_callbacks_of_a_generator_are_checked(kind):
    with pytest.raises(ValueError, match="callbacks"):
        fitted(kind, callbacks=(each for each in [print, "x"]))


CALLS = [
    ("OnlineRobustNMF", "calibrate", "false_alarm_rate", [0, 1, NAN, "x", True, None]),
    ("OnlineNMF", "grow", "n_features", ["x", 2.5, True]),
    ("OnlineNMF", "grow", "atoms", ["x", 2.5, True, -1, None]),
    ("OnlineNMF", "keep_features", "columns",
     ["x", 2.5, [0.5], [[0]], [], None, [True, False], [99]]),
    ("TopicModel", "document_topics", "n", NOT_WHOLE),
    ("TopicModel", "top_words", "n", NOT_WHOLE),
    ("NovelDocumentDetector", "explain", "n_words", [0]),
    ("NovelDocumentDetector", "explain", "n_atoms", [0]),
]  # fmt: skip
FIRST = {"calibrate": (X,), "document_topics": (TEXTS,), "explain": ("rain",)}


@pytest.mark.parametrize(
    ("name", "method", "argument", "values"), CALLS, ids=lambda value: str(value)[:20]
)
def test_arguments_of_methods_that_are_wrong_are_named(name, method, argument, values):
    learned = fitted(name)
    for value in values:
        with pytest.raises(ValueError, match=argument):
            getattr(learned, method)(*FIRST.get(method, ()), **{argument: value})


def test_a_size_of_steps_that_is_wrong_is_named():
    with pytest.raises(ValueError, match="size"):
        next(fitted("NovelDocumentDetector").watch(TEXTS, 2.5))
