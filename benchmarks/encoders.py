"""Nonnegative Huber codes: microseconds per sample of every encoder at four sizes.

For each size (planted 400 × 49, CBCL faces 361 × 49, Yale B faces 1024 × 40, video 25344 × 10) a
dictionary is learned, reference codes are computed to machine precision, and every encoder is timed
until *every* row is within a relative suboptimality of 1e-3, 1e-6 and 1e-9 of its own optimum.
Iterative solvers without a finish get an oracle's number of iterations, found beforehand and not
charged; ``auto`` pays for its own certificate, whose tolerance is named, with the worst row's
suboptimality behind it. Encoders run interleaved; medians of the repeats.

The faces and the video are looked for in --data or THRESHER_DATA; without them only the planted
size runs.

    python benchmarks/encoders.py [--data FOLDER] [--repeats 5]
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from common import RESULTS, command_line, data_folder, interleaved, write_json

from thresher import OnlineRobustNMF
from thresher.datasets import make_outlier_stream
from thresher.encoding import (
    AutoEncoder,
    BlockADMM,
    CodingProblem,
    Encoder,
    IterativeEncoder,
    Never,
)
from thresher.engine import Pool
from thresher.linalg import Array, block_slices
from thresher.losses import Huber
from thresher.published.outliers import OutlierADMM, ProjectedGradient

TARGETS = (1e-3, 1e-6, 1e-9)
MOST_ITERATIONS = 300
# "Plain" is the block encoder with one inner step and a short start.
ITERATIVE = {
    "OPGD": ProjectedGradient(),
    "OADMM": OutlierADMM(),
    "block ADMM, plain": BlockADMM(inner=1, start_steps=4, relative_shift=0.3),
    "block ADMM": BlockADMM(),
}


def problems() -> Iterator[tuple[str, CodingProblem, Array]]:
    planted = make_outlier_stream(2000, random_state=0, dtype=np.float32)
    D = planted.dictionary / np.linalg.norm(planted.dictionary, axis=1, keepdims=True)
    yield "planted 400x49", CodingProblem(D.astype(np.float32), Huber(1 / 20)), planted.data
    folder = data_folder()
    if folder is None:
        return
    sets = [
        ("CBCL 361x49", "cbcl_faces_19x19.npz", "images", 49),
        ("Yale B 1024x40", "yaleb_32x32.npz", "images", 40),
        ("video 25344x10", "i2r_hall_144x176.npz", "frames", 10),
    ]
    for name, file, key, K in sets:
        images = np.load(folder / file)[key]
        X = images.reshape(len(images), -1).astype(np.float32)
        X = X[np.random.default_rng(0).permutation(len(X))][:2000]
        X /= X.max(axis=1, keepdims=True)
        model = OnlineRobustNMF(K, random_state=0, verbose=0).fit(X)
        yield name, CodingProblem(model.components_, Huber(1 / np.sqrt(X.shape[1]))), X


def encode(encoder: Encoder, problem: CodingProblem, X: Array, pool: Pool) -> Array:
    prepared = encoder.prepare(problem)
    blocks = block_slices(*X.shape)
    return np.vstack(pool.map(lambda rows: prepared(X[rows]).codes, blocks))


def suboptimality(problem: CodingProblem, X: Array, C: Array, best: Array) -> float:
    exact = CodingProblem(problem.D.astype(np.float64), problem.loss)
    values = exact.objective(X.astype(np.float64), C.astype(np.float64))
    return float(np.max(values / best - 1))


def oracle(solver: object, problem: CodingProblem, X: Array, best: Array, pool: Pool) -> list[int]:
    """Iterations after which every row is within each target; 0 if that takes too many."""
    needed, iterations = [], 1
    for target in TARGETS:
        while iterations <= MOST_ITERATIONS:
            C = encode(IterativeEncoder(solver, Never(), iterations), problem, X, pool)
            if suboptimality(problem, X, C, best) <= target:
                break
            iterations += max(1, iterations // 5)
        needed.append(iterations if iterations <= MOST_ITERATIONS else 0)
    return needed


def measure(problem: CodingProblem, X: Array, dtype: type, repeats: int) -> dict[str, dict]:
    problem = CodingProblem(problem.D.astype(dtype), problem.loss)
    X = X.astype(dtype)
    exact = CodingProblem(problem.D.astype(np.float64), problem.loss)
    with Pool() as pool:
        C = encode(AutoEncoder(1e-13), exact, X.astype(np.float64), pool)
        best = exact.objective(X.astype(np.float64), C)
        candidates: dict[tuple[str, str], Callable[[int], Array]] = {}
        notes: dict[tuple[str, str], object] = {}
        some = slice(None, None, max(1, len(X) // 120))
        few, few_best = X[some], best[some]
        for name, solver in ITERATIVE.items():
            for target, n in zip(
                TARGETS, oracle(solver, problem, few, few_best, pool), strict=True
            ):
                if n and not (dtype is np.float32 and target < 1e-7):
                    encoder = IterativeEncoder(solver, Never(), n)
                    rows = few if n > 100 else X
                    candidates[name, f"{target:g}"] = _job(encoder, problem, rows, pool)
                    notes[name, f"{target:g}"] = (n, len(rows))
        for tol in (1e-2, 1e-4, 1e-6):
            encoder, label = AutoEncoder(tol), f"its tol {tol:g}"
            candidates["auto", label] = _job(encoder, problem, X, pool)
            C = encode(encoder, problem, X, pool)
            notes["auto", label] = suboptimality(problem, X, C, best)
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in candidates}
        for key, _, codes, spent in interleaved(candidates, range(repeats)):
            seconds[key].append(spent.wall / len(codes) * 1e6)
    return {
        f"{name} to {target}": {
            "us": float(np.median(times)),
            "spread": [min(times), max(times)],
            "note": notes[name, target],
        }
        for (name, target), times in seconds.items()
    }


def _job(encoder: Encoder, problem: CodingProblem, X: Array, pool: Pool) -> Callable[[int], Array]:
    return lambda repeat: encode(encoder, problem, X, pool)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    document: dict[str, dict] = {}
    for name, problem, X in problems():
        for dtype in (np.float32, np.float64):
            table = measure(problem, X, dtype, arguments.repeats)
            document[f"{name} {dtype.__name__}"] = table
            print(
                f"\n{name}, {dtype.__name__}: µs per sample [range]; "
                "(iterations, rows) or the worst row"
            )
            for what, row in table.items():
                low, high = row["spread"]
                print(f"  {what:28} {row['us']:9.1f} [{low:.1f}, {high:.1f}]  {row['note']}")
    path = arguments.out / "encoders.json"
    write_json(path, document)
    print(path)


if __name__ == "__main__":
    main()
