"""How good a fit is, against closed forms, longer runs, other storage, and no atoms at all."""

from typing import Any

import numpy as np
from scipy import sparse

from fuzz import draws, oracle
from fuzz.checks import refused_or
from thresher.estimators import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineRobustNMF,
    RobustNMF,
)

Rng = np.random.Generator


def _model(kind: type, rng: Rng, **parameters: Any) -> Any:
    known = kind().get_params()
    wanted = {"random_state": int(rng.integers(1000)), "verbose": 0, "n_jobs": 1, **parameters}
    return kind(**{name: value for name, value in wanted.items() if name in known})


def _planted(rng: Rng, n: int, F: int, rank: int, noise: float = 0.02) -> np.ndarray:
    atoms = rng.random((rank, F)) * (rng.random((rank, F)) < 0.7)
    X = rng.gamma(1.0, 1.0, (n, rank)) @ atoms + noise * rng.standard_normal((n, F))
    return np.maximum(X, 0) + 1e-3


def _objective(model: Any, X: Any) -> float:
    """The mean objective of samples at exact codes, plus the ℓ1 penalty of the dictionary."""
    weight = getattr(model, "dictionary_penalty", None) or 0.0
    atoms = float(np.abs(model.components_).sum())
    return float(model.objective_samples(X).mean()) + weight * atoms


def _without_atoms(model: Any, X: Any) -> float:
    """The same of the zero model."""
    zeros = np.zeros_like(X)
    return float(oracle.losses(model, X, zeros, np.ones_like(X)).mean())


def few_samples_are_learned(rng: Rng) -> str:
    """Few samples in small batches are learned as well as by 50 passes."""
    n, F, rank = int(rng.integers(8, 40)), int(rng.integers(4, 15)), int(rng.integers(1, 4))
    X = _planted(rng, n, F, rank)
    kind = draws.one_of(rng, OnlineNMF, OnlineRobustNMF, OnlineL1Dictionary)
    seed = int(rng.integers(1000))
    size = draws.one_of(rng, 1, 3, 8, 256)
    given = {"n_components": rank, "batch_size": size, "random_state": seed}
    loss = _objective(_model(kind, rng, **given).fit(X), X)
    long = _objective(_model(kind, rng, n_passes=50, tol=0.0, **given).fit(X), X)
    zero = _without_atoms(_model(OnlineNMF, rng).fit(X), X)
    allowed = 1.3 * long + 0.02 * zero  # chance decides between local optima
    assert loss <= allowed, f"The loss is {loss:.4g}; {long:.4g} after 50 passes, of {zero:.3g}."
    return "right"


def sparse_is_as_good_as_dense(rng: Rng) -> str:
    """CSR and arrays of the same values give fits of the same quality."""
    n, F, rank = int(rng.integers(20, 200)), int(rng.integers(8, 60)), int(rng.integers(1, 6))
    X = _planted(rng, n, F, rank, 0.0) * (rng.random((n, F)) < 1 - rng.choice([0.05, 0.5, 0.9]))
    if not X.any():
        return "refused"
    kinds = (
        (ManhattanNMF, {}),
        (BatchNMF, {}),
        (OnlineNMF, {}),
        (OnlineNMF, {"divergence": "l1"}),
        (OnlineRobustNMF, {"outlier_weight": 0.5}),
        (RobustNMF, {"outlier_weight": 0.5}),
        (OnlineL1Dictionary, {}),
        (L1Dictionary, {}),
    )
    kind, more = draws.one_of(rng, *kinds)
    given = {"n_components": int(rng.integers(1, 9)), "random_state": int(rng.integers(1000))}
    given["batch_size"] = draws.one_of(rng, 16, 256)
    dense = _model(kind, rng, **given, **more).fit(X)
    rows = _model(kind, rng, **given, **more).fit(sparse.csr_array(X))
    losses = _objective(dense, X), _objective(rows, X)
    zero = _without_atoms(dense, X)
    allowed = 1.05 * losses[0] + 0.01 * zero
    assert losses[1] <= allowed, f"CSR gives {losses[1]:.4g}, an array {losses[0]:.4g}."
    return "right"


def _rank_one_l1(X: np.ndarray, rng: Rng) -> float:
    """A low ``mean ‖x − c d‖₁`` over c, d ≥ 0: weighted medians in turns, from several starts."""

    def medians(Y: np.ndarray, a: np.ndarray) -> np.ndarray:
        """``argmin over v ≥ 0 of ‖y − v a‖₁`` of every row."""
        used = a > 0
        if not used.any():
            return np.zeros(len(Y))
        ratios, weights = Y[:, used] / a[used], a[used]
        order = np.argsort(ratios, axis=1)
        reached = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
        place = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        return np.take_along_axis(ratios, place, axis=1)[:, 0]

    best = float(np.abs(X).sum(axis=1).mean())
    starts = [X.mean(axis=0), np.median(X, axis=0), *X[rng.integers(len(X), size=6)]]
    for d in starts:
        for _ in range(30):
            c = medians(X, d)
            d = medians(X.T, c)
        best = min(best, float(np.abs(X - np.outer(c, d)).sum(axis=1).mean()))
    return best


