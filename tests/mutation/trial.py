"""The trial of a mutant: the tests that can notice it run on a copy of the repository."""

import json
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mutation.draw import Mutant
from mutation.imports import is_compiled
from mutation.process import run_pytest

NOT_COPIED = (".git", ".venv*", ".mutants", ".hypothesis", ".*_cache", "results")
BROKEN = {  # the change is no program any more, which no test had to notice
    "ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError", "SyntaxError",
    "TypingError", "LoweringError", "UnsupportedError", "CollectError",
}  # fmt: skip
SLOWER = 10  # times its usual seconds, and then a test counts as hanging
SECONDS_TO_START = 30
SECONDS_TO_COMPILE = 150


class Verdict(NamedTuple):
    """``killed``, ``timeout``, ``survived`` or ``broken``, by which test, and how it failed."""

    outcome: str
    test: str
    error: str
    n_tests: int
    seconds: float


@contextmanager
def snapshot(root: Path) -> Iterator[Path]:
    """A copy of the repository, with the machine code that is there."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "snapshot"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        yield copy


def keep_compiled(copy: Path, root: Path) -> None:
    """Take over what was compiled in a copy, or every trial would compile it again."""
    machine_code = "src/thresher/machine_code"
    if (copy / machine_code).exists():
        shutil.copytree(copy / machine_code, root / machine_code, dirs_exist_ok=True)


def judge(mutant: Mutant, tests: dict[str, float], original: Path) -> Verdict:
    """Make the slip in a fresh copy and run tests, given with their usual seconds, in order."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mutant-", dir=original.parent) as name:
        folder = Path(name) / "copy"
        shutil.copytree(original, folder)
        file = f"src/thresher/{mutant.file}"
        (folder / file).write_text(mutant.text, encoding="utf-8")
        code, note = _run(folder, _limits(mutant, tests), Path(name))
    outcome = _outcome(code, note)
    test, error = note.get("test", ""), note.get("error", "")
    return Verdict(outcome, test, error, len(tests), round(time.perf_counter() - began, 1))


def judge_forked(
    trials: dict[int, tuple[Mutant, dict[str, float]]], original: Path
) -> Iterator[tuple[int, Verdict]]:
    """Try all at once, in forks; verdicts as they come.

    Those that are more than another body of a function get none.
    """
    limits = {number: _limits(mutant, tests) for number, (mutant, tests) in trials.items()}
    jobs = [
        {"number": n, "file": m.file, "text": m.text, "limits": limits[n]}
        for n, (m, _) in trials.items()
    ]
    together = {test: limit for each in limits.values() for test, limit in each.items()}
    with (
        tempfile.TemporaryDirectory(prefix="mutants-", dir=original.parent) as name,
        ThreadPoolExecutor(1) as pool,
    ):
        place, found = Path(name) / "jobs.json", Path(name) / "jobs.jsonl"
        place.write_text(json.dumps(jobs))
        found.touch()
        run = pool.submit(_run, original, together, Path(name), {"MUTANT_JOBS": str(place)})
        with found.open() as lines:
            while True:
                ended = run.done()
                for line in lines:
                    yield _told(json.loads(line))
                if ended:
                    break
                time.sleep(0.2)
        run.result()


def _told(about: dict[str, Any]) -> tuple[int, Verdict]:
    note = about["note"]
    outcome, n_tests, seconds = _outcome(about["code"], note), about["n_tests"], about["seconds"]
    verdict = Verdict(outcome, note.get("test", ""), note.get("error", ""), n_tests, seconds)
    return about["number"], verdict


def _limits(mutant: Mutant, tests: dict[str, float]) -> dict[str, float]:
    """Seconds after which each test counts as hanging."""
    spare = SECONDS_TO_START + is_compiled(mutant.file) * SECONDS_TO_COMPILE
    return {test: spare + SLOWER * seconds for test, seconds in tests.items()}


def _run(
    folder: Path, limits: dict[str, float], beside: Path, more: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    note, told, wanted = (beside / name for name in ("note.json", "output.txt", "tests.json"))
    wanted.write_text(json.dumps(limits))
    files = list(dict.fromkeys(test.split("::")[0] for test in limits))
    environment = {
        "MUTANT_ROOT": str(folder),
        "MUTANT_TESTS": str(wanted),
        "MUTANT_NOTE": str(note),
    }
    code = run_pytest(folder, environment | (more or {}), ["-x", *files], told)
    if code > 0 and not note.exists():  # a signal below zero ends it without a word: it was noticed
        raise RuntimeError(f"pytest gave no verdict:\n{told.read_text()}")
    return code, json.loads(note.read_text()) if note.exists() else {}


def _outcome(code: int, note: dict[str, Any]) -> str:
    if code == 0:
        return "survived"
    if note.get("when") == "running":  # stopped by a limit, or died of another signal
        return "timeout" if code in {1, -signal.SIGXCPU} else "killed"
    if note.get("when") == "collect" or note.get("error") in BROKEN:
        return "broken"
    return "killed"
