"""Documents in their many forms: texts, tables of counts, and streams of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

Words = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class WordCounter:
    """From documents to counts of words, over a vocabulary that stays.

    Attributes
    ----------
    words : array of str
        The word of each column.
    vectorizer : object or None
        What counts the words of texts; None if documents come as counts.
    """

    words: Words
    vectorizer: Any

    def counts(self, documents: Any) -> Any:
        """Counts as CSR, one row per document."""
        if is_table(documents):
            table = _as_csr(documents)
            if table.shape[1] != len(self.words):
                raise ValueError(
                    f"These documents have {table.shape[1]} columns, but the vocabulary has "
                    f"{len(self.words)} words; count the same words as before."
                )
            return table
        if self.vectorizer is None:
            raise ValueError(
                "The topics were learned from counts, so it is not known how to count the words of "
                "texts; give counts over the same vocabulary."
            )
        return sparse.csr_array(self.vectorizer.transform(_as_texts(documents)))


def learn_words(
    documents: Any, vectorizer: Any = None, vocabulary: Any = None
) -> tuple[WordCounter, Any]:
    """Find the words of some documents; return what counts them, and the counts of these.

    Parameters
    ----------
    documents : sequence of str, or table of counts
    vectorizer : scikit-learn vectoriser, optional
        A copy of it is fitted. By default `default_vectorizer`.
    vocabulary : sequence of str, or dict from words to columns, optional
        The words to count; for a table of counts, the word of each column.
    """
    words = None if vocabulary is None else _in_order(vocabulary)
    if is_table(documents):
        if words is None and hasattr(documents, "columns"):
            words = np.array([str(name) for name in documents.columns], dtype=object)
        if words is None:
            raise ValueError("A table of counts needs vocabulary=, the word of each column.")
        counter = WordCounter(words, None)
        return counter, counter.counts(documents)

    texts = _as_texts(documents)
    if vectorizer is None:
        fitted = default_vectorizer(words)
        _require_strings(texts)
    elif words is None:
        fitted = clone(vectorizer)
    else:
        raise ValueError("Give vocabulary= or vectorizer=, not both: a vectoriser has its own.")
    try:
        counts = sparse.csr_array(fitted.fit_transform(texts))
    except ValueError as error:
        if vectorizer is not None or "no terms remain" not in str(error):
            raise
        raise ValueError(
            f"No word stands in two of these {len(texts)} documents; give more documents, or "
            "vectorizer=CountVectorizer() to keep rare words."
        ) from error
    if not hasattr(fitted, "get_feature_names_out"):
        raise ValueError(
            f"{type(fitted).__name__} does not know the words of its columns, so topics would have "
            "none; use CountVectorizer, with max_features if there are too many words."
        )
    return WordCounter(np.asarray(fitted.get_feature_names_out(), dtype=object), fitted), counts


def default_vectorizer(words: Words | None = None) -> CountVectorizer:
    """Counts English text: lower case, letters only, three at least, no stop words, no loners.

    A word that only one document has says nothing about what documents have in common. If the words
    are given, these are counted, whatever they are.
    """
    if words is not None:
        return CountVectorizer(vocabulary=list(words))
    return CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{3,}\b", min_df=2)


def is_table(documents: Any) -> bool:
    """Whether documents come as a matrix or data frame of counts."""
    return sparse.issparse(documents) or getattr(documents, "ndim", 1) == 2


def batches_of_stream(documents: Iterable[Any], size: int, first_size: int) -> Iterator[Any]:
    """Cut a stream into batches; no more than a batch, and one item of the stream, is held.

    Parameters
    ----------
    documents : iterable
        Of texts, of lists of texts, or of tables of counts.
    size, first_size : int
        Documents in a batch, and in the first one.
    """
    held: list[Any] = []
    n_held, wanted = 0, first_size
    for item in documents:
        part = [item] if isinstance(item, str) else item
        if held and is_table(part) != is_table(held[0]):
            raise ValueError("A stream must have either texts or counts all through.")
        held.append(_as_csr(part) if is_table(part) else _as_texts(part))
        n_held += _length(held[-1])
        if n_held < wanted:
            continue
        joined, start = _joined(held), 0
        while n_held - start >= wanted:
            yield joined[start : start + wanted]
            start, wanted = start + wanted, size
        held, n_held = [joined[start:]] if start < n_held else [], n_held - start
    if held:
        yield _joined(held)


def batches_of(documents: Any, size: int) -> Iterator[Any]:
    """Rows of a table, or texts of a list, in batches."""
    for start in range(0, _length(documents), size):
        yield documents[start : start + size]


def _joined(parts: Sequence[Any]) -> Any:
    if is_table(parts[0]):
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError("All tables of a stream need the same columns, one for each word.")
        return sparse.vstack(parts, format="csr")
    return [text for part in parts for text in part]


def _length(documents: Any) -> int:
    return int(documents.shape[0]) if is_table(documents) else len(documents)


def _as_csr(table: Any) -> Any:
    try:
        plain: Any = table if sparse.issparse(table) else np.asarray(table)
        counts: Any = sparse.csr_array(plain)
        if counts.dtype.kind not in "buif":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            "A table of documents must hold counts of words; for a column of texts, give only that "
            'column, such as frame["text"].'
        ) from None
    if counts.shape[0] == 0:
        raise ValueError("There are no documents; give at least one.")
    return counts


def _as_texts(documents: Any) -> list[Any]:
    if isinstance(documents, str | bytes):
        raise ValueError("Give a list of documents; put brackets around a single one.")
    if not isinstance(documents, Iterable):
        raise ValueError(
            f"Documents are a list of texts or a table of counts, not {type(documents).__name__}."
        )
    texts = list(documents)
    if not texts:
        raise ValueError("There are no documents; give at least one.")
    return texts


def _require_strings(texts: list[Any]) -> None:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"Document {number} is {text!r}, not a text; leave it out, or make it a string."
            )


def _in_order(vocabulary: Any) -> Words:
    """Words by column."""
    if isinstance(vocabulary, dict):
        vocabulary = sorted(vocabulary, key=vocabulary.__getitem__)
    words = np.array([str(word) for word in vocabulary], dtype=object)
    if len(set(words)) < len(words) or len(words) == 0:
        raise ValueError("vocabulary must name at least one word, and each word once.")
    return words
