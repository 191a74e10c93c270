"""The array type that every numerical function of the library takes and returns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""A float32 or float64 array; results keep the dtype of their input."""
