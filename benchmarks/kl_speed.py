"""Seconds of KL on sparse text, beside what reading the nonzeros takes and beside scikit-learn.

`OnlineNMF.fit`, one pass on one thread, stands beside its limit: the readings that five
expectation steps and the sums of a batch need, each timed alone in the same run. They are

- one reading of the nonzeros and of their rows of the dictionary, from memory;
- two products a step with those rows, from a cache (BLAS, on a block that fits there), and one
  more for the predictions that the sums need;
- one addition of every nonzero to the sums;
- for every batch one copy of the sums and one of the dictionary.

`transform` (float32, gap 1e-4, one and two threads) stands beside `MiniBatchNMF.transform` on the
same dictionary, with as many steps as it learned epochs, in the faster of float32 and float64.
Both are told with their mean KL and the certificates of their codes (docs/guide/divergences.md).
All run interleaved; ratios on one thread are of processor seconds, as others may use the machine.

    THRESHER_DATA=folder python benchmarks/kl_speed.py [--corpora bbc_news] [--rounds 5]
"""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, command_line, interleaved, kl_divergence, machine, write_json
from sklearn.decomposition import MiniBatchNMF
from threadpoolctl import threadpool_limits

from thresher import OnlineNMF
from thresher.datasets import load_text_counts

# The loops whose speed limits all others, and the weights of words of `TopicModel`: not public.
from thresher.kernels.products import add_rows, products_at
from thresher.linalg import Array
from thresher.tasks.text.tfidf import TfIdf

STEPS = 5  # of expectation, in learning
BATCHES = (256, 1024)
_CACHED = 1024  # words of the block whose products are timed: calls cost little, and it fits


def documents(name: str) -> Any:
    X = TfIdf().fit_transform(load_text_counts(name).counts)
    return X[np.diff(X.indptr) > 0].astype(np.float32)


def minibatch_nmf(X: Any, K: int, epochs: int) -> MiniBatchNMF:
    settings = {"beta_loss": "kullback-leibler", "tol": 0.0, "max_no_improvement": None}
    model = MiniBatchNMF(
        K, init="nndsvda", batch_size=1024, max_iter=epochs, random_state=0, **settings
    )
    return model.fit(X)


def coder(D: Array, threads: int, X: Any) -> OnlineNMF:
    """A model whose dictionary is D and stays so."""
    frozen = {"init": D, "frozen_atoms": range(len(D)), "n_jobs": threads, "verbose": 0}
    return OnlineNMF(len(D), divergence="kl", **frozen).partial_fit(X[:64])


def learn(X: Any, K: int, batch_size: int, seed: int) -> OnlineNMF:
    model = OnlineNMF(
        K,
        divergence="kl",
        batch_size=batch_size,
        n_passes=1,
        n_jobs=1,
        random_state=seed,
        verbose=0,
    )
    return model.fit(X)


def readings(X: Any, K: int) -> dict[str, Any]:
    """What is timed alone, by name: every call does one of it for the whole corpus."""
    rng = np.random.default_rng(0)
    C, Dt = (rng.random((n, K), dtype=np.float32) for n in X.shape)
    places = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    y, sums, target = np.empty_like(X.data), np.zeros((X.shape[1], K)), np.empty((X.shape[1], K))
    block, codes = np.ascontiguousarray(Dt[:_CACHED].T), C[0]
    D, copied = np.ascontiguousarray(Dt.T), np.empty_like(Dt.T)

    def product(_: int) -> None:
        for _ in range(X.nnz // _CACHED):
            codes @ block

    def copy(_: int) -> None:
        np.copyto(target, sums)
        np.copyto(copied, D)

    return {
        "reading": lambda _: products_at(*places, C, Dt, y),
        "product": product,
        "adding": lambda _: add_rows(*places, X.data, C, sums),
        "copy": copy,
    }


def run(X: Any, K: int, epochs: int, rounds: int) -> dict[str, Any]:
    peer = minibatch_nmf(X, K, epochs)
    D = peer.components_
    ours = {threads: coder(D, threads, X) for threads in (1, 2)}
    double = X.astype(np.float64)
    jobs: dict[str, Any] = {
        "MiniBatchNMF, float32": lambda _: peer.transform(X),
        "MiniBatchNMF, float64": lambda _: peer.transform(double),
    }
    for threads, model in ours.items():
        jobs[f"transform, {threads}"] = lambda _, model=model: model.transform(X)
    for size in BATCHES:
        jobs[f"fit, {size}"] = partial(learn, X, K, size)
    jobs |= readings(X, K)
    for job in jobs.values():  # compiled outside the clock
        job(0)
    wall: dict[str, list[float]] = {name: [] for name in jobs}
    processor: dict[str, list[float]] = {name: [] for name in jobs}
    codes: dict[str, Array] = {}
    with threadpool_limits(1):
        for name, _, result, spent in interleaved(jobs, range(rounds)):
            wall[name].append(spent.wall)
            processor[name].append(spent.processor)
            if "NMF" in name or "transform" in name:
                codes[name] = result
    seconds = {name: float(np.median(values)) for name, values in processor.items()}
    record: dict[str, Any] = {"processor seconds": seconds}
    record["wall seconds"] = {name: float(np.median(values)) for name, values in wall.items()}
    once = seconds["reading"] + (2 * STEPS + 1) * seconds["product"] + seconds["adding"]
    for size in BATCHES:
        limit = once + -(-X.shape[0] // size) * seconds["copy"]
        record[f"fit, {size}"] = {"limit": limit, "over limit": seconds[f"fit, {size}"] / limit}
    name = min(("MiniBatchNMF, float32", "MiniBatchNMF, float64"), key=lambda each: seconds[each])
    theirs, mine = codes[name], codes["transform, 1"]
    checked = {"peer": theirs, "ours": mine}
    told = {who: ours[1].certificates(X, C) for who, C in checked.items()}
    each = [one / two for one, two in zip(wall["transform, 1"], wall["transform, 2"], strict=True)]
    record["transform"] = {
        "peer": name,
        "share of the peer's time": seconds["transform, 1"] / seconds[name],
        "two threads": float(np.median(each)),
        "KL": {who: kl_divergence(double, C, D) for who, C in checked.items()},
        "certificates, median and largest": {
            who: [float(np.median(values)), float(values.max())] for who, values in told.items()
        },
        "same bits": bool((codes["transform, 1"] == codes["transform, 2"]).all()),
    }
    return record


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--corpora", nargs="+", default=["20newsgroups", "bbc_news"])
    parser.add_argument("--atoms", nargs="+", type=int, default=[20, 50])
    parser.add_argument("--epochs", type=int, default=20, help="of the peer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record: dict[str, Any] = {"machine": machine("numpy", "scipy", "scikit-learn")}
    for name in options.corpora:
        X = documents(name)
        for K in options.atoms:
            row = run(X, K, options.epochs, options.rounds)
            record[f"{name}, {K} atoms"] = row
            print(f"{name}, {X.shape[0]} x {X.shape[1]}, {X.nnz} nonzeros, {K} atoms")
            for size in BATCHES:
                spent, fit = row["processor seconds"][f"fit, {size}"], row[f"fit, {size}"]
                print(
                    f"  fit, batches of {size}: {spent:.3f} s, limit {fit['limit']:.3f} s: "
                    f"{fit['over limit']:.1f} times"
                )
            print(f"  transform: {row['transform']}", flush=True)
            write_json(options.out / "kl_speed.json", record)


if __name__ == "__main__":
    main()
