"""Another text of a kernel in a process that has compiled nothing: what holds it is compiled.

numba reads a function when it compiles it, so that another body or constant is seen from then on.
Machine code on disk is found by a digest of the texts that it was made of (`thresher.kernels`): the
other text gives kernels that hold it other names, and the rest is still found.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any


def _machine_code() -> ModuleType:
    """Imported late: what imports run is watched from a later moment on than this file's."""
    return import_module("thresher.kernels.machine_code")


def _kernels(module: str) -> Iterator[Any]:
    """Compiled functions of every module that holds the text of one."""
    imported = _machine_code().imported
    for name, found in list(sys.modules.items()):
        if name.startswith("thresher.") and "kernels." in name:
            if module not in imported(name):
                continue
            yield from (part for part in vars(found).values() if hasattr(part, "py_func"))


def is_in_use(module: str) -> bool:
    """Whether machine code made of a module's text is loaded: another text would come too late."""
    return any(kernel.overloads for kernel in _kernels(module))


def is_compiled(module: str, name: str) -> bool:
    """Whether a name of a module stands for a compiled function, or for what these may hold."""
    found = getattr(sys.modules[module], name, None)
    return hasattr(found, "py_func") or not callable(found)


def compile_anew(module: str, text: str) -> None:
    """Let no machine code be found that holds the text of a module as it was."""
    machine_code = _machine_code()
    before = machine_code._text

    def read(name: str) -> bytes:
        return text.encode() if name == module else before(name)

    machine_code._text = read  # type: ignore[attr-defined]
    machine_code._sources.cache_clear()
