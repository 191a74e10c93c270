"""The squared Euclidean loss."""

from dataclasses import dataclass

from thresher.linalg import Array
from thresher.losses.separable import SeparableLoss

_NEVER = 1e30
"""The weight of an outlier that no residual reaches, in float32 as in float64."""


@dataclass(frozen=True)
class SquaredL2(SeparableLoss):
    """``½‖x − y‖²``, the β-divergence of β = 2."""

    degree = 2.0
    curvature = 1.0
    metric = 1.0  # the identity
    entry_constants = (
        _NEVER,
        0.0,
        float("-inf"),
        float("inf"),
    )  # no outlier pays
    stays_sparse = True  # through ``D Dᵀ``: zeros cost the square of the prediction

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
