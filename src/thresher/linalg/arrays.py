"""Names for array types, and what numbers of a type can be computed with."""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""A float32 or float64 array; which of the two is decided by the data and kept throughout."""


def has_gram(D: Array) -> bool:
    """Whether ``D Dᵀ`` can be computed in the type of D: none of its sums of squares overflows."""
    largest = float(np.finfo(D.dtype).max)
    if np.vdot(D, D) < largest / 2:  # then none of them is larger; the common case, in one pass
        return True
    return bool(squared_lengths(D).max(initial=0.0) <= largest)


def squared_lengths(D: Array) -> Array:
    """``Σ_f D_kf²``, shape (K,), at the speed of products; infinite where it overflows."""
    return np.array([np.dot(atom, atom) for atom in D], dtype=D.dtype)


def is_finite(V: Array) -> bool:
    """Whether all entries are."""
    # Squares that can be summed up are finite, and that is one reading.
    return math.isfinite(np.vdot(V, V)) or bool(np.isfinite(V).all())


def length(V: Array) -> float:
    """``‖V‖`` of all entries: the bits of `numpy.linalg.norm`, in half its time."""
    return float(np.sqrt(np.vdot(V, V)))


def row_lengths(V: Array) -> Array:
    """Euclidean lengths of rows, shape (n,): the bits of `numpy.linalg.norm`, in half its time."""
    lengths: Array = np.sqrt(np.add.reduce(V * V, 1))
    return lengths


@cache
def range_of_powers(dtype: np.dtype[Any], power: int = 2) -> tuple[float, float]:
    """Between which sizes squares, or other powers, of numbers keep their precision."""
    limits = np.finfo(dtype)
    eps = float(limits.eps)
    least, most = float(limits.tiny) / eps, float(limits.max) * eps
    return least ** (1 / power), most ** (1 / power)


def evenly(shape: tuple[int, int], limit: int) -> NDArray[np.intp]:
    """Where about ``limit`` entries of a matrix lie, read row by row, evenly spread."""
    size = shape[0] * shape[1]
    step = max(1, -(-size // limit))
    if step > 1 and shape[1] % step == 0:
        step += 1  # or every row would give the same features
    return np.arange(0, size, step)
