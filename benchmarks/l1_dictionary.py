"""Dictionaries of documents in the ℓ1 distance: the figures of docs/lab/l1_dictionary.md.

**start**: TDT2, K = 200, a dictionary from the first 1000 documents that never learns again; the
objective of the next 1000, how many of them have zero codes, and the area under the ROC curve of
their scores. Atoms start as documents (``samples``), means, or medians.

**cost**: a vocabulary of 100,000 words: seconds of `transform` and `partial_fit` over documents,
and the peak memory of the process.

How far the published solvers come is told by jobs of ``benchmarks/reproduce/paper_b.py``.

    THRESHER_DATA=folder python benchmarks/l1_dictionary.py [--parts start cost]
"""

import resource
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, read_json, write_json
from reproduce.documents import START, STEP, tdt2, truth, weighted
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from thresher import OnlineL1Dictionary


def sum_to_one(X: Any) -> Any:
    return normalize(X, "l1")


def part_start(seeds: int) -> list[dict[str, Any]]:
    X, labels = tdt2()
    steps = weighted(X)
    first = sum_to_one(next(steps)[0])
    second = sum_to_one(next(steps)[0])
    novel = truth(labels)[0]
    found = []
    for init in ("samples", "mean", "medians"):
        measured = []
        for seed in range(seeds):
            model = OnlineL1Dictionary(
                200, init=init, frozen_atoms=list(range(200)), random_state=seed, verbose=0
            ).partial_fit(first)
            scores = model.objective_samples(second)
            zero = float((model.transform(second).sum(axis=1) == 0).mean())
            measured.append((float(scores.mean()), zero, float(roc_auc_score(novel, scores))))
        middle = np.median(measured, axis=0)
        found.append(dict(zip(("objective", "zero codes", "auc"), middle.tolist(), strict=True)))
        found[-1] = {"init": init, **found[-1]}
        print(found[-1], flush=True)
    return found


def part_cost(seeds: int) -> list[dict[str, Any]]:
    found = []
    rng = np.random.default_rng(0)
    F = 100_000
    for K in (20, 100):
        for n in (250, 4000):
            places = rng.integers(F, size=(n, 60)) // rng.integers(1, 50, size=(n, 60))
            X = sparse.csr_array(
                (np.ones(n * 60), (np.repeat(np.arange(n), 60), places.ravel())), shape=(n, F)
            )
            P = sum_to_one(X)
            model = OnlineL1Dictionary(K, random_state=0, verbose=0, n_jobs=1).partial_fit(P[:250])
            times = {}
            for name in ("transform", "partial_fit"):
                with clock() as spent:
                    getattr(model, name)(P)
                times[name] = spent.processor
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            found.append({"K": K, "documents": n, "nonzeros": int(P.nnz), **times, "peak GB": peak})
            print(found[-1], flush=True)
    return found


PARTS = {
    "start": part_start,
    "cost": part_cost,
}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=RESULTS / "l1_dictionary.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record = read_json(options.json)
    print(f"TDT2: the first {START} documents, then {STEP}; medians over {options.seeds} seeds")
    for name in options.parts:
        print(f"== {name}")
        record[name] = PARTS[name](options.seeds)
        write_json(options.json, record)


if __name__ == "__main__":
    main()
