"""Topics of 20 Newsgroups under the KL divergence, beside scikit-learn and gensim.

Counts become tf-idf, ``(1 + log tf) log(n/df)`` (paper E, VIII-E); the 1000 words of the largest
sums are kept, or with --full all 12,784. Twenty atoms. What counts is the KL divergence of a
document, the mean over all documents that have a word, and the seconds of learning.

Every dictionary is measured twice: with the codes that its own method gives, and with exact ones
(relative duality gap 1e-8), which are the same for all and say what the dictionary is worth. A
goal is a share of a peer's time in which the median of our starts is at least as good as the peer,
both by exact codes.

Peers are given what is best for them: a random start and nndsvda; one or two BLAS threads and
float32 or float64, whichever is fastest in short runs of one seed; no early stop. gensim minimises
the squared error, and its atoms have zeros where documents have words, so its dictionary is mixed
with a little of the mean document, as much as suits it best. Our starts run between the peers, so
that all see the same machine, and only ratios mean much. Beside the ratio on the wall stands that
of processor seconds, over all threads: others may be using the machine.

    pip install -e ".[bench]"
    THRESHER_DATA=folder python benchmarks/kl_text.py [--full] [--seeds 2] [--starts 10]
"""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    RESULTS,
    command_line,
    kl_divergence,
    machine,
    median_of,
    spread,
    timed,
    write_json,
)
from sklearn.decomposition import NMF, MiniBatchNMF
from threadpoolctl import threadpool_limits

from thresher import BatchNMF, OnlineNMF
from thresher.datasets import load_text_counts
from thresher.linalg import Array
from thresher.tasks.text.tfidf import TfIdf  # the weights of `TopicModel`: not public

K = 20
PASSES = (0.25, 0.5, 0.75, 1, 2, 4, 6, 8, 12)
GOALS = {"MiniBatchNMF": 50, "NMF": 20}
TRANSFORM_GOAL = 10
KL = {"beta_loss": "kullback-leibler", "tol": 0.0}
Setting = tuple[int, type]
"""BLAS threads and number type."""


def documents(n_words: int | None) -> Any:
    corpus = load_text_counts("20newsgroups")
    X = TfIdf(n_words).fit_transform(corpus.counts)
    return X[np.diff(X.indptr) > 0]


# ------------------------------------------------------------------------------ measures


def coder(D: Array, tol: float, dtype: type, X: Any) -> OnlineNMF:
    """A model whose dictionary is D and stays so."""
    model = OnlineNMF(K, divergence="kl", init=D, frozen_atoms=range(K), tol=tol, verbose=0)
    return model.partial_fit(X[:64].astype(dtype))


def worth(X: Any, D: Array) -> float:
    """The divergence with exact codes."""
    D = np.asarray(D, dtype=np.float64)
    D = D / np.maximum(D.sum(axis=1, keepdims=True), 1e-300)
    X = X.astype(np.float64)
    return kl_divergence(X, coder(D, 1e-8, np.float64, X).transform(X), D)


# --------------------------------------------------------------------------------- peers


def minibatch_nmf(init: str, seed: int, epochs: int = 20) -> MiniBatchNMF:
    return MiniBatchNMF(
        K,
        init=init,
        batch_size=1024,
        max_iter=epochs,
        max_no_improvement=None,
        random_state=seed,
        **KL,
    )


def nmf(init: str, seed: int, iterations: int = 100) -> NMF:
    return NMF(K, init=init, solver="mu", max_iter=iterations, random_state=seed, **KL)


PEERS = {"MiniBatchNMF": minibatch_nmf, "NMF": nmf}
STARTS = ("random", "nndsvda")


def best_settings(X: Any) -> tuple[dict[str, Setting], dict[str, float]]:
    """The fastest threads and type of each peer, in short runs: the better of two, interleaved."""
    choices: list[Setting] = [(t, dtype) for t in (1, 2) for dtype in (np.float32, np.float64)]
    best, seconds = {}, {}
    for name, make in PEERS.items():
        found: dict[Setting, float] = dict.fromkeys(choices, np.inf)
        for _ in range(2):
            for threads, dtype in choices:
                data = X.astype(dtype)
                model = make("random", 0, 2 if name == "MiniBatchNMF" else 5)
                with threadpool_limits(threads):
                    spent = timed(model.fit, data)[1]["seconds"]
                found[threads, dtype] = min(found[threads, dtype], spent)
        best[name] = min(found, key=lambda setting: found[setting])
        for (threads, dtype), spent in found.items():
            seconds[f"{name}, {threads} threads, {dtype.__name__}"] = spent
    return best, seconds


