"""The squared Euclidean loss."""

from dataclasses import dataclass

from thresher.linalg import Array
from thresher.losses.separable import SeparableLoss


@dataclass(frozen=True)
class SquaredL2(SeparableLoss):
    """``½‖x − y‖²``: no entry is an outlier. The β-divergence of β = 2."""

    @property
    def degree(self) -> float:
        """Two."""
        return 2.0

    @property
    def curvature(self) -> float:
        """One."""
        return 1.0

    def entry_value(self, x: Array, y: Array) -> Array:
        """``½(x − y)²``."""
        e = x - y
        return e * e / 2

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``y − x``."""
        return y - x

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``y`` and ``x``."""
        return y, x

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """``(v + t x)/(1 + t)``."""
        return (v + t * x) / (1 + t)
