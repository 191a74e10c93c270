"""What the detectors of paper B remember: ONLINE, BATCH-IMPL and L2-BATCH."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from thresher.linalg import Array
from thresher.tasks.novelty.memory import DictionaryMemory


@dataclass(frozen=True)
class OnlineMemory(DictionaryMemory):
    """ONLINE: score all, then one step of OIADMM.

    Step 0 is that of BATCH-IMPL, by ``starter``: it leaves atoms, and no dual.
    """

    starter: Any = None
    begins_whole = True

    def learned(self, X: Any) -> DictionaryMemory:
        """After one step."""
        if hasattr(self.model, "components_"):
            return super().learned(X)
        rows = self.rows(X)
        starter = clone(self.starter)
        starter._fit(rows)  # its rounds are those of the paper, and no reason for a warning
        atoms = starter.components_
        return replace(self, model=copy.deepcopy(self.model)._begin_with(rows, atoms))


@dataclass(frozen=True)
class BatchMemory(DictionaryMemory):
    """BATCH-IMPL (Algorithm 4) and L2-BATCH (Algorithm 5): all documents, at every step.

    Step 0 learns ``n_components`` atoms; every later one appends ``n_new_atoms``, with zero codes,
    and moves the dictionary first, then the codes.
    """

    rounds: int = 20
    rtol: float = 1e-4
    zero_atoms: bool = False
    """Whether new atoms are zero, instead of the least explained documents (errata B.5)."""
    keeps_codes: bool = False
    """Whether codes of all documents are kept, for the first dictionary of the next step."""
    codes: Any = None
    begins_whole = True

    def learned(self, X: Any) -> BatchMemory:
        """After one step."""
        rows = self.rows(X)
        if rows.shape[0] == 0:
            return self
        if self.documents is None:
            return self._after(clone(self.model), rows, None)
        model, codes = copy.deepcopy(self.model), None
        if self.keeps_codes:
            new = model._learning_codes(rows)
            scores = model.problem().objective(rows, new)
            codes = np.pad(np.vstack([self.codes, new]), ((0, 0), (0, self.n_new_atoms)))
        else:
            scores = model.objective_samples(rows)
        worst = np.argsort(-scores, kind="stable")[: self.n_new_atoms]
        atoms = np.zeros((self.n_new_atoms, rows.shape[1]))
        if not self.zero_atoms:
            atoms[: len(worst)] = rows[worst].toarray()  # of a short step zeros are left
        everything = sparse.vstack([self.documents, rows], format="csr")
        return self._after(model.grow(atoms=atoms), everything, codes)

    def _after(self, model: Any, documents: Any, codes: Array | None) -> BatchMemory:
        exact = {name: getattr(model, name) for name in ("max_iter", "tol")}
        model.set_params(max_iter=self.rounds, tol=self.rtol)
        codes = model._fit(documents, goes_on=self.documents is not None, codes=codes).codes
        model.set_params(**exact)  # for scores
        kept = codes if self.keeps_codes else None
        return replace(self, model=model, documents=documents, codes=kept)
