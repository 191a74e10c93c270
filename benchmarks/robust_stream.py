"""Robust learning of a planted stream, beside SPAMS, gensim, scikit-learn and the paper's solvers.

Data of paper A, section VII-D1 (F 400, K 49, 20,000 samples, 70 % of them with outliers on 10 % of
their entries, noise 0.02). Every method learns 49 atoms; what counts is the relative error to the
*clean* held-out samples, all coded robustly (exact Huber codes) on each dictionary, and the seconds
of learning. Methods run interleaved, on fresh data for each seed; medians and spreads are printed.

SPAMS runs with one thread and with two, the faster counts. Run it with
``pip install -e ".[bench]"``:

    python benchmarks/robust_stream.py [--seeds 3] [--samples 20000] [--slow]
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, command_line, interleaved, machine, spread, write_json
from threadpoolctl import threadpool_limits

from thresher import OnlineRobustNMF
from thresher.datasets import make_outlier_stream
from thresher.encoding import AutoEncoder, CodingProblem
from thresher.linalg import Array
from thresher.losses import Huber
from thresher.metrics import relative_error

K, F = 49, 400
LAMBDA = 1 / np.sqrt(F)
Learner = Callable[[Array, int], Array]


def thresher(n_passes: int | None = 1, solver: str = "auto", **settings: Any) -> Learner:
    def learn(X: Array, seed: int) -> Array:
        model = OnlineRobustNMF(
            K, solver=solver, n_passes=n_passes, random_state=seed, verbose=0, **settings
        )
        return model.fit(X).components_

    return learn


def published(solver: str) -> Learner:
    """OPGD and OADMM with the paper's settings; the mini-batch is the τ ≤ 4e-4 N of VII-C."""
    return thresher(
        1,
        solver,
        init="uniform",
        forgetting=None,
        outlier_weight=LAMBDA,
        outlier_bound=1.0,
        batch_size=8,
    )


def spams(threads: int, lambda1: float = 0.05) -> Learner:
    def learn(X: Array, seed: int) -> Array:
        import spams

        return spams.trainDL(
            np.asfortranarray(X.T),
            K=K,
            lambda1=lambda1,
            batchsize=100,
            iter=len(X) // 100,  # one pass
            posAlpha=True,
            posD=True,
            mode=2,
            numThreads=threads,
            verbose=False,
        ).T

    return learn


def minibatch_nmf(X: Array, seed: int) -> Array:
    from sklearn.decomposition import MiniBatchNMF

    return MiniBatchNMF(K, random_state=seed, batch_size=1024, max_iter=10).fit(X).components_


def minibatch_dictionary(X: Array, seed: int) -> Array:
    from sklearn.decomposition import MiniBatchDictionaryLearning

    return (
        MiniBatchDictionaryLearning(
            K,
            alpha=0.05,
            batch_size=100,
            max_iter=1,
            fit_algorithm="cd",
            positive_code=True,
            positive_dict=True,
            random_state=seed,
        )
        .fit(X)
        .components_
    )


def gensim(X: Array, seed: int) -> Array:
    from gensim.matutils import Dense2Corpus
    from gensim.models.nmf import Nmf

    corpus = Dense2Corpus(X, documents_columns=False)
    return Nmf(corpus, num_topics=K, chunksize=1000, passes=1, random_state=seed).get_topics()


FAST: dict[str, Learner] = {
    "SPAMS, 1 thread": spams(1),
    "Thresher auto, 1 pass": thresher(1),
    "Thresher auto, 3 passes": thresher(3),
    "SPAMS, 2 threads": spams(2),
    "SPAMS, best λ1 (0.002)": spams(1, 0.002),
    "Thresher auto, 2 passes": thresher(2),
    "MiniBatchNMF": minibatch_nmf,
}
SLOW: dict[str, Learner] = {
    "MiniBatchDictionaryLearning": minibatch_dictionary,
    "gensim Nmf": gensim,
    "OPGD": published("opgd"),
    "OADMM": published("oadmm"),
}


