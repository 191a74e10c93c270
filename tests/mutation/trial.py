"""The trial of a mutant: the tests that can notice it run on a copy of the repository."""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mutation.draw import Mutant
from mutation.imports import is_compiled

NOT_COPIED = (".git", ".venv*", ".mutants", ".hypothesis", ".*_cache", "results", "*.thr")
BROKEN = {  # the change is no program any more, which no test had to notice
    "ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError", "SyntaxError",
    "TypingError", "LoweringError", "UnsupportedError", "CollectError",
}  # fmt: skip
SLOWER = 10  # times its usual seconds, and then a test counts as hanging
SECONDS_TO_START = 30
SECONDS_TO_COMPILE = 150
MEMORY = 12 * 2**30

# Libraries take seconds to import; a server does it once, and is forked for each mutant.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "numba",
        "sklearn.utils.estimator_checks",
        "cvxpy",
        "pandas",
        "matplotlib.pyplot",
        "pytest",
        "scipy.optimize",
        "scipy.stats",
    ]
)


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
        spare = SECONDS_TO_START + is_compiled(mutant.file) * SECONDS_TO_COMPILE
        limits = {test: spare + SLOWER * seconds for test, seconds in tests.items()}
        code, note = _run(folder, limits)
    outcome = _outcome(code, note)
    test, error = note.get("test", ""), note.get("error", "")
    return Verdict(outcome, test, error, len(tests), round(time.perf_counter() - began, 1))


def _run(folder: Path, limits: dict[str, float]) -> tuple[int, dict[str, Any]]:
    note, told = folder.parent / "note.json", folder.parent / "output.txt"
    wanted = folder.parent / "tests.json"
    wanted.write_text(json.dumps(limits))
    files = list(dict.fromkeys(test.split("::")[0] for test in limits))
    environment = {
        "MUTANT_ROOT": str(folder),
        "MUTANT_TESTS": str(wanted),
        "MUTANT_NOTE": str(note),
    }
    child = _SERVER.Process(target=_child, args=(folder, environment, files, told))
    child.start()
    child.join()
    if child.exitcode and not note.exists():
        raise RuntimeError(f"pytest gave no verdict:\n{told.read_text()}")
    return child.exitcode or 0, json.loads(note.read_text()) if note.exists() else {}


def _child(folder: Path, environment: dict[str, str], files: list[str], told: Path) -> None:
    """Run pytest in a process that has imported everything but the library."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ |= environment
    os.chdir(folder)
    sys.path[:0] = [str(folder / "src"), str(folder / "tests")]
    output = os.open(told, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    import pytest

    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "mutation.plugin"]
    code = int(pytest.main([*options, *files]))
    os._exit(code)


def _outcome(code: int, note: dict[str, Any]) -> str:
    if code == 0:
        return "survived"
    if note.get("when") == "running":  # stopped by a limit, or died of another signal
        return "timeout" if code in {1, -signal.SIGXCPU} else "killed"
    if note.get("when") == "collect" or note.get("error") in BROKEN:
        return "broken"
    return "killed"
