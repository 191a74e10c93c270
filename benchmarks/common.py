"""What the benchmarks share: command line, clock, medians and spreads, results in JSON.

Whatever is compared runs side by side in one process: every method once, then all of them again
(`interleaved`), so that all see the same machine. Only ratios mean much; they stand with their
spread. Results lie in ``benchmarks/results``, a file for each script, with the machine that they
come from.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

# Threads of OpenMP that wait must not spin: that slows down all others of a shared machine. The
# variable is read when the first library with OpenMP is loaded, so it is set before those.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

from thresher.linalg import Array

VARIABLE = "THRESHER_DATA"
"""The environment variable that names the folder of data files, for the library as well."""
RESULTS = Path(__file__).parent / "results"
GREY = "#8a8f98"
INK = "#737983"
"""Text and axes: legible on white and on dark pages."""
DATA_FILES = {
    "yale_b": "yaleb_32x32.npz",
    "yale_b_48x42": "yaleb_48x42.npz",
    "yale_b_192x168": "yaleb_192x168_3subj.npz",
    "pie": "pie_pose27_32x32.npz",
    "orl": "orl_32x32.npz",
    "bbc_news": "bbc_news.npz",
    "20newsgroups": "20newsgroups_counts.npz",
}
"""Files of `load_faces` and `load_text_counts`, by name."""
Row = dict[str, Any]
"""What one run gave: its setting and its measures, by name."""
Name = TypeVar("Name", bound=Hashable)
Item = TypeVar("Item")


# ---------------------------------------------------------------------------- command line


class _SetDataFolder(argparse.Action):
    """``--data FOLDER`` is the same as THRESHER_DATA=FOLDER before the command."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """Set the variable, which is where the loaders look."""
        os.environ[VARIABLE] = str(values)
        setattr(namespace, self.dest, values)


def command_line(about: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of the script; it knows ``--data``."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, action=_SetDataFolder, help=f"folder of data files; else {VARIABLE}"
    )
    return parser


def data_folder() -> Path | None:
    """What ``--data`` or THRESHER_DATA names, if anything."""
    place = os.environ.get(VARIABLE)
    return Path(place) if place else None


def find_data_file(name: str) -> Path:
    """Path of a file in the folder that ``--data`` or THRESHER_DATA names."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name} is needed: give --data or set {VARIABLE}.")
    found = folder.expanduser() / name
    if not found.is_file():
        raise FileNotFoundError(f"There is no {found}.")
    return found


# ----------------------------------------------------------------------------------- clock


@dataclass
class Spent:
    """Seconds on the wall, and of all threads of this process."""

    wall: float = 0.0
    processor: float = 0.0


@contextmanager
def clock() -> Iterator[Spent]:
    """Time a block: ``with clock() as spent: ...``; read ``spent`` after it."""
    spent = Spent()
    wall, processor = time.perf_counter(), time.process_time()
    yield spent
    spent.wall, spent.processor = time.perf_counter() - wall, time.process_time() - processor


def timed(work: Callable[..., Item], *arguments: Any) -> tuple[Item, dict[str, float]]:
    """The result of a call, and its seconds on the wall and of the processor."""
    with clock() as spent:
        result = work(*arguments)
    return result, {"seconds": spent.wall, "cpu": spent.processor}


def interleaved(
    jobs: Mapping[Name, Callable[[Any], Item]], rounds: Iterable[Any]
) -> Iterator[tuple[Name, Any, Item, Spent]]:
    """In every round each job, with what the round brings; its name, that, its result, its time.

    What is done between two of them is outside of the clock.
    """
    for brought in rounds:
        for name, job in jobs.items():
            with clock() as spent:
                result = job(brought)
            yield name, brought, result, spent


@dataclass
class Looks:
    """What was shown at times on a logarithmic grid, and what was shown last.

    Nothing is copied. Steps make new dictionaries and never change one, so keeping one costs
    nothing.
    """

    due: float
    """Seconds of the first look."""
    ratio: float
    """Seconds of a look over those of the look before."""
    kept: list[Any] = field(default_factory=list)
    _n_fixed: int = 0

    def show(self, seconds: float, what: Any) -> None:
        """Keep this instead of what was shown last, unless that was due."""
        self.kept[self._n_fixed :] = [what]
        if seconds >= self.due:
            self._n_fixed, self.due = self._n_fixed + 1, seconds * self.ratio


# --------------------------------------------------------------------- medians and spreads


def median_of(rows: Sequence[Row], key: str) -> float:
    return float(np.median([row[key] for row in rows]))


def spread(values: Any, digits: int = 2) -> str:
    """Median [least, largest]."""
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def mean_and_std(rows: Sequence[Row], key: str, digits: int = 4) -> Row:
    values = [row[key] for row in rows]
    mean, deviation = float(np.mean(values)), float(np.std(values))
    return {key: round(mean, digits), f"{key}_std": round(deviation, digits)}


def by_setting(rows: Sequence[Row], keys: Sequence[str]) -> Iterator[tuple[Row, list[Row]]]:
    """Every setting, that is the values of some keys, and the rows that have it."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    for values, mine in found.items():
        yield dict(zip(keys, values, strict=True)), mine


def kl_divergence(X: Any, codes: Array, atoms: Array) -> float:
    """Mean generalised KL divergence of a row of CSR data from ``codes @ atoms``.

    Its cost is that of the nonzeros.
    """
    codes, atoms = np.asarray(codes, dtype=np.float64), np.asarray(atoms, dtype=np.float64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    fitted = np.empty(X.nnz)
    for start in range(0, X.nnz, 100_000):
        part = slice(start, start + 100_000)
        fitted[part] = np.einsum("ik,ik->i", codes[rows[part]], atoms.T[X.indices[part]])
    positive = X.data > 0  # stored zeros cost nothing but mass
    x, y = X.data[positive], np.maximum(fitted[positive], 1e-300)
    mass = codes.sum(axis=0) @ atoms.sum(axis=1)
    return float((x * np.log(x / y) - x).sum() + mass) / X.shape[0]


# --------------------------------------------------------------------------------- results


def machine(*packages: str) -> Row:
    """What the figures come from: processor, cores, Python and some packages."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    cpu = next((line.split(": ")[1] for line in lines if "model name" in line), "unknown")
    known = {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version()}
    return known | {name: _version(name) for name in packages}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # a peer that this run does without
        return None


def read_json(path: Path) -> Row:
    """What an earlier run left, so that parts can be run one at a time; else an empty record."""
    record: Row = json.loads(path.read_text()) if path.exists() else {}
    return record


def write_json(path: Path, record: Row, indent: int | None = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=indent) + "\n")


def tidy(axes: Any) -> None:
    """A light grid, and no frame where no axis is."""
    axes.grid(color=GREY, alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
