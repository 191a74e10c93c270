"""The Manhattan distance: sweeps against sorting, and Figures 3 and 4 of paper C.

- A round of rank-one sweeps (codes and dictionary) against the same algorithm with NumPy, which
  sorts all kinks of a column at once, from the same random factors: processor time on one thread,
  interleaved, medians of the repeats, and their ratio.
- Objective over rounds and over processor seconds of ``rri``, ``ogm`` and ``auto`` from the same
  random start, on random data and on faces (seven images of each person), ranks 5 and 50. ``ogm``
  gets the seconds of ``rri``, and half a second at least. For every
  start: the better final objective of the two published solvers, the seconds that it took, and the
  seconds until ``auto`` is below it. Medians over the starts.

The faces are looked for in --data or THRESHER_DATA; without them only random data run.

    python benchmarks/manhattan_speed.py [--data FOLDER] [--starts 10] [--write]
"""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import RESULTS, command_line, data_folder, interleaved, write_json

from thresher import ManhattanNMF
from thresher.datasets import load_faces
from thresher.engine import Pool, Step
from thresher.linalg import Array
from thresher.manhattan import Half, RankOneSweeps
from thresher.penalties import Constrained

SOLVERS = ("rri", "ogm", "auto")
PICTURE = Path(__file__).parent.parent / "docs" / "manhattan_speed.png"


def seven_of_each(name: str) -> Array:
    faces, rng = load_faces(name), np.random.default_rng(1)
    people = [np.flatnonzero(faces.labels == person) for person in np.unique(faces.labels)]
    some = [rng.choice(images, 7, replace=False) for images in people]
    return faces.rows()[np.concatenate(some)]


def problems() -> Iterator[tuple[str, Array, int]]:
    rng = np.random.default_rng(0)
    yield "random 100x50", rng.random((100, 50)), 5
    yield "random 1000x500", rng.random((1000, 500)), 50
    if data_folder() is None:
        return
    for name, faces in (("Yale B", "yale_b"), ("PIE", "pie")):
        X = seven_of_each(faces)
        for rank in (5, 50):
            yield f"{name} {len(X)}x{X.shape[1]}", X, rank


# ---------------------------------------------------------------- sweeps against sorting


def sorting_sweep(X: Array, A: Array, V: Array) -> Array:
    """Algorithm 1 for one half, all rows at once; kinks are sorted."""
    V = V.copy()
    E = X - V @ A
    rows = np.arange(len(X))
    for k, a in enumerate(A):
        positive = a > 0
        weight = a[positive]
        kinks = E[:, positive] / weight + V[:, k : k + 1]
        order = np.argsort(kinks, axis=1)
        reached = np.cumsum(weight[order], axis=1) >= weight.sum() / 2
        chosen = order[rows, reached.argmax(axis=1)]
        new = np.maximum(kinks[rows, chosen], 0)
        E -= (new - V[:, k])[:, None] * a
        V[:, k] = new
    return V


def sweep_times(X: Array, rank: int, repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    D, C = rng.random((rank, X.shape[1])), rng.random((len(X), rank))
    C *= X.mean() / (C @ D).mean()
    Xt = np.ascontiguousarray(X.T)
    halves = [Half(each, Constrained(), X.dtype) for each in (X, Xt)]
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

    jobs = {"rri": ours, "sorting": sorting}
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    start = ours((C, D))
    # Each round starts where the last one ended: ``start`` is looked up when the round begins.
    for name, _, moved, spent in interleaved(jobs, (start for _ in range(repeats))):
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


def curve(
    X: Array, rank: int, solver: str, start: int, limit: float = np.inf
) -> list[tuple[float, float]]:
    watch = Watch(limit)
    ManhattanNMF(
        rank, solver=solver, init="random", random_state=start, n_jobs=1, verbose=0,
        callbacks=[watch],
    ).fit(X)  # fmt: skip
    return watch.curve


def compare(X: Array, rank: int, starts: int) -> dict[str, object]:
    curves: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in SOLVERS}
    for start in range(starts):
        for solver in SOLVERS:
            limit = max(0.5, curves["rri"][start][-1][0]) if solver == "ogm" else np.inf
            curves[solver].append(curve(X, rank, solver, start, limit))
    shares, gains, chosen = [], [], []
    for rri, ogm, auto in zip(*(curves[name] for name in SOLVERS), strict=True):
        best = min((rri, ogm), key=lambda each: each[-1][1])
        seconds, goal = best[-1]
        hit = [at for at, value in auto if value <= goal]
        shares.append(hit[0] / seconds if hit else float("inf"))
        gains.append(auto[-1][1] / goal)
        chosen.append("rri" if best is rri else "ogm")
    return {
        "final": {name: median(each[-1][1] for each in curves[name]) for name in SOLVERS},
        "seconds": {name: median(each[-1][0] for each in curves[name]) for name in SOLVERS},
        "rounds": {name: median(len(each) for each in curves[name]) for name in SOLVERS},
        "best published": max(set(chosen), key=chosen.count),
        "share of its seconds": float(np.median(shares)),
        "shares": sorted(shares),
        "auto over published": float(np.median(gains)),
        "curves": {name: _thinned(each[0]) for name, each in curves.items()},
    }


def median(values: Iterator[float]) -> float:
    return float(np.median(list(values)))


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    kept = points[:: max(1, len(points) // 50)]
    return [(round(a, 4), round(b, 6)) for a, b in [*kept, points[-1]]]


def picture(found: dict[str, dict[str, object]]) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    fig, axes = plt.subplots(2, 3, figsize=(10, 5.5), layout="constrained")
    for ax, (name, result) in zip(axes.flat, found.items(), strict=False):
        for solver, points in result["curves"].items():  # type: ignore[attr-defined]
            ax.plot(*zip(*points, strict=True), label=solver)
        ax.set(title=name, xscale="log", xlabel="processor seconds", ylabel="objective per sample")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes.flat[0].legend()
    fig.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write results and the picture")
    options = parser.parse_args()
    sweeps, figures = {}, {}
    for name, X, rank in problems():
        key = f"{name}, rank {rank}"
        sweeps[key] = sweep_times(X, rank, 30 if X.size < 10_000 else 5)
        print(f"{key}: sweep {sweeps[key]['ratio']:.1f} times faster than sorting", flush=True)
        figures[key] = result = compare(X, rank, options.starts)
        print(f"  auto is there after {result['share of its seconds']:.3f} of the seconds of "
              f"{result['best published']}, and ends at {result['auto over published']:.4f} of it; "
              f"seconds {result['seconds']}", flush=True)  # fmt: skip
        if options.write:
            record = {"sweeps": sweeps, "figures": figures}
            write_json(RESULTS / "manhattan_speed.json", record)
    if options.write:
        picture(figures)


if __name__ == "__main__":
    main()
