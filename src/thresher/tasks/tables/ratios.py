"""Ratios of readings to units, for glitches of any size: squares of them do not overflow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e300
"""Readings beyond are no measurements: sums and differences of two would overflow."""
_FARTHEST = 1e150  # units; its square is a double


def clipped(errors: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """Errors of at most 1e150 units."""
    limit = _FARTHEST * np.minimum(unit, _FARTHEST)
    limit = np.where(unit < _FARTHEST, limit, np.inf)
    return np.asarray(np.clip(errors, -limit, limit))


def ratio(errors: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """Errors in units, of which there are at most 1e150."""
    return np.asarray(clipped(errors, unit) / unit)
