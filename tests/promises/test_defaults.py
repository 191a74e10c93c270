"""Parameters are kept as they are given, and one name has one default in all public classes."""

import inspect

import pytest

import thresher

CLASSES = [kind for name in thresher.__all__ if inspect.isclass(kind := getattr(thresher, name))]
ESTIMATORS = [kind for kind in CLASSES if hasattr(kind, "get_params")]

DEFAULTS = {
    "batch_size": 256,
    "callbacks": None,
    "code_penalty": None,
    "code_set": "nonnegative",
    "dictionary_penalty": None,
    "dictionary_set": "auto",
    "divergence": "squared_l2",
    "drift": None,
    "forgetting": "auto",
    "frozen_atoms": None,
    "init": "auto",
    "n_jobs": None,
    "n_passes": None,
    "outlier_bound": None,
    "outlier_penalty": "l1",
    "outlier_sign": "free",
    "outlier_weight": "auto",
    "random_state": None,
    "scale_samples": None,
    "shuffle": True,
    "solver": "auto",
    "verbose": 1,
    "zero_weight": 1.0,
}
OTHERWISE = {
    "ImageSegmenter": {"n_components": 5},
    "L1Dictionary": {"code_penalty": 0.1, "dictionary_set": "l1_ball"},  # as in paper B
    "ManhattanNMF": {"init": "samples"},
    "NovelDocumentDetector": {"n_components": 100},
    "OnlineL1Dictionary": {"code_penalty": 0.1, "dictionary_set": "l1_ball"},
    "OnlineOrthogonalDictionary": {"init": "samples", "p": 3},
    "SensorCodec": {"batch_size": None, "forgetting": None},
    "SoundSeparator": {"divergence": "kl", "init": None, "n_components": 4},
    "SymmetricManhattanNMF": {"init": "squared_l2"},
    "TopicModel": {"batch_size": 512, "n_components": 10},
    # The figures of the pages were measured with these.
    "FaceRecognizer": {"n_neighbors": 1},
    "ImageDenoiser": {"threshold": 2.7},
    "MannWhitneyDrift": {"false_alarm_rate": 1e-4},
    "VideoSeparator": {"patience": 120, "threshold": 1.5},
}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_kept_under_its_own_name(kind):
    """Nothing is converted or renamed: clones of scikit-learn rely on it."""
    given = {name: object() for name in inspect.signature(kind).parameters}
    model = kind(**given)
    assert all(getattr(model, name) is value for name, value in given.items())
    assert model.get_params(deep=False) == given


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_one_name_has_one_default(kind):
    """A default that changes, changes the results of everybody who did not set it."""
    expected = DEFAULTS | OTHERWISE.get(kind.__name__, {})
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in expected:
            assert parameter.default == expected[name], name
            assert type(parameter.default) is type(expected[name]), name


def test_public_names_are_listed_and_others_refused():
    offered = dir(thresher)
    assert offered == sorted(offered)
    assert {*thresher.__all__, "open"} == set(offered)
    for name in offered:
        assert getattr(thresher, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        thresher.nothing  # noqa: B018