def one_atom_is_optimal(rng: Rng) -> str:
    """With one atom, squares end at the leading singular pair, and distances as low as medians."""
    n, F = int(rng.integers(10, 80)), int(rng.integers(3, 20))
    X = _planted(rng, n, F, int(rng.integers(1, 4)), 0.1)
    X *= 10.0 ** rng.uniform(-1, 1, F)
    if rng.random() < 0.5:
        kind = draws.one_of(rng, BatchNMF, OnlineNMF)
        loss = _objective(_model(kind, rng, n_components=1).fit(X), X)
        best = float((X**2).sum() - np.linalg.norm(X, 2) ** 2) / 2 / n
        scale = float((X**2).sum()) / 2 / n
    else:
        kind = ManhattanNMF
        loss = _objective(_model(kind, rng, n_components=1).fit(X), X)
        best, scale = _rank_one_l1(X, rng), float(X.sum()) / n
    allowed = 1.02 * best + 1e-3 * scale
    assert loss <= allowed, f"{kind.__name__} ends at {loss:.5g}, the optimum is {best:.5g}."
    return "right"


def atoms_pay_their_penalty(rng: Rng) -> str:
    """Under penalties no fit is worse than the model without atoms.

    Batches have 32 samples or more: fewer do not show whether an atom pays.
    """
    n, F, rank = int(rng.integers(40, 200)), int(rng.integers(4, 25)), int(rng.integers(1, 5))
    X = rng.gamma(1.0, 1.0, (n, rank)) @ rng.gamma(1.0, 1.0, (rank, F)) * 0.3
    X += 0.05 * rng.random((n, F))
    kinds = (
        (OnlineNMF, {}),
        (BatchNMF, {}),
        (BatchNMF, {"divergence": "l1"}),
        (OnlineRobustNMF, {"outlier_weight": 1.0}),
        (RobustNMF, {"outlier_weight": 1.0}),
        (OnlineL1Dictionary, {}),
        (L1Dictionary, {}),
        (ManhattanNMF, {}),
    )
    kind, more = draws.one_of(rng, *kinds)
    model = _model(
        kind,
        rng,
        n_components=int(rng.integers(1, 7)),
        batch_size=draws.one_of(rng, 32, 64, 256),
        code_penalty=float(10 ** rng.uniform(-1.5, 1)),
        dictionary_penalty=float(10 ** rng.uniform(-1.5, 0.7)),
        **more,
    ).fit(X)
    loss, zero = _objective(model, X), _without_atoms(model, X)
    assert loss <= zero * (1 + 1e-6), f"The objective is {loss:.5g}, without atoms {zero:.5g}."
    return "right"


def shown_atoms_lie_in_their_set(rng: Rng) -> str:
    """Whatever is missing, and however small the batches: also after features come and go."""
    n, F = int(rng.integers(4, 20)), int(rng.integers(2, 16))
    X = rng.poisson(rng.choice([0.3, 0.7, 3.0]), (n, F)).astype(float)
    X *= draws.one_of(rng, 1.0, rng.gamma(1.0, 1.0, (n, F)))
    model = draws.model(rng, F)
    if model.get_params().get("divergence") != "mahalanobis":
        X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    if "batch_size" in model.get_params():
        model.set_params(batch_size=draws.one_of(rng, 1, 3, 256))
    if "dictionary_set" in model.get_params() and rng.random() < 0.7:
        model.set_params(dictionary_set=draws.dictionary_set(rng))
    if rng.random() < 0.3:
        draws.with_published_solver(model, rng)
    if refused_or(lambda: model.fit(X)) is None:
        return "refused"
    region = oracle.dictionary_set(model)

    def check(after: str) -> None:
        far = oracle.outside(region, model.components_)
        assert far <= 1e-6, f"Atoms lie {far:.2g} outside of {region!r} after {after}."

    check("fit")
    if not hasattr(model, "grow") or model.get_params().get("divergence") == "mahalanobis":
        return "right"
    model.grow(n_features=F + 2, atoms=1)
    check("grow")
    model.keep_features(np.arange(1, F + 1))
    check("keep_features")
    return "right"


FAMILIES = [
    few_samples_are_learned,
    sparse_is_as_good_as_dense,
    one_atom_is_optimal,
    atoms_pay_their_penalty,
    shown_atoms_lie_in_their_set,
]
