"""Arguments of kernels, bundled into named tuples.

A bundle is a named tuple of arrays and numbers, which numba takes apart at compile time: it costs
nothing in a loop. The types of its fields are part of a kernel's signature, so no field is
optional (an absent array is empty), and numbers have the type of the arrays that they are combined
with: one signature for each dtype. For the same reason input is passed as `read_only`: numba
compiles again for arrays that are writeable or not contiguous. Bundles of several kernels are here,
those of one kernel are in its module.

An empty array that stands for an absent one must not be read in a loop that sums, not even behind a
condition. Compiled loops check at run time whether their arrays overlap, taking an empty one for as
long as the loop; if another array happens to lie there, they sum in another order.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


def read_only(values: Any) -> Any:
    """Return a read-only view of an array.

    Rows that are not contiguous are copied, because numba would compile again for them.
    """
    if not (values.flags.c_contiguous and values.flags.aligned):
        values = np.require(values, requirements=("C", "A"))
    if values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values


class Samples(NamedTuple):
    """Dense rows, or their residuals, and the weights of their entries."""

    X: Any  # (n, F)
    weight: Any  # (n, F), 0 where an entry is missing; (0, 0) if all weigh one

    @classmethod
    def of(cls, X: Any, weight: Any) -> "Samples":
        """Rows to read with weights, or with None if all weigh one."""
        return cls.changing(read_only(X), weight)

    @classmethod
    def changing(cls, X: Any, weight: Any) -> "Samples":
        """The same for rows that the kernel changes."""
        weight = np.empty((0, 0), dtype=X.dtype) if weight is None else weight
        return cls(X, read_only(weight))


class SparseRows(NamedTuple):
    """A CSR matrix; ``indptr`` may be a slice, of some of the rows."""

    indptr: Any  # (n + 1): where each row begins and ends
    indices: Any  # the column of each entry
    data: Any  # the entries

    @classmethod
    def of(cls, X: Any) -> "SparseRows":
        """The arrays of a CSR matrix, to read."""
        return cls(read_only(X.indptr), read_only(X.indices), read_only(X.data))


class Atoms(NamedTuple):
    """The dictionary and its transpose, for fast products along either axis."""

    D: Any  # (K, F)
    Dt: Any  # (F, K), the same transposed, in order

    @classmethod
    def of(cls, D: Any, Dt: Any) -> "Atoms":
        """Both, to read."""
        return cls(read_only(D), read_only(Dt))


class ShiftedInverse(NamedTuple):
    """The matrix that solves for codes: the inverse of ``D Dᵀ + diag(shift)``."""

    inverse: Any  # (K, K)
    shift: Any  # (K)

    @classmethod
    def of(cls, inverse: Any, shift: Any) -> "ShiftedInverse":
        """Both, to read."""
        return cls(read_only(inverse), read_only(shift))


class CodePenalty(NamedTuple):
    """``l1 Σc + l2/2 ‖c‖²`` of codes c ≥ 0."""

    l1: Any  # numbers of the type of the codes
    l2: Any

    @classmethod
    def of(cls, dtype: np.dtype[Any], penalty: Any) -> "CodePenalty":
        """The weights of whatever has an ``l1`` and an ``l2``."""
        return cls(dtype.type(penalty.l1), dtype.type(penalty.l2))


class EntryPenalty(NamedTuple):
    """``l1·|v| + l2/2·v²`` on ``lower ≤ v ≤ upper``, of every entry v by itself."""

    l1: Any  # numbers, all of one type
    l2: Any
    lower: Any  # may be −∞
    upper: Any  # may be ∞

    @classmethod
    def of(cls, dtype: np.dtype[Any], constants: Iterable[float]) -> "EntryPenalty":
        """The four, in that order."""
        return cls(*map(dtype.type, constants))


class Limits(NamedTuple):
    """Stopping rule of a row."""

    tol: Any  # its certificate is at most this
    max_iter: Any  # or so many steps were made


class Outcome(NamedTuple):
    """Results of a kernel for every row, apart from its codes."""

    certificate: Any  # (n); the kernel says what it is
    n_iter: Any  # (n), how many steps


class BreakpointBuffer(NamedTuple):
    """Buffer for breakpoints of a piecewise linear function, overwritten by `weighted_select`.

    Only kernels make it, so it needs no type in the kernel cache.
    """

    values: Any  # where each is
    weights: Any  # by how much the slope rises there
    marks: Any  # whose breakpoint it is
