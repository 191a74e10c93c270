"""Squared losses: the Euclidean and the Mahalanobis distance."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss, SeparableLoss

_NO_OUTLIERS = 1e30
"""An outlier weight above all residuals, in float32 and float64."""


@dataclass(frozen=True)
class SquaredL2(SeparableLoss):
    """``½‖x − y‖²``, the β-divergence of β = 2."""

    degree = 2.0
    curvature = 1.0
    metric = 1.0  # the identity
    entry_constants = (
        _NO_OUTLIERS,
        0.0,
        float("-inf"),
        float("inf"),
    )  # outliers are zero
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


@dataclass(frozen=True, eq=False)
class Mahalanobis(Loss):
    """``½ (x − y) M (x − y)ᵀ`` for a positive definite M, such as an inverse covariance."""

    matrix: Array

    couples_features = True  # through M
    degree = 2.0

    def __post_init__(self) -> None:
        try:
            M = np.array(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("The matrix must be an array of real numbers.") from None
        if M.ndim != 2 or M.shape[0] != M.shape[1] or not np.isfinite(M).all():
            raise ValueError(f"The matrix must be square and finite; got the shape {M.shape}.")
        size = float(np.abs(M).max(initial=0))
        if not np.allclose(M, M.T, rtol=1e-8, atol=1e-10 * size):
            raise ValueError("The matrix must be symmetric; use (M + M.T)/2.")
        M = (M + M.T) / 2
        if np.linalg.eigvalsh(M)[0] <= 1e-12 * size:
            raise ValueError(
                "The matrix must be positive definite; add a multiple of the identity."
            )
        object.__setattr__(self, "matrix", M)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    @cached_property
    def root(self) -> Array:
        """R with ``R Rᵀ = M``: the loss is half the square of ``(x − y) R``."""
        values, vectors = self._spectrum
        root: Array = vectors * np.sqrt(values)
        return root

    @property
    def metric(self) -> Array:
        """M."""
        return self.matrix

    @property
    def curvature(self) -> float:
        """``‖M‖₂``."""
        return float(self._spectrum[0][-1])

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if the matrix has another number of features."""
        if n_features != len(self.matrix):
            raise ValueError(
                f"The matrix of the Mahalanobis distance is for {len(self.matrix)} features; the "
                f"samples have {n_features}."
            )

    def check_weight(self, weight: Array | None) -> None:
        """Raise a ValueError: the loss couples the entries of a sample."""
        if weight is not None:
            raise ValueError(
                "The Mahalanobis distance couples the entries of a sample, so it takes neither "
                "missing values nor entry weights; impute first, or use divergence='squared_l2'."
            )

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``½ e M eᵀ`` of every row."""
        self.check_weight(weight)
        E = (X - Y) @ self.root.astype(X.dtype)
        total: Array = np.einsum("nf,nf->n", E, E) / 2
        return total

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``−e M``."""
        self.check_weight(weight)
        slope: Array = (Y - X) @ self.matrix.astype(X.dtype)
        return slope

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``y M⁺ + x M⁻`` and ``x M⁺ + y M⁻``, M⁺ and M⁻ the positive and negative parts of M."""
        self.check_weight(weight)
        above, below = np.maximum(self.matrix, 0), np.maximum(-self.matrix, 0)
        above, below = above.astype(X.dtype), below.astype(X.dtype)
        return Y @ above + X @ below, X @ above + Y @ below

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``v + (x − v) tM(1 + tM)⁻¹``, in the eigenbasis of M."""
        self.check_weight(weight)
        values, vectors = (part.astype(X.dtype) for part in self._spectrum)
        t = np.asarray(step, dtype=X.dtype) * values
        moved: Array = V + ((X - V) @ vectors * (t / (1 + t))) @ vectors.T
        return moved
