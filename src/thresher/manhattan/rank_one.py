"""Rank-one residual iteration (RRI): Algorithm 1 of paper C, and one sweep of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.engine.executor import Pool
from thresher.kernels.bundles import EntryPenalty, Samples, SparseRows
from thresher.kernels.rank_one import OrderedAtoms, rank_one_rows
from thresher.linalg import Array
from thresher.manhattan.half import Half


@dataclass(frozen=True)
class RankOneSweeps:
    """Every entry of a factor in turn at its minimum: the weighted median of ``z/a``, clipped.

    Entry k of a row sees the residual ``z = x − Σ_{j≠k} v_j a_j``; its loss ``Σ w|z − v a_k|`` is
    piecewise linear, and least where the weights ``w a_k`` of the breakpoints ``z/a_k`` reach one
    half, at the leftmost such breakpoint (6)–(7). Squares, penalties and a graph add a parabola,
    and the minimum is that of Theorem 3, corrected (errata C.5). The residual is kept up to date.

    The objective never rises, but a factor can come to rest above its optimum, where no entry
    alone helps (errata C.9).
    """

    sweeps: int = 1

    def requires(self, half: Half) -> str | None:
        """A set and a penalty that act on every entry by itself."""
        parts = half.regulariser
        if parts.form.is_box and parts.form.elastic:
            return None
        factor = "dictionary" if half.transposed else "codes"
        return (
            f"solver='rri' moves one entry at a time and cannot keep the {factor} in "
            f"{parts.region} under {parts.penalty}; use a box and an elastic net, or solver='ogm'."
        )

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Sweep over all entries of V, rows in parallel (in turn, if a graph couples them)."""
        form = half.regulariser.form
        A = np.require(A, requirements=["C", "W"])
        V = np.array(V, order="C")
        sums = A.sum(axis=1, dtype=np.float64)
        energies = np.einsum("kf,kf->k", A, A, dtype=np.float64)
        weights = (half.amount * form.l1, half.amount * form.l2)
        penalty = EntryPenalty.of(np.dtype(np.float64), (*weights, form.lower, form.upper))
        atoms = OrderedAtoms(A, half.atoms(len(A)), sums, energies)
        graph = _no_graph() if half.graph is None else _graph(half)

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            E = X - V[rows] @ A
            for _ in range(self.sweeps):
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
    """CSR of the similarities, and what they count against the loss of every row."""
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
