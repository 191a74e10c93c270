"""Entries that some rows are coded without: whether rounds still help where entries are missing.

An alternation that goes on makes atoms that suit the noise of single entries. Its objective falls,
but a code no longer tells of the entries that it was found without, and gaps are filled worse with
every round (docs/guide/choices.md).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding import CodingProblem
from thresher.engine.batch import BatchProblem
from thresher.engine.noise import EXACT
from thresher.linalg import Array

# By judgement: with so many rows a rise of a few per cent is seen.
_ROWS = 512
_SHARE = 0.1  # of the entries of a row that were seen


@dataclass
class LeftOut:
    """Some rows, a tenth of their entries hidden, and the round that told these best so far."""

    rows: slice
    X: Any
    shown: Array
    hidden: Array
    sample_weight: Array
    best: tuple[Array, Array, Array] | None = None
    """Losses of the rows, dictionary, and codes of all samples."""

    @classmethod
    def of(cls, problem: BatchProblem, seed: int) -> "LeftOut | None":
        """Rows at even distances, the same entries hidden in all rounds; None if all were seen."""
        if problem.method.stays_sparse(problem.batch):  # rows that are coded on their nonzeros
            return None
        rows = slice(0, None, -(-problem.batch.n_samples // _ROWS))
        X, weight = problem.load(rows)
        if weight is None or (weight > 0).all():
            return None
        hide = np.random.default_rng([seed, 4]).random(weight.shape) < _SHARE
        nothing = weight.dtype.type(0)
        shown, hidden = np.where(hide, nothing, weight), np.where(hide, weight, nothing)
        return cls(rows, X, shown, hidden, problem.sample_weight[rows])

    def overfits(self, coding: CodingProblem, C: Array) -> bool:
        """Whether a round tells the hidden entries worse than the best did, and not by chance.

        That is by more than a standard error of the difference over the rows.
        """
        start = np.ascontiguousarray(C[self.rows])
        codes = EXACT.encode(coding, self.X, self.shown, start).codes
        lost = coding.loss.value(self.X, codes @ coding.D, self.hidden) * self.sample_weight
        if self.best is None or lost.sum() < self.best[0].sum():
            self.best = lost, coding.D, C.copy()
            return False
        rise = lost - self.best[0]
        return bool(rise.mean() > rise.std() / np.sqrt(len(rise)))
