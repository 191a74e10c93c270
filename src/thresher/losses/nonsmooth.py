"""Nonsmooth points of losses: where the slope jumps, and by how much."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array


def weigh_zeros(x: Array, values: Array, weight: float) -> Array:
    """The values, times the weight where data are zero."""
    return values if weight == 1 else np.where(x == 0, values * values.dtype.type(weight), values)


@dataclass(frozen=True)
class NonsmoothPoints:
    """Nonsmooth points of ``Σ b|x − y| + b·square/2 (x − y)²``: the slope jumps by 2b at ``y = x``.

    b is the weight of the entry, times ``zero_weight`` where data are exactly zero.
    """

    zero_weight: float = 1.0
    square: float = 0.0

    def bounds(self, X: Array, weight: Array | None = None) -> Array | None:
        """The b of every entry, shape (n, F); None if all are one."""
        if weight is None and self.zero_weight == 1:
            return None
        return weigh_zeros(X, np.ones_like(X) if weight is None else weight, self.zero_weight)
