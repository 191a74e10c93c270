"""Trials of many mutants in one session of pytest: it is forked for each.

A mutant is left out, for a trial in a copy, if it is more than another body of a function or
another constant, or if its function was called by an import: what came of that call would stay as
it was. So is a constant that lives. A fork compiles the kernels that hold what was changed.
"""

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

from mutation import kernels
from mutation.imports import is_compiled
from mutation.swap import Body, Functions, other_body, other_constant


class ForkedTrials:
    """Forks a session that has collected its tests, once for each mutant of a file.

    Verdicts are written to a file beside it, one line each.
    """

    def __init__(self, jobs: Path, root: Path, judge: Any) -> None:
        self.jobs: list[dict[str, Any]] = json.loads(jobs.read_text())
        self.verdicts = jobs.with_suffix(".jsonl")
        self.root = root
        self.judge = judge
        library = f"{root}/src/thresher/*"
        self.imports = coverage.Coverage(data_file=None, include=[library], config_file=False)
        self.imports.start()
        for job in self.jobs:
            importlib.import_module(_module(job["file"]))

    def _ran(self, body: Body) -> bool:
        """Whether a function was called by an import."""
        lines = self.imports.get_data().lines(body.place[0]) or ()
        return any(line in body.lines for line in lines)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant instead of running the tests."""
        self.imports.stop()
        items = {item.nodeid: item for item in session.items}
        functions = Functions()
        gc.freeze()  # what is never looked at again is never copied
        with self.verdicts.open("a") as verdicts:
            for job in self.jobs:
                exchange = self._exchange(job, functions)
                if exchange is None:
                    continue
                self.judge.limits = job["limits"]
                chosen = [items[name] for name in job["limits"] if name in items]
                verdict = self._tried(exchange, chosen)
                if verdict["code"] or exchange.settles:
                    verdicts.write(json.dumps({"number": job["number"]} | verdict) + "\n")
                    verdicts.flush()
        return True

    def _exchange(self, job: dict[str, Any], functions: Functions) -> "_Exchange | None":
        """How a mutant is put into place, if that can be done."""
        path = str(self.root / "src" / "thresher" / job["file"])
        before = Path(path).read_text("utf-8")
        module = _module(job["file"])
        text = job["text"] if is_compiled(job["file"]) else ""
        if text and kernels.is_in_use(module):
            return None
        body = other_body(before, job["text"], path)
        if body and not self._ran(body) and functions.can_take(body):
            if text and not kernels.is_compiled(module, body.place[1]):
                text = ""  # a function of Python beside kernels
            return _Exchange(partial(functions.take, body), module, text, settles=True)
        constant = other_constant(before, job["text"])
        if not constant:
            return None
        return _Exchange(partial(constant.take, sys.modules[module]), module, text, settles=False)

    def _tried(self, exchange: "_Exchange", items: list[pytest.Item]) -> dict[str, Any]:
        began, note = time.perf_counter(), self.judge.note
        note.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            try:
                os._exit(self._failed(exchange, items))
            finally:  # whatever was raised, this process is not the one that goes on
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {
            "code": code,
            "note": json.loads(note.read_text()) if note.exists() else {},
            "n_tests": len(items),
            "seconds": round(time.perf_counter() - began, 1),
        }

    def _failed(self, exchange: "_Exchange", items: list[pytest.Item]) -> bool:
        """Whether a test fails, or the mutant is no program."""
        try:
            exchange.make()
            if exchange.text:
                kernels.compile_anew(exchange.module, exchange.text)
        except Exception as error:
            self.judge.write("", "collect", type(error).__name__)
            return True
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.judge.note.exists():
                return True
        return False


class _Exchange(NamedTuple):
    make: Callable[[], None]
    module: str
    text: str
    """Of the module, if kernels have to be compiled anew."""
    settles: bool
    """Whether all of the mutant is in place, so that one that lives is alive."""


def _module(file: str) -> str:
    parts = Path("thresher", file).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
