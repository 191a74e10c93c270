"""Errors relative to a scale, clipped so that their squares do not overflow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e300
"""Largest valid reading: sums and differences of larger ones would overflow."""
_FARTHEST = 1e150  # units; its square is a double


def clipped(errors: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """Clip errors to 1e150 times the scale."""
    limit = _FARTHEST * np.minimum(unit, _FARTHEST)
    limit = np.where(unit < _FARTHEST, limit, np.inf)
    return np.asarray(np.clip(errors, -limit, limit))


def ratio(errors: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """Divide errors by the scale, and clip the result to 1e150."""
    return np.asarray(clipped(errors, unit) / unit)
