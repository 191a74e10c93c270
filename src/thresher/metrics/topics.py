"""How well the words of a topic belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

_Words = list[NDArray[np.intp]]


class TopicCoherence(NamedTuple):
    """Coherence of every topic, shape (n_topics,), and their mean."""

    per_topic: NDArray[np.float64]
    mean: float


def topic_coherence(
    topics: ArrayLike | Sequence[Sequence[str]],
    X: Any,
    n_words: int = 10,
    *,
    vocabulary: Sequence[str] | None = None,
) -> TopicCoherence:
    r"""Normalised pointwise mutual information of the top words of each topic.

    The mean, over all pairs of a topic's top words, of

    .. math:: \operatorname{npmi}(i, j) = \frac{\log \frac{p_{ij}}{p_i\, p_j}}{-\log p_{ij}},

    where :math:`p_i` is the share of the documents that have word i, and :math:`p_{ij}` that of
    those with both. How often a word stands in a document does not matter.

    Parameters
    ----------
    topics : array-like of shape (n_topics, F), or a list of words for each topic
        Weights, of which the ``n_words`` largest in each row are taken (if they are positive); or
        the words themselves, best first, with ``vocabulary``.
    X : sparse matrix or array of shape (n_documents, F)
        Counts, weights or flags; a document has a word where its entry is not zero. Use documents
        that the topics were not learned from, if there are enough. Sparse stays sparse.
    n_words : int
        Words of a topic that count, at least 2.
    vocabulary : sequence of str, optional
        The word of each column of X; only needed if topics are given by words.

    Returns
    -------
    TopicCoherence
        ``per_topic`` and ``mean``. Each is between -1 (no two words share a document) and 1 (the
        words come only together); 0 is what independent words have.

    Notes
    -----
    There is no smoothing: the limits of the formula stand where it has no value. A pair that never
    occurs together counts -1, also if one of the words occurs nowhere; a pair that stands in every
    document counts 0, for neither word says anything about the other. A topic with fewer than two
    words has no pair: it is NaN and left out of the mean.

    G. Bouma, "Normalized (pointwise) mutual information in collocation extraction", GSCL 2009, for
    the measure; J. H. Lau, D. Newman and T. Baldwin, "Machine reading tea leaves", EACL 2014, for
    its use on topics. They count windows of words where this counts documents.

    Examples
    --------
    >>> documents = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> float(topic_coherence([[0.6, 0.4, 0.0]], documents).mean)
    1.0
    """
    if n_words < 2:
        raise ValueError(f"n_words={n_words} gives no pairs: ask for at least 2 words per topic.")
    presence = _presence(X)
    n_documents, n_features = presence.shape
    tops = _top_columns(topics, n_features, n_words, vocabulary)

    # Only the words that some topic needs are compared with each other.
    used = np.unique(np.concatenate([*tops, np.empty(0, dtype=np.intp)]))
    columns = presence[:, used]
    together = (columns.T @ columns).toarray() / n_documents
    npmi = _npmi(together)

    per_topic = np.full(len(tops), np.nan)
    for number, top in enumerate(tops):
        if len(top) > 1:
            places = np.searchsorted(used, top)
            first, second = np.triu_indices(len(top), k=1)
            per_topic[number] = npmi[places[first], places[second]].mean()
    defined = per_topic[~np.isnan(per_topic)]
    return TopicCoherence(per_topic, float(defined.mean()) if defined.size else np.nan)


def _npmi(together: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the shares of documents with both words (one word on the diagonal) to NPMI."""
    alone = np.diag(together)
    npmi = np.full(together.shape, -1.0)
    meet = (together > 0) & (together < 1)
    information = np.log(together[meet]) - np.log(np.outer(alone, alone)[meet])
    npmi[meet] = information / -np.log(together[meet])
    npmi[together == 1] = 0.0
    return npmi


def _presence(X: Any) -> Any:
    """CSC of ones where a document has a word."""
    is_sparse: bool = sparse.issparse(X)
    matrix: Any = sparse.csc_array(X) if is_sparse else np.asarray(X)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"X needs a row per document and a column per word, not the shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"X must hold counts, weights or flags, not {matrix.dtype}.")
    flags: Any = sparse.csc_array(matrix != 0)
    return flags.astype(np.float64)


def _top_columns(
    topics: Any, n_features: int, n_words: int, vocabulary: Sequence[str] | None
) -> _Words:
    """Columns of the top words of each topic, best first."""
    if not hasattr(topics, "dtype"):
        topics = list(topics)
        if topics and all(_is_words(words) for words in topics):
            return _columns_of_words(topics, n_features, n_words, vocabulary)
    weights = np.asarray(topics)
    if weights.dtype.kind == "U":
        return _columns_of_words(weights.tolist(), n_features, n_words, vocabulary)
    if weights.dtype.kind not in "buif" or weights.ndim != 2 or len(weights) == 0:
        raise ValueError(
            "topics must be an array of weights with a row per topic, or a list of words for each."
        )
    if weights.shape[1] != n_features:
        raise ValueError(
            f"topics have {weights.shape[1]} words and X has {n_features} columns; give both over "
            "the same vocabulary."
        )
    if not np.isfinite(weights).all():
        raise ValueError("topics must be finite: remove NaN and infinite weights first.")
    tops: _Words = []
    for row in weights:
        order = np.argsort(-row.astype(np.float64), kind="stable")[:n_words]
        tops.append(order[row[order] > 0])
    return tops


def _is_words(words: Any) -> bool:
    return not isinstance(words, str) and all(isinstance(word, str) for word in words)


def _columns_of_words(
    topics: list[Sequence[str]],
    n_features: int,
    n_words: int,
    vocabulary: Sequence[str] | None,
) -> _Words:
    if vocabulary is None:
        raise ValueError("Topics given by words need vocabulary=, the word of each column of X.")
    if len(vocabulary) != n_features:
        raise ValueError(
            f"vocabulary has {len(vocabulary)} words for {n_features} columns of X; give one each."
        )
    column_of = {str(word): column for column, word in enumerate(vocabulary)}
    unknown = [word for words in topics for word in words if word not in column_of]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not in the vocabulary; leave it out of its topic.")
    return [
        # A word that is named twice counts once.
        np.array([column_of[word] for word in dict.fromkeys(words)][:n_words], dtype=np.intp)
        for words in topics
    ]
