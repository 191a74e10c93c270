"""From documents to counts of words, by a vectoriser of any make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from thresher.tasks.text.documents import as_csr, as_texts, is_table, not_a_text

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
    only_strings : bool
        Whether each document must be a string; a vectoriser of one's own may take other things.
    """

    words: Words
    vectorizer: Any
    only_strings: bool = True

    def counts(self, documents: Any) -> Any:
        """Counts as CSR, one row per document."""
        if is_table(documents):
            table = as_csr(documents)
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
        texts = as_texts(documents)
        if self.only_strings:
            _require_strings(texts)
        counts = _counted(self.vectorizer, self.vectorizer.transform, texts)
        if counts.shape[1] != len(self.words):
            raise ValueError(
                f"{type(self.vectorizer).__name__} counts {counts.shape[1]} words in these "
                f"documents, but {len(self.words)} when the topics were learned; its `transform` "
                "must keep the words that `fit_transform` found."
            )
        return counts


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

    texts = as_texts(documents)
    if vectorizer is None:
        _require_strings(texts)
        fitted: Any = default_vectorizer(words)
        if words is None:
            _require_common_words(fitted, texts)
        else:
            _require_lower_case(words)
    elif words is None:
        fitted = _copy_of(vectorizer)
    else:
        raise ValueError("Give vocabulary= or vectorizer=, not both: a vectoriser has its own.")
    counts = _counted(fitted, fitted.fit_transform, texts)
    return WordCounter(names_of(fitted, counts.shape[1]), fitted, vectorizer is None), counts


def default_vectorizer(words: Words | None = None) -> CountVectorizer:
    """Counts English text: lower case, words of three letters at least, no stop words.

    A word that only one document has says nothing about what documents have in common, and is left
    out. If the words are given, these are counted, whatever they are.
    """
    if words is not None:
        return CountVectorizer(vocabulary=list(words))
    return CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{3,}\b", min_df=2)


# ------------------------------------------------------------------- what may go wrong


def _counted(vectorizer: Any, count: Callable[[Any], Any], texts: list[Any]) -> Any:
    """Counts as CSR; if a vectoriser fails, the message has its own reason and what to do."""
    name = type(vectorizer).__name__
    try:
        counts: Any = sparse.csr_array(count(texts))
    except Exception as error:
        _require_strings(texts)  # the usual cause, which vectorisers do not name
        raise ValueError(
            f"{name} could not count the words of these {len(texts)} documents ({error}); change "
            "its options so that some words are left, or give other documents."
        ) from error
    if counts.shape[0] != len(texts):
        raise ValueError(
            f"{name} made {counts.shape[0]} rows of {len(texts)} documents; it must make one for "
            "each."
        )
    return counts


def _copy_of(vectorizer: Any) -> Any:
    if isinstance(vectorizer, type):
        raise ValueError(
            f"vectorizer={vectorizer.__name__} is a class; add brackets: {vectorizer.__name__}()."
        )
    if not (hasattr(vectorizer, "fit_transform") and hasattr(vectorizer, "transform")):
        raise ValueError(
            f"vectorizer={vectorizer!r} cannot count words: it has no fit_transform and transform; "
            "use scikit-learn's CountVectorizer, or leave it out."
        )
    return clone(vectorizer, safe=False)


def names_of(vectorizer: Any, n_columns: int) -> Words:
    """The word of each column; refuses a vectoriser that does not know them."""
    name = type(vectorizer).__name__
    if not hasattr(vectorizer, "get_feature_names_out"):
        raise ValueError(
            f"{name} does not know the words of its columns, so topics would have none; use "
            "CountVectorizer, with max_features if there are too many words."
        )
    words = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
    if len(words) != n_columns:
        raise ValueError(
            f"{name} counts {n_columns} words but names {len(words)}; its get_feature_names_out "
            "must name every column."
        )
    return words


def _require_strings(texts: list[Any]) -> None:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise not_a_text(number, text)


def _require_common_words(vectorizer: CountVectorizer, texts: list[str]) -> None:
    """Words that two documents have, as the default vectoriser needs them."""
    words_of = vectorizer.build_analyzer()
    seen: set[str] = set()
    for text in texts:
        words = set(words_of(text))
        if not seen.isdisjoint(words):
            return  # soon, as a rule
        seen |= words
    if len(texts) == 1:
        raise ValueError(
            "Topics are words that documents have in common, and this is one document; give more."
        )
    if not seen:
        raise ValueError(
            f"There is no word in these {len(texts)} documents: they are empty, or have only "
            "numbers, words of one or two letters, and English stop words. If such words matter, "
            "give vectorizer=CountVectorizer()."
        )
    raise ValueError(
        f"No word stands in two of these {len(texts)} documents; give more documents, or "
        "vectorizer=CountVectorizer() to keep rare words."
    )


def _require_lower_case(words: Words) -> None:
    for word in words:
        if word != word.lower():
            raise ValueError(
                f"Texts are read in lower case, so the word {word!r} of vocabulary= would never be "
                "found; write it in lower case, or give "
                "vectorizer=CountVectorizer(vocabulary=words, lowercase=False) instead."
            )


def _in_order(vocabulary: Any) -> Words:
    """Words by column."""
    listed = isinstance(vocabulary, Iterable) and isinstance(vocabulary, Sized)
    if not listed or isinstance(vocabulary, str | bytes):
        raise ValueError(
            f"vocabulary={vocabulary!r} must be a list of words, or a dict from words to columns."
        )
    if isinstance(vocabulary, dict):
        vocabulary = sorted(vocabulary, key=vocabulary.__getitem__)
    words = np.array([str(word) for word in vocabulary], dtype=object)
    if len(set(words)) < len(words) or len(words) == 0:
        raise ValueError("vocabulary must name at least one word, and each word once.")
    return words
