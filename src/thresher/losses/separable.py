"""Losses that are sums over entries: a new one needs its value and its slope at one entry."""

from abc import abstractmethod
from typing import Any

import numpy as np

from thresher.kernels.floors import FLOOR
from thresher.linalg import Array
from thresher.losses.base import Loss

_ROOT_STEPS = 60


class SeparableLoss(Loss):
    """``Σ_f w_f d(x_f, y_f)``.

    Subclasses define d and its slope in y, for arrays of any shape within the domain. This class
    handles weights, missing values and floors. Everything else has a default.
    """

    has_entry_curvature = True
    exchangeable_features = True  # d is the same for all features

    @property
    def needs_positive_data(self) -> bool:
        """Whether d needs ``x > 0``."""
        return False

    @abstractmethod
    def entry_value(self, x: Array, y: Array) -> Array:
        """``d(x, y)``."""

    @abstractmethod
    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``∂d/∂y``."""

    def entry_curvature(self, x: Array, y: Array) -> Array:
        """``∂²d/∂y²``, by default from a difference of slopes; it only speeds up `entry_prox`."""
        h = np.sqrt(np.finfo(y.dtype).eps) * np.maximum(np.abs(y), np.finfo(y.dtype).tiny)
        curvature: Array = (self.entry_gradient(x, y + h) - self.entry_gradient(x, y)) / h
        return curvature

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Nonnegative parts ``∇⁺, ∇⁻`` of the slope."""
        gradient = self.entry_gradient(x, y)
        return np.maximum(gradient, 0), np.maximum(-gradient, 0)

    def entry_irls_weights(self, x: Array, y: Array) -> Array:
        """``|∂d/∂y|/|x − y|``; zero where the residual is zero."""
        e, slope = np.abs(x - y), np.abs(self.entry_gradient(x, y))
        return np.where(e > 0, slope / np.where(e > 0, e, 1), 0)

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """``argmin over y of t·d(x, y) + (y − v)²/2``, by default the root of its slope.

        For convex d that falls left of x and rises right of it, the root lies between v and x.
        """
        with np.errstate(all="ignore"):  # slopes may be infinite at the ends
            return _root(self, v, x, t)

    # ----------------------------------------------------------- from the above

    def floor(self, X: Array, weight: Array | None = None) -> Array:
        """The number to add to entries that must be positive, shape (n, F) or (n, 1).

        Zeros need no floor where they cost a multiple of the prediction.
        """
        if not (self.needs_positive_prediction or self.needs_positive_data):
            return np.zeros((len(X), 1), dtype=X.dtype)
        seen = X if weight is None else np.where(weight > 0, X, 0)
        largest: Array = np.maximum.reduce(seen, 1, keepdims=True, initial=0)
        # A row whose squares underflow has no scale of its own: its floor is that of the unit one,
        # so that predictions that are small compared with other samples cost it nothing.
        least = np.sqrt(np.finfo(X.dtype).tiny)
        floor = np.where(largest > least, largest, 1).astype(X.dtype, copy=False)
        floor = floor * X.dtype.type(FLOOR)
        return floor if self.zero_slope is None else floor * (X > 0)

    def within(self, X: Array, Y: Array, weight: Array | None) -> tuple[Array, Array]:
        """Data and predictions, moved into the domain of d."""
        floor = self.floor(X, weight)
        x = X + floor if self.needs_positive_data else X
        y = np.maximum(Y, 0) + floor if self.needs_positive_prediction else Y
        return x, y

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``Σ w d`` of every row."""
        values = self.entry_value(*self.within(X, Y, weight))
        total: Array = _weighted(values, weight).sum(axis=1, dtype=X.dtype)
        return total

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``w ∂d/∂y``."""
        return _weighted(self.entry_gradient(*self.within(X, Y, weight)), weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``w ∇⁺, w ∇⁻``."""
        positive, negative = self.entry_split(*self.within(X, Y, weight))
        return _weighted(positive, weight), _weighted(negative, weight)

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """Entry by entry, with the step times the weight; where that is zero, the entry stays."""
        floor = self.floor(X, weight)
        x = X + floor if self.needs_positive_data else X
        t: Any = np.asarray(step, dtype=X.dtype)
        t = np.broadcast_to(t, X.shape) if weight is None else t * weight
        Y = self.entry_prox(V + floor, x, t) - floor
        return Y if weight is None else np.where(weight > 0, Y, V)


def _weighted(values: Array, weight: Array | None) -> Array:
    # Missing entries may hold NaN or infinities: replace their values instead of multiplying by 0.
    return values if weight is None else np.where(weight > 0, values * weight, 0)


def _root(loss: SeparableLoss, v: Array, x: Array, t: Array) -> Array:
    """Solve ``y − v + t ∂d(x, y) = 0`` between v and x by Newton steps that stay in a bracket."""
    low, high = np.minimum(v, x), np.maximum(v, x)
    if loss.needs_positive_prediction:
        low = np.maximum(low, x.dtype.type(FLOOR / 10) * high)
    # Where data are zero, the slope may be positive down to the least prediction.
    high = np.where(low - v + t * loss.entry_gradient(x, low) >= 0, low, high)
    y: Array = high.copy()
    for _ in range(_ROOT_STEPS):
        slope = y - v + t * loss.entry_gradient(x, y)
        right = slope >= 0
        low, high = np.where(right, low, y), np.where(right, y, high)
        curvature = 1 + t * loss.entry_curvature(x, y)
        step = slope / np.where(curvature > 0, curvature, 1)
        new = y - step
        # Outside the bracket halve it, in the logarithm where it spans decades, as next to zero.
        wide = (low > 0) & (high > 4 * low)
        middle = np.where(wide, np.sqrt(np.abs(low * high)), (low + high) / 2)
        new = np.where((new >= low) & (new <= high) & np.isfinite(new), new, middle)
        converged = np.abs(new - y) <= 16 * np.finfo(x.dtype).eps * np.abs(new)
        y = new
        if converged.all():
            break
    return np.where(t > 0, y, v).astype(x.dtype)
