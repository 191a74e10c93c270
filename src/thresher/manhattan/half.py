"""Half of a factorisation: one factor moves, the other stays.

``X ≈ C D`` and ``Xᵀ ≈ Dᵀ Cᵀ`` are the same problem, so that codes and dictionaries are improved by
the same solvers. In a half the *moving* factor V has a row for every row of its samples and the
*fixed* one, A, has atoms in rows: ``samples ≈ V A``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.engine.executor import Pool
from thresher.linalg import (
    Array,
    block_slices,
    load_block,
    load_sparse_block,
    sparse_block_slices,
)
from thresher.manhattan.graph import Graph
from thresher.penalties import Regulariser


@dataclass(frozen=True)
class Half:
    """``min over V of Σ w(|e| + square/2 e²) + amount·φ(V) + coupling``, ``e = x − V A``.

    All samples are in memory, the coupling is ``β/2 tr(VᵀLV)`` with the Laplacian L of a graph.

    Parameters
    ----------
    samples : array or CSR of shape (n, F)
        As the user gave them, or transposed; loaded block by block, so that CSR stays sparse.
    regulariser : Regulariser
        φ and the set of the moving factor, of its transpose if ``transposed``.
    dtype : numpy dtype
        float32 or float64.
    unit : float
        What samples are divided by.
    zero_weight, square : float
        The weight of entries where samples are zero; α of the elastic-net loss (58).
    entry_weight : array of shape (n, F), optional
    row_weight, column_weight : arrays of shape (n,) and (F,), optional
        What the losses of rows and of columns count; sample weights are one or the other.
    amount : float
        What the penalty counts; codes have it for every row, times the weight of the row.
    transposed : bool
        Whether the moving factor is the transposed dictionary.
    free : array of bool, optional
        Which atoms may move.
    graph : Graph, optional
        Couples the rows of V.
    """

    samples: Any
    regulariser: Regulariser
    dtype: np.dtype[Any]
    unit: float = 1.0
    zero_weight: float = 1.0
    square: float = 0.0
    entry_weight: Array | None = None
    row_weight: Array | None = None
    column_weight: Array | None = None
    amount: float = 1.0
    transposed: bool = False
    free: NDArray[np.bool_] | None = None
    graph: Graph | None = None

    def blocks(self) -> list[slice]:
        """Row blocks of fixed size."""
        return list(block_slices(*self.samples.shape))

    def load(self, rows: slice) -> tuple[Array, Array | None]:
        """A block of samples and the weights of its entries: gaps, columns, and zeros included."""
        X, weight = load_block(self.samples, rows, self.dtype, self.entry_weight, self.unit)
        if self.column_weight is not None:
            columns = self.column_weight.astype(self.dtype)
            weight = (
                np.broadcast_to(columns, X.shape).copy() if weight is None else weight * columns
            )
        if self.zero_weight != 1:
            weight = np.ones_like(X) if weight is None else weight
            weight = np.where(X == 0, weight * self.dtype.type(self.zero_weight), weight)
        return X, weight

    @cached_property
    def is_sparse(self) -> bool:
        """Whether rows can be taken as their nonzeros: CSR, nothing missing, no weights."""
        weighted = self.entry_weight is not None or self.column_weight is not None
        return hasattr(self.samples, "indptr") and not (
            weighted or bool(np.isnan(self.samples.data).any())
        )

    def sparse_blocks(self) -> list[slice]:
        """Row blocks of fixed size, for rows that are short."""
        return list(sparse_block_slices(self.samples.shape[0]))

    def load_sparse(self, rows: slice) -> Any:
        """A block of samples as CSR."""
        return load_sparse_block(self.samples, rows, self.dtype, self.unit)

    def atoms(self, n_components: int) -> NDArray[np.int64]:
        """Numbers of the atoms that may move."""
        if self.free is None:
            return np.arange(n_components)
        return np.flatnonzero(self.free).astype(np.int64)

    def losses(self, E: Array, weight: Array | None) -> Array:
        """``Σ w(|e| + square/2 e²)`` of every row of residuals."""
        sizes = np.abs(E)
        if self.square:
            sizes = sizes + E.dtype.type(self.square / 2) * E * E
        if weight is not None:
            sizes *= weight
        total: Array = sizes.sum(axis=1, dtype=np.float64)
        return total

    def penalty(self, V: Array) -> float:
        """What the penalty and the graph say of the moving factor."""
        if self.transposed:
            return self.amount * float(self.regulariser.value(V.T).sum(dtype=np.float64))
        value = self.amount * self.total(self.regulariser.value(V))
        return value if self.graph is None else value + self.graph.value(V)

    @property
    def rows_are_alone(self) -> bool:
        """Whether every row of V is a problem of its own."""
        parts = self.regulariser
        if self.transposed:
            return parts.form.by == "entry"
        return self.graph is None and not parts.form.couples_rows

    @cached_property
    def ties(self) -> NDArray[np.int64]:
        """A number for each row of V: rows of one number are one problem."""
        n = self.samples.shape[0]
        if self.rows_are_alone:
            return np.arange(n)
        numbers = None if self.graph else self.regulariser.coupling_groups(not self.transposed, n)
        if numbers is None:
            return np.zeros(n, dtype=np.int64)
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)

    def prox(self, V: Array, step: Any) -> Array:
        """``argmin over U of ½‖U − V‖² + step·amount·φ(U)`` over the set; φ by weight of the row.

        ``step`` is a number, or an array of shape (1, 1).
        """
        step = np.asarray(step * self.amount, dtype=V.dtype)
        if self.transposed:
            return np.ascontiguousarray(self.regulariser.prox(V.T, step).T)
        if self.row_weight is not None and not self.rows_are_alone:
            step = step * self.row_weight.astype(V.dtype)[:, None]
        return self.regulariser.prox(V, step)

    def total(self, losses: Array) -> float:
        """Weighted sum of the losses of rows."""
        if self.row_weight is None:
            return float(losses.sum(dtype=np.float64))
        return float(np.dot(self.row_weight.astype(np.float64), losses.astype(np.float64)))

    @cached_property
    def row_sums(self) -> tuple[Array, Array]:
        """``Σ w|x|`` and ``Σ w`` of every row."""
        sizes, counts = [], []
        for rows in self.blocks():
            X, weight = self.load(rows)
            w = np.ones_like(X) if weight is None else weight
            sizes.append((w * np.abs(X)).sum(axis=1, dtype=np.float64))
            counts.append(w.sum(axis=1, dtype=np.float64))
        return np.concatenate(sizes), np.concatenate(counts)

    @cached_property
    def mean_entry(self) -> float:
        """Mean of ``|x|``, by weight: the unit of relative tolerances; 1 if all is zero."""
        size, count = map(self.total, self.row_sums)
        return size / count if size > 0 else 1.0

    def evaluate(self, A: Array, V: Array, pool: Pool) -> Array:
        """The loss of every row."""

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            return self.losses(X - V[rows] @ A, weight)

        return np.concatenate(self.for_rows(work, pool))

    def for_rows(self, work: Callable[[slice, Array, Array | None], Any], pool: Pool) -> list[Any]:
        """Do the work on every block, in parallel; the results in order."""
        return pool.map(lambda rows: work(rows, *self.load(rows)), self.blocks())


class HalfSolver(Protocol):
    """What moves one factor; the objective never rises, but for steps as they were published."""

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """A better V, and the loss of each of its rows."""
