"""How kernels are compiled.

Sums may be reordered by the compiler, which makes them fast, and always in the same way, so that
bits do not change between runs. Division by zero gives an infinity, as in NumPy: a check at every
division would be slow, and statuses tell of it.

Only what Python calls is cached on disk. A helper that came from the cache would be linked, not
inlined, into a kernel that is compiled later, and its sums would be reordered in another way: the
first run and the next would differ in their last bits.
"""

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
}

kernel = njit(cache=True, **_OPTIONS)
"""For functions that Python calls."""

helper = njit(inline="always", **_OPTIONS)
"""For functions that only kernels call."""
