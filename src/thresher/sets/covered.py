"""The dictionary set of paper E: bounded entries, and a minimum sum of every column."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.sets.base import ConvexSet
from thresher.sets.simplex import project_rows_on_simplex


@dataclass(frozen=True)
class CoveredBox(ConvexSet):
    """Entries in [0, ``upper``], and every column sums to at least ``least``: C of paper E, (4).

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
        """Clip, and project the columns whose sum is too small."""
        P = np.clip(V, 0, self.upper)
        small = P.sum(axis=0) < self.least
        if small.any():
            P[:, small] = project_rows_on_simplex(V[:, small].T, self.least).T
        return P
