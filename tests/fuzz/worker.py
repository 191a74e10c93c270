"""The process in which cases run: limits on memory, strict warnings, and what became of a case.

Imports and compiling are not the case's fault: the parent's clock does not count them.
"""

import contextlib
import importlib
import os
import resource
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from sklearn.exceptions import ConvergenceWarning

MEMORY_LIMIT = 1 << 30
# Arrow's own allocator, which data frames use, asks for a gigabyte beforehand.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
_STATUS = Path("/proc/self/status")


def kilobytes(name: str) -> int:
    """A line of the process's status in bytes; zero where there is no such file."""
    if not _STATUS.exists():
        return 0
    lines = _STATUS.read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


class CompileClock(event.Listener):
    """Tells the parent when compiling began, and how long it took so far in this case."""

    def __init__(self, began: Any, total: Any) -> None:
        self.began, self.total, self.depth = began, total, 0

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1:
            self.began.value = time.monotonic()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.total.value += time.monotonic() - self.began.value
            self.began.value = 0.0


@contextlib.contextmanager
def limited_memory(limit: int) -> Any:
    """No more than ``limit`` bytes beyond what the process has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (kilobytes("VmData") + limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def told(error: BaseException) -> str:
    """The traceback, and the models that the family had in its hands."""
    lines = traceback.format_exception(error)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        model = frame.f_locals.get("model")
        if "/fuzz/" in frame.f_code.co_filename and model is not None:
            lines.insert(0, f"model = {model!r}\n")
            break
    return "".join(lines)


def outcome_of(family: Any, seed: int, limit: int) -> tuple[str, str, int]:
    """What became of a case: its outcome or the kind of failure, details, peak of memory."""
    before = kilobytes("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    try:
        with warnings.catch_warnings(), limited_memory(limit):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # the library's own
            warnings.simplefilter("ignore", ConvergenceWarning)
            outcome = family(np.random.default_rng(seed))
        assert outcome in ("right", "refused"), f"The outcome {outcome!r} is not known."
        kind, detail = outcome, ""
    except MemoryError as error:
        kind, detail = "memory", told(error)
    except AssertionError as error:
        kind, detail = "wrong", told(error)
    except BaseException as error:
        kind, detail = "crash", told(error)
    growth = max(0, kilobytes("VmHWM") - before)
    if growth > limit and kind in ("right", "refused"):
        kind, detail = "memory", f"{growth >> 20} MB were in use at the peak."
    return kind, detail, growth


def found(name: str) -> Any:
    """The function that ``module.function`` names."""
    module, function = name.rsplit(".", 1)
    return getattr(importlib.import_module(f"fuzz.{module}"), function)


def serve(connection: Connection, began: Any, total: Any, limit: int) -> None:
    """Run cases until the parent hangs up."""
    event.register("numba:compile", CompileClock(began, total))
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            name, seed = connection.recv()
            family = found(name)
            total.value = 0.0
            connection.send("imported")
            connection.send(outcome_of(family, seed, limit))
