"""Codes, scores and dictionaries of any model on any data: feasible, optimal, consistent."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz import draws, oracle
from fuzz.checks import Unchanged, near, refusal, refused_or, same_bits, without_trace
from thresher import OnlineRobustNMF, RobustNMF

Rng = np.random.Generator
_TOL = 1e-6
_GAP = 1e-4  # of what zero codes cost


def _fitted(rng: Rng, kinds: Any = draws.NONNEGATIVE) -> tuple[Any, np.ndarray]:
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    return draws.model(rng, F, kinds).fit(X), X


def _strangers(model: Any, X: np.ndarray, rng: Rng) -> np.ndarray:
    """Some samples that were seen, some that are unlike them."""
    F = X.shape[1]
    rows = [X[:2], draws.parts(rng, 2, F), np.zeros((1, F)), rng.random((1, F)) * 100]
    rows += [np.eye(F)[:1], np.full((1, F), 0.5)]
    S = np.vstack(rows)
    if getattr(model, "divergence", None) != "mahalanobis" and rng.random() < 0.4:
        S[rng.random(S.shape) < 0.2] = np.nan
    return S


def _coded(model: Any, S: Any, weight: Any) -> tuple[Any, bool]:
    """Exact codes, and whether a warning says that some are not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        C = model.transform(S, weight)
    wrong = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    assert not wrong, f"transform warns: {wrong[0].message}"
    return C, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def _units(model: Any, S: Any, weight: Any = None) -> Any:
    """What each sample costs if next to nothing is predicted: the unit of its scores."""
    W = np.where(np.isnan(S), 0.0, 1.0 if weight is None else weight)
    if type(model).__name__ == "OnlineOrthogonalDictionary":
        return (W * np.nan_to_num(S) ** 2).sum(axis=1) / 2 + 1e-9
    S, _ = _in_coding_units(model, S.astype(np.float64), np.ones((len(S), 1)), W)
    with np.errstate(all="ignore"):
        return np.abs(oracle.losses(model, S, np.full_like(S, 1e-3), W)) + 1e-9


def _in_coding_units(model: Any, S: Any, C: Any, W: Any) -> tuple[Any, Any]:
    """Samples and codes as the coding problem sees them: entries without weight are not seen."""
    if getattr(model, "scale_samples", None) is None:
        return S, C
    largest = np.where(W > 0, np.abs(S), 0.0).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    return S / largest, C / largest


def codes_are_optimal(rng: Rng) -> str:
    """No line search, NNLS or linear program finds better codes; scores are what codes cost."""
    model, X = _fitted(rng)
    model.set_params(code_tol=_TOL, code_max_iter=300)
    S = _strangers(model, X, rng)
    weight = None
    weighable = getattr(model, "outlier_penalty", "l1") == "l1"
    if weighable and getattr(model, "divergence", None) != "mahalanobis" and rng.random() < 0.3:
        weight = rng.random(S.shape) * (rng.random(S.shape) < 0.9)
    with Unchanged(model, S, weight):
        C, unfinished = _coded(model, S, weight)
        scores = model.score_samples(S, weight)
        objective = model.objective_samples(S, weight)
    W = np.where(np.isnan(S), 0.0, 1.0 if weight is None else weight)
    region = getattr(model, "code_set", "nonnegative")
    S, C = _in_coding_units(model, S, C, W)
    assert np.isfinite(C).all(), "Codes are not finite."
    assert oracle.outside(region, C) <= 1e-6 * max(1.0, float(C.max())), "Codes leave their set."

    D = model.components_
    with np.errstate(all="ignore"):
        costs = oracle.losses(model, S, C @ D, W)
    unit = _units(model, S, weight) + costs
    unit[~(W * np.nan_to_num(S)).any(axis=1)] *= 1e4  # what positive predictions of nothing cost
    total = costs + oracle.penalties(model, C)
    charged = total if isinstance(model, oracle.L1_MODELS[1:]) else costs
    assert (np.abs(-scores - charged) <= 1e-6 * unit).all(), "Scores are not what codes cost."
    assert (np.abs(objective - total) <= 1e-6 * unit).all(), "Objectives are not what codes cost."
    if not oracle.is_convex(model):
        return "right"
    allowed = 1e-2 if unfinished else _GAP
    for i in rng.choice(len(S), 3, replace=False):
        with np.errstate(all="ignore"):
            best = oracle.improved(model, S[i], W[i], D, C[i].astype(float), rng)
        gap = (total[i] - best) / unit[i]
        assert gap <= allowed, f"Codes of sample {i} are {gap:.2g} above the optimum."
    return "right"


