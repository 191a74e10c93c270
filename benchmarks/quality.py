"""Quality and processor time of each estimator and task, and the comparison of two runs.

Figures are measured on generated data with several seeds and, with ``--data``, on parts of real
data (`quality_measures.py`). The result is one JSON file: for each figure its value for each seed,
its direction ("higher", "lower", or the value that it should have) and its unit.

With ``--against`` an earlier file, figures are printed that changed by more than 2 % *and* by more
than two standard errors, paired over the seeds that both files have. Times of two runs of the same
tree on a busy machine differ by up to 40 %, most of them beyond both limits, because all seeds of a
run share its conditions: confirm a change of time with `between_commits.py`.

    python benchmarks/quality.py --data FOLDER --out new.json
    python benchmarks/quality.py --out new.json --against benchmarks/results/quality.json --no-run
"""

import math
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import RESULTS, Row, command_line, data_folder, machine, read_json, write_json
from threadpoolctl import threadpool_limits

CHANGE = 0.02
STANDARD_ERRORS = 2.0
TIME = {"better": "lower", "unit": "s"}


# ------------------------------------------------------------------------------ measuring


def measured(name: str, n_seeds: int | None) -> Row:
    """Figures of a measure."""
    from quality_measures import MEASURES

    chosen = MEASURES[name]
    seeds = range(min(chosen.seeds, n_seeds or chosen.seeds))
    rows = {str(seed): chosen.run(seed) for seed in seeds}
    found = {
        f"{name}: {figure}": {
            "values": {seed: float(row[figure]) for seed, (row, _) in rows.items()},
            "better": about.better,
            "unit": about.unit,
        }
        for figure, about in chosen.figures.items()
    }
    times = {seed: round(spent, 4) for seed, (_, spent) in rows.items()}
    return found | {f"{name}: processor time": {"values": times, **TIME}}


def reason_to_skip(name: str) -> str | None:
    from quality_measures import MEASURES

    needs, folder = MEASURES[name].needs, data_folder()
    if needs and folder is None:
        return "it needs --data"
    missing = [file for file in needs if not (Path(str(folder)) / file).is_file()]
    return f"{missing[0]} is missing" if missing else None


def run(path: Path, only: str, n_seeds: int | None) -> None:
    """Run the measures whose name contains ``only``; other figures of the file stay."""
    from quality_measures import MEASURES

    figures = read_json(path).get("figures", {}) if only else {}
    seconds, failed, ready = {}, [], set()
    for name in (name for name in MEASURES if only.lower() in name.lower()):
        reason = reason_to_skip(name)
        if reason:
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        began = time.process_time()
        try:
            if name.partition(",")[0] not in ready:  # the first run of a class loads or compiles
                ready.add(name.partition(",")[0])
                MEASURES[name].run(0)
            found = measured(name, n_seeds)
        except Exception:  # one failure must not end a run of minutes
            traceback.print_exc()
            failed.append(name)
            continue
        seconds[name] = round(time.process_time() - began, 1)
        figures |= found
        for figure, row in found.items():
            print(f"{figure:70} {summary(row)}", flush=True)
        write_json(path, {"machine": machine("numpy", "scipy"), "figures": figures})
    print(f"{sum(seconds.values()):.0f} processor seconds; the longest measures:")
    for name in sorted(seconds, key=lambda name: -seconds[name])[:5]:
        print(f"    {seconds[name]:6.1f}  {name}")
    if failed:
        raise SystemExit(f"These measures failed: {', '.join(failed)}.")


def standard_error(values: Any) -> float:
    """Of the mean; zero for a single value."""
    values = np.asarray(list(values), dtype=float)
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def summary(row: Row) -> str:
    """Mean ± standard error of a figure."""
    values = list(row["values"].values())
    return f"{np.mean(values):9.4g} ± {standard_error(values):<8.2g} {row['unit']}"


# ------------------------------------------------------------------------------ comparing


class Change(NamedTuple):
    """Means before and after, and the standard error of their difference."""

    before: float
    after: float
    error: float

    @property
    def counts(self) -> bool:
        """Whether the change is larger than both limits."""
        size = abs(self.after - self.before)
        return size > CHANGE * abs(self.before) and size > STANDARD_ERRORS * self.error


def change_between(old: Row, new: Row) -> Change:
    """Paired over the seeds that both have; otherwise of independent means."""
    seeds = [seed for seed in old["values"] if seed in new["values"]]
    if len(seeds) > 1:
        pairs = np.array([(old["values"][s], new["values"][s]) for s in seeds])
        return Change(*pairs.mean(axis=0), standard_error(pairs[:, 1] - pairs[:, 0]))
    values = [list(row["values"].values()) for row in (old, new)]
    error = math.hypot(*(standard_error(each) for each in values))
    return Change(float(np.mean(values[0])), float(np.mean(values[1])), error)


def is_better(change: Change, better: str | float) -> bool:
    if better == "higher":
        return change.after > change.before
    if better == "lower":
        return change.after < change.before
    return abs(change.after - float(better)) < abs(change.before - float(better))


def compare(old: Row, new: Row) -> list[str]:
    """A line for each figure that changed, times last, and the measures that only one file has."""
    lines = []
    for name, row in new.items():
        if name not in old:
            continue
        change = change_between(old[name], row)
        if change.counts:
            mark = "better" if is_better(change, row["better"]) else "WORSE "
            shown = f"{change.before:9.4g} -> {change.after:9.4g}  (± {change.error:.2g})"
            lines.append(f"{mark}  {name:70} {shown} {row['unit']}")
    lines.sort(key=lambda line: ("processor time" in line, line))
    for where, these, others in (("before", old, new), ("after", new, old)):
        alone = {name.partition(": ")[0] for name in these if name not in others}
        if alone:
            lines.append(f"Only {where}: {'; '.join(sorted(alone))}.")
    return lines


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "quality.json")
    parser.add_argument("--only", default="", help="measures whose name contains this")
    parser.add_argument("--seeds", type=int, help="at most so many seeds")
    parser.add_argument("--against", type=Path, help="an earlier file to compare with")
    parser.add_argument("--no-run", action="store_true", help="compare --out as it is")
    given = parser.parse_args()
    if given.against and not given.against.exists():
        parser.error(f"There is no file {given.against}.")
    old = read_json(given.against) if given.against else {}  # before --out is written
    if not given.no_run:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            run(given.out, given.only, given.seeds)
    if given.against:
        lines = compare(old["figures"], read_json(given.out)["figures"])
        print("\n".join(lines) or "No figure changed.")


if __name__ == "__main__":
    main()
