"""Paper B's experiment: TDT2 in the order of time, and what a detector says of it.

The first documents start a detector, then come steps. A document is novel if its topic has not
occurred before the step. All methods see the same words with the same weights.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from thresher import NovelDocumentDetector
from thresher.linalg import Array
from thresher.tasks.text.growing_words import GrowingWords  # the detector's weights: not public

DATA = "tdt2_top30_dated.npz"
REPORTED = (1, 2, 5, 6, 8)
START = STEP = 1000


def tdt2() -> tuple[Any, Array]:
    """Counts and topics, in the order of time."""
    path = Path(os.environ["THRESHER_DATA"]).expanduser() / DATA  # the folder of --data
    with np.load(path, allow_pickle=False) as z:
        X = sparse.csr_array(
            (z["data"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"])
        )
        return X, z["label"].astype(np.int64)


def of_frequent_words(X: Any, least: int = 5) -> Any:
    """The terms of at least some documents: 19,677 of TDT2, about those of the paper."""
    return X[:, np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= least)]


def steps_of(n: int, size: int = STEP) -> list[slice]:
    """The steps after the first documents."""
    return [slice(s, min(s + size, n)) for s in range(size, n, size)]


def truth(labels: Array, size: int = STEP) -> list[Array]:
    """Which documents of each step are novel."""
    return [~np.isin(labels[s], labels[: s.start]) for s in steps_of(len(labels), size)]


def areas(scores: list[Array], novel: list[Array]) -> dict[str, Any]:
    """Area under the ROC curve of every step that has novel documents, mean, and pooled."""
    each = {
        i: float(roc_auc_score(n, s))
        for i, (s, n) in enumerate(zip(scores, novel, strict=True), 1)
        if n.any() and not n.all()
    }
    return {
        "steps": each,
        "mean": float(np.mean([each[i] for i in REPORTED if i in each])),
        "pooled": float(roc_auc_score(np.concatenate(novel), np.concatenate(scores))),
    }


def by_detector(X: Any, size: int = STEP, **options: Any) -> tuple[list[Array], list[float]]:
    """Scores of every step, and its processor seconds."""
    detector = NovelDocumentDetector(verbose=0, **options).fit(X[:size])
    scores, seconds = [], []
    for rows in steps_of(X.shape[0], size):
        started = time.process_time()
        scores.append(detector.step(X[rows]).scores)
        seconds.append(time.process_time() - started)
    return scores, seconds


def weighted(X: Any) -> Iterator[tuple[Any, Any]]:
    """Of every step the weights of its documents, and those of all documents before."""
    words = GrowingWords()
    words.enter([str(j) for j in range(X.shape[1])])
    words.learn(X[:START])
    yield words.weights(X[:START]), None
    for rows in steps_of(X.shape[0]):
        yield words.weights(X[rows]), words.weights(X[: rows.start])
        words.learn(X[rows])
