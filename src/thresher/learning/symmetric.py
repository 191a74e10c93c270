"""Symmetric factorisation X ≈ H Hᵀ: the steps, as plain functions on a CSR matrix.

A dense matrix is one without zeros. NaN is stored, and missing.
"""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.kernels.bundles import SparseRows
from thresher.kernels.symmetric import symmetric_loss, symmetric_sweep
from thresher.linalg import Array


def as_csr(X: Any) -> Any:
    """Entries in float64, sorted, without stored zeros, and gaps filled whose mirror is known."""
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    gaps = np.isnan(rows.data)
    if gaps.any():
        i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[gaps]
        j = rows.indices[gaps]
        rows.data[gaps] = sparse.csr_matrix(rows)[j, i].A1
    rows.eliminate_zeros()
    if rows.nnz < np.iinfo(np.int32).max:  # one type of index, so that kernels are compiled once
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows


def asymmetry(X: Any) -> float:
    """Largest difference between an entry and its mirror image, relative to the largest entry."""
    difference = (X - X.T).data
    largest = np.nanmax(np.abs(X.data), initial=0.0)
    return float(np.nanmax(np.abs(difference), initial=0.0) / largest) if largest > 0 else 0.0


def manhattan_sweep(X: Any, H: Array) -> None:
    """Give every entry of H its best value in ‖X − H Hᵀ‖₁, row by row, in place."""
    symmetric_sweep(SparseRows.of(X), H)


def manhattan_loss(X: Any, H: Array) -> float:
    """‖X − H Hᵀ‖₁."""
    return float(symmetric_loss(SparseRows.of(X), H))


def random_embedding(X: Any, n_components: int, rng: np.random.Generator) -> Array:
    """Uniform entries, with H Hᵀ as large as X in the mean."""
    H = rng.random((X.shape[0], n_components))
    sums = H.sum(axis=0)
    return np.asarray(H * np.sqrt(np.nansum(X.data) / (sums @ sums)))


def squared_steps(X: Any, H: Array, n_steps: int) -> Array:
    r"""Lower ‖X − H Hᵀ‖²_F by multiplicative steps.

    .. math:: H \leftarrow H \circ \Big(\frac{XH}{H H^T H}\Big)^{1/4}

    minimises a majoriser: the quartic term is at most :math:`\sum (\tilde H \tilde H^T \tilde H)
    \circ H^4 / \tilde H^3`, the other at most its tangent in log H. So the loss never rises, which
    the published step with ½ + ½ratio does not keep. Missing entries count as the mean of the
    others: this is for a start, not for a result.
    """
    gaps = np.isnan(X.data)
    if gaps.any():
        X = X.copy()
        X.data[gaps] = X.data[~gaps].mean() if not gaps.all() else 0.0
    for _ in range(n_steps):
        below = H @ (H.T @ H)
        ratio = np.divide(X @ H, below, out=np.zeros_like(H), where=below > 0)
        H = H * ratio**0.25
    return H
