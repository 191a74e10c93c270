"""What all public classes have in common: parameters are kept, one word has one default."""

import inspect
from dataclasses import fields

import pytest

import thresher
from thresher.solvers import PUBLISHED

CLASSES = [kind for name in thresher.__all__ if inspect.isclass(kind := getattr(thresher, name))]
ESTIMATORS = [kind for kind in CLASSES if hasattr(kind, "get_params")]

# One word for one thing, with the same default everywhere; classes that differ say why.
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
    "max_iter": 1000,
    "n_components": None,
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
    "tol": 1e-4,
    "verbose": 1,
    "zero_weight": 1.0,
}
OTHERWISE = {
    ("ImageSegmenter", "n_components"): 5,
    ("L1Dictionary", "code_penalty"): 0.1,  # as in paper B
    ("L1Dictionary", "dictionary_set"): "l1_ball",
    ("ManhattanNMF", "init"): "samples",
    ("NovelDocumentDetector", "n_components"): 100,
    ("OnlineL1Dictionary", "code_penalty"): 0.1,
    ("OnlineL1Dictionary", "dictionary_set"): "l1_ball",
    ("OnlineOrthogonalDictionary", "init"): "samples",
    ("RatingModel", "max_iter"): 50,  # sweeps over all ratings
    ("RatingModel", "n_components"): 10,
    ("RatingModel", "tol"): 5e-3,
    ("SensorCodec", "forgetting"): None,  # as in paper D
    ("SensorCodec", "batch_size"): None,  # whole files, or rows as they come
    ("SoundSeparator", "divergence"): "kl",
    ("SoundSeparator", "init"): None,
    ("SoundSeparator", "n_components"): 4,
    ("SymmetricManhattanNMF", "init"): "squared_l2",
    ("SymmetricManhattanNMF", "max_iter"): 200,
    ("TopicModel", "batch_size"): 512,
    ("TopicModel", "n_components"): 10,
}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_kept_under_its_own_name(kind):
    """Nothing is swapped, forgotten or changed on the way in: scikit-learn clones rely on it."""
    given = {name: object() for name in inspect.signature(kind).parameters}
    model = kind(**given)
    assert all(getattr(model, name) is value for name, value in given.items())
    assert model.get_params(deep=False) == given


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_one_word_has_one_default(kind):
    """A default that changes, changes results of everybody who did not set it."""
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in DEFAULTS:
            wanted = OTHERWISE.get((kind.__name__, name), DEFAULTS[name])
            assert parameter.default == wanted, name
            assert type(parameter.default) is type(wanted), name


def _default(kind, name):
    return inspect.signature(kind).parameters[name].default


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("FaceRecognizer", "n_neighbors", 1),
        ("GoDec", "cardinality", 0.05),
        ("ImageDenoiser", "threshold", 2.7),
        ("ImageSegmenter", "n_segments", 3),
        ("ImageSegmenter", "n_superpixels", 1000),
        ("LossShift", "false_alarm_rate", 1e-4),
        ("NovelDocumentDetector", "false_alarm_rate", 0.05),
        ("NovelDocumentDetector", "max_words", 100_000),
        ("OnlineOrthogonalDictionary", "p", 3),
        ("SensorCodec", "error", 0.02),
        ("SensorCodec", "effort", 2),
        ("TopicModel", "warm_up", 2000),
        ("VideoSeparator", "patience", 120),
        ("VideoSeparator", "threshold", 1.5),
    ],
)
def test_defaults_of_tasks_are_those_that_were_measured(kind, name, value):
    """The figures of the pages were made with these."""
    assert _default(getattr(thresher, kind), name) == value


@pytest.mark.parametrize("kind", ["TopicModel", "NovelDocumentDetector"])
def test_streams_of_documents_are_cut_into_thousands(kind):
    assert _default(getattr(thresher, kind).watch, "size") == 1000


# As published, or as `docs/lab/references.md` says where a paper is silent.
CONSTANTS = {
    "opgd": {"kappa": 0.7, "kappa_dictionary": 0.7, "code_tol": 1e-3, "code_max_iter": 50},
    "oadmm": {"rho_1": 1, "rho_2": 1, "rho_3": 1, "code_tol": 1e-3, "code_max_iter": 50},
    "bpgd": {"kappa": 0.7, "kappa_dictionary": 0.7},
    "badmm": {"rho_1": 1, "rho_2": 1, "rho_3": 1},
    "oiadmm": {"phi": 5, "gamma": 1.89, "kappa": 1, "beta": 5, "share": 0.5, "tol": 1e-3},
    "admm": {"phi": 5, "gamma": 1.89, "kappa": 1, "iterations": 1000, "tol": 1e-3},
    "online": {"phi": 5, "gamma": 1.89, "code_penalty": 0.1, "rounds": 20, "rtol": 1e-4},
    "batch_impl": {"code_penalty": 0.1, "rounds": 20, "rtol": 1e-4, "eta": 10},
    "l2_batch": {"sweeps": 200, "tol": 1e-8, "rounds": 20, "eta": 10, "unit": "l2"},
    "sparse_coding": {"sweeps": 200, "tol": 1e-8},
    "rri": {"epsilon": 0.1, "xi": 0.1, "max_sweeps": 1000},
    "ogm": {"lambda_0": 0.1, "epsilon": 0.1, "xi": 0.1, "max_iter": 1000},
    "symmetric_rri": {"epsilon": 0.1},
    "noncvx_sfw": {
        "averaging_scale": 4, "averaging_shift": 1, "averaging_power": 1 / 2,
        "step_scale": 2, "step_shift": 2, "step_power": 3 / 4, "start_iterations": 20,
    },
    "sfw": {
        "averaging_scale": 4, "averaging_shift": 8, "averaging_power": 2 / 3,
        "step_scale": 2, "step_shift": 8, "step_power": 1, "start_iterations": 20,
    },
    "aodl": {"penalty": None, "sweeps": 1, "start_iterations": 20},
    "spsgd": {
        "a": 2e4, "b": 2e4, "tau": None, "alpha": 0.01, "gamma": 0.1, "q": 10, "delta": 0.01,
        "tol": 1e-3, "max_iter": 2000, "patience": 100,
    },
    "ol_guan": {"buffer": 1000, "steps": 20, "draw": 50, "step": 1, "tol": 1e-4},
    "ol_lef": {"updates": 100, "tol": 1e-3},
    "ol_wang": {"updates": 100, "tol": 1e-3},
    "mu": {"exponent": None},
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_constants_are_the_defaults(name):
    """A run of a published solver without arguments is the run that its paper tells of."""
    defaults = {field.name: field.default for field in fields(PUBLISHED[name])}
    assert defaults | CONSTANTS[name] == defaults
    assert all(defaults[flag] is False for flag in {"as_printed", "monotone"} & defaults.keys())


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_the_dictionary_steps_of_paper_a_have_their_bounds(name):
    defaults = {field.name: field.default for field in fields(PUBLISHED[name])}
    assert (defaults["dictionary_tol"], defaults["dictionary_max_iter"]) == (1e-4, 200)


def test_names_are_listed_where_people_look_for_them():
    """Completion offers what an import gives, and a name that is none is refused."""
    offered = dir(thresher)
    assert offered == sorted(offered)
    assert {*thresher.__all__, "open"} == set(offered)
    for name in offered:
        assert getattr(thresher, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        thresher.nothing  # noqa: B018
