"""What kernels are given, in bundles: things that belong together have one name.

A bundle is a named tuple of arrays and numbers, which numba takes apart at compile time: it costs
nothing in a loop. The types of its fields are part of a kernel's signature, so nothing in it is
optional (what is not there is an empty array), and numbers that meet arrays are of their type: one
signature for each dtype. Bundles of several kernels are here, those of one stand beside it.

A kernel on disk is compiled anew when its own file changes, and numba knows a bundle by the place
of its class and the types of its fields alone. If fields of one type changed places here, old
kernels would take one for the other. So `bundle` makes the names of the fields a part of that
place, and with other fields it is another class.
"""

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

_Class = TypeVar("_Class", bound=type)


class _Gone:
    """In place of a bundle that an old cache knows."""


def bundle(cls: _Class) -> _Class:
    """Make a named tuple known to numba's cache by its fields too.

    Numba reads the names of all bundles in a cache before it looks how old that is; those that are
    gone must not be an error.
    """

    def gone(name: str) -> Any:
        if name.endswith(")"):
            return _Gone
        raise AttributeError(f"module {cls.__module__!r} has no attribute {name!r}")

    names = vars(sys.modules[cls.__module__])
    cls.__qualname__ = f"{cls.__name__}({', '.join(vars(cls)['_fields'])})"
    names[cls.__qualname__], names["__getattr__"] = cls, gone
    return cls


@bundle
class Samples(NamedTuple):
    """Dense rows, or their residuals, and what every entry weighs."""

    X: Any  # (n, F)
    weight: Any  # (n, F), 0 where an entry is missing; (0, 0) if all weigh one

    @classmethod
    def of(cls, X: Any, weight: Any) -> "Samples":
        """Rows with weights, or with None if all weigh one."""
        return cls(X, np.empty((0, 0), dtype=X.dtype) if weight is None else weight)


@bundle
class SparseRows(NamedTuple):
    """A CSR matrix; ``indptr`` may be a slice, of some of the rows."""

    indptr: Any  # (n + 1): where each row begins and ends
    indices: Any  # the column of each entry
    data: Any  # the entries


@bundle
class Atoms(NamedTuple):
    """The dictionary, both ways: products along either are fast."""

    D: Any  # (K, F)
    Dt: Any  # (F, K), the same transposed, in order


@bundle
class ShiftedInverse(NamedTuple):
    """What solves for codes: the inverse of ``D Dᵀ + diag(shift)``."""

    inverse: Any  # (K, K)
    shift: Any  # (K)


@bundle
class CodePenalty(NamedTuple):
    """``l1 Σc + l2/2 ‖c‖²`` of codes c ≥ 0."""

    l1: Any  # numbers of the type of the codes
    l2: Any

    @classmethod
    def of(cls, dtype: np.dtype[Any], penalty: Any) -> "CodePenalty":
        """The weights of whatever has an ``l1`` and an ``l2``."""
        return cls(dtype.type(penalty.l1), dtype.type(penalty.l2))


@bundle
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


@bundle
class Limits(NamedTuple):
    """When a row is done."""

    tol: Any  # its certificate is at most this
    max_iter: Any  # or so many steps were made


@bundle
class Outcome(NamedTuple):
    """What a kernel writes about every row, beside its codes."""

    certificate: Any  # (n); the kernel says what it is
    n_iter: Any  # (n), how many steps


class KinkRoom(NamedTuple):
    """Room for kinks of a piecewise linear function: what `weighted_select` reads and overwrites.

    Only kernels make it, so no cache knows it.
    """

    values: Any  # where each is
    weights: Any  # by how much the slope rises there
    marks: Any  # whose kink it is
