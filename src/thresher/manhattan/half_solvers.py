"""Solvers of a half: sweeps of rank-one residual iteration, and exact rows of sparse data."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.encoding import DENSE, CodingProblem, LeastAbsolute, Rows
from thresher.engine.executor import Pool
from thresher.kernels.bundles import EntryPenalty, Samples, SparseRows
from thresher.kernels.rank_one import OrderedAtoms, rank_one_rows
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.manhattan.half import Half
from thresher.penalties import L1, Regulariser


@dataclass(frozen=True)
class RankOneSweeps:
    """Set each entry of a factor in turn to its minimiser: the weighted median of ``z/a``, clipped.

    Entry k of a row sees the residual ``z = x − Σ_{j≠k} v_j a_j``; its loss ``Σ w|z − v a_k|`` is
    piecewise linear, and minimal at the leftmost breakpoint ``z/a_k`` at which the cumulated
    weights ``w a_k`` reach one half: paper C, (6)–(7). Squares, penalties and a graph add a
    parabola, and the minimum is that of Theorem 3, corrected (errata C.5). The residual is updated
    after each entry.

    The objective never rises, but a factor can stall above its optimum, where no change of a single
    entry helps (errata C.9).
    """

    def requires(self, half: Half) -> str | None:
        """Require a separable set and penalty."""
        parts = half.regulariser
        if parts.form.is_box and parts.form.elastic:
            return None
        factor = "dictionary" if half.transposed else "codes"
        return (
            f"solver='rri' moves one entry at a time and cannot keep the {factor} in "
            f"{parts.region} under {parts.penalty}; use a box and an elastic net, or solver='ogm'."
        )

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Sweep once over all entries of V; rows in parallel, unless a graph couples them."""
        form = half.regulariser.form
        A = np.require(A, requirements=["C", "W"])
        V = np.array(V, order="C")
        sums = A.sum(axis=1, dtype=np.float64)
        energies = np.einsum("kf,kf->k", A, A, dtype=np.float64)
        weights = (half.penalty_factor * form.l1, half.penalty_factor * form.l2)
        penalty = EntryPenalty.of(np.dtype(np.float64), (*weights, form.lower, form.upper))
        atoms = OrderedAtoms(A, half.atoms(len(A)), sums, energies)
        graph = _no_graph() if half.graph is None else _graph(half)

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            E = X - V[rows] @ A
            rank_one_rows(
                Samples.changing(E, weight),
                atoms,
                penalty,
                float(half.square),
                rows.start,
                V,
                SparseRows(*graph[:3]),
                graph[3][rows],
            )
            return half.losses(E, weight)

        if half.graph is None:
            parts = half.for_rows(work, pool)
        else:
            parts = [work(rows, *half.load(rows)) for rows in half.blocks()]
        return V, np.concatenate(parts)


def _no_graph() -> tuple[Any, Any, Any, Any]:
    places = np.zeros(0, dtype=np.int32)
    return places, places, np.zeros(0), np.zeros(0)


def _graph(half: Half) -> tuple[Any, Any, Any, Any]:
    """CSR of the similarities, and their weight relative to the loss of every row."""
    assert half.graph is not None
    S = half.graph.similarity
    n = S.shape[0]
    weight = np.ones(n) if half.row_weight is None else half.row_weight
    coupling = half.graph.weight / np.maximum(weight, 1e-12 * weight.max())
    return (
        S.indptr.astype(np.int32),
        S.indices.astype(np.int32),
        S.data.astype(np.float64),
        coupling,
    )


@dataclass(frozen=True)
class ExactRows:
    """Set each row to its optimum: least absolute deviations, from the row of the last iteration.

    Sparse rows without weights are problems on their own nonzeros, and never expanded.
    """

    encoder: LeastAbsolute = field(default_factory=lambda: LeastAbsolute(1e-6))

    def requires(self, half: Half) -> str | None:
        """Require independent rows, and what the encoder of the ℓ1 distance requires."""
        if not half.rows_are_independent or half.square:
            return "rows that are not coupled, and a loss without squares"
        return self.encoder.requires(_problem(half, np.zeros((1, 1))), DENSE)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Solve every row; the prediction of fixed atoms is subtracted first."""
        V = np.array(V, order="C")
        free = half.atoms(len(A))
        fixed = np.setdiff1d(np.arange(len(A)), free)
        sparse = half.is_sparse and not fixed.size
        problem = _problem(half, np.ascontiguousarray(A[free]), sparse)
        encode = self.encoder.prepare(problem, Rows(sparse=sparse))

        def work(rows: slice) -> Array:
            start = np.ascontiguousarray(V[rows][:, free])
            X, weight = (half.load_sparse(rows), None) if sparse else half.load(rows)
            if fixed.size:
                X = X - V[rows][:, fixed] @ A[fixed]
            found = encode(X, weight, start).codes
            before, after = (problem.fit(X, C, weight).values() for C in (start, found))
            value = problem.regulariser.value
            better = before - after + value(start) - value(found) > 0
            chosen = np.flatnonzero(better)
            V[(rows.start + chosen)[:, None], free] = found[chosen]
            return np.where(better, after, before)

        blocks = half.sparse_blocks() if sparse else half.blocks()
        return V, np.concatenate(pool.map(work, blocks))


def _problem(half: Half, A: Array, sparse: bool = False) -> CodingProblem:
    """The coding problem of a half; in dense blocks, entry weights include those of zeros."""
    loss = L1Distance(half.zero_weight if sparse else 1.0)
    regulariser = half.regulariser
    form = regulariser.form
    if half.penalty_factor != 1 and form.elastic and form.l2 == 0:
        regulariser = Regulariser(L1(half.penalty_factor * form.l1), regulariser.region)
    return CodingProblem(A, loss, regulariser)
