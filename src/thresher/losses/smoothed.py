"""A smoothed ℓ1 distance, for dictionary updates under nonsmooth losses."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss
from thresher.losses.nonsmooth import weigh_zeros
from thresher.losses.separable import SeparableLoss


@dataclass(frozen=True)
class SmoothedL1(SeparableLoss):
    """``|e|``, quadratic where it is below ``width``, plus ``square/2 e²``; ``e = x − y``.

    Where data are zero, the first part is ``y`` itself.

    The ℓ1 distance has no sufficient statistic of fixed size for the dictionary: its subgradients
    jump and have no curvature. Smoothed at the scale of the noise it has a quadratic majoriser,
    whose coefficients add up. Where data are zero the loss stays linear, since predictions are
    nonnegative, so that sparse rows stay sparse.
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
        """The width is a length, and the weight of squares one over a length."""
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

        Exact codes fit some entries up to rounding, where the quotient itself is undefined.
        """
        weights = np.where(x > 0, 1 / np.maximum(np.abs(x - y), y.dtype.type(self.width)), 0)
        return weigh_zeros(x, weights + y.dtype.type(self.square), self.zero_weight)

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``1 + square·y`` and the difference to the slope; the weight of zeros and 0 at zeros."""
        positive = weigh_zeros(x, 1 + y.dtype.type(self.square) * y, self.zero_weight)
        return positive, positive - self.entry_gradient(x, y)
