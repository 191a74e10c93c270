"""Whether something became slower: the same work in this tree and in an earlier commit, in turns.

Each tree has a process of its own, both are warm, and every piece of work runs in one, then in the
other, so that both see the same machine. What is printed is the time here over the time there,
median and spread; more than 1.2 is marked.

    python benchmarks/between_commits.py REVISION [--repeats 9] [--only fit]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SLOWER = 1.2
Work = Callable[[], Any]


def planted() -> tuple[Work, Work]:
    """Robust learning of planted samples (`robust_stream.py`), and their exact codes."""
    from thresher import OnlineRobustNMF
    from thresher.datasets import make_outlier_stream

    X = make_outlier_stream(20_000, random_state=0, dtype="float32").data
    model = OnlineRobustNMF(49, n_passes=1, random_state=0, verbose=0)
    fitted = OnlineRobustNMF(49, n_passes=1, random_state=0, verbose=0).fit(X[:4000])
    return (lambda: model.fit(X)), (lambda: fitted.transform(X[:5000]))


def counts() -> tuple[Work, Work]:
    """KL topics of sparse counts with the shape of news (`kl_text.py`), and their codes."""
    import numpy as np
    from scipy import sparse

    from thresher import OnlineNMF

    rng = np.random.default_rng(0)
    atoms = rng.gamma(0.05, size=(20, 2000)).astype(np.float32)
    mixtures = rng.gamma(0.1, size=(10_000, 20)).astype(np.float32)
    chances = mixtures @ (atoms / atoms.sum(axis=1, keepdims=True))
    rate = 60 * chances / chances.sum(axis=1, keepdims=True)
    X = sparse.csr_matrix(rng.poisson(rate).astype(np.float32))
    model = OnlineNMF(20, divergence="kl", n_passes=1, batch_size=1024, random_state=0, verbose=0)
    fitted = OnlineNMF(20, divergence="kl", n_passes=1, random_state=0, verbose=0).fit(X)
    return (lambda: model.fit(X)), (lambda: fitted.transform(X))


def small() -> tuple[Work, Work]:
    """A hundred tiny steps, and a hundred single rows."""
    import numpy as np

    from thresher import OnlineRobustNMF

    X = np.random.default_rng(0).random((600, 56))
    model = OnlineRobustNMF(8, random_state=0, verbose=0).partial_fit(X[:6])

    def steps() -> None:
        for i in range(100):
            model.partial_fit(X[6 * i % 600 :][:6])

    def rows() -> None:
        for i in range(100):
            model.transform(X[i : i + 1])

    return steps, rows


WORK = {
    ("fit, planted", "transform, planted"): planted,
    ("fit, KL on CSR", "transform, KL on CSR"): counts,
    ("100 steps of 6 × 56", "100 rows coded alone"): small,
}
NAMES = [name for names in WORK for name in names]


def work_here() -> None:
    """A worker: reads names of work from standard input, answers with seconds."""
    ready: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            names = next(names for names in WORK if name in names)
            ready |= dict(zip(names, WORK[names](), strict=True))
            for each in names:
                ready[each]()  # compile, and fill caches
        started = time.perf_counter()
        ready[name]()
        print(json.dumps(time.perf_counter() - started), flush=True)


@contextmanager
def worker(tree: Path) -> Iterator[Callable[[str], float]]:
    """A process that works with the sources of a tree."""
    place = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(
        [sys.executable, __file__, "--worker"],
        env=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def seconds(name: str) -> float:
        print(name, file=process.stdin, flush=True)
        return float(json.loads(process.stdout.readline()))

    try:
        yield seconds
    finally:
        process.stdin.close()
        process.wait()


@contextmanager
def checkout(revision: str, *folders: str) -> Iterator[Path]:
    """Folders of a commit (by default its sources) in a temporary folder."""
    command = ["git", "archive", revision, *(folders or ("src",))]
    with tempfile.TemporaryDirectory() as folder:
        files = subprocess.run(command, cwd=ROOT, capture_output=True)
        if files.returncode:
            raise SystemExit(f"git cannot read {revision!r}: {files.stderr.decode().strip()}")
        subprocess.run(["tar", "x", "-C", folder], input=files.stdout, check=True)
        yield Path(folder)


def compare(revision: str, repeats: int, only: str) -> dict[str, Any]:
    import numpy as np
    from common import machine, spread

    rows: dict[str, Any] = {}
    with checkout(revision) as then, worker(then) as before, worker(ROOT) as after:
        for name in (name for name in NAMES if only in name):
            pairs = np.array([(after(name), before(name)) for _ in range(repeats)])
            ratios = pairs[:, 0] / pairs[:, 1]
            seconds = np.median(pairs, axis=0)
            mark = "   SLOWER" if np.median(ratios) > SLOWER else ""
            print(f"{name:24} {spread(ratios)}   {seconds[0]:.3f} s, {seconds[1]:.3f} s{mark}")
            rows[name] = {"ratios": ratios.round(3).tolist(), "seconds": seconds.tolist()}
    return {"machine": machine("numpy", "numba"), "revision": revision, "work": rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", default="", help="work whose name contains this")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work_here()
        return
    from common import RESULTS, write_json

    record = compare(arguments.revision, arguments.repeats, arguments.only)
    write_json(RESULTS / "between_commits.json", record)


if __name__ == "__main__":
    main()
