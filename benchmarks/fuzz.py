"""The long run of the fuzzing harness: many random cases of every family, and their counts.

Each case runs under limits of 10 s and 1 GB (`tests/fuzz/harness.py`). Case i of a family has the
seed ``--seed`` + i. Counts are on disk after every round; a run that was stopped goes on where it
was when it is started again, and one that was finished goes on if more cases are asked for.

    python benchmarks/fuzz.py [--cases 20000] [--family estimators] [--seed 0] [--jobs 2]
"""

import platform
import sys
from pathlib import Path
from typing import Any

from common import RESULTS, clock, command_line, read_json, write_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fuzz.harness import GOOD, MEMORY_LIMIT, TIME_LIMIT, Tally, Workers, count, families

ROUND = 25


def record(seed: int, seconds: float, tallies: dict[str, Tally]) -> dict[str, Any]:
    total: dict[str, int] = {}
    for tally in tallies.values():
        for kind, number in tally.outcomes.items():
            total[kind] = total.get(kind, 0) + number
    return {
        "seed": seed,
        "limits": {"seconds": TIME_LIMIT, "MB": MEMORY_LIMIT >> 20},
        "python": platform.python_version(),
        "seconds": round(seconds),
        "cases": sum(tally.cases for tally in tallies.values()),
        "outcomes": dict(sorted(total.items())),
        "families": {name: tallies[name].to_json() for name in sorted(tallies)},
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="of all families together")
    parser.add_argument("--family", default="", help="only those with this in their names")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "fuzz.json")
    arguments = parser.parse_args()

    chosen = [name for name in families() if arguments.family in name]
    tallies: dict[str, Tally] = {}
    seconds = 0.0
    old = read_json(arguments.out)
    if old and old["seed"] == arguments.seed:
        tallies = {name: Tally.from_json(t) for name, t in old["families"].items()}
        seconds = old["seconds"]
    wanted = -(-arguments.cases // len(chosen))
    with Workers(arguments.jobs) as workers:
        for stop in range(ROUND, wanted + ROUND, ROUND):
            for name in chosen:
                done = tallies.get(name, Tally()).cases
                seeds = range(arguments.seed + done, arguments.seed + min(stop, wanted))
                with clock() as spent:
                    count(workers.run((name, seed) for seed in seeds), tallies)
                seconds += spent.wall
                write_json(arguments.out, record(arguments.seed, seconds, tallies))

    for name in chosen:
        tally = tallies[name]
        print(f"{name:60} {tally.cases:6} {dict(sorted(tally.outcomes.items()))}")
    total = record(arguments.seed, seconds, tallies)
    print(f"{total['cases']} cases in {seconds:.0f} s: {total['outcomes']}")
    if any(kind not in GOOD for kind in total["outcomes"]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
