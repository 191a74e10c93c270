"""The squared Euclidean loss."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss


@dataclass(frozen=True)
class SquaredL2(Loss):
    """``½‖x − y‖²``: no entry is an outlier."""

    @property
    def curvature(self) -> float:
        """One."""
        return 1.0

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``½ Σ w e²`` of every row."""
        E = X - Y
        total: Array = np.einsum("nf,nf->n", E, E if weight is None else weight * E) / 2
        return total

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``−w e``."""
        return Y - X if weight is None else weight * (Y - X)

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``(v + t x)/(1 + t)``, t the step times the weight."""
        t = step if weight is None else step * weight
        return (V + t * X) / (1 + t)

    def outliers(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """Zero."""
        return np.zeros_like(X)
