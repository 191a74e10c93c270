"""Symmetric factorisation X ≈ H Hᵀ in the ℓ1 distance: its steps, on a CSR matrix.

Stored NaN are missing values.
"""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.kernels.bundles import SparseRows
from thresher.kernels.symmetric import symmetric_loss, symmetric_sweep
from thresher.linalg import Array


def as_csr(X: Any) -> Any:
    """Convert to sorted float64 CSR without zeros; impute missing entries by their transpose."""
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    missing = np.isnan(rows.data)
    if missing.any():
        i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[missing]
        j = rows.indices[missing]
        rows.data[missing] = sparse.csr_matrix(rows)[j, i].A1
    rows.eliminate_zeros()
    if rows.nnz < np.iinfo(np.int32).max:  # kernels are compiled for one index type
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows


def asymmetry(X: Any) -> float:
    """The largest ``|X − Xᵀ|``, relative to the largest entry."""
    difference = (X - X.T).data
    largest = np.nanmax(np.abs(X.data), initial=0.0)
    return float(np.nanmax(np.abs(difference), initial=0.0) / largest) if largest > 0 else 0.0


def manhattan_sweep(X: Any, H: Array) -> None:
    """Minimise ‖X − H Hᵀ‖₁ over one entry of H after the other, row by row, in place."""
    symmetric_sweep(SparseRows.of(X), H)


def manhattan_loss(X: Any, H: Array) -> float:
    """‖X − H Hᵀ‖₁."""
    return float(symmetric_loss(SparseRows.of(X), H))


def random_embedding(X: Any, n_components: int, rng: np.random.Generator) -> Array:
    """Uniform entries, scaled such that H Hᵀ has the mean of X."""
    H = rng.random((X.shape[0], n_components))
    sums = H.sum(axis=0)
    return np.asarray(H * np.sqrt(np.nansum(X.data) / (sums @ sums)))


def squared_steps(X: Any, H: Array, n_steps: int) -> Array:
    r"""Decrease ‖X − H Hᵀ‖²_F by multiplicative steps.

    .. math:: H \leftarrow H \circ \Big(\frac{XH}{H H^T H}\Big)^{1/4}

    minimises a majoriser: the quartic term is at most :math:`\sum (\tilde H \tilde H^T \tilde H)
    \circ H^4 / \tilde H^3`, the other at most its tangent in log H. So the loss never increases, as
    it can with the published step with ½ + ½ratio. Missing entries are imputed by the mean of the
    others: the result is an initial value only.
    """
    missing = np.isnan(X.data)
    if missing.any():
        X = X.copy()
        X.data[missing] = X.data[~missing].mean() if not missing.all() else 0.0
    for _ in range(n_steps):
        below = H @ (H.T @ H)
        ratio = np.divide(X @ H, below, out=np.zeros_like(H), where=below > 0)
        H = H * ratio**0.25
    return H
