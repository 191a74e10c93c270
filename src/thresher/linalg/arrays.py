"""Names for array types, and what numbers of a type can be computed with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""A float32 or float64 array; which of the two is decided by the data and kept throughout."""


def has_gram(D: Array) -> bool:
    """Whether ``D Dᵀ`` can be computed in the type of D: none of its sums of squares overflows."""
    return bool(squared_lengths(D).max(initial=0.0) <= np.finfo(D.dtype).max)


def squared_lengths(D: Array) -> Array:
    """``Σ_f D_kf²``, shape (K,), at the speed of products; infinite where it overflows."""
    return np.array([np.dot(atom, atom) for atom in D], dtype=D.dtype)


def range_of_powers(dtype: np.dtype[Any], power: int = 2) -> tuple[float, float]:
    """Between which sizes squares, or other powers, of numbers keep their precision."""
    limits = np.finfo(dtype)
    eps = float(limits.eps)
    least, most = float(limits.tiny) / eps, float(limits.max) * eps
    return least ** (1 / power), most ** (1 / power)
