"""Novel documents by an orthogonal dictionary: the second example of paper D."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.novelty.directions import unit_rows
from thresher.tasks.novelty.memory import Memory


@dataclass(frozen=True)
class FixedTermsMemory(Memory):
    """What the strongest atoms leave out of a document: ``1 − Σ_k c_k²`` of its unit vector.

    A square dictionary cannot grow with the vocabulary: it has the ``n_terms`` terms of largest
    weight in the first documents, and no others are ever seen. Paper D codes with the *largest*
    codes of a document, but an orthogonal dictionary has atoms for everything: a document of words
    that hardly occurred has few and large codes on atoms that hardly occurred, and would look
    familiar. So only the atoms that documents have used most count, a tenth, or ``n_nonzero``.
    """

    model: Any
    n_terms: int
    columns: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    n_words: int = 0

    def scores(self, X: Any) -> Array:
        """Documents without a chosen term are not novel."""
        Y = self._rows(X)
        known = self._codes(Y)[:, self._strongest()]
        left = np.einsum("ij,ij->i", Y, Y) - np.einsum("ij,ij->i", known, known)
        return np.maximum(left, 0.0)

    def learned(self, X: Any) -> FixedTermsMemory:
        """After steps of the model's batch size; the first documents choose the terms."""
        memory = self if len(self.columns) else self._chosen(X)
        rows = memory._rows(X)
        rows = rows[rows.any(axis=1)]
        model = copy.deepcopy(memory.model)
        for start in range(0, len(rows), model.batch_size):
            model.partial_fit(rows[start : start + model.batch_size])
        return replace(memory, model=model)

    def explained(self, X: Any) -> Array:
        """The part along the strongest atoms, at most the weight itself."""
        Y, strongest = self._rows(X), self._strongest()
        lengths = np.sqrt(np.asarray(self._terms(X).power(2).sum(axis=1)).ravel())
        there = self.columns >= 0
        part = np.zeros(X.shape)
        along = self._codes(Y)[:, strongest] @ self.model.components_[strongest]
        part[:, self.columns[there]] = (lengths[:, None] * along)[:, there]
        return np.minimum(part, X.toarray())

    def nearness(self, X: Any) -> Array:
        """Squared codes on the strongest atoms: their shares of the document."""
        near = np.zeros((X.shape[0], len(self.columns)))
        strongest = self._strongest()
        near[:, strongest] = self._codes(self._rows(X))[:, strongest] ** 2
        return near

    @property
    def atoms(self) -> Array:
        """The dictionary, zero where a word is not among the terms."""
        atoms = np.zeros((len(self.columns), self.n_words))
        there = self.columns >= 0
        atoms[:, self.columns[there]] = self.model.components_[:, there]
        return atoms

    @property
    def width(self) -> int:
        """Words of the vocabulary."""
        return self.n_words

    def grow(self, n_features: int) -> FixedTermsMemory:
        """New words are no terms."""
        return replace(self, n_words=n_features)

    def keep(self, columns: Any) -> FixedTermsMemory:
        """A term whose word leaves stays empty from then on."""
        place = np.full(self.n_words, -1, dtype=np.intp)
        place[columns] = np.arange(len(columns))
        moved = np.where(self.columns >= 0, place[self.columns], -1)
        return replace(self, columns=moved, n_words=len(columns))

    def _chosen(self, X: Any) -> FixedTermsMemory:
        weight = np.asarray(X.sum(axis=0)).ravel()
        order = np.argsort(-weight, kind="stable")[: self.n_terms]
        columns = np.sort(order[weight[order] > 0])
        return replace(self, columns=columns, n_words=X.shape[1])

    def _terms(self, X: Any) -> Any:
        """The columns of the terms, as CSR; those that left are zero."""
        there = self.columns >= 0
        chosen = X.tocsc()[:, np.where(there, self.columns, 0)]
        return chosen.multiply(there).tocsr()

    def _rows(self, X: Any) -> Array:
        rows: Array = unit_rows(self._terms(X)).toarray().astype(np.float64)
        return rows

    def _codes(self, Y: Array) -> Array:
        codes: Array = Y @ np.asarray(self.model.components_, dtype=np.float64).T
        return codes

    def _strongest(self) -> NDArray[np.intp]:
        n = self.model.n_nonzero or max(1, len(self.columns) // 10)
        return np.argsort(-self.model.energies_, kind="stable")[:n]
