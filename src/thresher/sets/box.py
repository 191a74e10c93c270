"""Sets with bounds on every entry: the whole space, the nonnegative orthant, boxes."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.sets.base import OracleSet


@dataclass(frozen=True)
class Box(OracleSet):
    """Entries between ``lower`` and ``upper``, either of which may be infinite.

    The projection clips: ``min(max(v, lower), upper)``.
    """

    lower: float = 0.0
    upper: float = 1.0

    fully_declared = True

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(
                f"A box needs lower < upper, got lower={self.lower} and upper={self.upper}."
            )

    def in_unit(self, unit: float) -> "Box":
        """Both bounds divided by ``unit``."""
        return replace(self, lower=self.lower / unit, upper=self.upper / unit)

    @property
    def bounds(self) -> tuple[float, float]:
        """``lower, upper``."""
        return self.lower, self.upper

    @property
    def nonnegative(self) -> bool:
        """Whether the lower bound is at least zero."""
        return self.lower >= 0

    @property
    def contains_zero(self) -> bool:
        """Whether zero lies between the bounds."""
        return self.lower <= 0 <= self.upper

    def project(self, V: Array) -> Array:
        """Clip every entry to the bounds."""
        if self.lower == -np.inf and self.upper == np.inf:
            return V.copy()
        return V.clip(self.lower, self.upper)

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """The lower bound where G is positive, else the upper; ``Box(−r, r)`` is the ℓ∞ ball."""
        if not np.isfinite(self.lower + self.upper):
            raise ValueError(
                f"A linear function has no minimum on {self!r}, which is not bounded; give Box two "
                "finite bounds."
            )
        return np.where(G > 0, G.dtype.type(self.lower), G.dtype.type(self.upper))


@dataclass(frozen=True)
class NonnegativeOrthant(Box):
    """All nonnegative matrices, set C₁ of paper A, section VI-A."""

    lower: float = 0.0
    upper: float = np.inf

    def project(self, V: Array) -> Array:
        """Set negative entries to zero."""
        return np.maximum(V, 0)


@dataclass(frozen=True)
class Reals(Box):
    """No constraint at all."""

    lower: float = -np.inf
    upper: float = np.inf

    def project(self, V: Array) -> Array:
        """Return a copy."""
        return V.copy()
