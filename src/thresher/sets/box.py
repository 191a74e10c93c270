"""Bounds on every entry: the whole space, the nonnegative orthant, boxes, covered boxes."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.sets.balls import project_rows_on_simplex
from thresher.sets.base import ConvexSet, OracleSet


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
                f"A linear function has no minimum on {self!r}, which is unbounded; give Box two "
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


@dataclass(frozen=True)
class CoveredBox(ConvexSet):
    """Entries in [0, ``upper``], and column sums of at least ``least``: C of paper E, (4).

    The projection clips. A column whose *clipped* entries sum to less than ``least`` is projected
    on the simplex of that radius instead (errata E.2).
    """

    least: float = 1e-8
    upper: float = 1.0

    nonnegative = True
    contains_zero = False  # columns have a positive sum
    couples_rows = True  # by the sums of columns

    def __post_init__(self) -> None:
        if not 0 < self.least < self.upper:
            raise ValueError(
                f"A covered box needs 0 < least < upper, got least={self.least} and "
                f"upper={self.upper}."
            )

    def in_unit(self, unit: float) -> "CoveredBox":
        """Both bounds divided by ``unit``."""
        return replace(self, least=self.least / unit, upper=self.upper / unit)

    def project(self, V: Array) -> Array:
        """Clip, and project columns with too small a sum on the simplex."""
        P = np.clip(V, 0, self.upper)
        small = P.sum(axis=0) < self.least
        if small.any():
            P[:, small] = project_rows_on_simplex(V[:, small].T, self.least).T
        return P
