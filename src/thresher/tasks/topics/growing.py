"""A vocabulary that lives: words enter with their second document, and leave when unused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.tasks.text.documents import as_csr, is_table
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.text.words import Words

GROW = "grow"
"""The value of ``vocabulary`` that asks for it."""

WORD_HALF_LIFE = 10_000.0
"""Documents after which the count of a word that nobody uses is half as large; by judgement."""

_ENTERS, _LEAVES = 1.0, 0.5  # documents: a second one; one, a half-life ago


class VocabularyUpdate(NamedTuple):
    """What a batch made of a vocabulary.

    Attributes
    ----------
    words : LivingWords
    origin : array of int
        For every word in use, its column among those in use before; -1 if it has just entered.
    kept : array of int
        The known words of before that are still known.
    """

    words: LivingWords
    origin: NDArray[np.intp]
    kept: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LivingWords:
    r"""Counts the words that are known, of which those in use are columns of a model.

    The documents that have a word are counted with a half-life h, in documents,

    .. math:: n_j \leftarrow 2^{-m/h}\, n_j + m_j

    for a batch of m documents of which :math:`m_j` have word j. A word is known from its first
    document on, in use when :math:`n_j > 1`, and forgotten when :math:`n_j < 1/2`: when a second
    document has it, and, if one alone had it, a half-life later.

    Attributes
    ----------
    table : GrowingWords
        Known words, and their :math:`n_j`.
    in_use : array of bool
        Which of them are columns of the model.
    """

    table: GrowingWords
    in_use: NDArray[np.bool_]

    @classmethod
    def none(cls, vectorizer: Any, max_words: int) -> Self:
        """No words yet; at most ``max_words`` are known at a time."""
        return cls(GrowingWords(vectorizer, max_words), np.zeros(0, dtype=bool))

    @property
    def words(self) -> Words:
        """All that are known, as `WordCounter` has them."""
        return np.array(self.table.words, dtype=object)

    @property
    def vectorizer(self) -> Any:
        """What cuts texts into words."""
        return self.table.vectorizer

    def counts(self, documents: Any) -> Any:
        """Counts of the known words as CSR, one row per document."""
        counts, _ = self._with_new(documents)
        return counts[:, : len(self.table.words)]

    def tfidf(self) -> TfIdf:
        """Weights of the words in use."""
        table = self.table
        return TfIdf.known(table.n_documents, table.frequency, np.flatnonzero(self.in_use))

    def entered(self, documents: Any) -> tuple[Self, Any]:
        """With the words of some documents known, though not counted yet; and their counts."""
        counts, new = self._with_new(documents)
        table = self.table.copy(self.table.vectorizer)
        table.enter(new)
        in_use = np.concatenate([self.in_use, np.zeros(len(new), dtype=bool)])
        return replace(self, table=table, in_use=in_use), counts

    def learned(self, counts: Any, half_life: float, forget: bool = True) -> VocabularyUpdate:
        """The vocabulary after a batch, given as counts of known words; this one stays as it is.

        Unless it is to ``forget``, all words stay known for now.
        """
        table = self.table.copy(self.table.vectorizer)
        fading = 2.0 ** (-counts.shape[0] / half_life)
        table.frequency, table.n_documents = table.frequency * fading, table.n_documents * fading
        table.learn(counts)
        used = self.in_use | (table.frequency > _ENTERS)
        number = np.cumsum(self.in_use) - 1
        number[~self.in_use] = -1
        stays = np.ones(len(used), dtype=bool)
        if forget:
            stays = _staying(table.frequency, table.max_words)
        kept = np.flatnonzero(stays)
        if not stays.all():
            table.keep(kept)
            used, number = used[kept], number[kept]
        return VocabularyUpdate(replace(self, table=table, in_use=used), number[used], kept)

    def _with_new(self, documents: Any) -> tuple[Any, list[str]]:
        """Checked counts, and the new words, whose columns come last."""
        if is_table(documents):
            counts, new = self._from_table(documents)
        else:
            counts, new = self.table.counts(documents)
        if not counts.shape[1]:
            raise ValueError("There is no word in the first documents; begin with more of them.")
        return TfIdf()._checked(counts), new

    def _from_table(self, documents: Any) -> tuple[Any, list[str]]:
        """Columns by their names, or by their numbers if they have none."""
        table = sparse.coo_array(as_csr(documents))
        names = getattr(documents, "columns", range(table.shape[1]))
        places = {word: column for column, word in enumerate(self.table.words)}
        column_of = np.zeros(table.shape[1], dtype=np.int64)
        n_known = len(places)
        for column in np.unique(table.col):
            column_of[column] = places.setdefault(str(names[column]), len(places))
        counts: Any = sparse.csr_array(
            (table.data, (table.row, column_of[table.col])), shape=(table.shape[0], len(places))
        )
        return counts, list(places)[n_known:]


def first_words(documents: Any, vectorizer: Any, max_words: int) -> tuple[LivingWords, TfIdf, Any]:
    """The vocabulary of the first documents, its weights, and their counts."""
    words, counts = LivingWords.none(vectorizer, max_words).entered(documents)
    learned = words.learned(counts, np.inf)
    if not learned.words.in_use.any():
        raise ValueError(
            f"No word stands in two of these {counts.shape[0]} documents; begin with more of them."
        )
    return learned.words, learned.words.tfidf(), counts[:, learned.kept]


def relaid(model: Any, origin: NDArray[np.intp]) -> None:
    """Lay the dictionary and the statistics of a model out for other words.

    Words that stay keep what is known of them, to the bit. New ones have no statistics and a mass
    that says nothing, those that left are forgotten.
    """
    new = origin < 0
    width = model.components_.shape[1]
    if not new.any() and np.array_equal(origin, np.arange(width)):
        return
    order = origin.copy()
    order[new] = width + np.arange(np.count_nonzero(new))
    if new.any():
        model.grow(n_features=width + int(np.count_nonzero(new)))
    model.keep_features(order)


def check_can_grow(model: Any) -> None:
    """Refuse a model whose dictionary has a fixed width."""
    if model is not None and not hasattr(model, "grow"):
        raise ValueError(
            f"{type(model).__name__} cannot make room for new words or topics; leave model= out, "
            "or give one that can, such as OnlineNMF."
        )


def _staying(frequency: Any, max_words: int) -> NDArray[np.bool_]:
    """Words that are still used; if they are too many, a tenth and more of them, the rarest, go.

    Of words equally rare, those that came last stay.
    """
    stays: NDArray[np.bool_] = frequency >= _LEAVES
    if np.count_nonzero(stays) > max_words:
        order = np.lexsort((np.arange(len(frequency)), np.where(stays, frequency, -1)))
        stays[order[: len(order) - max(1, int(0.9 * max_words))]] = False
    return stays
