"""Every row of a half at its optimum, by the exact encoder of the ℓ1 distance."""

from dataclasses import dataclass, field

import numpy as np

from thresher.encoding import DENSE, CodingProblem, LeastAbsolute, Rows
from thresher.engine.executor import Pool
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.manhattan.half import Half
from thresher.penalties import L1, Regulariser


@dataclass(frozen=True)
class ExactRows:
    """Least absolute deviations, row by row, from the codes of the last round.

    Sparse rows without weights are problems on their own nonzeros, and never expanded.
    """

    encoder: LeastAbsolute = field(default_factory=lambda: LeastAbsolute(1e-6))

    def requires(self, half: Half) -> str | None:
        """Rows that are alone, with a loss, a set and a penalty that the encoder knows."""
        if not half.rows_are_alone or half.square:
            return "rows that nothing ties together, and no squares beside the ℓ1 distance"
        return self.encoder.requires(_problem(half, np.zeros((1, 1))), DENSE)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Solve every row; what atoms that stay explain is taken off first."""
        V = np.array(V, order="C")
        moving = half.atoms(len(A))
        staying = np.setdiff1d(np.arange(len(A)), moving)
        sparse = half.is_sparse and not staying.size
        problem = _problem(half, np.ascontiguousarray(A[moving]), sparse)
        encode = self.encoder.prepare(problem, Rows(sparse=sparse))

        def work(rows: slice) -> Array:
            start = np.ascontiguousarray(V[rows][:, moving])
            X, weight = (half.load_sparse(rows), None) if sparse else half.load(rows)
            if staying.size:
                X = X - V[rows][:, staying] @ A[staying]
            found = encode(X, weight, start).codes
            before, after = (problem.fit(X, C, weight).values() for C in (start, found))
            priced = problem.regulariser.value(start) - problem.regulariser.value(found)
            better = before - after + priced > 0
            chosen = np.flatnonzero(better)
            V[(rows.start + chosen)[:, None], moving] = found[chosen]
            return np.where(better, after, before)

        blocks = half.sparse_blocks() if sparse else half.blocks()
        return V, np.concatenate(pool.map(work, blocks))


def _problem(half: Half, A: Array, sparse: bool = False) -> CodingProblem:
    """As the encoder sees it; in dense blocks weights of zeros are among those of entries."""
    loss = L1Distance(half.zero_weight if sparse else 1.0)
    regulariser = half.regulariser
    form = regulariser.form
    if half.amount != 1 and form.elastic and form.l2 == 0:
        regulariser = Regulariser(L1(half.amount * form.l1), regulariser.region)
    return CodingProblem(A, loss, regulariser)
