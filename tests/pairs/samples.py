"""Samples of the parts that take parameters, and the parts that are crossed without any.

Every part that the library exports must have an entry here, so that none is forgotten. Names of the
registry need none, unless they need a parameter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import statements
from thresher import losses, penalties, sets
from thresher.losses import SeparableLoss

K, F, N = 3, 5, 8
"""Atoms, features and samples of every case."""

Samples = dict[str, Any]


def _groups(width: int) -> tuple[int, ...]:
    return tuple(min(i // 2, 1) for i in range(width))


# Sets of matrices with so many rows and columns; the first of several stands for the class.
SETS: dict[str, Callable[[int, int], Samples]] = {
    "Box": lambda rows, width: {
        "signed": sets.Box(-0.3, 0.5),
        "unbounded": sets.Box(0.0, np.inf),
        "without zero": sets.Box(0.1, 0.6),
    },
    "CoveredBox": lambda rows, width: {"": sets.CoveredBox(0.05, 2.0)},
    "GroupBall": lambda rows, width: {
        "p=2": sets.GroupBall(1.3, _groups(width), 2),
        "p=inf": sets.GroupBall(1.3, _groups(width), np.inf),
        "of rows": sets.GroupBall(1.3, _groups(rows), 2, of_rows=True),
    },
    "L1Ball": lambda rows, width: {"": sets.L1Ball(1.2)},
    "L2Ball": lambda rows, width: {"": sets.L2Ball(0.8)},
    "NonnegativeElasticNetBall": lambda rows, width: {"": sets.NonnegativeElasticNetBall(0.7, 0.0)},
    "NonnegativeL1Ball": lambda rows, width: {"": sets.NonnegativeL1Ball(2.5)},
    "NonnegativeL2Ball": lambda rows, width: {"": sets.NonnegativeL2Ball(2.0)},
    "NonnegativeOrthant": lambda rows, width: {},  # its name is all there is
    "NuclearBall": lambda rows, width: {"": sets.NuclearBall(1.5)},
    "Reals": lambda rows, width: {"": sets.Reals()},
    "Simplex": lambda rows, width: {"": sets.Simplex(2.0)},
    "SpectralBall": lambda rows, width: {"": sets.SpectralBall(1.0)},
}

PENALTIES: dict[str, Callable[[int, int], Samples]] = {
    "L1": lambda rows, width: {},  # a number is one
    "ElasticNet": lambda rows, width: {"": penalties.ElasticNet(0.05, 0.1)},
    "Tikhonov": lambda rows, width: {"": penalties.Tikhonov(0.1)},
    "GroupLasso": lambda rows, width: {"": penalties.GroupLasso(0.1, _groups(width))},
    "GroupNorm": lambda rows, width: {
        "p=2": penalties.GroupNorm(0.1, _groups(width), 2),
        "p=inf": penalties.GroupNorm(0.1, _groups(width), np.inf),
        "of rows": penalties.GroupNorm(0.05, _groups(rows), 2, of_rows=True),
    },
    "SparseGroupLasso": lambda rows, width: {
        "": penalties.SparseGroupLasso(0.1, 0.5, _groups(width))
    },
}


def _pearson(u: Any) -> Any:
    return (u - 1) ** 2


def _pearson_slope(u: Any) -> Any:
    return 2 * (u - 1)


def _burg(u: Any) -> Any:
    return -np.log(u)


def _burg_slope(u: Any) -> Any:
    return -1 / u


def _burg_bend(u: Any) -> Any:
    return 1 / u**2


@dataclass(frozen=True)
class Cauchy(SeparableLoss):
    """``Σ log(1 + e²/s²)``: a loss as users write their own, and not convex."""

    scale: float = 0.5

    @property
    def convex(self) -> bool:
        """No."""
        return False

    @property
    def convex_surrogate(self) -> Any:
        """Huber, as robust."""
        return losses.Huber(self.scale)

    def entry_value(self, x: Any, y: Any) -> Any:
        """``log(1 + e²/s²)``."""
        return np.log1p(((x - y) / self.scale) ** 2)

    def entry_gradient(self, x: Any, y: Any) -> Any:
        """``2(y − x)/(s² + e²)``."""
        return 2 * (y - x) / (self.scale**2 + (y - x) ** 2)


@statements.losses.register
def _(loss: Cauchy, X: Any, Y: Any, W: Any) -> Any:
    return statements.entries(cp.log(1 + cp.square((X - Y) / loss.scale)), W)


@statements.losses.register
def _(loss: losses.Csiszar, X: Any, Y: Any, W: Any) -> Any:
    """Pearson's: ``(x − y)²/y = x²/y − 2x + y``."""
    floor = statements.floors(X, W)
    x, y = X + floor, Y + floor
    return statements.entries(cp.multiply(x**2, cp.inv_pos(y)) - 2 * x + y, W)


@statements.losses.register
def _(loss: losses.Bregman, X: Any, Y: Any, W: Any) -> Any:
    """That of Itakura and Saito, whose generator is Burg's entropy."""
    floor = statements.floors(X, W)
    x, y = X + floor, Y + floor
    return statements.entries(cp.multiply(x, cp.inv_pos(y)) + cp.log(y) - np.log(x) - 1, W)


MATRIX = np.eye(F) + 0.3 * np.diag(np.ones(F - 1), 1) + 0.3 * np.diag(np.ones(F - 1), -1)

# What the names of the registry that need a parameter get.
DIVERGENCE_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "alpha": (0.7, 2.0, -0.5),
    "beta": (1.5, 0.5, 2.5),
    "mahalanobis": (MATRIX,),
    "huber": (None, 0.3),
}

LOSSES: dict[str, Callable[[], Samples]] = {
    # These have names in the registry.
    "AlphaDivergence": dict,
    "BetaDivergence": dict,
    "Hellinger": dict,
    "Huber": dict,
    "ItakuraSaito": dict,
    "KullbackLeibler": dict,
    "L2Distance": dict,
    "Mahalanobis": dict,
    "SquaredL2": dict,
    "L1Distance": lambda: {"zeros": losses.L1Distance(0.3)},
    "Bregman": lambda: {"": losses.Bregman(_burg, _burg_slope, _burg_bend)},
    "Csiszar": lambda: {"": losses.Csiszar(_pearson, _pearson_slope)},
    "ElasticDistance": lambda: {"": losses.ElasticDistance(0.5)},
    "Envelope": lambda: {
        "groups": losses.Envelope(penalties.GroupLasso(0.2, _groups(F)), sets.Box(-1.0, 1.0))
    },
    "SmoothedL1": lambda: {"": losses.SmoothedL1(0.1)},
    "SeparableLoss": lambda: {"Cauchy": Cauchy()},  # one of a user's own
}


def of(module: Any, kind: type, table: dict[str, Any], *arguments: int) -> Samples:
    """Samples of every part that a module exports, by label; one without an entry is an error."""
    found: Samples = {}
    for name in module.__all__:
        part = getattr(module, name)
        if part is kind or (isinstance(part, type) and not issubclass(part, kind)):
            continue
        if name not in table:
            if getattr(part, "__abstractmethods__", None):
                continue
            raise LookupError(
                f"{module.__name__}.{name} has no sample in tests/pairs/samples.py; give it one, "
                "so that all pairs of it are tested."
            )
        samples = table[name](*arguments)
        found |= {f"{name}:{label}" if label else name: s for label, s in samples.items()}
    return found
