"""Runs families of cases in processes of their own, under limits, and counts.

    python tests/fuzz/harness.py estimators.codes_are_optimal 17

repeats one case; without a seed, the first cases of the family run.
"""

import argparse
import importlib
import json
import multiprocessing as mp
import os
import pkgutil
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import fuzz
from fuzz.worker import MEMORY_LIMIT, serve

TIME_LIMIT = 10.0
"""Seconds of the processor. One that waits, or a machine that is busy, gets more on the clock."""

_PATIENCE = 6  # times the limit
_START_LIMIT = 300.0
GOOD = ("right", "refused")


def families() -> list[str]:
    """The names ``module.function`` of all that the modules beside this one list."""
    names = []
    for info in sorted(pkgutil.iter_modules(fuzz.__path__), key=lambda info: info.name):
        if info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"fuzz.{info.name}")
        names += [f"{info.name}.{family.__name__}" for family in getattr(module, "FAMILIES", ())]
    return names


@dataclass(frozen=True)
class Result:
    """What became of a case: ``kind`` is its outcome, or wrong, crash, time, memory or died."""

    family: str
    seed: int
    kind: str
    detail: str
    seconds: float
    memory: int

    def line(self) -> str:
        """How to repeat the case."""
        lines = [line for line in self.detail.splitlines() if line[:1].strip()]
        reason = next((line for line in reversed(lines) if "Error:" in line), "".join(lines[-1:]))
        command = f"python tests/fuzz/harness.py {self.family} {self.seed}"
        return f"{self.kind}: {command}  # {reason[:200]}"


class Worker:
    """A process that runs cases, one at a time; one that does not answer is killed."""

    def __init__(self, time_limit: float, memory_limit: int) -> None:
        self.time_limit, self.memory_limit = time_limit, memory_limit
        self.process: Any = None

    def _start(self) -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # cases are small, and run side by side
        context = mp.get_context("spawn")
        self.began, self.total = context.Value("d", 0.0), context.Value("d", 0.0)
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self.began, self.total, self.memory_limit)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def _compiling(self) -> float:
        began = self.began.value
        return self.total.value + (time.monotonic() - began if began else 0.0)

    def _clocks(self) -> tuple[float, float]:
        """What the clock on the wall says, and the time that the process has worked."""
        wall, stat = time.monotonic(), Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return wall, wall
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return wall, (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def run(self, family: str, seed: int) -> Result:
        """Run a case."""
        if self.process is None:
            self._start()
        self.connection.send((family, seed))
        if not self.connection.poll(_START_LIMIT):
            raise RuntimeError(f"{family} could not be imported in {_START_LIMIT:g} s.")
        self.connection.recv()
        started = self._clocks()

        def seconds() -> tuple[float, float]:
            now, compiling = self._clocks(), self._compiling()
            return now[0] - started[0] - compiling, now[1] - started[1] - compiling

        while not self.connection.poll(0.05):
            waited, worked = seconds()
            if worked > self.time_limit or waited > _PATIENCE * self.time_limit:
                self.stop()
                message = f"No end after {self.time_limit:g} s."
                return Result(family, seed, "time", message, self.time_limit, 0)
        taken = max(0.0, seconds()[1])
        try:
            kind, detail, memory = self.connection.recv()
        except EOFError:
            self.process.join()
            message = f"The process died with code {self.process.exitcode}."
            self.stop()
            return Result(family, seed, "died", message, taken, 0)
        return Result(family, seed, kind, detail, taken, memory)


class Workers:
    """Several of them; use it in a ``with`` block."""

    def __init__(
        self, jobs: int = 2, time_limit: float = TIME_LIMIT, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        self.workers = [Worker(time_limit, memory_limit) for _ in range(jobs)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            worker.stop()

    def run(self, cases: Iterable[tuple[str, int]]) -> Iterator[Result]:
        """Run cases (family, seed) and yield what became of each, as they end."""
        waiting: SimpleQueue[tuple[str, int]] = SimpleQueue()
        for case in cases:
            waiting.put(case)
        done: SimpleQueue[Result | BaseException | None] = SimpleQueue()
        left = waiting.qsize()

        def work(worker: Worker) -> None:
            try:
                while True:
                    done.put(worker.run(*waiting.get_nowait()))
            except Empty:
                pass
            except BaseException as error:
                done.put(error)

        for worker in self.workers:
            threading.Thread(target=work, args=(worker,), daemon=True).start()
        for _ in range(left):
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            assert result is not None
            yield result


@dataclass
class Tally:
    """Counts of one family."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    largest_memory: int = 0

    def add(self, result: Result) -> None:
        """Count a case."""
        self.cases += 1
        self.outcomes[result.kind] += 1
        self.seconds += result.seconds
        self.slowest = max(self.slowest, result.seconds)
        self.largest_memory = max(self.largest_memory, result.memory)
        if result.kind not in GOOD:
            failure = {"seed": result.seed, "kind": result.kind, "line": result.line()}
            # Where the tree lies is nobody's business.
            detail = re.sub(r'[^\s"]*/(?=(?:src|tests|lib)/)', "", result.detail)
            self.failures.append(failure | {"detail": detail[-2000:]})

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        return {
            "cases": self.cases,
            "outcomes": dict(sorted(self.outcomes.items())),
            "seconds": round(self.seconds, 2),
            "slowest": round(self.slowest, 2),
            "largest MB": self.largest_memory >> 20,
            "failures": self.failures,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Tally":
        """The counts that `to_json` gave."""
        return cls(
            record["cases"],
            Counter(record["outcomes"]),
            record["failures"],
            record["seconds"],
            record["slowest"],
            record["largest MB"] << 20,
        )


def count(results: Iterable[Result], tallies: dict[str, Tally]) -> None:
    """Add results to the counts of their families; print a line for each failure."""
    for result in results:
        tallies.setdefault(result.family, Tally()).add(result)
        if result.kind not in GOOD:
            print(result.line(), flush=True)


def main() -> None:
    """Repeat a case with all it says, or run the first cases of a family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="?", help="such as estimators.codes_are_optimal")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [name for name in families() if (arguments.family or "") in name]
    seeds = range(arguments.cases) if arguments.seed is None else [arguments.seed]
    tallies: dict[str, Tally] = {}
    with Workers(arguments.jobs) as workers:
        for result in workers.run((name, seed) for name in chosen for seed in seeds):
            count([result], tallies)
            if arguments.seed is not None:
                print(result.detail or result.kind)
    for name, tally in tallies.items():
        record = tally.to_json()
        del record["failures"]
        print(name, json.dumps(record))


if __name__ == "__main__":
    main()
