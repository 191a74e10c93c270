"""A run on a source with checkpoints, which is killed at any time and started again."""

import random
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import thresher
import thresher.estimators


def run(source: Any, path: Path, samples: int, n_passes: int, told: Any = None) -> None:
    """Begin, or go on from the checkpoint if there is one; the model is saved at the end.

    With a connection to tell through, it tells at which sample it began, when it has written the
    next checkpoint, ``samples`` later.
    """
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
        if told is not None and begun and step.row.samples >= begun[0] + samples:
            told.send(begun.pop())

    model.set_params(callbacks=[saving, tell])
    learn(source)
    thresher.save(model, path)


def opened(file: str | Path) -> Any:
    """The samples of the run, shuffled, so that its place is more than a number of rows."""
    return thresher.open(file).shuffled(200)


def run_killed(
    file: Path, path: Path, samples: int, n_passes: int, n_kills: int, seconds: float, seed: int
) -> list[int]:
    """Start the run, kill it at random so many times, let it end; where each start began.

    Kills come at any time within ``seconds`` after the first checkpoint of each start, decided here
    by the clock: in the middle of a step, of a read, or of the next checkpoint. Each start is a
    process of its own, which knows nothing but the files; they come from a server that has loaded
    the libraries once.
    """
    rng, begun = random.Random(seed), list[int]()
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["thresher.estimators"])
    for left in range(n_kills, -1, -1):
        here, there = processes.Pipe(duplex=False)
        arguments = (opened(file), path, samples, n_passes, there)
        child = processes.Process(target=run, args=arguments)
        child.start()
        there.close()  # so that a child that fails is not waited for
        begun.append(int(here.recv()))
        if left:
            time.sleep(seconds * rng.random())
            child.kill()
        child.join()
        if child.exitcode == 0 and left:
            raise RuntimeError(f"The run ended {left} kills too early; make it longer.")
        if child.exitcode not in (0, -9):
            raise RuntimeError(f"The run failed with {child.exitcode}.")
    return begun
