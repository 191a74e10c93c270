"""The same bits: every estimator from a cold and a warm cache, and on one, two and three threads.

The package is copied without its machine code. Each estimator then runs in a process that compiles
everything, in a second one that finds what the first has kept, and there with one, two and three
threads, three times each: what a chance arrangement of memory could change shows on repetition.

With ``--against`` a commit, the cases of `tests/contract` run instead, on the sources of that
commit and on those of this tree. Each tree has a process and a copy of the package of its own. Both
start from the machine code of this tree, whose files are named by a digest of their sources, so
only kernels that differ are compiled. The cases are those of the tree; those of a commit that has
none are taken from this tree. Results whose bits differ are printed, and the exit code is 1.

    python benchmarks/same_bits.py [--only OnlineNMF] [--against HEAD~1]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from between_commits import checkout
from cold import FIRST_CALLS
from common import RESULTS, command_line, machine, write_json

ROOT = Path(__file__).resolve().parents[1]
MACHINE_CODE = ROOT / "src" / "thresher" / "machine_code"

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


# ----------------------------------------------------------------------- between commits

CASES = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from tests.contract.cases import CASES

def bits(value):
    values = np.ascontiguousarray(value.toarray() if hasattr(value, "toarray") else value)
    content = f"{values.dtype} {values.shape} ".encode() + values.tobytes()
    return hashlib.sha256(content).hexdigest()[:16]

def digests(case):
    try:
        return {name: bits(value) for name, value in case().items()}
    except Exception as error:  # also a result of the case
        return {"error": f"{type(error).__name__}: {error}"}

print(json.dumps({name: digests(case) for name, case in CASES.items() if sys.argv[1] in name}))
"""
Digests = dict[str, dict[str, str]]
"""Of each case, the digest of each result by its name."""


def start_cases(tree: Path, only: str) -> subprocess.Popen[str]:
    """A process that runs the contract cases on the sources of a tree."""
    path = os.pathsep.join([str(tree / "src"), str(tree)])
    variables = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tree / "cache")}
    return subprocess.Popen(
        [sys.executable, "-c", CASES, only],
        cwd=tree,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
    )


def digests_of(process: subprocess.Popen[str], name: str) -> Digests:
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"The cases did not run on {name}.")
    found: Digests = json.loads(output.splitlines()[-1])
    return found


def difference(before: dict[str, str] | None, after: dict[str, str] | None) -> str:
    """What to print of a case; nothing if all results have the same bits."""
    if before is None or after is None:
        return f"only {'after' if before is None else 'before'}"
    if before == after:
        return f"fails in both: {after['error']}" if "error" in after else ""
    for name, found in (("before", before), ("after", after)):
        if "error" in found:
            return f"fails {name}: {found['error']}"
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return f"DIFFERENT: {', '.join(names)}"


def compare(revision: str, only: str) -> int:
    """Compare the bits of the contract cases with those of a commit; how many differ."""
    with checkout(revision, "src", "tests") as old, tempfile.TemporaryDirectory() as place:
        new, contract = Path(place), ROOT / "tests" / "contract"
        copy_package(new / "src")
        shutil.copytree(contract, new / "tests" / "contract")
        if not (old / "tests" / "contract" / "cases.py").exists():
            shutil.copytree(contract, old / "tests" / "contract", dirs_exist_ok=True)
        for tree in (old, new):
            if MACHINE_CODE.is_dir():
                shutil.copytree(MACHINE_CODE, tree / "src" / "thresher" / "machine_code")
        processes = start_cases(old, only), start_cases(new, only)
        before, after = map(digests_of, processes, (revision, "this tree"))
    differences = {
        name: difference(before.get(name), after.get(name)) for name in {**before, **after}
    }
    for name, text in differences.items():
        print(f"{name:42} {text or 'same bits'}")
    different = sum(bool(text) for text in differences.values())
    print(f"{different} of {len(differences)} cases differ or fail.")
    return different


def copy_package(folder: Path) -> None:
    """The sources of this tree, without what was compiled."""
    ignored = shutil.ignore_patterns("machine_code", "__pycache__")
    shutil.copytree(ROOT / "src", folder, ignore=ignored)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--only", default="", help="estimators or cases whose name contains this")
    parser.add_argument("--against", metavar="REVISION", help="compare contract cases with this")
    parser.add_argument("--out", type=Path, default=RESULTS / "same_bits.json")
    given = parser.parse_args()
    if given.against:
        raise SystemExit(bool(compare(given.against, given.only)))
    rows = {}
    with tempfile.TemporaryDirectory() as place:
        for name in (name for name in FIRST_CALLS if given.only in name):
            folder = Path(place) / "package"  # each compiles all that it needs
            shutil.rmtree(folder, ignore_errors=True)
            copy_package(folder)
            (cold,), compiled = run(name, folder, "cold")
            warm, again = run(name, folder, "warm")
            same = {cold} == set(warm)
            rows[name] = {"same": same, "compiled cold": compiled, "compiled warm": again}
            print(f"{name:28} {'same bits' if same else f'DIFFERENT: {cold}, {warm}'}", flush=True)
    write_json(given.out, {"machine": machine(), "estimators": rows})
    raise SystemExit(not all(row["same"] for row in rows.values()))


if __name__ == "__main__":
    main()
