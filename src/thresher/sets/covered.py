"""The dictionary set of paper E: bounded entries, and a least sum of every column."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array
from thresher.sets.base import ConvexSet
from thresher.sets.simplex import project_rows_on_simplex


@dataclass(frozen=True)
class CoveredBox(ConvexSet):
    """Entries in [0, ``upper``], and every column sums to at least ``least``: C of paper E, (4).

    The projection clips; a column whose *clipped* entries sum to too little is projected, from
    where it was, on the simplex of radius ``least``. ``as_printed`` is the letter of the
    supplement, which is no projection: it looks at columns before they are clipped, and brings
    those that are too small to the simplex of radius one (errata E.2).
    """

    least: float = 1e-8
    upper: float = 1.0
    as_printed: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.least < self.upper:
            raise ValueError(
                f"A covered box needs 0 < least < upper, got least={self.least} and "
                f"upper={self.upper}."
            )

    def in_unit(self, unit: float) -> "CoveredBox":
        """Both bounds divided by ``unit``."""
        return CoveredBox(self.least / unit, self.upper / unit, self.as_printed)

    @property
    def nonnegative(self) -> bool:
        """Yes."""
        return True

    @property
    def contains_zero(self) -> bool:
        """No: columns have a positive sum."""
        return False

    @property
    def couples_rows(self) -> bool:
        """Yes, by the sums of columns."""
        return True

    def project(self, V: Array) -> Array:
        """Clip, then lift the columns that are too small."""
        P = np.clip(V, 0, self.upper)
        bare = (np.abs(V) if self.as_printed else P).sum(axis=0) < self.least
        if bare.any():
            radius = 1.0 if self.as_printed else self.least
            P[:, bare] = project_rows_on_simplex(V[:, bare].T, radius).T
        return P
