"""Plain topics, by scikit-learn, beside those of a model: for its page."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from thresher.metrics import topic_coherence
from thresher.report import Report, tell_beside, timed

if TYPE_CHECKING:
    from thresher.tasks.topics.model import TopicModel

_MOST_DOCUMENTS = 2000  # a few seconds; by judgement
_ROUNDS = 200  # its default


def tell_plain_topics(report: Report, model: TopicModel, counts: Any) -> None:
    """Compare coherence and seconds with NMF of tf-idf.

    Parameters
    ----------
    report : Report
    model : TopicModel
        Fitted.
    counts : sparse matrix of shape (n, F)
        Of the words of the model in documents.
    """
    K, n = len(model.components_), counts.shape[0]
    some = counts[np.unique(np.linspace(0, n - 1, min(n, _MOST_DOCUMENTS)).astype(int))]
    if min(some.shape) <= K or not some.nnz:
        return
    plain = NMF(K, init="nndsvda", max_iter=_ROUNDS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounds are what it is given
        _, seconds = timed(lambda: plain.fit(TfidfTransformer().fit_transform(some)))
    history = getattr(model.model_, "history_", None)
    took = f"{history[-1].seconds:.2g} for {n:,} documents" if history else "–"
    tell_beside(
        report,
        ["mean coherence", "coherence of the worst", "seconds of learning"],
        [
            ["TopicModel", *_coherence(model.components_, some), took],
            ["NMF of tf-idf", *_coherence(plain.components_, some),
             f"{seconds:.2g} for {some.shape[0]:,} documents"],
        ],
        f"scikit-learn's NMF with as many topics on the same words, at most {_ROUNDS} rounds on at "
        f"most {_MOST_DOCUMENTS:,} documents, all in memory. Coherence of both is measured on "
        "these documents.",
    )  # fmt: skip


def _coherence(topics: Any, counts: Any) -> tuple[str, str]:
    found = topic_coherence(topics, counts)
    return tuple(  # type: ignore[return-value]
        f"{value:.2f}".replace("-", "−") for value in (found.mean, np.nanmin(found.per_topic))
    )