def run_peer(X: Any, name: str, start: str, seed: int, setting: Setting) -> dict[str, Any]:
    """Learn, code all documents, and let our encoder code them on the same dictionary."""
    threads, dtype = setting
    data = X.astype(dtype)
    model = PEERS[name](start, seed)
    with threadpool_limits(threads):
        own, spent = timed(model.fit_transform, data)
        codes, transform = timed(model.transform, data)
    D = model.components_
    row: dict[str, Any] = {
        **spent,
        "own": kl_divergence(X, own, D),
        "exact": worth(X, D),
        "transform": {**transform, "divergence": kl_divergence(X, codes, D)},
    }
    for label, tol, kind in (("float32, 1e-4", 1e-4, np.float32), ("float64, 1e-8", 1e-8, float)):
        ours, data = coder(D, tol, kind, X), X.astype(kind)
        times = [timed(ours.transform, data)[1] for _ in range(3)]  # short: the median of three
        row[label] = {key: median_of(times, key) for key in ("seconds", "cpu")}
        row[label]["divergence"] = kl_divergence(X, ours.transform(data), ours.components_)
    return row


def run_gensim(X: Any, passes: int = 5) -> dict[str, Any]:
    from gensim.matutils import Sparse2Corpus
    from gensim.models.nmf import Nmf

    corpus = Sparse2Corpus(X.T.tocsc(), documents_columns=True)
    options = {"num_topics": K, "passes": passes, "random_state": 0, "eval_every": None}
    model, spent = timed(lambda: Nmf(corpus, **options))
    D = model.get_topics()
    D = D / np.maximum(D.sum(axis=1, keepdims=True), 1e-300)
    mean = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    mixed = {share: worth(X, (1 - share) * D + share * mean) for share in (0.003, 0.03, 0.1, 0.3)}
    share = min(mixed, key=lambda each: mixed[each])
    return {**spent, "exact": mixed[share], "share of the mean": share}


# ---------------------------------------------------------------------------------- ours


