"""The ℓ1 distance with its kinks rounded off: what the dictionary step of ℓ1 works with."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array
from thresher.losses.separable import SeparableLoss


@dataclass(frozen=True)
class SmoothedL1(SeparableLoss):
    """``|x − y|``, quadratic where it is below ``width``; where data are zero, ``y`` itself.

    The dictionary of the ℓ1 distance has no small sufficient statistic: subgradients jump and have
    no curvature. Rounded off at the scale of the noise they have one, and add up. Zeros stay
    linear, since predictions cannot be negative, so that sparse rows stay sparse.
    """

    width: float

    @property
    def zero_slope(self) -> float:
        """One."""
        return 1.0

    def entry_value(self, x: Array, y: Array) -> Array:
        """``e²/(2·width) + width/2`` inside, ``|e|`` outside."""
        e = np.abs(x - y)
        inside = e * e / (2 * self.width) + self.width / 2
        return np.where((e < self.width) & (x > 0), inside, e)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``clip((y − x)/width, −1, 1)``, and one where data are zero."""
        slope = np.clip((y - x) / y.dtype.type(self.width), -1, 1)
        return np.where(x > 0, slope, y.dtype.type(1))

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``1`` and ``1 − ∇``."""
        return np.ones_like(y), 1 - self.entry_gradient(x, y)
