"""Dictionaries of documents in the ℓ1 distance: the figures of docs/l1_dictionary.md.

**start**: TDT2, K = 200, a dictionary from the first 1000 documents that never learns again; the
objective of the next 1000, how many of them have zero codes, and the area under the ROC curve of
their scores. Atoms start as documents (``samples``), means, or medians.

**fit**: the objective after `fit` from medians, ten passes, with either surrogate, and by
Algorithms 2 and 3 of paper B in turns (50 iterations each, until a round gains less than 1e-4).

**algorithm 2**: how far its codes are above the optimum after some iterations (TDT2, K = 200).

**cost**: a vocabulary of 100,000 words: seconds of `transform` and `partial_fit` over documents,
and the peak memory of the process.

    THRESHER_DATA=folder python benchmarks/l1_dictionary.py [--parts start fit algorithm_2 cost]
"""

import resource
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, read_json, write_json
from novelty import START, STEP, tdt2, truth, weighted
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from thresher import L1Dictionary, OnlineL1Dictionary
from thresher.encoding import CodingProblem, Encoder, LinearisedADMM, Never
from thresher.engine import Plan
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.penalties import L1, Constrained


class OneCurvature(OnlineL1Dictionary):
    """The surrogate with one curvature per word, whatever the order of the documents."""

    def _plan(self, n_components: int, in_order: bool = True) -> Any:
        return Plan(super()._plan(n_components, in_order).candidates[-1:])


def sum_to_one(X: Any) -> Any:
    return normalize(X, "l1")


def corpus(n: int, n_words: int, n_topics: int = 8, seed: int = 0) -> Any:
    """Documents of one topic each, with words of their own."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    counts = np.array([rng.multinomial(40, topics[k]) for k in rng.integers(n_topics, size=n)])
    counts[np.arange(n), rng.integers(n_words, size=n)] += 4
    return sum_to_one(sparse.csr_array(counts * 1.0))


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


def part_fit(seeds: int) -> list[dict[str, Any]]:
    found = []
    for n_words in (80, 200):
        row: dict[str, Any] = {"documents": 400, "words": n_words}
        for name, kind in (
            ("one curvature", lambda seed: OneCurvature(8, random_state=seed, verbose=0)),
            ("one per atom", lambda seed: OnlineL1Dictionary(8, random_state=seed, verbose=0)),
            ("L1Dictionary", lambda seed: L1Dictionary(8, random_state=seed, verbose=0)),
            ("algorithms 2 and 3", lambda seed: L1Dictionary(
                8, solver="admm", random_state=seed, verbose=0)),
        ):  # fmt: skip
            P = [corpus(400, n_words, seed=seed) for seed in range(seeds)]
            objectives = [
                kind(seed).fit(rows).objective_samples(rows).mean() for seed, rows in enumerate(P)
            ]
            row[name] = float(np.median(objectives))
        found.append(row)
        print(row, flush=True)
    return found


def part_algorithm_2(seeds: int) -> dict[str, float]:
    X, _ = tdt2()
    frequent = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= 5)
    P = sum_to_one(next(weighted(X[:, frequent]))[0])
    model = OnlineL1Dictionary(200, verbose=0, random_state=0, tol=1e-6).partial_fit(P)
    rows = P[:100]
    optimum = model.objective_samples(rows)
    D = np.asarray(model.components_, dtype=np.float64)
    problem = CodingProblem(D, L1Distance(), Constrained(L1(0.1)))
    found = {}
    for iterations in (50, 200, 1000):
        encoder = Encoder(LinearisedADMM(), Never(), iterations, certify=False)
        codes: Array = encoder.encode(problem, rows.toarray(), None).codes
        above = problem.objective(rows.toarray(), codes) - optimum
        found[str(iterations)] = float(above.mean())
        print(iterations, found[str(iterations)], flush=True)
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
    "fit": part_fit,
    "algorithm_2": part_algorithm_2,
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
