"""A vocabulary that grows with a stream of documents: new words enter, rare ones can leave."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.linalg import Array
from thresher.tasks.text.documents import as_csr, as_texts, is_table, not_a_text
from thresher.tasks.text.tfidf import inverse_document_frequency, tf_idf
from thresher.tasks.text.words import default_vectorizer


@dataclass
class GrowingWords:
    """Counts words, and weights them by what the stream has told so far.

    Weights are those of `tf_idf`, where ``n_j`` of the n documents learned from had word j. So the
    same document weighs differently as the stream goes on.

    Parameters
    ----------
    vectorizer : scikit-learn vectoriser, optional
        How texts are cut into words; only its analyser is used, so its vocabulary may be empty.
    max_words : int
        So many words are kept; when there are more, those of the fewest documents leave.

    Attributes
    ----------
    words : list of str
        The word of every column.
    frequency : array of shape (F,)
        ``n_j``.
    n_documents : int
        n; a float for those who let old documents count less.
    """

    vectorizer: Any = None
    max_words: int = 100_000
    words: list[str] = field(default_factory=list)
    frequency: Array = field(default_factory=lambda: np.zeros(0))
    n_documents: float = 0

    def __post_init__(self) -> None:
        self._words_of = _analyser(self.vectorizer)
        self._columns = {word: column for column, word in enumerate(self.words)}

    def copy(self, vectorizer: Any) -> Self:
        """One that can learn while this one stays as it is; it cuts texts by the given vectoriser.

        Vectorisers are not part of a file, and come back by hand after it is loaded.
        """
        other = copy.copy(self)
        other.vectorizer, other._words_of = vectorizer, _analyser(vectorizer)
        other.words, other._columns = list(self.words), dict(self._columns)
        return other

    def counts(self, documents: Any) -> tuple[Any, list[str]]:
        """Counts as CSR, and the new words, whose columns come after the known ones."""
        if is_table(documents):
            table = as_csr(documents)
            if table.shape[1] < len(self.words):
                raise ValueError(
                    f"These documents have {table.shape[1]} columns, but {len(self.words)} words "
                    "are known; keep their columns, and put new words after them."
                )
            names = getattr(documents, "columns", range(table.shape[1]))
            return table, [str(name) for name in list(names)[len(self.words) :]]
        texts = as_texts(documents)
        fresh: dict[str, int] = {}
        indptr: list[int] = [0]
        indices: list[int] = []
        data: list[int] = []
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise not_a_text(number, text)
            counted: dict[int, int] = {}
            for word in self._words_of(text):
                column = self._columns.get(word)
                if column is None:
                    column = fresh.setdefault(word, len(self.words) + len(fresh))
                counted[column] = counted.get(column, 0) + 1
            indices.extend(counted.keys())
            data.extend(counted.values())
            indptr.append(len(indices))
        width = len(self.words) + len(fresh)
        counts: Any = sparse.csr_array(
            (np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), indptr),
            shape=(len(texts), width),
        )
        counts.sort_indices()
        return counts, list(fresh)

    def weights(self, counts: Any) -> Any:
        """tf-idf of counts, which may have more columns than there are known words."""
        counts = sparse.csr_array(counts, dtype=np.float64, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if counts.data.size and not 0 < counts.data.min() <= counts.data.max() < np.inf:
            raise ValueError(
                "Counts of words are 0 or more, finite, and never missing; put 0 where a document "
                "lacks a word."
            )
        frequency = np.zeros(counts.shape[1])
        frequency[: len(self.frequency)] = self.frequency
        return tf_idf(counts, inverse_document_frequency(self.n_documents, frequency))

    def enter(self, new: list[str]) -> None:
        """Give new words a column each."""
        for word in new:
            self._columns[word] = len(self.words)
            self.words.append(word)
        self.frequency = np.concatenate([self.frequency, np.zeros(len(new))])

    def learn(self, counts: Any) -> None:
        """Count the documents that have each word."""
        had = np.bincount(counts.indices[counts.data > 0], minlength=len(self.words))
        self.frequency = self.frequency + had
        self.n_documents += counts.shape[0]

    def rarest(self) -> NDArray[np.intp] | None:
        """Columns to keep if words are too many; None if they are not.

        A tenth leaves at once, so that this is seldom needed. Of words equally rare, those that
        came last stay.
        """
        if len(self.words) <= self.max_words:
            return None
        room = max(1, int(0.9 * self.max_words))
        order = np.lexsort((np.arange(len(self.words)), self.frequency))
        return np.sort(order[len(order) - room :])

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Forget all words but some."""
        self.words = [self.words[column] for column in columns]
        self.frequency = self.frequency[columns]
        self._columns = {word: column for column, word in enumerate(self.words)}


def _analyser(vectorizer: Any) -> Any:
    splitter = default_vectorizer() if vectorizer is None else vectorizer
    if isinstance(splitter, type) or not hasattr(splitter, "build_analyzer"):
        raise ValueError(
            f"vectorizer={splitter!r} cannot cut texts into words; use scikit-learn's "
            "CountVectorizer(), or leave it out."
        )
    return splitter.build_analyzer()
