"""What goes into the model of topics, and what comes out; both are checked."""

from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.text.tfidf import TfIdf


def weighted(tfidf: TfIdf | None, counts: Any) -> Any:
    """What a model learns from: tf-idf, or the counts themselves."""
    return counts.astype(np.float64) if tfidf is None else tfidf._weights(counts)


def check_weights(counts: Any, weights: Any) -> None:
    """Refuse first documents that have nothing to learn from."""
    n_documents, n_words = counts.shape
    if counts.nnz == 0 or not counts.data.any():
        raise ValueError(
            f"None of the {n_words} words of the vocabulary stands in these {n_documents} "
            "documents; see that they are not empty, or count other words."
        )
    if weights.nnz == 0 and n_documents == 1:
        raise ValueError(
            "One document does not tell which words matter, for their weight compares documents; "
            "begin with more, or give weighting=None."
        )
    if weights.nnz == 0:
        raise ValueError(
            "No word tells these documents apart: all of them have the same words. Begin with "
            "more documents, or give weighting=None."
        )


def atoms_of(model: Any, n_words: int) -> Array:
    """``components_``, one column for each word."""
    name = type(model).__name__
    if not hasattr(model, "components_"):
        raise ValueError(
            f"{name} has no components_ after learning, so it shows no topics; give a model that "
            "factorises, such as OnlineNMF, or leave it out."
        )
    atoms = np.asarray(model.components_, dtype=np.float64)
    if atoms.ndim != 2 or atoms.shape[1] != n_words:
        raise ValueError(
            f"The components_ of {name} have the shape {atoms.shape}; topics need a row each, with "
            f"{n_words} columns, one for each word."
        )
    return atoms


def explained_weights(model: Any, weights: Any) -> Array:
    """The weight that each topic explains in each document, whatever the scale of the atoms."""
    codes = np.asarray(model.transform(weights), dtype=np.float64)
    explained: Array = codes * np.asarray(model.components_, dtype=np.float64).sum(axis=1)
    return explained


def shares_of(model: Any, weights: Any) -> Array:
    """Shares of the topics; zero in documents without a known word."""
    explained = explained_weights(model, weights)
    total = explained.sum(axis=1, keepdims=True)
    return np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
