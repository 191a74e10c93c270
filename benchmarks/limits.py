"""How close to the limit of the machine: seconds beside the matrix products of the method alone.

For learning and for exact codes, on one and on two threads. The limit is what the method cannot do
without, done by NumPy or by one compiled pass on arrays of the same shapes, block by block, and
nothing else:

- `OnlineRobustNMF.fit`: a row of F features meets the dictionary five times (XDᵀ, PD, QDᵀ, CD,
  Cᵀ∇), and the K × K matrix thirteen times (twelve inner steps, CᵀC); a batch has at most eight
  sweeps over the dictionary, each a product of K × K with K × F.
- `OnlineRobustNMF.transform`: eleven products for the start and 28 inner steps, and for every
  Newton step two products more (the gradient, and the prediction of the step).
- KL on CSR rows, `fit` and `transform`: a pass reads the words of a document and their rows of Dᵀ
  twice, for the predictions and for the slopes; as many passes as the method makes.

    python benchmarks/limits.py [--repeats 7] [--only robust]
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, command_line, interleaved, machine, spread, write_json
from scipy import sparse
from threadpoolctl import threadpool_limits

from thresher import OnlineNMF, OnlineRobustNMF
from thresher.datasets import make_outlier_stream

# The loops whose speed limits all others: not public.
from thresher.kernels.bundles import read_only
from thresher.kernels.products import add_rows, products_at
from thresher.linalg import block_slices

Work = Callable[[Any], Any]

ROUGH_PRODUCTS, ROUGH_STEPS = 5, 13
SWEEPS = 8
START_PRODUCTS, START_STEPS = 11, 28
NEWTON_PRODUCTS = 2
ROUGH_PASSES = 6  # five expectation steps, and the sums


def products(X: Any, K: int, n_wide: float, n_small: float, n_sweeps: float) -> Work:
    """So many products of every block with the dictionary, with a K × K matrix, and so on."""
    rng = np.random.default_rng(0)
    F, dtype = X.shape[1], X.dtype
    D, C = rng.random((K, F)).astype(dtype), rng.random((X.shape[0], K)).astype(dtype)
    G = D @ D.T
    blocks = list(block_slices(*X.shape))
    rows = blocks[0].stop
    wide, small = np.empty((rows, F), dtype), np.empty((rows, K), dtype)
    sums = np.empty((K, F), dtype)

    def work(_: Any) -> None:
        for n, block in enumerate(blocks):
            x, c = X[block], C[block]
            # Fractions of a product per block are made up for by whole ones now and then.
            for i in range(int(n_wide * (n + 1)) - int(n_wide * n)):
                if i % 2:
                    np.matmul(c, D, out=wide[: len(c)])
                else:
                    np.matmul(x, D.T, out=small[: len(c)])
            for _ in range(int(n_small * (n + 1)) - int(n_small * n)):
                np.matmul(c, G, out=small[: len(c)])
        for _ in range(round(n_sweeps)):
            np.matmul(G, D, out=sums)

    return work


def passes(X: Any, K: int, n_passes: float) -> Work:
    """So many readings of all documents, twice each."""
    rng = np.random.default_rng(0)
    C, Dt = rng.random((X.shape[0], K)).astype(X.dtype), rng.random((X.shape[1], K)).astype(X.dtype)
    indptr, indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    y, sums = np.empty_like(X.data), np.zeros((X.shape[1], K))

    def work(_: Any) -> None:
        for _ in range(round(n_passes)):
            products_at(*map(read_only, (indptr, indices, C, Dt)), y)
            add_rows(*map(read_only, (indptr, indices, y, C)), sums)

    return work


def robust(X: Any, K: int, batch_size: int) -> dict[str, tuple[Callable[[int], Work], Work]]:
    """Learning in one pass, and exact codes."""

    def fit(threads: int) -> Work:
        return lambda _: OnlineRobustNMF(
            K, batch_size=batch_size, n_jobs=threads, n_passes=1, random_state=0, verbose=0
        ).fit(X)

    model = OnlineRobustNMF(K, n_passes=1, random_state=0, verbose=0).fit(X)
    some = X[:5000]

    def transform(threads: int) -> Work:
        return lambda _: model.set_params(n_jobs=threads).transform(some)

    # Not public, and only counted here: how many Newton steps a row takes.
    steps = float(np.mean(newton_steps(model, some)))
    n_batches = -(-len(X) // batch_size)
    return {
        "fit": (fit, products(X, K, ROUGH_PRODUCTS, ROUGH_STEPS, SWEEPS * n_batches)),
        "transform": (
            transform,
            products(some, K, START_PRODUCTS + NEWTON_PRODUCTS * steps, START_STEPS, 0),
        ),
    }


def newton_steps(model: Any, X: Any) -> Any:
    """Newton steps of every row."""
    from thresher.encoding import AutoEncoder

    method = model._model().method
    problem = method.problem(model._state)
    encode = AutoEncoder().prepare(problem)
    unit = X.dtype.type(1 / model._state.unit)
    return np.concatenate([encode(X[rows] * unit).n_iter for rows in block_slices(*X.shape)])


def kl(X: Any, K: int) -> dict[str, tuple[Callable[[int], Work], Work]]:
    """Topics of documents, and their codes."""

    def fit(threads: int) -> Work:
        return lambda _: OnlineNMF(
            K, divergence="kl", n_jobs=threads, n_passes=1, random_state=0, verbose=0
        ).fit(X)

    model = OnlineNMF(K, divergence="kl", n_passes=1, random_state=0, verbose=0).fit(X)

    def transform(threads: int) -> Work:
        return lambda _: model.set_params(n_jobs=threads).transform(X)

    exact = passes(X, K, 2 * ROUGH_PASSES)
    return {"fit": (fit, passes(X, K, ROUGH_PASSES)), "transform": (transform, exact)}


def cases(only: str) -> dict[str, dict[str, tuple[Callable[[int], Work], Work]]]:
    made = {}
    for name, n, F, K, batch, dtype in (
        ("robust, planted 20000 × 400, K 49, batches of 256", 20_000, 400, 49, 256, "float64"),
        ("robust, planted 20000 × 400, K 49, batches of 1024", 20_000, 400, 49, 1024, "float64"),
        ("robust, planted 20000 × 400, K 49, batches of 4096", 20_000, 400, 49, 4096, "float64"),
        ("robust, faces 10000 × 361, K 49, float32", 10_000, 361, 49, 1024, "float32"),
        ("robust, stream 20000 × 256, K 20, float32", 20_000, 256, 20, 2048, "float32"),
        ("robust, video 600 × 19200, K 10, float32", 600, 19_200, 10, 100, "float32"),
    ):
        if only in name:
            X = make_outlier_stream(n, F, K, random_state=0, dtype=dtype).data
            made[name] = robust(X, K, batch)
    name = "KL, documents 10000 × 8000, K 20, float32"
    if only in name:
        rng = np.random.default_rng(0)
        atoms = rng.gamma(0.02, size=(20, 8000))
        chances = rng.gamma(0.1, size=(10_000, 20)) @ (atoms / atoms.sum(axis=1, keepdims=True))
        rate = 80 * chances / chances.sum(axis=1, keepdims=True)
        made[name] = kl(sparse.csr_matrix(rng.poisson(rate).astype(np.float32)), 20)
    return made


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--out", type=Path, default=RESULTS / "limits.json")
    given = parser.parse_args()
    rows = {}
    for name, verbs in cases(given.only).items():
        for verb, (work, limit) in verbs.items():
            jobs = {"limit": limit, "one": work(1), "two": work(2)}
            seconds: dict[str, list[float]] = {job: [] for job in jobs}
            with threadpool_limits(1):
                for job in jobs.values():
                    job(None)
                for job, _, _, spent in interleaved(jobs, range(given.repeats)):
                    seconds[job].append(spent.wall)
            one, two = np.array(seconds["one"]), np.array(seconds["two"])
            row = {
                "over the limit": list(one / np.array(seconds["limit"])),
                "gain of a second thread": list(one / two),
                "seconds": {job: float(np.median(values)) for job, values in seconds.items()},
            }
            rows[f"{verb}, {name}"] = row
            print(
                f"{verb:9} {name:52} {row['seconds']['one']:.3f} s, over the limit "
                f"{spread(row['over the limit'])}, second thread × "
                f"{spread(row['gain of a second thread'])}",
                flush=True,
            )
    write_json(given.out, {"machine": machine("numpy", "scipy", "numba"), "cases": rows})


if __name__ == "__main__":
    main()
