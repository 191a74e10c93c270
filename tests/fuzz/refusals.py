"""What is refused: with a sentence, at once, and the model stays as it was."""

from typing import Any

import numpy as np
from scipy import sparse

from fuzz import draws
from fuzz.checks import Unchanged, refusal

Rng = np.random.Generator
_NOT_COUNTS = (0, -1, 1.5, "3", True, np.nan, [2], np.inf)
_NOT_NUMBERS = ("1", [1.0], np.nan, -1.0, True)

WRONG: dict[str, tuple[Any, ...]] = {
    "n_components": _NOT_COUNTS,
    "batch_size": (*_NOT_COUNTS, None),
    "max_iter": (*_NOT_COUNTS, None),
    "n_passes": _NOT_COUNTS,
    "n_nonzero": _NOT_COUNTS,
    "tol": (-1.0, np.nan, "small", None, [1e-4]),
    "n_jobs": ("2", 1.5, 0),
    "init": ("nowhere", np.full((2, 2), np.nan), np.zeros((3, 3)), 7, -np.ones((2, 3)), "x"),
    "solver": ("fast", 3, None, ["auto"]),
    "divergence": ("euclid", 2, None, ["kl"]),
    "outlier_weight": (0, -1.0, np.nan, np.inf, "some", None, [1.0], True),
    "outlier_penalty": ("l0", 3, None, np.ones(3)),
    "outlier_sign": ("positive", 1, None, ["free"]),
    "outlier_bound": (0, -1.0, np.nan, "1", [1.0]),
    "code_set": ("orthant", 1, None, [0, 1]),
    "dictionary_set": ("orthant", 1, [0, 1]),
    "code_penalty": (-1.0, np.nan, np.inf, "l1", [0.1], True),
    "dictionary_penalty": (-1.0, np.nan, np.inf, "l1", [0.1], True),
    "forgetting": (0, -3.0, np.nan, "slow", [1.0], True),
    "frozen_atoms": ([99], [-1], [0.5], "0", [[0]], np.ones(99, bool)),
    "scale_samples": ("min", 1, True, ["max"]),
    "zero_weight": (-1.0, np.nan, np.inf, "1", [1.0], None),
    "square_weight": (-1.0, np.nan, np.inf, "1", [1.0], None),
    "graph": ("near", -1, 10**6, np.ones((2, 3)), True),
    "p": (2, 3.5, "3", None, [3]),
    "random_state": ("seed", -1, 1.5, [None]),
    "callbacks": ("x", 7, ["x"], [None]),
}


