"""Machine code that is there before the user comes: where compiled kernels are kept and found.

A kernel, compiled for arguments of some types, is one file, and its name is a digest of all that it
depends on: the sources of its module and of the kernel modules that this imports, the types, the
versions of Python and numba, the processor. So files can be copied and shipped, nothing is ever
stale, processes that compile at the same time do not disturb each other, and where anything
differs, the kernel is compiled anew. Kernels are looked for in the package, where installing it
puts them, and in the folder of the user; numba's own caches, and those of other packages, are left
alone.
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
"""Kernels that this process has compiled, because their machine code was nowhere."""


@cache
def folder() -> Path:
    """Where new machine code goes: NUMBA_CACHE_DIR, beside that of the package, or to the user.

    An installed package that brought none along is left as it is, so that it can be uninstalled.
    """
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR) / "thresher"
    is_checkout = (SHIPPED.parents[2] / "pyproject.toml").exists()
    if (SHIPPED.is_dir() or is_checkout) and _can_be_written(SHIPPED):
        return SHIPPED
    return Path(AppDirs(appname="thresher", appauthor=False).user_cache_dir)


def _places() -> Iterator[Path]:
    """Where to look; where new machine code goes is asked only if the package has none."""
    yield SHIPPED
    yield folder()


def _can_be_written(place: Path) -> bool:
    """Found out by writing: rights alone say nothing of a full disk, or of one for reading only."""
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
    """A kernel module, and all kernel modules that it imports, and that these import."""
    direct = _IMPORTED.findall(_text(module).decode())
    return frozenset({module}.union(*map(imported, direct)))


@cache
def _sources(module: str) -> bytes:
    """A digest of everything that a kernel module is made of."""
    return hashlib.sha256(b"".join(map(_text, sorted(imported(module))))).digest()


class MachineCode(NullCache):
    """What numba asks for the machine code of one kernel, and gives what it has compiled."""

    def __init__(self, function: Any) -> None:
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._module = function.__module__

    @property
    def cache_path(self) -> str:
        """Where new machine code goes."""
        return str(folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for arguments of some types; None if it has to be compiled."""
        target_context.refresh()
        name = self._file(sig, target_context.codegen())
        for place in _places():
            try:
                payload = pickle.loads((place / name).read_bytes())
                return CompileResult._rebuild(target_context, *payload)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except Exception as error:  # a file that is damaged, or that this numba cannot read
                _log.info("%s cannot be used (%s); it is compiled anew", place / name, error)
        notice.begin()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; where nothing can be written, the next process compiles again."""
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
            _log.info("The machine code of %s cannot be kept: %s", self.name, error)

    def _file(self, sig: Any, codegen: Any) -> str:
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        fields = [getattr(kind, "fields", None) for kind in sig]  # of bundles, by name
        depends = (*versions, codegen.magic_tuple(), self._module, self.name, str(sig), fields)
        digest = hashlib.sha256(repr(depends).encode() + _sources(self._module))
        return f"{self.name}-{digest.hexdigest()[:24]}.nbc"


class _Notice:
    """Says once that kernels are being compiled, if that takes long."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._said = False

    def spare(self) -> None:
        """Say nothing: whoever compiles on purpose knows."""
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
