"""Novel documents: the speed of ℓ1 coding, a long stream, and topics that enter.

Paper B's experiment on TDT2, its own methods and their peers, are jobs of
``benchmarks/reproduce/paper_b.py``.

**coding**: documents a second of exact ℓ1 codes, beside the published Algorithm 2 in plain NumPy
(dense, all documents at once, run until its objective is within a thousandth of the optimum) and
beside a linear program for each document (HiGHS, on the document's own words).

**stream**: 200,000 documents made from the real ones (each half of the words of one, half of
another of the same topic, drawn anew), through `auto`: documents a second, and memory over time.

**enter**: BBC News and 20 Newsgroups as texts, with topics that enter at chosen steps: how many of
the new documents are marked, what the emerging topics are called, an explanation.

    THRESHER_DATA=folder python benchmarks/novelty.py [--parts coding stream enter] [--quick]
"""

import argparse
import json
import resource
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, find_data_file, machine, read_json, write_json
from reproduce.documents import START, STEP, of_frequent_words, tdt2, weighted
from scipy import sparse
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from thresher import NovelDocumentDetector, OnlineL1Dictionary
from thresher.linalg import Array

# ------------------------------------------------------------------------------- coding


def algorithm_2(P: Array, D: Array, lam: float, target: Array) -> tuple[int, float]:
    """The published ADMM in plain NumPy; iterations and seconds until the mean objective is met."""
    phi, gamma = 5.0, 1.89
    kappa = 1 / np.linalg.eigvalsh(D @ D.T)[-1]
    C, E, rho = np.zeros((len(P), len(D))), P.copy(), np.zeros_like(P)
    best = np.full(len(P), np.inf)
    started, checked = time.process_time(), 0.0
    for iteration in range(1, 5001):
        V = P - C @ D + rho / phi
        E = np.sign(V) * np.maximum(np.abs(V) - 1 / phi, 0)
        C = np.maximum(C - kappa * ((C @ D + E - P - rho / phi) @ D.T) - lam * kappa / phi, 0)
        R = P - C @ D
        rho = rho + gamma * phi * (R - E)
        if iteration % 10 == 0:
            now = time.process_time()
            best = np.minimum(best, np.abs(R).sum(axis=1) + lam * C.sum(axis=1))
            checked += time.process_time() - now
            if best.mean() <= target.mean() * 1.001:
                break
    return iteration, time.process_time() - started - checked


def by_linear_program(p: Any, D: Array, lam: float) -> float:
    """On the document's own words; the rest is linear in the codes."""
    words = p.indices
    x, B = p.data, D[:, words].T
    K, m = len(D), len(words)
    cost = np.concatenate([lam + D.sum(axis=1) - B.sum(axis=0), np.ones(m)])
    above = np.block([[B, -np.eye(m)], [-B, -np.eye(m)]])
    solved = linprog(cost, above, np.concatenate([x, -x]), bounds=[(0, None)] * (K + m))
    return float(solved.fun)


def part_coding(options: argparse.Namespace, record: dict[str, Any]) -> None:
    X, _ = tdt2()
    P = normalize(next(weighted(of_frequent_words(X)))[0], "l1")
    model = OnlineL1Dictionary(200, verbose=0, random_state=0, tol=1e-6, n_jobs=1).partial_fit(P)
    D = np.asarray(model.components_, dtype=np.float64)
    rows = P[:200]
    model.score_samples(rows)  # compiled outside the clock
    ours = []
    for _ in range(5):
        with clock() as spent:
            optimum = -model.score_samples(rows)
        ours.append(spent.processor)
    iterations, published = algorithm_2(rows.toarray(), D, 0.1, optimum)
    some = 20
    with clock() as spent:
        linear = np.array([by_linear_program(rows[[i]], D, 0.1) for i in range(some)])
    program = spent.processor / some
    mine = float(np.median(ours)) / rows.shape[0]
    record["coding"] = {
        "documents a second": 1 / mine,
        "algorithm 2, iterations": iterations,
        "algorithm 2, ratio": published / rows.shape[0] / mine,
        "linear program, ratio": program / mine,
        "largest difference from the program": float(np.abs(linear - optimum[:some]).max()),
    }
    print(json.dumps(record["coding"], indent=1))


