"""The probability simplex."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.sets.base import OracleSet, RowConstraint


def project_rows_on_simplex(V: Array, radius: float) -> Array:
    """Project every row onto ``{v ≥ 0, Σv = radius}``.

    The projection is ``[v − θ]₊``. With the entries in falling order, entry j stays positive if
    and only if it exceeds the threshold ``(Σ_{i≤j} v_i − radius)/j`` that the first j entries ask
    for; θ is the threshold of the last such j.

    Adding a number to a row changes nothing, so its largest entry is taken off first: sums of
    entries far larger than the radius would lose it in rounding.
    """
    V = V - V.max(axis=1, keepdims=True)
    falling = -np.sort(-V, axis=1)
    counts = np.arange(1, V.shape[1] + 1, dtype=V.dtype)
    thresholds = (np.cumsum(falling, axis=1) - radius) / counts
    last = np.count_nonzero(falling > thresholds, axis=1) - 1
    theta = np.take_along_axis(thresholds, np.maximum(last, 0)[:, None], axis=1)
    return np.maximum(V - theta, 0)


@dataclass(frozen=True)
class Simplex(OracleSet):
    """Nonnegative rows that sum to ``radius``, set C₂ of paper A, section VI-A.

    As the set of codes, it makes them shares that add up to one, as for spectra.
    """

    radius: float = 1.0

    fully_declared = True
    nonnegative = True
    contains_zero = False  # rows sum to the radius

    def __post_init__(self) -> None:
        if not 0 < self.radius < np.inf:
            raise ValueError(
                f"The radius of a simplex must be positive and finite, got {self.radius}."
            )

    def in_unit(self, unit: float) -> "Simplex":
        """The radius divided by ``unit``."""
        return replace(self, radius=self.radius / unit)

    @property
    def row_constraint(self) -> RowConstraint:
        """An equality on sums."""
        return RowConstraint(1 / self.radius, 0.0, equality=True)

    def project(self, V: Array) -> Array:
        """Subtract the one threshold per row that makes the positive part sum to the radius."""
        return project_rows_on_simplex(V, self.radius)

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """All weight of a row on its smallest entry of G."""
        S = np.zeros_like(G)
        S[np.arange(len(G)), G.argmin(axis=1)] = self.radius
        return S
