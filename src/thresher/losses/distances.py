"""Distances of linear growth: ℓ1 by entry, also smoothed, and ℓ2 by sample (paper E, Table III)."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss, NonsmoothPoints, SeparableLoss, weigh_zeros
from thresher.losses.squared import SquaredL2

_LEAST_RESIDUAL = 1e-6  # of the row's largest entry
_LEAST_LENGTH = 1e-3
"""Lower bound of a residual, relative to its sample: a zero residual would have infinite weight."""


@dataclass(frozen=True)
class L1Distance(SeparableLoss):
    """``Σ |x − y|``, robust to outliers in up to half of the entries; its slope is a subgradient.

    ``zero_weight`` is the loss of a unit of prediction where data are exactly zero. In sparse data,
    zeros of full weight often outweigh all other entries, so that zero codes are optimal.
    """

    zero_weight: float = 1.0

    smooth = False  # the slope jumps where residuals are zero
    degree = 1.0

    @property
    def nonsmooth_points(self) -> NonsmoothPoints:
        """At every entry."""
        return NonsmoothPoints(self.zero_weight)

    def smoothed(self, width: float) -> Loss:
        """Quadratic near zero."""
        return SmoothedL1(width, self.zero_weight)

    def __post_init__(self) -> None:
        if not 0 <= self.zero_weight < np.inf:
            raise ValueError(
                f"The weight of zeros must be a finite number, 0 or more; got {self.zero_weight}."
            )

    @property
    def zero_slope(self) -> float:
        """The weight of zeros."""
        return self.zero_weight

    def entry_value(self, x: Array, y: Array) -> Array:
        """``|x − y|``."""
        return weigh_zeros(x, np.abs(x - y), self.zero_weight)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``sign(y − x)``, and one where both are zero, since predictions cannot be negative."""
        slope = np.where((x == 0) & (y == 0), 1, np.sign(y - x)).astype(y.dtype)
        return weigh_zeros(x, slope, self.zero_weight)

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``1`` and ``1 − sign(y − x)``: where data are zero, the slope is one."""
        positive = weigh_zeros(x, np.ones_like(y), self.zero_weight)
        return positive, positive - self.entry_gradient(x, y)

    def row_curvatures(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``‖∇‖₁/‖e‖₁``, with ``‖e‖₁`` at least a thousandth of ``‖x‖₁``."""
        return _mean_curvatures(X, Y, self.gradient(X, Y, weight), weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``y/|e|`` and ``x/|e|``: a reweighted square that majorises the loss.

        It is for multiplicative updates. `entry_split` is constant at zeros, as sparse rows
        require; both have the same difference.
        """
        seen = X if weight is None else np.where(weight > 0, X, 0)
        E = np.abs(X - Y) if weight is None else np.abs(np.where(weight > 0, X - Y, 0))
        least = X.dtype.type(_LEAST_RESIDUAL) * np.abs(seen).max(axis=1, keepdims=True, initial=0)
        share = 1 / np.maximum(np.maximum(E, least), np.finfo(X.dtype).tiny)
        whole = weigh_zeros(X, np.ones_like(X), self.zero_weight)
        if weight is not None:
            whole = whole * weight
        share = share * whole
        empty = (X == 0) & (Y == 0)  # both would vanish; the slope there is that of a zero
        return np.where(empty, whole, share * Y), np.where(share > 0, share * X, 0)

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """Move v towards x by t."""
        t = weigh_zeros(x, t, self.zero_weight)
        return v + np.clip(x - v, -t, t)


@dataclass(frozen=True)
class SmoothedL1(SeparableLoss):
    """``|e|``, quadratic below ``width``, plus ``square/2 e²``, with ``e = x − y``.

    Where data are zero, the first term is ``y``.

    The ℓ1 distance has no sufficient statistic of fixed size for the dictionary: its subgradients
    jump and have no curvature. Smoothed at the scale of the noise, it has a quadratic majoriser
    with additive coefficients. Where data are zero, the loss stays linear, as predictions are
    nonnegative; so sparse rows stay sparse.
    """

    width: float
    zero_weight: float = 1.0
    square: float = 0.0

    needs_nonnegative_prediction = True  # where data are zero, it is linear
    degree = 1.0
    defines_irls_weights = True  # ``1/width`` at zero residuals

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise ValueError(f"The smoothing width must be positive; got {self.width}.")
        if not 0 <= self.zero_weight < np.inf:
            raise ValueError(
                f"The weight of zeros must be a finite number, 0 or more; got {self.zero_weight}."
            )

    def in_unit(self, unit: float) -> Loss:
        """The width has the unit of the data, the weight of squares its inverse."""
        return replace(self, width=self.width / unit, square=self.square * unit)

    @property
    def zero_slope(self) -> float | None:
        """The weight of zeros, unless there is a square."""
        return None if self.square else self.zero_weight

    def entry_value(self, x: Array, y: Array) -> Array:
        """``e²/(2·width) + width/2`` inside, ``|e|`` outside."""
        e = np.abs(x - y)
        inside = e * e / (2 * self.width) + self.width / 2
        value = np.where((e < self.width) & (x > 0), inside, e)
        if self.square:
            value = value + y.dtype.type(self.square / 2) * e * e
        return weigh_zeros(x, value, self.zero_weight)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``clip((y − x)/width, −1, 1)``, and the weight of zeros where data are zero."""
        slope = np.clip((y - x) / y.dtype.type(self.width), -1, 1)
        slope = np.where(x > 0, slope, np.where(y < 0, y.dtype.type(-1), y.dtype.type(1)))
        if self.square:
            slope = slope + y.dtype.type(self.square) * (y - x)
        return weigh_zeros(x, slope, self.zero_weight)

    def irls_weights(self, X: Array, Y: Array) -> Array:
        """`entry_irls_weights`."""
        return self.entry_irls_weights(X, Y)

    def entry_irls_weights(self, x: Array, y: Array) -> Array:
        """``|∇|/|e| = 1/max(|e|, width)``, and 0 where data are zero, since the loss is linear.

        Exact codes fit some entries up to rounding, where the quotient is undefined.
        """
        weights = np.where(x > 0, 1 / np.maximum(np.abs(x - y), y.dtype.type(self.width)), 0)
        return weigh_zeros(x, weights + y.dtype.type(self.square), self.zero_weight)

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``1 + square·y`` and the difference to the slope; the weight of zeros and 0 at zeros."""
        positive = weigh_zeros(x, 1 + y.dtype.type(self.square) * y, self.zero_weight)
        return positive, positive - self.entry_gradient(x, y)


@dataclass(frozen=True)
class ElasticDistance(SeparableLoss):
    """``Σ |x − y| + α/2 (x − y)²``, the elastic distance of paper C, (58).

    ``zero_weight`` is that of `L1Distance`.
    """

    square: float = 1.0
    zero_weight: float = 1.0

    smooth = False  # the slope jumps where residuals are zero
    degree = 1.0  # the weight of squares has the inverse unit of the data

    def __post_init__(self) -> None:
        if not 0 < self.square < np.inf:
            raise ValueError(f"The weight of squares must be positive, got {self.square}.")
        L1Distance(self.zero_weight)

    @property
    def nonsmooth_points(self) -> NonsmoothPoints:
        """At every entry; the squares are smooth."""
        return NonsmoothPoints(self.zero_weight, self.square)

    def smoothed(self, width: float) -> Loss:
        """The ℓ1 term, quadratic near zero."""
        return SmoothedL1(width, self.zero_weight, self.square)

    def in_unit(self, unit: float) -> Loss:
        """α has the inverse unit of the data."""
        return replace(self, square=self.square * unit)

    def entry_value(self, x: Array, y: Array) -> Array:
        """``|e| + α/2 e²``."""
        e = np.abs(x - y)
        return weigh_zeros(x, e + y.dtype.type(self.square / 2) * e * e, self.zero_weight)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``sign(y − x) + α(y − x)``."""
        slope = np.sign(y - x) + y.dtype.type(self.square) * (y - x)
        return weigh_zeros(x, slope, self.zero_weight)

    def row_curvatures(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``‖∇‖₁/‖e‖₁``, with ``‖e‖₁`` at least a thousandth of ``‖x‖₁``."""
        return _mean_curvatures(X, Y, self.gradient(X, Y, weight), weight)

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """Shorten the residual by t, then divide it by ``1 + tα``."""
        t = weigh_zeros(x, t, self.zero_weight)
        e = v - x
        return x + (e - np.clip(e, -t, t)) / (1 + t * v.dtype.type(self.square))


@dataclass(frozen=True)
class L2Distance(Loss):
    """``‖x − y‖₂`` of a sample, robust to outlying samples.

    Without a penalty it has the codes of the squared loss; in dictionary updates, samples have the
    weight ``1/‖x − y‖`` (errata E.6).
    """

    degree = 1.0

    @property
    def equivalent_for_codes(self) -> Loss:
        """The squared loss: the distance is an increasing function of it."""
        return SquaredL2()

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``(Σ w e²)^½``."""
        return _length(X - Y, weight)[:, 0]

    def row_curvatures(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``1/‖e‖`` (errata E.6), with ``‖e‖`` at least a thousandth of ``‖x‖``."""
        size = self.value(X, np.zeros_like(X), weight)
        length = np.maximum(self.value(X, Y, weight), X.dtype.type(_LEAST_LENGTH) * size)
        return 1 / np.where(length > 0, length, 1)

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``−w e/‖e‖``, and zero at ``e = 0``."""
        E = Y - X if weight is None else np.where(weight > 0, Y - X, 0)
        length = _length(E, weight)
        unit = E / np.where(length > 0, length, 1)
        return unit if weight is None else unit * weight

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``w y/‖e‖`` and ``w x/‖e‖``: a reweighted square."""
        length = _length(X - Y, weight)
        least = np.finfo(X.dtype).eps * _length(X, weight)
        w = np.ones_like(X) if weight is None else weight
        w = w / np.maximum(np.maximum(length, least), np.finfo(X.dtype).tiny)
        return w * Y, np.where(w > 0, w * X, 0)

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """Shorten the residual by the step; with weights, by the root of a scalar equation."""
        E = V - X if weight is None else np.where(weight > 0, V - X, 0)
        t = np.broadcast_to(np.asarray(step, dtype=X.dtype), (len(X), 1))
        w = np.ones_like(X) if weight is None else weight
        # y − x = e/(1 + t w/s), where s = ‖y − x‖ solves Σ w e²/(s + t w)² = 1, or s = 0.
        energy = w * E * E
        low: Array = np.zeros_like(t)
        high: Array = _length(E, weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(0 if weight is None else 60):
                s: Array = (low + high) / 2
                above = np.where(w > 0, energy / (s + t * w) ** 2, 0).sum(1, keepdims=True) > 1
                low, high = np.where(above, s, low), np.where(above, high, s)
        length = np.maximum(high - t, 0) if weight is None else high
        kept = np.where(length > 0, length / np.where(length > 0, length + t * w, 1), 0)
        return np.where(w > 0, X + E * kept, V).astype(X.dtype)


def _mean_curvatures(X: Array, Y: Array, gradient: Array, weight: Array | None) -> Array:
    """The curvature of a square tangent to the loss of each row at its mean residual."""
    seen = np.ones_like(X) if weight is None else (weight > 0).astype(X.dtype)
    size, residual = (np.abs(np.where(seen > 0, E, 0)).sum(axis=1) for E in (X, X - Y))
    residual = np.maximum(residual, X.dtype.type(_LEAST_LENGTH) * size)
    curvatures: Array = np.abs(gradient).sum(axis=1) / np.where(residual > 0, residual, 1)
    return curvatures


def _length(E: Array, weight: Array | None) -> Array:
    energy = E * E if weight is None else np.where(weight > 0, weight * E * E, 0)
    length: Array = np.sqrt(energy.sum(axis=1, keepdims=True))
    return length
