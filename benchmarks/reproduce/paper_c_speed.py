"""Paper C: Figures 3 and 4, and sweeps against sorting.

- Figures 3 and 4: objective over rounds and over processor seconds of ``rri``, ``ogm`` and ``auto``
  from the same random start, on random data and on faces (seven images of each person), ranks 5
  and 50, one thread. A job is one start: its solvers run side by side. ``ogm`` ends with the
  round in which it has had the seconds of ``rri``, and half a second at least.
- A sweep over both factors against the same algorithm with NumPy, which sorts all breakpoints of a
  column at once, from the same random factors: processor time on one thread, interleaved.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import DATA_FILES, Row, interleaved
from benchmarks.reproduce.jobs import Job, Scale

from thresher import ManhattanNMF
from thresher.datasets import load_faces
from thresher.engine import Pool, Step
from thresher.linalg import Array
from thresher.manhattan import Half, RankOneSweeps
from thresher.penalties import Regulariser

SOLVERS = ("rri", "ogm", "auto")
PICTURE = Path(__file__).parents[2] / "docs" / "lab" / "manhattan_speed.png"
PUBLISHED = {
    "random_100x50": "rri in fewer rounds and seconds than ogm",
    "random_1000x500": "ogm far fewer seconds a round than rri",
}
"""What the paper says of its curves, which have no numbers."""


@dataclass(frozen=True)
class Problem:
    """Random data of a shape, or faces; and the rank."""

    name: str
    rank: int
    shape: tuple[int, int] = (0, 0)
    faces: str = ""

    def data(self) -> Array:
        """Samples in rows."""
        if not self.faces:
            return np.random.default_rng(0).random(self.shape)
        faces, rng = load_faces(self.faces), np.random.default_rng(1)
        people = [np.flatnonzero(faces.labels == person) for person in np.unique(faces.labels)]
        some = [rng.choice(images, 7, replace=False) for images in people]
        return faces.rows()[np.concatenate(some)]

    def job(self, what: str, work: Any) -> Job:
        """A job on it; ``what`` has a place for its name."""
        needs = (DATA_FILES[self.faces],) if self.faces else ()
        return Job(what.format(f"{self.name}_rank_{self.rank}"), work, needs)


def problems(scale: Scale) -> Iterator[Problem]:
    yield Problem("random_100x50", 5, (100, 50))
    if scale == "quick":
        yield Problem("random_200x100", 10, (200, 100))
        return
    yield Problem("random_1000x500", 50, (1000, 500))
    for name in ("yale_b", "pie"):
        yield from (Problem(name, rank, faces=name) for rank in (5, 50))


def jobs(scale: Scale) -> Iterable[Job]:
    for problem in problems(scale):
        yield problem.job("sweep/{}", partial(sweep_times, problem))
        for start in range(1 if scale == "quick" else 10):
            yield problem.job(f"figures_3_4/{{}}/start_{start}", partial(curves, problem, start))


# ---------------------------------------------------------------- sweeps against sorting


def sorting_sweep(X: Array, A: Array, V: Array) -> Array:
    """Algorithm 1 for one half, all rows at once; breakpoints are sorted."""
    V = V.copy()
    E = X - V @ A
    rows = np.arange(len(X))
    for k, a in enumerate(A):
        positive = a > 0
        weight = a[positive]
        breakpoints = E[:, positive] / weight + V[:, k : k + 1]
        order = np.argsort(breakpoints, axis=1)
        reached = np.cumsum(weight[order], axis=1) >= weight.sum() / 2
        chosen = order[rows, reached.argmax(axis=1)]
        new = np.maximum(breakpoints[rows, chosen], 0)
        E -= (new - V[:, k])[:, None] * a
        V[:, k] = new
    return V


def sweep_times(problem: Problem) -> Row:
    X, rank = problem.data(), problem.rank
    repeats = 30 if X.size < 10_000 else 5
    rng = np.random.default_rng(0)
    D, C = rng.random((rank, X.shape[1])), rng.random((len(X), rank))
    C *= X.mean() / (C @ D).mean()
    Xt = np.ascontiguousarray(X.T)
    halves = [Half(each, Regulariser(), X.dtype) for each in (X, Xt)]
    sweeps, pool = RankOneSweeps(), Pool(1)

    def ours(factors: tuple[Array, Array]) -> tuple[Array, Array]:
        C, D = factors
        C, _ = sweeps.improve(halves[0], D, C, pool)
        V, _ = sweeps.improve(halves[1], np.ascontiguousarray(C.T), D.T, pool)
        return C, np.ascontiguousarray(V.T)

    def sorting(factors: tuple[Array, Array]) -> tuple[Array, Array]:
        C, D = factors
        C = sorting_sweep(X, D, C)
        return C, sorting_sweep(Xt, np.ascontiguousarray(C.T), D.T).T.copy()

    ways = {"rri": ours, "sorting": sorting}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    start = ours((C, D))
    # Each round starts where the last one ended: ``start`` is looked up when the round begins.
    for name, _, moved, spent in interleaved(ways, (start for _ in range(repeats))):
        seconds[name].append(spent.processor)
        start = moved
    medians = {name: float(np.median(values)) for name, values in seconds.items()}
    return medians | {"ratio": medians["sorting"] / medians["rri"]}


# ------------------------------------------------------------------------ Figures 3 and 4


class Watch:
    """A callback that notes processor seconds and objective of every round, and stops in time."""

    def __init__(self, limit: float) -> None:
        self.began, self.limit = time.process_time(), limit
        self.curve: list[tuple[float, float]] = []

    def __call__(self, step: Step) -> bool:
        """Note a round."""
        self.curve.append((time.process_time() - self.began, step.row.loss))
        return self.curve[-1][0] > self.limit


def curves(problem: Problem, start: int) -> Row:
    """Seconds and objective of every round, for each solver."""
    X, found = problem.data(), {}
    for solver in SOLVERS:
        limit = max(0.5, found["rri"][-1][0]) if solver == "ogm" else np.inf
        watch = Watch(limit)
        ManhattanNMF(
            problem.rank, solver=solver, init="random", random_state=start, n_jobs=1, verbose=0,
            callbacks=[watch],
        ).fit(X)  # fmt: skip
        found[solver] = watch.curve
    return found


def told(found: dict[str, list[tuple[float, float]]]) -> tuple[float, float]:
    """When ``auto`` is below the better of the published ends, in its seconds; how far it gets."""
    seconds, goal = min((found[name][-1] for name in ("rri", "ogm")), key=lambda end: end[1])
    hit = [at for at, value in found["auto"] if value <= goal]
    return (hit[0] / seconds if hit else float("inf")), found["auto"][-1][1] / goal


def tell(results: dict[str, Any]) -> None:
    for name, found in results.items():
        if name.startswith("sweep/"):
            print(f"  {name}: {found['ratio']:.1f} times as fast as sorting")
    for name, starts in by_problem(results).items():
        ends = {s: np.median([each[s][-1] for each in starts], axis=0) for s in SOLVERS}
        rounds = {s: np.median([len(each[s]) for each in starts]) for s in SOLVERS}
        shares, gains = zip(*map(told, starts), strict=True)
        print(f"  {name}, {len(starts)} starts: there after {np.median(shares):.3f}, "
              f"auto ends at {np.median(gains):.4f}")  # fmt: skip
        for s, (seconds, objective) in ends.items():
            print(f"    {s}: {rounds[s]:.0f} rounds, {seconds:.3g} s, {objective:.4g} per sample")
        if said := PUBLISHED.get(name.partition("_rank")[0]):
            print(f"    paper: {said}")


def by_problem(results: dict[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, result in results.items():
        if name.startswith("figures_3_4/"):
            found.setdefault(name.split("/")[1], []).append(result)
    return found


def picture(results: dict[str, Any]) -> None:
    """The first start of every problem, for docs/lab/manhattan.md."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    fig, axes = plt.subplots(2, 3, figsize=(10, 5.5), layout="constrained")
    for ax, (name, starts) in zip(axes.flat, by_problem(results).items(), strict=False):
        for solver, points in starts[0].items():
            ax.plot(*zip(*points, strict=True), label=solver)
        ax.set(title=name, xscale="log", xlabel="processor seconds", ylabel="objective per sample")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes.flat[0].legend()
    fig.savefig(PICTURE, dpi=110)
