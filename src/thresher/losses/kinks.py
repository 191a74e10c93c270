"""Where the slopes of a loss jump, and by how much."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array


def weigh_zeros(x: Array, values: Array, weight: float) -> Array:
    """The values, times the weight where data are zero."""
    return values if weight == 1 else np.where(x == 0, values * values.dtype.type(weight), values)


@dataclass(frozen=True)
class Kinks:
    """A loss that is ``Σ b|x − y| + b·square/2 (x − y)²``: its slope jumps where data are met.

    b is the weight of the entry, times ``zero_weight`` where data are exactly zero.
    """

    zero_weight: float = 1.0
    square: float = 0.0

    def bounds(self, X: Array, weight: Array | None = None) -> Array | None:
        """B of every entry, shape (n, F); None if all are one."""
        if weight is None and self.zero_weight == 1:
            return None
        return weigh_zeros(X, np.ones_like(X) if weight is None else weight, self.zero_weight)
