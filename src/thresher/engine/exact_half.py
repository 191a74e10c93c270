"""Every row of a half at its optimum, by the exact encoder of the ℓ1 distance."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.encoding import CodingProblem, LeastAbsolute
from thresher.engine.half import Half
from thresher.engine.pool import Pool
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.penalties import L1, Constrained


@dataclass(frozen=True)
class ExactRows:
    """Least absolute deviations, row by row, from the codes of the last round."""

    encoder: LeastAbsolute = field(default_factory=lambda: LeastAbsolute(1e-6))

    @staticmethod
    def applies(half: Half) -> bool:
        """Whether rows are alone, and the encoder knows their loss, set and penalty."""
        alone = half.graph is None and half.square == 0
        return alone and LeastAbsolute.applies(_problem(half, np.zeros((1, 1))))

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Solve every row; what atoms that stay explain is taken off first."""
        V = np.array(V, order="C")
        moving = half.atoms(len(A))
        staying = np.setdiff1d(np.arange(len(A)), moving)
        problem = _problem(half, np.ascontiguousarray(A[moving]))
        self.encoder.prepare(problem)

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            rest = X - V[rows][:, staying] @ A[staying] if staying.size else X
            before = half.losses(rest - V[rows][:, moving] @ problem.D, weight)
            found = self.encoder.encode(problem, rest, weight, V[rows][:, moving]).codes
            after = half.losses(rest - found @ problem.D, weight)
            l1 = half.amount * _l1(half)
            gain = before - after + l1 * (V[rows][:, moving] - found).sum(axis=1)
            better = np.flatnonzero(gain > 0)
            V[(rows.start + better)[:, None], moving] = found[better]
            return np.where(gain > 0, after, before)

        return V, np.concatenate(half.for_rows(work, pool))


def _l1(half: Half) -> float:
    penalty: Any = half.regulariser.penalty
    return float(penalty.l1)


def _problem(half: Half, A: Array) -> CodingProblem:
    regulariser = half.regulariser
    if half.amount != 1 and LeastAbsolute.applies(CodingProblem(A, L1Distance(), regulariser)):
        regulariser = Constrained(L1(half.amount * _l1(half)), regulariser.region)
    return CodingProblem(A, L1Distance(), regulariser)
