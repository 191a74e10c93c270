"""What pytest does in the processes that judge mutants, and in those that record coverage.

Told by the environment: ``MUTANT_TESTS`` names a file with the tests to run, in order, and their
limits in seconds; ``MUTANT_NOTE`` a file for the first failure; ``MUTANT_JOBS`` one with many
mutants and their tests (`forks`); ``MUTANT_RECORD`` one for which test runs which line;
``MUTANT_LONGEST`` after how many seconds a test is left out of that, and a file after ten times
as many; ``MUTANT_ROOT`` the folder whose library must be the one imported.
"""

import faulthandler
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mutation.forks import ForkedTrials
from mutation.process import without_case

LONGER_THAN_BUSY = 20
RECORDED_CASES = 3  # of a test with many that take long: they run the same lines, or nearly
QUICK = 0.1  # seconds: of a test whose cases take less, all are recorded


def _root() -> Path:
    return Path(os.environ["MUTANT_ROOT"])


def pytest_configure(config: pytest.Config) -> None:
    """Register what is wanted."""
    if "MUTANT_RECORD" in os.environ:
        config.pluginmanager.register(_Record(Path(os.environ["MUTANT_RECORD"])))
        return
    wanted = json.loads(Path(os.environ["MUTANT_TESTS"]).read_text())
    judge = Judge(wanted, Path(os.environ["MUTANT_NOTE"]))
    config.pluginmanager.register(judge)
    if "MUTANT_JOBS" in os.environ:
        jobs = Path(os.environ["MUTANT_JOBS"])
        config.pluginmanager.register(ForkedTrials(jobs, _root(), judge))


def pytest_sessionfinish() -> None:
    """Make sure that the copy is what was tested."""
    module = sys.modules.get("thresher")
    found = Path(str(module.__file__)) if module else _root()
    if not found.is_relative_to(_root()):
        raise RuntimeError(f"The tests imported {found}, which is not the mutant.")


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def _spread(names: list[str]) -> list[str]:
    """Some of the names, evenly spread, with the first and the last."""
    steps = RECORDED_CASES - 1
    return [names[k * (len(names) - 1) // steps] for k in range(steps + 1)]


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


class Judge:
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
        self.write(item.nodeid, "running", "")
        limit = self.limits.get(item.nodeid) or self.limits[_file(item)]
        # Seconds of the processor, whatever else the machine does; and of the clock, for a test
        # that waits for something which never comes.
        spent = int(time.process_time() + limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent, resource.RLIM_INFINITY))
        faulthandler.dump_traceback_later(LONGER_THAN_BUSY * limit, exit=True)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            faulthandler.cancel_dump_traceback_later()
            if json.loads(self.note.read_text())["when"] == "running":
                self.note.unlink()

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        self.write(node.nodeid, call.when, call.excinfo.typename)

    def write(self, test: str, when: str, error: str) -> None:
        """Leave a note of what happened."""
        self.note.write_text(json.dumps({"test": test, "when": when, "error": error}))


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Seconds of the processor, or a tenth of the clock's: a test may also wait."""
    cpu, wall, seconds = time.process_time(), time.perf_counter(), [0.0]
    try:
        yield seconds
    finally:
        waited = (time.perf_counter() - wall) / 10
        seconds[0] = max(time.process_time() - cpu, waited)


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


class _Record:
    """Record which test runs which line, and how long each test takes.

    What a fixture of a module runs counts for every test that asks for the fixture. Of a test with
    many cases the first, the middle and the last are run, and all if these are quick: parts that
    each case is about have lines of their own. The others are noted. Tests that fail or take too
    long are left out: a mutant that only they notice counts as alive.
    """

    def __init__(self, path: Path) -> None:
        import coverage

        self.path = path
        self.seconds: dict[str, float] = {}
        self.fixtures: dict[str, float] = {}
        self.ready: set[str] = set()
        self.failed: set[str] = set()  # or took too long
        self.recorded: dict[str, list[str]] = {}
        self.others: dict[str, list[str]] = {}
        self.users: dict[str, list[str]] = defaultdict(list)
        self.current = ""
        self.longest = float(os.environ["MUTANT_LONGEST"])
        self.began = time.process_time()
        self.coverage = coverage.Coverage(
            data_file=None,
            include=[f"{_root()}/src/thresher/*", f"{_root()}/tests/*"],
            config_file=False,
        )
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        cases: dict[str, list[str]] = defaultdict(list)
        for item in items:
            cases[without_case(item.nodeid)].append(item.nodeid)
        self.recorded = {test: _spread(names) for test, names in cases.items()}
        number = {name: k for names in self.recorded.values() for k, name in enumerate(names)}
        self.others = {
            test: [name for name in names if name not in number] for test, names in cases.items()
        }
        # The first case of each test, then the second: a file may take too long for all.
        items.sort(key=lambda item: number.get(item.nodeid, RECORDED_CASES))
        for item in items:
            for fixture in _fixtures(item):
                self.users[f"fixture {fixture}"].append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._switch(item.nodeid)
        with _timed() as seconds:
            result = yield
        shared = self.fixtures.keys() & {f"fixture {name}" for name in _fixtures(item)}
        new = sum(self.fixtures[name] for name in shared - self.ready)
        self.ready |= shared
        if seconds[0] - new > self.longest:
            self.failed.add(item.nodeid)
        # Fixtures of the module cost the test that asks first, which may be any of them.
        self.seconds[item.nodeid] = seconds[0] - new + sum(self.fixtures[name] for name in shared)
        return result  # type: ignore[return-value]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.process_time() - self.began > 10 * self.longest:
            pytest.skip("its file takes too long to be tried on mutants")
        test = without_case(item.nodeid)
        if item.nodeid in self.others[test]:
            spent = sorted(self.seconds[name] for name in self.recorded[test])
            if spent[len(spent) // 2] > QUICK:
                pytest.skip("three of its cases are enough")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)  # type: ignore[return-value]
        before, name = self.current, f"fixture {fixturedef.argname}"
        self._switch(name)
        try:
            with _timed() as seconds:
                return (yield)  # type: ignore[return-value]
        finally:
            self.fixtures[name] = seconds[0]
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
        left = {test: [n for n in names if n not in passed] for test, names in self.others.items()}
        others = {test: names for test, names in left.items() if names}
        self.path.write_text(json.dumps({"seconds": passed, "lines": lines, "others": others}))

    def _switch(self, context: str) -> None:
        self.current = context
        self.coverage.switch_context(context)

    def _tests(self, context: str) -> list[str]:
        return self.users.get(context, [context]) if context else []
