"""What a detector of novel documents knows of the documents before: how it scores, and learns."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from thresher.linalg import Array
from thresher.tasks.novelty.directions import Directions
from thresher.tasks.text.growing_words import GrowingWords


class Memory(ABC):
    """Documents come as CSR rows of nonnegative weights, in order; zero rows are allowed.

    Rows given to `scores` and `explained` may be wider than the memory: the last words are new.
    """

    @abstractmethod
    def scores(self, X: Any) -> Array:
        """How little of every document is explained; the larger, the more novel."""

    begins_whole = False
    """Whether it learns from all first documents at once, also from those held out to score."""

    @abstractmethod
    def learned(self, X: Any) -> Memory:
        """The memory after some documents."""

    @abstractmethod
    def explained(self, X: Any) -> Array:
        """What part of every weight is explained, dense of the shape of X: for few documents."""

    @abstractmethod
    def nearness(self, X: Any) -> Array:
        """Share of every atom in every document, shape (n, K)."""

    @property
    @abstractmethod
    def atoms(self) -> Array:
        """Atoms in rows."""

    @property
    def width(self) -> int:
        """Words that it has room for."""
        return self.atoms.shape[1]

    @abstractmethod
    def grow(self, n_features: int) -> Memory:
        """Make room for new words."""

    @abstractmethod
    def keep(self, columns: Any) -> Memory:
        """Forget all words but some."""


@dataclass(frozen=True)
class DirectionMemory(Memory):
    """``1 − max_k cos(x, s_k)``: how far a document lies from everything that came before."""

    directions: Directions

    def scores(self, X: Any) -> Array:
        """Documents without a word are not novel."""
        best = self.directions.cosines(X).max(axis=1).astype(np.float64)
        return np.where(np.diff(X.indptr) > 0, 1 - best, 0.0)

    def left_out_scores(self, X: Any) -> Array:
        """Scores of documents that were learned, as if they had not been."""
        best = self.directions.left_out_cosines(X)
        return np.where(np.diff(X.indptr) > 0, 1 - best, 0.0)

    def learned(self, X: Any) -> DirectionMemory:
        """With the directions moved."""
        return replace(self, directions=self.directions.learned(X))

    def explained(self, X: Any) -> Array:
        """The nearest direction, as long as the document reaches along it."""
        cosines = self.directions.cosines(X)
        nearest = cosines.argmax(axis=1)
        lengths = np.where(self.directions.lengths > 0, self.directions.lengths, 1)
        part = np.zeros(X.shape)
        reach = cosines.max(axis=1) * np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        unit = (self.directions.sums / lengths).T[nearest]
        part[:, : unit.shape[1]] = reach[:, None] * unit
        return np.minimum(part, X.toarray())

    def nearness(self, X: Any) -> Array:
        """Cosines."""
        return self.directions.cosines(X)

    @property
    def atoms(self) -> Array:
        """Sums of unit vectors."""
        return self.directions.sums.T

    def grow(self, n_features: int) -> DirectionMemory:
        """With rows of zeros."""
        return replace(self, directions=self.directions.grow(n_features))

    def keep(self, columns: Any) -> DirectionMemory:
        """Without the rest."""
        return replace(self, directions=self.directions.keep(columns))


@dataclass(frozen=True)
class DictionaryMemory(Memory):
    """``min_c loss(x, cD) + φ(c)`` under a model of the library, documents of sum one.

    A model that has no `partial_fit` learns anew from all documents, from its own atoms and some
    new ones taken from the least explained documents; its memory grows with the stream. New atoms
    start from data, since zero ones would never move (errata B.5).
    """

    model: Any
    n_new_atoms: int = 0
    documents: Any = None
    unit: str = "l1"
    single: bool = False
    """In float32, for models that expand documents."""

    def scores(self, X: Any) -> Array:
        """The objective of every document."""
        model = self._as_wide_as(X)
        return np.asarray(model.objective_samples(self._scaled(X)), dtype=np.float64)

    def learned(self, X: Any) -> DictionaryMemory:
        """After one step, or after learning from everything anew."""
        rows = self.rows(X)
        if rows.shape[0] == 0:
            return self
        model = copy.deepcopy(self.model)
        if hasattr(model, "partial_fit"):
            if not hasattr(model, "components_") or not self.n_new_atoms:
                return replace(self, model=model.partial_fit(rows))
            worst = _least_explained(model, rows, self.n_new_atoms)
            return replace(self, model=model.grow(atoms=rows[worst].toarray()).partial_fit(rows))
        if self.documents is None:
            return replace(self, model=model.fit(rows), documents=rows)
        n_dead = int((~model.components_.any(axis=1)).sum())  # others take their place
        worst = _least_explained(model, rows, self.n_new_atoms + n_dead)
        everything = sparse.vstack([self.documents, rows], format="csr")
        alive = model.components_[model.components_.any(axis=1)]
        atoms = np.vstack([alive, rows[worst].toarray()])
        again = clone(model).set_params(init=atoms, n_components=len(atoms))
        return replace(self, model=again.fit(everything), documents=everything)

    def explained(self, X: Any) -> Array:
        """The prediction, at most the weight itself."""
        model = self._as_wide_as(X)
        rows = self._scaled(X)
        prediction = np.asarray(model.transform(rows)) @ model.components_
        scaled = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
        sizes = np.asarray(X.sum(axis=1)).ravel() / np.where(scaled > 0, scaled, 1)
        return np.minimum(prediction * sizes[:, None], X.toarray())

    def nearness(self, X: Any) -> Array:
        """Shares of the atoms in the prediction."""
        model = self._as_wide_as(X)
        parts = np.asarray(model.transform(self._scaled(X))) * model.components_.sum(axis=1)
        total = parts.sum(axis=1, keepdims=True)
        shares: Array = parts / np.where(total > 0, total, 1)
        return shares

    @property
    def atoms(self) -> Array:
        """The dictionary."""
        atoms: Array = self.model.components_
        return atoms

    def grow(self, n_features: int) -> DictionaryMemory:
        """Model and documents, if they are kept."""
        model = self.model
        documents = self.documents
        if documents is not None:
            documents = sparse.csr_array(
                (documents.data, documents.indices, documents.indptr),
                shape=(documents.shape[0], n_features),
            )
        if hasattr(model, "components_"):
            model = _wider(model, n_features)
        return replace(self, model=model, documents=documents)

    def keep(self, columns: Any) -> DictionaryMemory:
        """Model and documents, if they are kept."""
        documents = None if self.documents is None else self.documents[:, columns]
        model = self.model
        if hasattr(model, "components_"):
            model = copy.deepcopy(model).keep_features(columns)
        return replace(self, model=model, documents=documents)

    def rows(self, X: Any) -> Any:
        """Documents of length one; those without a word are left out."""
        rows = self._scaled(X)
        return rows[np.diff(rows.indptr) > 0]

    def _as_wide_as(self, X: Any) -> Any:
        return _wider(self.model, X.shape[1])

    def _scaled(self, X: Any) -> Any:
        rows: Any = sparse.csr_array(X, dtype=np.float64, copy=True)
        squared = self.unit == "l2"
        sizes = np.asarray((rows.multiply(rows) if squared else rows).sum(axis=1)).ravel()
        sizes = np.sqrt(sizes) if squared else sizes
        rows.data /= np.repeat(np.where(sizes > 0, sizes, 1), np.diff(rows.indptr))
        return rows.astype(np.float32 if self.single else np.float64)


def _least_explained(model: Any, rows: Any, count: int) -> Any:
    """The documents that become atoms."""
    return np.argsort(-model.objective_samples(rows), kind="stable")[:count]


def learned_from(memory: Memory, words: GrowingWords, counts: Any) -> Memory:
    """The memory after documents whose words are known, with weights of the time before them.

    ``words`` learns on the way.
    """
    weights = words.weights(counts)
    if memory.width < weights.shape[1]:
        memory = memory.grow(weights.shape[1])
    memory = memory.learned(weights)
    words.learn(counts)
    return memory


def _wider(model: Any, n_features: int) -> Any:
    """A copy of a model with room for more words; itself if it has it."""
    have = model.components_.shape[1]
    if have >= n_features:
        return model
    return copy.deepcopy(model).grow(n_features=n_features)
