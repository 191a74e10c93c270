"""All pairs of parts: every case of the matrix of `tests/pairs`, and what became of each.

Every pair of values of every two slots of every estimator occurs in a case that was checked against
CVXPY, or was refused in a sentence. Cases are on disk as they end; a run that was stopped goes on
where it was when it is started again.

    python benchmarks/pairs.py [--seed 0] [--jobs 2] [--only OnlineNMF]

With a whole case, as it is printed for every failure, ``--only`` repeats that one.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from pairs.case import Trial
from pairs.covering import all_pairs
from pairs.run import Matrix, Outcome, run
from pairs.slots import names


def matrix(estimator: str, seed: int, folder: Path) -> dict[str, Any]:
    """Run all cases of an estimator; every outcome is appended to its file at once."""
    path = folder / f"{estimator}_{seed}.jsonl"
    done: dict[str, Outcome] = {}
    if path.exists():
        *lines, _ = path.read_text().split("\n")  # the last one ends in the middle, or is empty
        path.write_text("".join(f"{line}\n" for line in lines))
        done = {row.pop("case"): Outcome(**row) for row in map(json.loads, lines)}

    def tell(trial: Trial, outcome: Outcome) -> None:
        with path.open("a") as file:
            file.write(json.dumps({"case": trial.key(), **asdict(outcome)}) + "\n")
        if outcome.kind == "wrong":
            print(f"{trial.line()}  # {outcome.detail.splitlines()[0]}", flush=True)

    runs = Matrix(estimator, seed, done, tell)
    cover = runs.cover().make()
    outcomes = {key: runs.outcomes[key] for key in runs.outcomes}
    wrong = {key: each.detail for key, each in outcomes.items() if each.kind == "wrong"}
    return {
        "slots": {slot: len(values) for slot, values in cover.slots.items()},
        "pairs": len(all_pairs(cover.slots)),
        "refused pairs": len(cover.refused),
        "cases": len(cover.known),
        "outcomes": dict(sorted(Counter(each.kind for each in outcomes.values()).items())),
        "seconds": round(sum(each.seconds for each in outcomes.values()), 1),
        "slowest": max(each.seconds for each in outcomes.values()),
        "failures": [
            {"line": Trial.of(key, seed).line(), "detail": detail.splitlines()[0]}
            for key, detail in sorted(wrong.items())
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="an estimator, or a whole case")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/pairs.json"))
    parser.add_argument("--folder", type=Path, default=Path("build/pairs"), help="what is done")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # cases are small, and run side by side

    if ";" in arguments.only:
        outcome = run(Trial.of(arguments.only, arguments.seed))
        print(outcome.detail or outcome.kind)
        raise SystemExit(outcome.kind == "wrong")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [arguments.only] if arguments.only else names()
    started = time.perf_counter()
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        futures = {n: pool.submit(matrix, n, arguments.seed, arguments.folder) for n in chosen}
        for name, future in futures.items():
            found[name] = future.result()
            print(name, json.dumps({k: v for k, v in found[name].items() if k != "failures"}))
    record = {
        "seed": arguments.seed,
        "python": platform.python_version(),
        "wall seconds": round(time.perf_counter() - started),
        "pairs": sum(each["pairs"] for each in found.values()),
        "cases": sum(each["cases"] for each in found.values()),
        "wrong": sum(len(each["failures"]) for each in found.values()),
        "estimators": found,
    }
    if not arguments.only:
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print({key: record[key] for key in ("pairs", "cases", "wrong", "wall seconds")})
    raise SystemExit(record["wrong"] > 0)


if __name__ == "__main__":
    main()