def rows_stand_alone(rng: Rng) -> str:
    """What a model says of a sample's entries does not depend on the samples beside it."""
    model, X = _fitted(rng, draws.ANY)
    dtype = draws.one_of(rng, np.float64, np.float32)
    if "code_max_iter" in model.get_params():
        model.set_params(code_tol=1e-8 if dtype == np.float64 else 1e-5, code_max_iter=300)
    S = _strangers(model, X, rng).astype(dtype)
    order = rng.permutation(len(S))
    together, shuffled = model.transform(S), model.transform(S[order])
    scores = model.score_samples(S)
    rtol, unit = 1e-5 if dtype == np.float64 else 1e-3, _units(model, S)
    for place, i in enumerate(order[:4]):
        alone = model.transform(S[i : i + 1])[0]
        D, seen = model.components_, ~np.isnan(S[i])  # what was not seen may have many answers
        said = together[i] @ D
        near(np.where(seen, alone @ D, said), said, rtol, "A prediction")
        other = np.where(seen, shuffled[place] @ D, said)
        near(other, said, rtol, "A prediction in another order")
        gap = abs(float(model.score_samples(S[i : i + 1])[0]) - float(scores[i]))
        # A row of zeros costs what codes cannot help to predict.
        assert gap <= rtol * (unit[i] + abs(scores[i])), f"A score differs by {gap:.2g}."
    return "right"