def clean_error(D: Array, data: Array, clean: Array) -> float:
    """Relative error to the clean samples of exact robust codes on a dictionary."""
    D = np.maximum(np.asarray(D, dtype=np.float64), 0)
    D /= np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-12)
    problem = CodingProblem(np.ascontiguousarray(D), Huber(LAMBDA))
    with threadpool_limits(1):
        codes = AutoEncoder(1e-6).encode(problem, data).codes
    return relative_error(clean, codes @ D)


def time_to_errors(seeds: list[int], n_samples: int, errors: list[float]) -> dict[str, float]:
    """Median seconds until the clean error first falls to given values, evaluation not counted."""
    reached: dict[float, list[float]] = {error: [] for error in errors}
    for seed in seeds:
        train, test = streams(seed, n_samples)
        snapshots: list[tuple[float, Array]] = []
        model = OnlineRobustNMF(
            K,
            n_passes=10,
            random_state=seed,
            verbose=0,
            callbacks=[
                lambda step, kept=snapshots: kept.append((step.row.seconds, step.dictionary))
            ],
        )
        model.fit(train.data)
        waiting = sorted(errors, reverse=True)
        for seconds, D in snapshots[4::8]:
            error = clean_error(D, test.data, test.clean)
            while waiting and error <= waiting[0]:
                reached[waiting.pop(0)].append(seconds)
    return {f"{e:g}": float(np.median(t)) if t else float("nan") for e, t in reached.items()}


def streams(seed: int, n_samples: int) -> tuple[Any, Any]:
    train = make_outlier_stream(n_samples, F, K, random_state=1000 + seed, dtype=np.float32)
    test = make_outlier_stream(2000, dictionary=train.dictionary, random_state=2000 + seed)
    return train, test


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--slow", action="store_true", help="also the peers that take seconds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    methods = FAST | (SLOW if arguments.slow else {})
    warnings.simplefilter("ignore")
    for learn in methods.values():  # compile and load everything outside the clock
        learn(np.random.default_rng(0).random((2000, F)).astype(np.float32), 0)
    rows: dict[str, dict[str, list[float]]] = {
        name: {"seconds": [], "error": []} for name in ["true dictionary", *methods]
    }
    first = arguments.first_seed
    for seed in range(first, first + arguments.seeds):
        train, test = streams(seed, arguments.samples)
        rows["true dictionary"]["error"].append(
            clean_error(train.dictionary, test.data, test.clean)
        )
        rows["true dictionary"]["seconds"].append(0.0)
        jobs = {name: partial(learn, train.data) for name, learn in methods.items()}
        for name, _, D, spent in interleaved(jobs, [seed]):
            rows[name]["seconds"].append(spent.wall)
            rows[name]["error"].append(clean_error(D, test.data, test.clean))
    report(rows, arguments)


def report(rows: dict[str, dict[str, list[float]]], arguments: argparse.Namespace) -> None:
    median = {name: {k: float(np.median(v)) for k, v in row.items()} for name, row in rows.items()}
    base = min(("SPAMS, 1 thread", "SPAMS, 2 threads"), key=lambda n: median[n]["seconds"])
    print(
        f"{arguments.samples} samples, {arguments.seeds} seeds; ratios to {base} by seed: "
        "median [range]"
    )
    print(f"{'':30} {'seconds':>9} {'ratio':>20} {'clean error':>12} {'ratio':>20}")
    ratios = {}
    for name, row in rows.items():
        ratio = {k: np.divide(row[k], rows[base][k]) for k in row}
        ratios[name] = {k: list(map(float, v)) for k, v in ratio.items()}
        shown = {k: spread(v, 3) for k, v in ratio.items()}
        print(
            f"{name:30} {median[name]['seconds']:9.3f} {shown['seconds']:>20} "
            f"{median[name]['error']:12.4f} {shown['error']:>20}"
        )
    reached = time_to_errors([0], arguments.samples, [0.04, 0.03, 0.025, 0.0215, 0.02, 0.018])
    print("Thresher auto, seconds to a clean error of", reached)
    document = {
        "rows": rows,
        "ratios": ratios,
        "base": base,
        "time_to": reached,
        "machine": machine("numpy"),
    }
    path = arguments.out / "robust_stream.json"
    write_json(path, document)
    print(path)


if __name__ == "__main__":
    main()
