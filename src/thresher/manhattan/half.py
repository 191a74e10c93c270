"""One half of a factorisation: one factor moves, the other is fixed, and a graph may couple rows.

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
from scipy import sparse
from scipy.sparse.linalg import eigsh

from thresher.engine.executor import Pool
from thresher.linalg import (
    Array,
    block_slices,
    is_sparse,
    load_block,
    load_sparse_block,
    sparse_block_slices,
)
from thresher.penalties import Regulariser

_DENSE_NORM_ROWS = 64  # up to here a dense norm is faster than Lanczos; heuristic


@dataclass(frozen=True)
class Graph:
    """Penalty on differences between codes of neighbours: paper C, section 4.2.

    ``β/2 tr(VᵀLV) = β/4 Σ_ij S_ij ‖v_i − v_j‖²``, ``L = diag(Σ_j S_ij) − S``.

    Parameters
    ----------
    similarity : CSR of shape (n, n)
        S: symmetric, nonnegative, no diagonal.
    weight : float
        β.
    """

    similarity: Any
    weight: float

    @cached_property
    def laplacian(self) -> Any:
        """L, as CSR."""
        degree = np.asarray(self.similarity.sum(axis=1)).ravel()
        return sparse.csr_array(sparse.diags_array(degree) - self.similarity)

    @cached_property
    def curvature(self) -> float:
        """``β‖L‖₂``, the Lipschitz constant of the gradient of the graph penalty."""
        L = self.laplacian
        if L.shape[0] <= _DENSE_NORM_ROWS:
            return self.weight * float(np.linalg.norm(L.toarray(), 2))
        start = np.random.default_rng(0).standard_normal(L.shape[0])
        largest = eigsh(L, k=1, which="LA", v0=start, return_eigenvectors=False, tol=1e-4)
        return self.weight * float(largest[0]) * 1.001

    def value(self, V: Array) -> float:
        """``β/2 tr(VᵀLV)``."""
        V = V.astype(np.float64, copy=False)
        return self.weight / 2 * float(np.sum(V * (self.laplacian @ V)))

    def gradient(self, V: Array) -> Array:
        """``β L V``."""
        slope: Array = (self.weight * (self.laplacian @ V)).astype(V.dtype)
        return slope


def similarities(S: Any) -> Any:
    """Validate similarities; return them as symmetric CSR without a diagonal."""
    S = sparse.csr_array(S, dtype=np.float64)
    if S.nnz and not (np.isfinite(S.data).all() and S.data.min() >= 0):
        raise ValueError("The similarities of a graph must be finite and not negative.")
    S = (S + S.T) / 2
    S = sparse.csr_array(S - sparse.diags_array(S.diagonal()))
    S.eliminate_zeros()
    return S


def nearest_neighbours(X: Any, count: int) -> Any:
    """Adjacency of nearest neighbours, CSR: one where a sample is among the ``count`` nearest.

    It is symmetric. Missing entries are imputed by the mean of their feature.
    """
    from sklearn.neighbors import kneighbors_graph

    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
        if np.isnan(X).any():
            seen = ~np.isnan(X)
            means = np.where(seen, X, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
            X = np.where(seen, X, means)
    S = kneighbors_graph(X, count, mode="connectivity", include_self=False)
    return similarities(((S + S.T) > 0).astype(np.float64))


@dataclass(frozen=True)
class Half:
    """The problem of one factor, with all samples in memory.

        min over V of Σ w(|e| + square/2 e²) + penalty_factor·φ(V) + β/2 tr(VᵀLV),    e = x − V A,

    with L the Laplacian of a graph.

    Parameters
    ----------
    samples : array or CSR of shape (n, F)
        The input or its transpose; loaded block by block, so that CSR stays sparse.
    regulariser : Regulariser
        φ and the set of the moving factor, of its transpose if ``transposed``.
    dtype : numpy dtype
        float32 or float64.
    unit : float
        Divisor of the samples.
    zero_weight, square : float
        The weight of entries where samples are zero; α of the elastic-net loss (58).
    entry_weight : array of shape (n, F), optional
    row_weight, column_weight : arrays of shape (n,) and (F,), optional
        Weights of the losses of rows and of columns; sample weights are one or the other.
    penalty_factor : float
        Factor of the penalty; the penalty of codes is also multiplied by the weight of each row.
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
    penalty_factor: float = 1.0
    transposed: bool = False
    free: NDArray[np.bool_] | None = None
    graph: Graph | None = None

    def blocks(self) -> list[slice]:
        """Row blocks of fixed size."""
        return list(block_slices(*self.samples.shape))

    def load(self, rows: slice) -> tuple[Array, Array | None]:
        """Return a block of samples and its entry weights; missing entries have weight zero."""
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
        """Whether rows can be solved on their nonzeros: CSR without missing entries or weights."""
        weighted = self.entry_weight is not None or self.column_weight is not None
        return is_sparse(self.samples) and not (weighted or bool(np.isnan(self.samples.data).any()))

    def sparse_blocks(self) -> list[slice]:
        """Row blocks of fixed size, for sparse rows."""
        return list(sparse_block_slices(self.samples.shape[0]))

    def load_sparse(self, rows: slice) -> Any:
        """Return a block of samples as CSR."""
        return load_sparse_block(self.samples, rows, self.dtype, self.unit)

    def atoms(self, n_components: int) -> NDArray[np.int64]:
        """Indices of the atoms that may move."""
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
        """Penalty and graph penalty of the moving factor."""
        if self.transposed:
            return self.penalty_factor * float(self.regulariser.value(V.T).sum(dtype=np.float64))
        value = self.penalty_factor * self.total(self.regulariser.value(V))
        return value if self.graph is None else value + self.graph.value(V)

    @property
    def rows_are_independent(self) -> bool:
        """Whether the problem separates into one problem for each row of V."""
        parts = self.regulariser
        if self.transposed:
            return parts.form.by == "entry"
        return self.graph is None and not parts.form.couples_rows

    @cached_property
    def problem_numbers(self) -> NDArray[np.int64]:
        """A number for each row of V: rows with the same number are one problem."""
        n = self.samples.shape[0]
        if self.rows_are_independent:
            return np.arange(n)
        numbers = None if self.graph else self.regulariser.coupling_groups(not self.transposed, n)
        if numbers is None:
            return np.zeros(n, dtype=np.int64)
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)

    def prox(self, V: Array, step: Any) -> Array:
        """``argmin over U of ½‖U − V‖² + step·penalty_factor·φ(U)`` over the set.

        φ of coupled rows is multiplied by the weight of the row. ``step`` is a number, or an array
        of shape (1, 1).
        """
        step = np.asarray(step * self.penalty_factor, dtype=V.dtype)
        if self.transposed:
            return np.ascontiguousarray(self.regulariser.prox(V.T, step).T)
        if self.row_weight is not None and not self.rows_are_independent:
            step = step * self.row_weight.astype(V.dtype)[:, None]
        return self.regulariser.prox(V, step)

    def total(self, losses: Array) -> float:
        """Sum of the losses of rows, by weight."""
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
        """Apply a function to every block, in parallel; return the results in order."""
        return pool.map(lambda rows: work(rows, *self.load(rows)), self.blocks())


class HalfSolver(Protocol):
    """A method that improves one factor."""

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Return a better V, and the loss of each of its rows."""