def dictionaries_are_feasible(rng: Rng) -> str:
    """Atoms lie in their set, frozen ones stay, and a fit is better than no codes at all."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F)
    K = model.n_components
    frozen = None
    if "frozen_atoms" in model.get_params() and rng.random() < 0.5:
        init = rng.random((K, F)) / (2 * F)
        init /= init.sum(axis=1, keepdims=True)
        frozen = sorted(int(k) for k in rng.choice(K, int(rng.integers(1, K + 1)), replace=False))
        model.set_params(init=init, frozen_atoms=frozen)
    if rng.random() < 0.3:
        draws.with_published_solver(model, rng)
        if draws.one_of(rng, True, False):
            model.set_params(n_components=K)
    fitted = refused_or(lambda: model.fit(X))
    if fitted is None:
        return "refused"
    D = model.components_
    assert D.shape == (K, F), f"Atoms have the shape {D.shape}."
    assert np.isfinite(D).all(), "Atoms are not finite."
    free = np.setdiff1d(np.arange(K), [] if frozen is None else frozen)
    region = oracle.dictionary_set(model)
    far = oracle.outside(region, D[free])
    assert far <= 1e-6, f"Atoms lie {far:.2g} outside of {region!r}."
    if frozen is not None:
        same_bits(D[frozen], model.init[frozen], "Frozen atoms")
    return "right"


def odd_data_are_learned_or_refused(rng: Rng) -> str:
    """Whatever the data, a model that learned is finite; one that refused is as it was."""
    n, F = int(rng.integers(1, 20)), int(rng.integers(1, 8))
    model = draws.model(rng, F, draws.ANY)
    X = draws.odd(rng, n, F)
    if rng.random() < 0.3:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
    if np.isinf(X).any():
        with Unchanged(model):
            refusal(lambda: model.fit(X))
        return "refused"
    good = np.tile(draws.parts(rng, 20, F), 1)
    if rng.random() < 0.7:
        model.fit(good)
    step = draws.one_of(rng, "fit", "partial_fit")
    learn = getattr(model, step, model.fit)
    before = refused_or(lambda: without_trace(model, lambda: learn(X)))
    if before is None:
        if not hasattr(model, "components_"):
            return "refused"
        X = good
    D = model.components_
    assert np.isfinite(D).all(), "Atoms are not finite."
    codes = refused_or(lambda: model.transform(X))
    if codes is None:
        return "refused"
    assert np.isfinite(codes).all(), "Codes are not finite."
    scores = model.score_samples(X)
    assert np.isfinite(scores).all(), "Scores are not finite."
    return "right" if before is not None else "refused"


def _residual_bounds(X: Any, C: Any, D: Any, lam: float, l1: float, eps: float) -> Any:
    """Lower and upper bound of each row's proximal gradient residual over that at zero codes.

    Between them lies the residual of all predictions that rounding to ``eps`` cannot distinguish.
    """
    E, error = X - C @ D, 16 * eps * (np.abs(X) + np.abs(C) @ np.abs(D))
    L = np.abs(D @ D.T).sum(axis=1).max()
    low, high = (l1 - np.clip(E + sign * error, -lam, lam) @ D.T for sign in (1, -1))
    low, high = np.minimum(low, L * C), np.minimum(high, L * C)
    least = np.where((low <= 0) & (high >= 0), 0, np.minimum(np.abs(low), np.abs(high)))
    most = np.maximum(np.abs(low), np.abs(high))
    unit = np.linalg.norm(np.clip(X, -lam, lam) @ D.T, axis=1)
    unit = np.where(unit > 0, unit, 1)
    return np.linalg.norm(least, axis=1) / unit, np.linalg.norm(most, axis=1) / unit


def weights_of_any_size(rng: Rng) -> str:
    """Codes cost no more than zeros, and certificates are those of an independent computation."""
    (n, F), dtype = draws.size(rng), draws.one_of(rng, np.float64, np.float32)
    X = (draws.parts(rng, n, F) * 10.0 ** rng.integers(-15, 16)).astype(dtype)
    size = float(np.median(X[X > 0])) if (X > 0).any() else 1.0
    lam = size * 10.0 ** rng.uniform(-25, 5)
    l1 = draws.one_of(
        rng, None, lam * 10.0 ** rng.uniform(-5, 5), size * 10.0 ** rng.uniform(-25, 5)
    )
    model = draws.quiet(
        draws.one_of(rng, OnlineRobustNMF, RobustNMF),
        rng,
        outlier_weight=lam,
        code_penalty=l1,
        code_set=draws.one_of(rng, "nonnegative", "nonnegative", "box"),
    )
    if refused_or(lambda: model.fit(X)) is None:
        return "refused"
    C, unfinished = _coded(model, X, None)
    assert C.dtype == dtype, f"Codes of {dtype} are {C.dtype}."
    objective, certificate = model.objective_samples(X), model.certificates(X, C)
    eps, D, l1 = float(np.finfo(dtype).eps), model.components_.astype(float), l1 or 0.0
    X, C = X.astype(float), C.astype(float)

    def cost(codes: Any) -> Any:
        e = np.abs(X - codes @ D)
        huber = np.where(e > lam, lam * (e - lam / 2), e * e / 2)
        return huber.sum(axis=1) + l1 * codes.sum(axis=1)

    zero = cost(np.zeros_like(C))
    assert np.isfinite(objective).all(), "Objectives are not finite."
    rounding = 64 * eps * (zero + l1 * C.sum(axis=1) + lam * (np.abs(X) + C @ D).sum(axis=1))
    assert (cost(C) <= zero + rounding).all(), "Codes cost more than zeros."
    if model.code_set == "box":
        return "right"
    least, most = _residual_bounds(X, C, D, lam, l1, eps)
    within = (certificate >= 0.999 * least - 1e-6) & (certificate <= 1.001 * most + 1e-6)
    assert within.all(), f"Certificates {certificate} lie outside of {least} to {most}."
    assert unfinished or (least <= 1e-3).all(), "Codes are not optimal, and nothing says so."
    return "right"


FAMILIES = [
    weights_of_any_size,
    codes_are_optimal,
    rows_stand_alone,
    dictionaries_are_feasible,
    odd_data_are_learned_or_refused,
]
