"""The cache of compiled kernels: where machine code is stored and found.

A kernel, compiled for arguments of some types, is one file, and its name is a digest of all that it
depends on: the sources of its module and of the kernel modules that this imports, the types, the
versions of Python and numba, the processor. So files can be copied and shipped, nothing is ever
stale, processes that compile at the same time do not disturb each other, and where anything
differs, the kernel is compiled again. Kernels are searched in the package, where its installation
puts them, and in the user's cache folder. Caches of numba and of other packages are not touched.
"""

import hashlib
import importlib.util
import logging
import pickle
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.misc.appdirs import AppDirs

SHIPPED = Path(__file__).parents[1] / "machine_code"
"""Where installing the package puts kernels that it has compiled."""

_PATIENCE = 2.0  # seconds of compiling after which a line says so
_IMPORTED = re.compile(r"^from (thresher\.[\w.]*kernels[\w.]*) import", re.MULTILINE)

_log = logging.getLogger("thresher.compiling")

COMPILED: list[str] = []
"""Kernels that this process has compiled, because their machine code was not found."""


@cache
def folder() -> Path:
    """Return the folder for new machine code: NUMBA_CACHE_DIR, the package's, or the user's.

    A package that was installed without machine code is not changed, so that it can be removed.
    """
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR) / "thresher"
    is_checkout = (SHIPPED.parents[2] / "pyproject.toml").exists()
    if (SHIPPED.is_dir() or is_checkout) and _can_be_written(SHIPPED):
        return SHIPPED
    return Path(AppDirs(appname="thresher", appauthor=False).user_cache_dir)


def _places() -> Iterator[Path]:
    """Yield the folders to search; that for new machine code only if the package has none."""
    yield SHIPPED
    yield folder()


def _can_be_written(place: Path) -> bool:
    """Whether a file can be written; permissions do not show a full or read-only disk."""
    try:
        place.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False


@cache
def _text(module: str) -> bytes:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_bytes()


@cache
def imported(module: str) -> frozenset[str]:
    """Return a kernel module with all kernel modules that it imports, directly or not."""
    direct = _IMPORTED.findall(_text(module).decode())
    return frozenset({module}.union(*map(imported, direct)))


@cache
def _sources(module: str) -> bytes:
    """Return a digest of the sources of a kernel module and of those that it imports."""
    return hashlib.sha256(b"".join(map(_text, sorted(imported(module))))).digest()


class MachineCode(NullCache):
    """Numba's cache interface for one kernel."""

    def __init__(self, function: Any) -> None:
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._module = function.__module__

    @property
    def cache_path(self) -> str:
        """Folder for new machine code."""
        return str(folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for arguments of some types; None if it has to be compiled."""
        target_context.refresh()
        name = self._file(sig, target_context.codegen())
        for place in _places():
            try:
                payload = pickle.loads((place / name).read_bytes())
                return CompileResult._rebuild(target_context, *payload)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except Exception as error:  # a file that is damaged, or that this numba cannot read
                _log.info("%s cannot be used (%s); the kernel is recompiled", place / name, error)
        notice.begin()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel; if nothing can be written, the next process compiles again."""
        notice.end()
        COMPILED.append(self.name)
        name, place = self._file(sig, data.codegen), folder()
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
                file.write(pickle.dumps(data._reduce(), protocol=5))
            Path(file.name).chmod(0o644)
            Path(file.name).replace(place / name)
        except OSError as error:
            _log.info("The machine code of %s cannot be stored: %s", self.name, error)

    def _file(self, sig: Any, codegen: Any) -> str:
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        fields = [getattr(kind, "fields", None) for kind in sig]  # of bundles, by name
        depends = (*versions, codegen.magic_tuple(), self._module, self.name, str(sig), fields)
        digest = hashlib.sha256(repr(depends).encode() + _sources(self._module))
        return f"{self.name}-{digest.hexdigest()[:24]}.nbc"


class _Notice:
    """Print once that kernels are being compiled, if that takes long."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._said = False

    def spare(self) -> None:
        """Print nothing; for callers that compile on purpose."""
        self._said = True

    def begin(self) -> None:
        if self._said or self._timer is not None:
            return
        self._timer = threading.Timer(_PATIENCE, self._say)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._said = True
        print(
            "Thresher compiles what this needs for your processor, once; it may take half a "
            "minute. (`thresher warm-up` does all of it beforehand.)",
            file=sys.stderr,
            flush=True,
        )


notice = _Notice()
