"""Every parameter that a user can get wrong is answered by a sentence that names it."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from thresher import (
    BatchNMF,
    FaceRecognizer,
    ImageSegmenter,
    L1Dictionary,
    LossShift,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    SensorCodec,
    SymmetricManhattanNMF,
    TopicModel,
)
from thresher.estimators.parameters import RULES
from thresher.tasks.text.tfidf import TfIdf

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
    "missing": [True, 0, "zero", "nan"],
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
    "drift": [0.01, True, "often", {}, object(), LossShift],
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


def quiet(kind, **parameters):
    """Small, seeded and quick, with some parameters."""
    small = {"n_components": 2, "max_iter": 3, "n_passes": 1, "verbose": 0, "random_state": 0}
    small |= {"n_superpixels": 24, "n_segments": 2, "n_neighbors": 1}
    known = inspect.signature(kind).parameters
    wanted = {name: value for name, value in small.items() if name in known}
    return kind().set_params(**{**wanted, **parameters})


@pytest.mark.parametrize("kind", LEARN, ids=lambda kind: kind.__name__)
def test_each_parameter_that_is_wrong_is_named_with_what_would_work(kind):
    for name, parameter in inspect.signature(kind).parameters.items():
        assert name in REFUSED, f"{name} of {kind.__name__} is not in the table."
        for value in REFUSED[name]:
            with pytest.raises(ValueError) as caught:
                LEARN[kind](quiet(kind, **{name: value}))
            sentence = str(caught.value)
            assert name in sentence, f"{name}={value!r}: {sentence}"
            assert len(sentence) > 30, f"{name}={value!r}: {sentence}"
            wanted = RULES[name](value) if name in RULES else None
            if wanted is not None and "None" not in wanted:
                assert sentence.endswith(" or None.") == (parameter.default is None), sentence


def test_a_codec_names_what_is_wrong():
    wrong = {
        "error": [True, False, NAN, INF, -0.1, 1, "100 %", "wide", None],
        "max_error": [True, NAN, INF, -0.1, "wide", {"a": -1}],
        "effort": [*NOT_WHOLE, None, 4],
        "batch_size": NOT_WHOLE,
        "buffer_size": [True, NAN, -1, 1.5, "1", None],
        "mode": ["printed", 1, None, [3]],
        "n_nonzero": NOT_WHOLE,
        "forgetting": [0, -5, NAN, INF, True, "slow", [3]],
        "angle_bits": [*NOT_WHOLE, 25],
    }
    assert wrong.keys() == inspect.signature(SensorCodec).parameters.keys()
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name} must"):
                SensorCodec(**{name: value})
    for name, values in {"n_sensors": NOT_WHOLE, "reference": [0, NAN, "x", True]}.items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name} must"):
                SensorCodec().encoder(**{"n_sensors": 3, name: value})


@pytest.mark.parametrize("kind", [OnlineNMF, BatchNMF, SymmetricManhattanNMF])
def test_a_generator_of_callbacks_is_looked_at_too(kind):
    with pytest.raises(ValueError, match="list of functions"):
        LEARN[kind](quiet(kind, callbacks=(each for each in [print, "x"])))


def test_numbers_given_to_verbs_are_named():
    model = quiet(OnlineNMF).fit(X)
    for wrong in (0, 1, NAN, "x", True, None):
        with pytest.raises(ValueError, match="false_alarm_rate="):
            model.calibrate(X, wrong)
    topics = quiet(TopicModel).fit(TEXTS)
    for wrong in NOT_WHOLE:
        with pytest.raises(ValueError, match=r"n=.* positive integer"):
            topics.document_topics(TEXTS, wrong)
        with pytest.raises(ValueError, match=r"n=.* positive integer"):
            topics.top_words(wrong)
    detector = quiet(NovelDocumentDetector).fit(TEXTS)
    with pytest.raises(ValueError, match="n_words=0"):
        detector.explain("rain", n_words=0)
    with pytest.raises(ValueError, match="n_atoms=0"):
        detector.explain("rain", n_atoms=0)
    with pytest.raises(ValueError, match="size="):
        next(detector.watch(TEXTS, 2.5))
    for wrong in ("x", 2.5, True):
        with pytest.raises(ValueError, match="n_features="):
            model.grow(n_features=wrong)
    for wrong in ("x", 2.5, True, -1, None):
        with pytest.raises(ValueError, match="atoms"):
            model.grow(atoms=wrong)
    for wrong in ("x", 2.5, [0.5], [[0]], [], None, [True, False], [99]):
        with pytest.raises(ValueError, match="columns"):
            model.keep_features(wrong)


@pytest.mark.parametrize("mark", ["demo", "test"])
def test_the_commands_of_the_readme_are_one_line_with_an_environment_of_their_own(mark):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    between = readme.split(f"<!-- {mark} command -->")[1].split("<!-- end -->")[0]
    (command,) = [line for line in between.splitlines() if line and not line.startswith("```")]
    venv, *rest = command.split(" && ")
    assert venv == "python3 -m venv .venv"
    assert len(rest) == 2
    assert all(step.startswith(".venv/bin/") for step in rest)