# ------------------------------------------------------------------------------- stream


def made_documents(X: Any, labels: Array, n: int, seed: int = 0) -> Iterator[Any]:
    """Documents from halves of two of the same topic; topics enter as they did."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, STEP):
        until = max(START, int(X.shape[0] * min(1.0, (start + STEP) / n)))
        first = rng.integers(until, size=STEP)
        second = first.copy()
        for label in np.unique(labels[first]):
            same = np.flatnonzero(labels[:until] == label)
            members = np.flatnonzero(labels[first] == label)
            second[members] = rng.choice(same, len(members))
        halves = []
        for rows in (first, second):
            part = sparse.csr_array(X[rows])
            part.data = part.data * (rng.random(part.nnz) < 0.5)
            part.eliminate_zeros()
            halves.append(part)
        yield halves[0] + halves[1]


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def part_stream(options: argparse.Namespace, record: dict[str, Any]) -> None:
    X, labels = tdt2()
    n = 20_000 if options.quick else 200_000
    detector = NovelDocumentDetector(100, random_state=0, verbose=0)
    memory, seconds = [], 0.0
    for number, documents in enumerate(made_documents(X, labels, n)):
        with clock() as spent:
            if number == 0:
                detector.fit(documents)
            else:
                detector.step(documents)
        seconds += spent.processor
        if number % 20 == 1:
            memory.append(megabytes())
    record["stream"] = {"documents": n, "documents a second": n / seconds, "peak MB": memory}
    print(json.dumps(record["stream"]))


# -------------------------------------------------------------------------------- enter


def part_enter(options: argparse.Namespace, record: dict[str, Any]) -> None:
    import gzip

    found = record.setdefault("enter", {})
    for name, late in (
        ("bbc_news", ("sport", "tech")),
        ("20newsgroups", ("rec.sport.hockey", "sci.space", "talk.politics.guns")),
    ):
        with gzip.open(find_data_file(f"{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
            documents = [json.loads(line) for line in lines]
        rng = np.random.default_rng(0)
        rng.shuffle(documents)
        n_steps = 6
        place = {label: 2 + 2 * i for i, label in enumerate(late)}
        steps: list[list[Any]] = [[] for _ in range(n_steps)]
        for document in documents[: 4000 if options.quick else None]:
            first = min(place.get(document["label"], 0), n_steps - 1)
            steps[int(rng.integers(first, n_steps))].append(document)
        detector = NovelDocumentDetector(100, random_state=0, verbose=0)
        detector.fit([d["text"] for d in steps[0]])
        rows = []
        for number, step in enumerate(steps[1:], 1):
            told = detector.step([d["text"] for d in step], str(number))
            new = np.array([min(place.get(d["label"], 0), n_steps - 1) == number for d in step])
            row = {
                "step": number,
                "documents": len(step),
                "new": int(new.sum()),
                "auc": float(roc_auc_score(new, told.scores)) if new.any() else None,
                "marked, new": float(told.novel[new].mean()) if new.any() else None,
                "marked, others": float(told.novel[~new].mean()),
                "topics": [(len(t.documents), t.words) for t in told.topics[:3]],
            }
            rows.append(row)
            print(name, json.dumps(row), flush=True)
        found[name] = {"steps": rows, "words": len(detector.words_)}


PARTS = {"coding": part_coding, "stream": part_stream, "enter": part_enter}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, default=RESULTS / "novelty.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record = read_json(options.json)
    record["machine"] = machine("numpy", "scipy", "scikit-learn")
    for name in options.parts:
        print(f"== {name}")
        PARTS[name](options, record)
        write_json(options.json, record)


if __name__ == "__main__":
    main()
