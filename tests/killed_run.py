"""A run on a source with checkpoints, to be killed at any time and started again.

    python tests/killed_run.py source.npy model.thresher samples_between n_passes

It goes on from the checkpoint if there is one, says where it began as soon as it has written the
next, and saves the model when it is done. `run_killed` starts it as often as it takes.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import thresher


def run(source: Any, path: Path, samples: int, n_passes: int) -> None:
    """Begin, or go on."""
    saving = thresher.Checkpoint(path, seconds=None, samples=samples)
    model = thresher.OnlineRobustNMF(
        5, batch_size=64, n_passes=n_passes, tol=0.0, random_state=0, verbose=0
    )
    learn = model.fit
    if path.exists():
        model = thresher.load(path)
        learn = model.resume
    begun = [model.n_samples_seen_ if path.exists() else 0]

    def tell(step: Any) -> None:
        if begun and step.row.samples >= begun[0] + samples:
            print(begun.pop(), flush=True)

    model.set_params(callbacks=[saving, tell])
    learn(source)
    thresher.save(model, path)


def opened(file: str | Path) -> Any:
    """The samples of the run, shuffled, so that its place is more than a number of rows."""
    return thresher.open(file).shuffled(200)


def run_killed(arguments: Sequence[Any], n_kills: int, seconds: float, seed: int) -> list[int]:
    """Start the run, kill it at random so many times, let it end; where each start began.

    Kills come at any time within ``seconds`` after the first checkpoint of each start, decided here
    by the clock: in the middle of a step, of a read, or of the next checkpoint.
    """
    rng, begun = random.Random(seed), list[int]()
    command = [sys.executable, __file__, *map(str, arguments)]
    paths = os.pathsep.join(filter(None, sys.path))
    for left in range(n_kills, -1, -1):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
        ) as child:
            assert child.stdout is not None
            begun.append(int(child.stdout.readline()))
            if left:
                time.sleep(seconds * rng.random())
                child.kill()
        if child.returncode == 0 and left:
            raise RuntimeError(f"The run ended {left} kills too early; make it longer.")
        if child.returncode not in (0, -9):
            raise RuntimeError(f"The run failed with {child.returncode}.")
    return begun


if __name__ == "__main__":
    run(opened(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
