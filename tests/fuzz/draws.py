"""Random samples and random models that are valid: what the families of estimators draw from."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.estimators import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.penalties import ElasticNet
from thresher.sets import Box, NonnegativeElasticNetBall, NonnegativeL1Ball, NonnegativeL2Ball

Rng = np.random.Generator


def one_of(rng: Rng, *values: Any, p: Any = None) -> Any:
    """One of some values, of any types."""
    return values[int(rng.choice(len(values), p=p))]


# ----------------------------------------------------------------------- samples


def parts(rng: Rng, n: int, F: int, noise: float = 0.02) -> np.ndarray:
    """Nonnegative samples of about unit size: a few parts, some zeros, noise and glitches."""
    rank = int(rng.integers(1, 5))
    atoms = rng.random((rank, F)) * (rng.random((rank, F)) < 0.7)
    X = rng.gamma(1.0, 1.0, (n, rank)) @ atoms + noise * rng.standard_normal((n, F))
    X[rng.random((n, F)) < 0.02] += 3
    X = np.maximum(X, 0)
    if rng.random() < 0.3:
        X[rng.random((n, F)) < 0.6] = 0
    return X if X.any() else X + 1.0


def size(rng: Rng) -> tuple[int, int]:
    """Samples and features, few of each."""
    return int(rng.integers(6, 30)), int(rng.integers(2, 10))


def odd(rng: Rng, n: int, F: int) -> np.ndarray:
    """Samples as a user may have them: nothing but zeros, copies, constants, gaps, glitches."""
    X = parts(rng, n, F)
    for _ in range(int(rng.integers(1, 4))):
        row, column = int(rng.integers(n)), int(rng.integers(F))
        kind = rng.integers(11)
        if kind == 0:
            X[:] = 0
        elif kind == 1:
            X[row] = 0
        elif kind == 2:
            X[:, column] = 0
        elif kind == 3:
            X[:] = X[row]
        elif kind == 4:
            X[:] = rng.random()
        elif kind == 5:
            X[row] = np.nan
        elif kind == 6:
            X[:, column] = np.nan
        elif kind == 7:
            X[rng.random((n, F)) < rng.random()] = np.nan
        elif kind == 8:
            X[row, column] = one_of(rng, 1e300, 1e200, 1e100, 1e30, 1e8)
        elif kind == 9:
            X[row] *= one_of(rng, 5e-324, 1e-310, 1e-200, 1e-30)
        else:
            with np.errstate(over="ignore"):  # infinity is odd, too
                X[:] *= 10.0 ** rng.integers(-30, 31)
    return X


# ------------------------------------------------------------------------ models


def quiet(kind: type, rng: Rng, **parameters: Any) -> Any:
    """A model of few atoms that is done soon, with a seed."""
    known = kind().get_params()
    wanted = {
        "n_components": int(rng.integers(1, 6)),
        "random_state": int(rng.integers(1000)),
        "verbose": 0,
        "batch_size": int(rng.integers(4, 40)),
        "n_passes": int(rng.integers(1, 4)),
        "n_jobs": 1,
        "max_iter": 10,
        "code_max_iter": 300,
        **parameters,
    }
    return kind(**{name: value for name, value in wanted.items() if name in known})


BATCH = (RobustNMF, BatchNMF, ManhattanNMF, L1Dictionary)
DIVERGENCES = (
    ("squared_l2", None),
    ("kl", None),
    ("is", None),
    ("hellinger", None),
    ("l1", None),
    ("l2", None),
    ("huber", None),
    ("huber", 0.3),
    ("alpha", 0.7),
    ("alpha", 2.0),
    ("alpha", -0.5),
    ("beta", 1.5),
    ("beta", 0.5),
    ("beta", 2.5),
)
PUBLISHED = {
    OnlineRobustNMF: ("opgd", "oadmm"),
    RobustNMF: ("bpgd", "badmm"),
    OnlineNMF: ("spsgd",),
    BatchNMF: ("mu",),
    ManhattanNMF: ("rri", "ogm"),
    OnlineL1Dictionary: ("oiadmm",),
    L1Dictionary: ("admm",),
    OnlineOrthogonalDictionary: ("noncvx_sfw", "sfw", "aodl"),
}


def forgetting(rng: Rng) -> Any:
    return one_of(rng, "auto", "auto", None, 50.0)


def code_set(rng: Rng) -> Any:
    """Where codes may lie."""
    return one_of(
        rng,
        "nonnegative",
        "simplex",
        "l1_ball",
        "l2_ball",
        "box",
        Box(0.0, np.inf),
        Box(0.0, 2.5),
        NonnegativeL1Ball(3.0),
        p=(0.5, 0.1, 0.05, 0.05, 0.1, 0.05, 0.1, 0.05),
    )


def dictionary_set(rng: Rng) -> Any:
    """Where atoms may lie."""
    return one_of(
        rng,
        "auto",
        "l2_ball",
        "nonnegative",
        "simplex",
        "l1_ball",
        "elastic_net_ball",
        "box",
        NonnegativeL2Ball(2.0),
        NonnegativeElasticNetBall(0.5, 0.1),
        p=(0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05),
    )


def code_penalty(rng: Rng) -> Any:
    weight = float(10 ** rng.uniform(-3, 0))
    return one_of(
        rng, None, weight, ElasticNet(weight, 0.1), ElasticNet(0.0, weight), p=(0.6, 0.2, 0.1, 0.1)
    )


def robust(rng: Rng, F: int) -> Any:
    """Paper A, with any of its parts."""
    whole = rng.random() < 0.2
    bounded = not whole and rng.random() < 0.2
    codes = code_set(rng)
    free = codes in ("nonnegative", Box(0.0, np.inf))
    return quiet(
        one_of(rng, OnlineRobustNMF, RobustNMF),
        rng,
        outlier_weight=one_of(rng, "auto", "mad", float(10 ** rng.uniform(-2, 1))),
        outlier_penalty="l21" if whole else "l1",
        outlier_sign="free" if whole else one_of(rng, "free", "free", "nonnegative"),
        outlier_bound=float(rng.uniform(0.1, 5)) if bounded else None,
        code_set=codes,
        code_penalty=code_penalty(rng),
        dictionary_set=dictionary_set(rng),
        dictionary_penalty=one_of(rng, None, None, 0.01),
        forgetting=forgetting(rng),
        scale_samples=one_of(rng, None, None, "max") if free else None,
    )


def divergence(rng: Rng, F: int) -> Any:
    """Paper E, with any of its divergences and sets."""
    kind = one_of(rng, OnlineNMF, BatchNMF)
    name, parameter = one_of(rng, *DIVERGENCES, ("mahalanobis", None))
    if name == "mahalanobis":
        A = rng.standard_normal((F, F))
        parameter = A @ A.T + np.eye(F)
    plain = name in ("l2", "l1") or rng.random() < 0.6
    return quiet(
        kind,
        rng,
        divergence=name,
        divergence_parameter=parameter,
        code_set="nonnegative" if plain else code_set(rng),
        code_penalty=None if plain else code_penalty(rng),
        dictionary_set=one_of(rng, None, dictionary_set(rng)),
        forgetting=forgetting(rng),
    )


def manhattan(rng: Rng, F: int) -> Any:
    """Paper C."""
    return quiet(ManhattanNMF, rng, zero_weight=one_of(rng, 1.0, 1.0, 0.3))


def documents(rng: Rng, F: int) -> Any:
    """Paper B."""
    return quiet(
        one_of(rng, OnlineL1Dictionary, L1Dictionary),
        rng,
        code_penalty=one_of(rng, 0.1, None, float(10 ** rng.uniform(-3, 0))),
        zero_weight=one_of(rng, 1.0, 1.0, 0.3),
        forgetting=forgetting(rng),
    )


def orthogonal(rng: Rng, F: int) -> Any:
    """Paper D."""
    return quiet(
        OnlineOrthogonalDictionary,
        rng,
        n_nonzero=one_of(rng, None, int(rng.integers(1, F + 1))),
        whiten=bool(rng.random() < 0.2),
        init=one_of(rng, "samples", "random", "pca"),
        forgetting=one_of(rng, "auto", 50.0),
    )


NONNEGATIVE: tuple[Callable[[Rng, int], Any], ...] = (robust, divergence, manhattan, documents)
ANY = (*NONNEGATIVE, orthogonal)


def model(rng: Rng, F: int, kinds: Any = NONNEGATIVE) -> Any:
    """A model of any kind with any valid parameters."""
    return one_of(rng, *kinds)(rng, F)


def online(rng: Rng, F: int, kinds: Any = ANY) -> Any:
    """The same, of those that learn from streams."""
    while True:
        drawn = model(rng, F, kinds)
        if hasattr(drawn, "partial_fit"):
            return drawn


def with_published_solver(drawn: Any, rng: Rng) -> Any:
    """The model with a solver of its paper."""
    solver = one_of(rng, *PUBLISHED[type(drawn)])
    given = {"spsgd": {"dictionary_set": None}, "aodl": {"whiten": False}}.get(solver, {})
    return drawn.set_params(solver=solver, **given)
