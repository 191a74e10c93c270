"""The interface of penalties."""

from abc import ABC, abstractmethod

from thresher.linalg import Array
from thresher.sets import Box

LARGEST_WEIGHT = 1e30
"""Limit of a weight in the unit of the data, so that its products with float32 numbers are finite.

Heuristic. A weight of this size makes all that it penalises zero, unless samples are 1e30 times as
large as is typical; a limit 1e4 times as large would overflow in sums."""


class Penalty(ABC):
    """A convex function φ of a row, with its proximal map.

    Parameters are weights against the loss of *one* sample, so they mean the same for any number
    of samples and any batch size.
    """

    @abstractmethod
    def value(self, C: Array) -> Array:
        """``φ(c)`` of every row, shape (n,)."""

    @abstractmethod
    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """``argmin over c in box of ½‖c − v‖² + step·φ(c)`` of every row.

        ``step`` is a number, one number per row (shape (n, 1)) or, for penalties that act on
        every entry by itself, one per entry.
        """

    def residual(self, V: Array, step: float | Array, box: Box) -> Array:
        """``v − prox(v)`` of every row, with the relative precision of that difference.

        Penalties whose weight may be far below the rounding error of v compute it directly.
        """
        difference: Array = V - self.prox(V, step, box)
        return difference

    @abstractmethod
    def scaled(self, factor: float) -> "Penalty":
        """``factor·φ`` as a penalty."""

    def in_unit(self, unit: float, loss_unit: float) -> "Penalty | None":
        """``φ(unit·c)/loss_unit`` as a penalty; None if it cannot be expressed."""
        return None

    @property
    def weights(self) -> tuple[float, float] | None:
        """The l1 and l2 of a penalty ``l1·‖c‖₁ + l2/2·‖c‖²``; None for other penalties."""
        return None

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """Group numbers of ``count`` rows (or columns), see `ConvexSet.coupling_groups`."""
        return None

    @property
    def couples_rows(self) -> bool:
        """Whether the penalty couples rows."""
        return False
