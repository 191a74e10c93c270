"""How kernels are compiled.

Sums may be reordered by the compiler, which makes them fast, and always in the same way, so that
bits do not change between runs. Division by zero gives an infinity, as in NumPy: a check at every
division would be slow, and statuses tell of it.

Only what Python calls is cached on disk, and helpers are inlined by force. A helper that is called
would exist twice in a process that compiles, once by itself and once in the kernel, reordered in
different ways, and only one of the two would be in the cache: the first run and the next would
differ in their last bits.
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

helper = njit(forceinline=True, **_OPTIONS)
"""For functions that only kernels call."""