def run_online(X: Any, seed: int, batch_size: int) -> dict[float, dict[str, float]]:
    """One start: seconds and divergences after some passes; measuring is outside the clock."""
    kept: dict[float, tuple[float, float, Array]] = {}
    per_pass = -(-X.shape[0] // batch_size)
    places = {-int(-passes * per_pass // 1): passes for passes in PASSES}
    wall, processor = time.perf_counter(), time.process_time()

    def look(step: Any) -> None:
        done = places.get(len(step.model.history_))
        if done is not None:
            spent = time.perf_counter() - wall, time.process_time() - processor
            kept[done] = *spent, step.dictionary

    model = OnlineNMF(
        K,
        divergence="kl",
        batch_size=batch_size,
        n_passes=int(PASSES[-1]),
        tol=1e-12,
        random_state=seed,
        callbacks=[look],
        verbose=0,
    )
    model.fit(X)
    rows = {}
    for done, (seconds, cpu, D) in kept.items():
        model = coder(D, 1e-4, X.dtype.type, X)
        codes, spent = timed(model.transform, X)
        rows[done] = {
            "seconds": seconds,
            "cpu": cpu,
            "transform": spent["seconds"],
            "own": kl_divergence(X, codes, D),
            "exact": worth(X, D),
        }
    return rows


def run_batch(X: Any, seed: int) -> dict[str, float]:
    model, spent = timed(BatchNMF(K, divergence="kl", random_state=seed, verbose=0).fit, X)
    D = model.components_
    return {
        **spent,
        "own": kl_divergence(X, model.transform(X), D),
        "exact": worth(X, D),
        "rounds": model.n_iter_,
    }


# --------------------------------------------------------------------------------- report


def cell(rows: list[dict[str, Any]], key: str, digits: int = 2) -> str:
    return spread([row[key] for row in rows], digits)


def verdicts(peers: dict[str, Any], ours: dict[float, list[dict[str, float]]]) -> Iterator[Any]:
    """For each peer the fewest passes that are as good, and the ratio of times."""
    for name, rows in peers.items():
        target, goal = median_of(rows, "exact"), GOALS[name.split()[0]]
        enough = [n for n, mine in ours.items() if median_of(mine, "exact") <= target]
        verdict: dict[str, Any] = {"peer": name, "goal": goal, "passes": None, "met": False}
        if enough:
            mine = ours[enough[0]]
            verdict["passes"] = enough[0]
            verdict["ratio"] = median_of(rows, "seconds") / median_of(mine, "seconds")
            verdict["cpu ratio"] = median_of(rows, "cpu") / median_of(mine, "cpu")
            each = [peer["seconds"] / own["seconds"] for peer in rows for own in mine]
            verdict["range"] = [min(each), max(each)]
            both = median_of(mine, "seconds") + median_of(mine, "transform")
            verdict["ratio with codes"] = median_of(rows, "seconds") / both
            verdict["starts as good"] = sum(row["exact"] <= target for row in mine) / len(mine)
            verdict["met"] = verdict["ratio"] >= goal
        yield verdict


def tell(record: dict[str, Any]) -> None:
    peers, ours, batch = record["peers"], record["online"], record["batch"]
    print(f"{'':34} {'seconds':>22} {'KL, own codes':>28} {'KL, exact codes':>28}")
    for name, rows in peers.items():
        cells = (cell(rows, "seconds"), cell(rows, "own"), cell(rows, "exact"))
        print(f"{name:34} {cells[0]:>22} {cells[1]:>28} {cells[2]:>28}")
    if record["gensim"]:
        row = record["gensim"]
        label = f"gensim Nmf, {row['share of the mean']:.1%} of the mean"
        print(f"{label:34} {row['seconds']:22.2f} {'':28} {row['exact']:28.2f}")
    for passes, rows in ours.items():
        cells = (cell(rows, "seconds", 3), cell(rows, "own"), cell(rows, "exact"))
        print(f"{f'OnlineNMF, {passes:g} passes':34} {cells[0]:>22} {cells[1]:>28} {cells[2]:>28}")
    cells = (cell(batch, "seconds"), cell(batch, "own"), cell(batch, "exact"))
    print(f"{'BatchNMF':34} {cells[0]:>22} {cells[1]:>28} {cells[2]:>28}")
    for verdict in record["verdicts"]:
        word = "met" if verdict["met"] else "MISSED"
        if verdict["passes"] is None:
            print(f"{verdict['peer']}: not reached in {PASSES[-1]} passes; {word}")
            continue
        low, high = verdict["range"]
        print(
            f"{verdict['peer']}: reached after {verdict['passes']:g} passes in 1/"
            f"{verdict['ratio']:.0f} [1/{high:.0f}, 1/{low:.0f}] of its time (with all codes: 1/"
            f"{verdict['ratio with codes']:.0f}; processor: 1/{verdict['cpu ratio']:.0f}), "
            f"by {verdict['starts as good']:.0%} of starts; "
            f"goal 1/{verdict['goal']} {word}"
        )
    for row in record["transforms"]:
        word = "met" if row["met"] else "MISSED"
        print(
            f"transform against {row['peer']}, {row['ours']}: 1/{row['ratio']:.0f} of its time "
            f"(processor: 1/{row['cpu ratio']:.0f}), KL {row['divergence']:.4f} against "
            f"{row['peer divergence']:.4f}; "
            f"goal 1/{TRANSFORM_GOAL} at no higher KL {word}"
        )


def transforms(peers: dict[str, Any]) -> Iterator[Any]:
    for name, rows in peers.items():
        for label in ("float32, 1e-4", "float64, 1e-8"):
            ratio = [row["transform"]["seconds"] / row[label]["seconds"] for row in rows]
            cpu = [row["transform"]["cpu"] / row[label]["cpu"] for row in rows]
            mine = float(np.median([row[label]["divergence"] for row in rows]))
            theirs = float(np.median([row["transform"]["divergence"] for row in rows]))
            yield {
                "peer": name,
                "ours": label,
                "ratio": float(np.median(ratio)),
                "range": [min(ratio), max(ratio)],
                "cpu ratio": float(np.median(cpu)),
                "divergence": mine,
                "peer divergence": theirs,
                "met": bool(np.median(ratio) >= TRANSFORM_GOAL and mine <= theirs),
            }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--full", action="store_true", help="all words")
    parser.add_argument("--seeds", type=int, default=2, help="of the peers")
    parser.add_argument("--starts", type=int, default=10, help="of ours")
    parser.add_argument("--batch-size", type=int, default=1024, help="of ours")
    parser.add_argument("--gensim", action="store_true", help="gensim too, which takes minutes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X = documents(None if options.full else 1000)
    narrow = X.astype(np.float32)
    print(f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz} nonzeros", flush=True)
    run_online(narrow[:2000], 0, options.batch_size)  # compiled outside the clock
    coder(np.ones((K, X.shape[1])), 1e-8, np.float64, X).transform(X[:100])

    settings, tried = best_settings(X)
    jobs = [(n, start, s) for s in range(options.seeds) for n in PEERS for start in STARTS]
    peers: dict[str, list[Any]] = {f"{name} {start}": [] for name in PEERS for start in STARTS}
    ours: dict[float, list[dict[str, float]]] = {passes: [] for passes in PASSES}
    batch: list[dict[str, float]] = []
    starts = iter(range(options.starts))

    def some_of_ours(count: int) -> None:
        for _, seed in zip(range(count), starts, strict=False):
            for passes, row in run_online(narrow, seed, options.batch_size).items():
                ours[passes].append(row)

    for name, start, seed in jobs:
        some_of_ours(-(-options.starts // len(jobs)))
        peers[f"{name} {start}"].append(run_peer(X, name, start, seed, settings[name]))
        if len(batch) < 3:
            batch.append(run_batch(narrow, len(batch)))
        print(f"{name} {start}, seed {seed} done", flush=True)
    some_of_ours(options.starts)
    record = {
        "documents": X.shape[0],
        "words": X.shape[1],
        "batch_size": options.batch_size,
        "settings": {name: f"{t} threads, {d.__name__}" for name, (t, d) in settings.items()},
        "settings tried": tried,
        "peers": peers,
        "gensim": run_gensim(X) if options.gensim else None,
        "online": ours,
        "batch": batch,
        "verdicts": list(verdicts(peers, ours)),
        "transforms": list(transforms(peers)),
        "machine": machine("numpy", "scipy", "scikit-learn", "gensim"),
    }
    print(f"peers run with {record['settings']}")
    tell(record)
    path = options.out / f"kl_text_{'full' if options.full else 1000}.json"
    write_json(path, record)
    print(path)


if __name__ == "__main__":
    main()