def _refusing(rng: Rng) -> tuple[Any, np.ndarray]:
    """A model that may have been fitted, and samples of its width."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F, draws.ANY)
    if rng.random() < 0.7:
        model.fit(X)
    return model, X


def wrong_parameters_are_refused(rng: Rng) -> str:
    """One parameter that cannot be meant: `fit` says so and changes nothing."""
    model, X = _refusing(rng)
    known = [name for name in WRONG if name in model.get_params()]
    name = draws.one_of(rng, *known)
    value = draws.one_of(rng, *WRONG[name])
    if name == "dictionary_set" and value is None:
        return "right"
    model.set_params(**{name: value})
    learn = draws.one_of(rng, model.fit, getattr(model, "partial_fit", model.fit))
    if learn == model.fit or not hasattr(model, "components_"):
        with Unchanged(model):
            refusal(lambda: learn(X))
        return "refused"
    with Unchanged(model):
        refusal(lambda: model.fit(X))
    return "refused"


def _wrong_samples(X: np.ndarray, rng: Rng, nonnegative: bool) -> dict[str, Any]:
    n, F = X.shape
    infinite, negative = X.copy(), X.copy()
    infinite[rng.integers(n), rng.integers(F)] = draws.one_of(rng, np.inf, -np.inf)
    negative[rng.integers(n), rng.integers(F)] = -draws.one_of(rng, 1.0, 1e-9, 1e300)
    bad: dict[str, Any] = {
        "infinite": infinite,
        "infinite rows": sparse.csr_array(infinite),
        "empty": X[:0],
        "without features": X[:, :0],
        "one-dimensional": X[0],
        "a number": 3.0,
        "nothing": None,
        "frames": X[:, :, None],
        "complex": X * 1j,
        "text": np.full(X.shape, "a"),
        "bytes": b"abc",
        "a string": "samples",
        "ragged": [[1.0, 2.0], [3.0]],
        "lists of text": [["a", "b"], ["c", "d"]],
        "objects": np.array([[object()] * F] * n, dtype=object),
        "times": np.full(X.shape, np.datetime64("2020-01-01")),
        "a dictionary": {"a": [1.0]},
        "a set": {1.0, 2.0},
    }
    if nonnegative:
        bad |= {"negative": negative, "negative rows": sparse.csr_array(negative)}
    return bad


def wrong_samples_are_refused(rng: Rng) -> str:
    """What is no matrix of numbers, or too wide: every method says so and changes nothing."""
    model, X = _refusing(rng)
    positive = type(model).__name__ != "OnlineOrthogonalDictionary"
    bad = _wrong_samples(X, rng, positive)
    fitted = hasattr(model, "components_")
    names = ["fit", "partial_fit"]
    if fitted:
        names += ["transform", "score_samples", "score", "objective_samples", "impute", "separate"]
        bad["too wide"] = np.hstack([X, X])
        bad["too narrow"] = X[:, :1]
    call = getattr(model, draws.one_of(rng, *[n for n in names if hasattr(model, n)]))
    kind = draws.one_of(rng, *bad)
    if kind in ("too wide", "too narrow") and call == model.fit:
        return "right"  # `fit` starts anew
    with Unchanged(model):
        refusal(lambda: call(bad[kind]))
    return "refused"


def wrong_weights_are_refused(rng: Rng) -> str:
    """Weights that are negative, not finite or of another shape change nothing either."""
    model, X = _refusing(rng)
    n, F = X.shape
    samples = {
        "negative": np.where(np.arange(n) == rng.integers(n), -1.0, 1.0),
        "not a number": np.where(np.arange(n) == rng.integers(n), np.nan, 1.0),
        "infinite": np.where(np.arange(n) == rng.integers(n), np.inf, 1.0),
        "too few": np.ones(n - 1),
        "a matrix": np.ones((n, F)),
        "text": ["a"] * n,
    }
    entries = {
        "negative": -np.ones((n, F)),
        "not a number": np.full((n, F), np.nan),
        "infinite": np.full((n, F), np.inf),
        "too narrow": np.ones((n, F + 1)),
        "a row": np.ones(F),
        "text": np.full((n, F), "a"),
    }
    learn = draws.one_of(rng, model.fit, getattr(model, "partial_fit", model.fit))
    with Unchanged(model):
        if rng.random() < 0.5:
            weight = samples[draws.one_of(rng, *samples)]
            refusal(lambda: learn(X, sample_weight=weight))
            return "refused"
        weight = entries[draws.one_of(rng, *entries)]
        if hasattr(model, "components_") and rng.random() < 0.5:
            refusal(lambda: model.transform(X, entry_weight=weight))
        else:
            refusal(lambda: learn(X, entry_weight=weight))
    return "refused"


def unfitted_models_say_so(rng: Rng) -> str:
    """Before the first sample there is nothing to code, to save or to grow."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F, draws.ANY)
    calls: dict[str, Any] = {
        "transform": (X,),
        "score_samples": (X,),
        "impute": (X,),
        "separate": (X,),
        "inverse_transform": (np.ones((2, 2)),),
        "calibrate": (X,),
        "resume": (X,),
        "grow": (),
        "keep_features": ([0],),
    }
    names = [name for name in calls if hasattr(model, name)]
    name = draws.one_of(rng, *names)
    with Unchanged(model):
        refusal(lambda: getattr(model, name)(*calls[name]))
    return "refused"


FAMILIES = [
    wrong_parameters_are_refused,
    wrong_samples_are_refused,
    wrong_weights_are_refused,
    unfitted_models_say_so,
]
