"""The same bits: every estimator from a cold and a warm cache, and on one, two and three threads.

The package is copied without its machine code. Each estimator then runs in a process that compiles
everything, in a second one that finds what the first has kept, and there with one, two and three
threads, three times each: what a chance arrangement of memory could change shows on repetition.

    python benchmarks/same_bits.py [--only OnlineNMF]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cold import FIRST_CALLS
from common import RESULTS, command_line, machine, write_json

ROOT = Path(__file__).resolve().parents[1]

PROGRAM = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse
from thresher import {name}
from thresher.kernels import machine_code

def bits(thing):
    if isinstance(thing, tuple):
        return b"".join(map(bits, thing))
    if isinstance(thing, bytes):
        return thing
    values = np.ascontiguousarray(getattr(thing, "components_", thing))
    return b"" if values.dtype == object else values.tobytes()  # a task: the second call tells

def digest(threads):
    model, X = {model}, {data}
    known = model.get_params()
    wanted = dict(random_state=0, n_jobs=threads)
    model.set_params(**{{name: wanted[name] for name in wanted if name in known}})
    return hashlib.sha256(bits((model.{first}, model.{second}))).hexdigest()[:16]

threads = [1] if sys.argv[1] == "cold" else [1, 2, 3] * 3
print(json.dumps(dict(digests=[digest(n) for n in threads], compiled=len(machine_code.COMPILED))))
"""


def larger(data: str) -> str:
    """Several blocks of rows, so that threads have something to do."""
    return data.replace("(300, 40)", "(1500, 300)").replace("* 50", "* 300")


def run(name: str, folder: Path, stage: str) -> tuple[list[str], int]:
    model, data, *calls = FIRST_CALLS[name]
    first, second = calls or ("fit(X)", "transform(X)")
    if name not in ("SymmetricManhattanNMF", "TableCleaner"):  # pairs; 300 sensors take minutes
        data = larger(data)
    variables = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    program = PROGRAM.format(
        name=model.partition("(")[0], model=model, data=data, first=first, second=second
    )
    done = subprocess.run(
        [sys.executable, "-c", program, stage],
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    row = json.loads(done.stdout)
    return row["digests"], row["compiled"]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--only", default="", help="estimators whose name contains this")
    parser.add_argument("--out", type=Path, default=RESULTS / "same_bits.json")
    given = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as place:
        for name in (name for name in FIRST_CALLS if given.only in name):
            folder = Path(place) / "package"  # each compiles all that it needs
            shutil.rmtree(folder, ignore_errors=True)
            ignored = shutil.ignore_patterns("machine_code", "__pycache__")
            shutil.copytree(ROOT / "src", folder, ignore=ignored)
            (cold,), compiled = run(name, folder, "cold")
            warm, again = run(name, folder, "warm")
            same = {cold} == set(warm)
            rows[name] = {"same": same, "compiled cold": compiled, "compiled warm": again}
            print(f"{name:28} {'same bits' if same else f'DIFFERENT: {cold}, {warm}'}", flush=True)
    write_json(given.out, {"machine": machine(), "estimators": rows})
    raise SystemExit(not all(row["same"] for row in rows.values()))


if __name__ == "__main__":
    main()
