"""Fifty random kills of a run with checkpoints: the same bits as without any.

The run (`tests/killed_run.py`) learns from a shuffled source on disk in many passes, with a
checkpoint every so many samples. This script kills it with SIGKILL, at times that only its own
clock knows, starts it again, and lets it end after the last kill. Dictionary, statistics and
history (but for the seconds in it) are then compared, bit by bit, with those of a run that nobody
killed.

    python benchmarks/kills.py [--kills 50] [--seed 0]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from common import RESULTS, clock, command_line, machine, write_json

import thresher
from thresher.datasets import make_outlier_stream

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from killed_run import opened, run, run_killed

SAMPLES_BETWEEN = 640  # ten steps
SECONDS = 0.1  # after the first checkpoint of a start, within which it is killed


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--passes", type=int, default=400)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "samples.npy", make_outlier_stream(600, 24, 4, random_state=0).data)
        with clock() as alone:
            run(opened(folder / "samples.npy"), folder / "whole", 1 << 60, given.passes)
        settings = (SAMPLES_BETWEEN, given.passes, given.kills, SECONDS, given.seed)
        with clock() as spent:
            begun = run_killed(folder / "samples.npy", folder / "killed", *settings)
        killed, whole = (thresher.load(folder / name) for name in ("killed", "whole"))
    columns = [c for c in range(whole.history_.to_array().shape[1]) if c != 1]  # not the seconds
    same = {
        "dictionary": np.array_equal(killed.components_, whole.components_),
        "history": np.array_equal(
            killed.history_.to_array()[:, columns],
            whole.history_.to_array()[:, columns],
            equal_nan=True,
        ),
    }
    for part, values in whole.statistics_.arrays().items():
        same[f"statistics {part}"] = np.array_equal(killed.statistics_.arrays()[part], values)
    record = {
        "kills": given.kills,
        "seed": given.seed,
        "samples": whole.n_samples_seen_,
        "samples between checkpoints": SAMPLES_BETWEEN,
        "starts that went on from": begun,
        "same bits": same,
        "seconds without kills and checkpoints": round(alone.wall, 1),
        "seconds with kills and starts": round(spent.wall, 1),
        "machine": machine("thresher"),
    }
    print(record)
    assert all(same.values()), "the bits differ"
    write_json(RESULTS / "kills.json", record)


if __name__ == "__main__":
    main()
