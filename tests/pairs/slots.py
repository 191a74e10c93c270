"""What the parameters of every estimator can be: names from the registry, samples of parts."""

import inspect
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

from pairs import samples
from pairs.samples import F, K, N
from thresher import estimators, losses, penalties, sets, solvers
from thresher.estimators import registry
from thresher.losses import Loss
from thresher.penalties import Penalty
from thresher.sets import ConvexSet

DATA = ("dense", "CSR", "gaps", "entry weights", "sample weights", "float32")
"""The kinds of data that every estimator is crossed with."""

SOLVERS: dict[str, dict[str, Any]] = {
    "BatchNMF": solvers.BATCH_DIVERGENCE_SOLVERS,
    "L1Dictionary": solvers.BATCH_L1_SOLVERS,
    "ManhattanNMF": solvers.MANHATTAN_SOLVERS,
    "OnlineL1Dictionary": solvers.ONLINE_L1_SOLVERS,
    "OnlineNMF": solvers.ONLINE_DIVERGENCE_SOLVERS,
    "OnlineOrthogonalDictionary": solvers.ORTHOGONAL_SOLVERS,
    "OnlineRobustNMF": solvers.ONLINE_ROBUST_SOLVERS,
    "RobustNMF": solvers.BATCH_ROBUST_SOLVERS,
    "SymmetricManhattanNMF": solvers.SYMMETRIC_SOLVERS,
}

NOT_CROSSED = frozenset(
    {
        # How much, how long, how exactly and how loudly: no parts.
        *(
            "n_components",
            "batch_size",
            "n_passes",
            "n_starts",
            "shuffle",
            "tol",
            "max_iter",
            "code_tol",
            "code_max_iter",
        ),
        *("n_jobs", "random_state", "callbacks", "verbose", "graph_weight"),
        # Where atoms start, and what becomes of old samples: other tests cross these.
        *("init", "forgetting", "drift", "frozen_atoms", "scale_samples"),
        "divergence_parameter",  # comes with the divergence
        *("ridge", "cardinality"),  # numbers
    }
)


def names() -> list[str]:
    """Every estimator that learns a dictionary."""
    found = [(name, getattr(estimators, name)) for name in estimators.__all__]
    return [name for name, kind in found if inspect.isclass(kind) and _is_estimator(kind)]


def _is_estimator(kind: type) -> bool:
    return issubclass(kind, BaseEstimator) and hasattr(kind, "fit")


def _named(names_: Any) -> dict[str, Any]:
    return {name: name for name in names_}


def _divergences() -> dict[str, Any]:
    """Values of ``divergence`` and its parameter together."""
    found: dict[str, Any] = {name: (name, None) for name in registry.DIVERGENCES}
    for name in (*registry.PARAMETRIC_DIVERGENCES, "huber"):
        if name not in samples.DIVERGENCE_PARAMETERS:
            raise LookupError(
                f"divergence={name!r} has no parameter in tests/pairs/samples.py; give it one, so "
                "that all pairs of it are tested."
            )
        for value in samples.DIVERGENCE_PARAMETERS[name]:
            label = name if value is None or not isinstance(value, float) else f"{name}:{value}"
            found[label] = (name, value)
    parts = samples.of(losses, Loss, samples.LOSSES)
    return found | {label: (part, None) for label, part in parts.items()}


def _penalties(rows: int, width: int) -> dict[str, Any]:
    parts = samples.of(penalties, Penalty, samples.PENALTIES, rows, width)
    return {"none": None, "number": 0.1, **parts}


def _sets(rows: int, width: int) -> dict[str, Any]:
    parts = samples.of(sets, ConvexSet, samples.SETS, rows, width)
    return {**_named(registry.SETS), **parts}


@cache
def values(estimator: str) -> dict[str, dict[str, Any]]:
    """What every slot of an estimator can be, by label; the first of a slot is the plain one."""
    crossed: dict[str, dict[str, Any]] = {
        "divergence": _divergences(),
        "code_set": _sets(N, K),
        "code_penalty": _penalties(N, K),
        "dictionary_set": {"auto": "auto", **_sets(K, F)},
        "dictionary_penalty": _penalties(K, F),
        "outlier_penalty": _named(registry.OUTLIER_PENALTIES)
        | samples.of(penalties, Penalty, samples.PENALTIES, N, F),
        "outlier_sign": _named(("free", "nonnegative")),
        "outlier_bound": {"none": None, "number": 0.4},
        "implicit_zeros": {"observed": "observed", "missing": "missing"},
        "outlier_weight": {"auto": "auto", "mad": "mad", "number": 0.3},
        "zero_weight": {"one": 1.0, "less": 0.3},
        "square_weight": {"zero": 0.0, "half": 0.5},
        "graph": {"none": None, "two": 2},
        "n_nonzero": {"all": None, "two": 2},
        "whiten": {"no": False, "yes": True},
        "p": {"3": 3, "4": 4},
    }
    parameters = getattr(estimators, estimator)().get_params()
    found = {"data": _named(DATA)}
    for name in parameters:
        if name == "solver":
            found[name] = _solvers(estimator)
        elif name in crossed:
            found[name] = crossed[name]
        elif name not in NOT_CROSSED:
            raise LookupError(
                f"{name} of {estimator} is not known to tests/pairs/slots.py; say there what it "
                "can be, or list it in NOT_CROSSED."
            )
    return found


def _solvers(estimator: str) -> dict[str, Any]:
    if estimator not in SOLVERS:
        raise LookupError(
            f"{estimator} has no solvers in tests/pairs/slots.py; name the table of "
            "thresher.solvers that lists them."
        )
    return _named(SOLVERS[estimator])


def labels(estimator: str) -> dict[str, list[str]]:
    """The labels of every slot."""
    return {slot: list(choices) for slot, choices in values(estimator).items()}
