"""What pytest does in the processes that judge mutants, and in those that record coverage.

Told by the environment: ``MUTANT_TESTS`` names a file with the tests to run, in order, and their
limits in seconds; ``MUTANT_NOTE`` a file for the first failure; ``MUTANT_RECORD`` one for which
test runs which line; ``MUTANT_ROOT`` the folder whose library must be the one imported.
"""

import faulthandler
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _root() -> Path:
    return Path(os.environ["MUTANT_ROOT"])


def pytest_configure(config: pytest.Config) -> None:
    """Register the one of the two that is wanted."""
    if "MUTANT_RECORD" in os.environ:
        config.pluginmanager.register(_Record(Path(os.environ["MUTANT_RECORD"])))
    else:
        wanted = json.loads(Path(os.environ["MUTANT_TESTS"]).read_text())
        config.pluginmanager.register(_Judge(wanted, Path(os.environ["MUTANT_NOTE"])))


def pytest_sessionfinish() -> None:
    """Make sure that the copy is what was tested."""
    module = sys.modules.get("thresher")
    found = Path(str(module.__file__)) if module else _root()
    if not found.is_relative_to(_root()):
        raise RuntimeError(f"The tests imported {found}, which is not the mutant.")


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


class _Judge:
    """Run the named tests, or files of tests, in order; write down the first failure.

    Each runs under its limit: a process that is stopped by one leaves the name of its test.
    """

    def __init__(self, limits: dict[str, float], note: Path) -> None:
        self.limits = limits
        self.note = note

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {name: number for number, name in enumerate(self.limits)}
        wanted = [(order.get(i.nodeid, order.get(_file(i))), i) for i in items]
        items[:] = [i for _, i in sorted((w for w in wanted if w[0] is not None), key=_first)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._write(item.nodeid, "running", "")
        limit = self.limits.get(item.nodeid) or self.limits[_file(item)]
        faulthandler.dump_traceback_later(limit, exit=True)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            faulthandler.cancel_dump_traceback_later()
            if json.loads(self.note.read_text())["when"] == "running":
                self.note.unlink()

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        self._write(node.nodeid, call.when, call.excinfo.typename)

    def _write(self, test: str, when: str, error: str) -> None:
        self.note.write_text(json.dumps({"test": test, "when": when, "error": error}))


class _Record:
    """Record which test runs which line, and how long each test takes.

    What a fixture of a module runs counts for every test that asks for the fixture.
    """

    def __init__(self, path: Path) -> None:
        import coverage

        self.path = path
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.users: dict[str, list[str]] = defaultdict(list)
        self.current = ""
        self.coverage = coverage.Coverage(
            data_file=None,
            include=[f"{_root()}/src/thresher/*", f"{_root()}/tests/*"],
            config_file=False,
        )
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for fixture in getattr(item, "fixturenames", []):
                self.users[f"fixture {fixture}"].append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._switch(item.nodeid)
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            # Time of the processor, whatever else the machine does; a test may also wait.
            wall = time.perf_counter() - wall
            self.seconds[item.nodeid] = max(time.process_time() - cpu, wall / 10)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = self.current
        if fixturedef.scope != "function":
            self._switch(f"fixture {fixturedef.argname}")
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            Path(file).relative_to(_root()).as_posix(): {
                line: sorted({name for context in contexts for name in self._tests(context)})
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        passed = {name: t for name, t in self.seconds.items() if name not in self.failed}
        self.path.write_text(json.dumps({"seconds": passed, "lines": lines}))

    def _switch(self, context: str) -> None:
        self.current = context
        self.coverage.switch_context(context)

    def _tests(self, context: str) -> list[str]:
        return self.users.get(context, [context]) if context else []
