"""Runs pytest in a process that has imported everything but the library."""

import multiprocessing
import os
import resource
import sys
from pathlib import Path

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


def without_case(name: str) -> str:
    """The name of a test without that of its case."""
    return name.partition("[")[0]


def run_pytest(folder: Path, environment: dict[str, str], arguments: list[str], told: Path) -> int:
    """Exit code of pytest on a copy of the repository; what it prints goes to a file."""
    child = _SERVER.Process(target=_child, args=(folder, environment, arguments, told))
    child.start()
    child.join()
    return child.exitcode or 0


def _child(folder: Path, environment: dict[str, str], arguments: list[str], told: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    paths = [str(folder / "src"), str(folder / "tests")]
    sys.path[:0] = paths
    # Processes that tests start shall run the copy, too.
    os.environ |= environment | {"PYTHONPATH": os.pathsep.join(paths)}
    os.chdir(folder)
    output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    import pytest

    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "mutation.plugin"]
    os._exit(int(pytest.main([*options, *arguments])))
