"""How kernels are compiled.

Sums may be reordered by the compiler, which makes them fast, and always in the same way, so that
bits do not change between runs. Division by zero gives an infinity, as in NumPy: a check at every
division would be slow, and statuses report it.

Only kernels, which Python calls, are cached (`machine_code`); helpers are always inlined. A helper
that is called would exist twice in a process that compiles, once by itself and once in the kernel,
reordered in different ways, and only one of the two would be kept: the first run and the next would
differ in their last bits.

Nothing has a C wrapper, which would contain and compile the whole function a second time.

A helper is compiled again for every literal number that it is called with, and large ones take
seconds; so counters that are passed on start as ``np.int64(0)``.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

from thresher.kernels.machine_code import MachineCode

_STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_OPTIONS = _STRICT | {"fastmath": {"reassoc", "contract", "nsz", "arcp"}}


def _kept(options: dict[str, Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        dispatcher = njit(**options)(function)
        dispatcher._cache = MachineCode(function)
        return dispatcher

    return decorate


kernel = _kept(_OPTIONS)
"""For functions that Python calls."""

helper = njit(forceinline=True, **_OPTIONS)
"""For functions that only kernels call, and tests."""

# Simplex steps and selections compare sums with each other and with their own parts, and stop when
# they agree: there every sum must be the one that is written. Helpers keep their own rule wherever
# they are inlined, so the long passes within a strict kernel are fast all the same.
strict_kernel = _kept(_STRICT)
"""`kernel`, every sum in the order that is written."""

strict_helper = njit(forceinline=True, **_STRICT)
"""`helper`, every sum in the order that is written."""

# Counting the references to arrays takes more time than small steps of work do. Kernels that
# allocate nothing, and call none that does, need no counts: their arrays belong to the caller.
uncounted_kernel = _kept(_STRICT | {"_nrt": False})
"""`strict_kernel`, without reference counts."""

uncounted_helper = njit(forceinline=True, **_STRICT, _nrt=False)
"""`strict_helper`, without reference counts."""
