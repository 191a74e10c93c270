"""The grid that data lie on: sensors report whole numbers, tenths, halves of a tenth."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array


class Grid(NamedTuple):
    """Multiples of ``numerator / denominator``; a numerator of zero is no grid.

    Two whole numbers, so that ``k · numerator / denominator`` is the double nearest to the decimal
    fraction that the sensor meant.
    """

    numerator: float
    denominator: float

    @property
    def spacing(self) -> float:
        """Zero without a grid."""
        return self.numerator / self.denominator


NO_GRID = Grid(0.0, 1.0)

GRIDS = [
    NO_GRID,
    *(
        Grid(float(m * 10 ** max(e, 0)), float(10 ** max(-e, 0)))
        for e in range(-6, 5)
        for m in (1, 2, 5)
    ),
]
"""By the number that names them in packets, finest first."""


WHOLE = GRIDS.index(Grid(1.0, 1.0))
"""The grid of whole numbers."""


def grid_of(values: Array) -> int:
    """The coarsest grid that all values lie on, to their own precision; 0 if there is none."""
    if values.size == 0:
        return 0
    precision = 4 * float(np.finfo(values.dtype).eps)
    largest = float(np.abs(values).max())
    if largest == 0:
        return WHOLE
    for index in range(len(GRIDS) - 1, 0, -1):
        grid = GRIDS[index]
        if precision * largest > 0.01 * grid.spacing:
            break  # any value would do
        exact = np.rint(values / grid.spacing) * grid.numerator / grid.denominator
        if (np.abs(values - exact) <= precision * np.abs(values)).all():
            return index
    return 0


def gives_back(values: Array, index: int) -> bool:
    """Whether a grid has the very values, to their last bit, and not just numbers next to them."""
    grid = GRIDS[index]
    if not grid.numerator:
        return values.size == 0
    points = np.rint(values / grid.spacing) * grid.numerator / grid.denominator
    return bool(same_bits(points, values).all())


def same_bits(a: Array, b: Array) -> NDArray[np.bool_]:
    """Where finite values are equal, and zeros have the same sign."""
    same: NDArray[np.bool_] = (a == b) & (np.signbit(a) == np.signbit(b))
    return same


def finest_common(a: int, b: int) -> int:
    """The coarsest grid that has the points of two grids; 0 if there is none."""
    for index in range(min(a, b), 0, -1):
        ratios = [GRIDS[other].spacing / GRIDS[index].spacing for other in (a, b)]
        if all(abs(ratio - round(ratio)) < 1e-9 * ratio for ratio in ratios):
            return index
    return 0
