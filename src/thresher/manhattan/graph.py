"""Neighbours should have like codes: the manifold regularisation of paper C, section 4.2."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from thresher.linalg import Array

_FEW_ROWS = 64  # up to here a dense norm is quicker than Lanczos; by judgement


@dataclass(frozen=True)
class Graph:
    """``β/2 tr(VᵀLV) = β/4 Σ_ij S_ij ‖v_i − v_j‖²``, ``L = diag(Σ_j S_ij) − S``.

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
        """``β‖L‖₂``, what the graph adds to the Lipschitz constant of a gradient."""
        L = self.laplacian
        if L.shape[0] <= _FEW_ROWS:
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
    """A matrix of similarities as CSR: nonnegative, made symmetric, without its diagonal."""
    S = sparse.csr_array(S, dtype=np.float64)
    if S.nnz and not (np.isfinite(S.data).all() and S.data.min() >= 0):
        raise ValueError("The similarities of a graph must be finite and not negative.")
    S = (S + S.T) / 2
    S = sparse.csr_array(S - sparse.diags_array(S.diagonal()))
    S.eliminate_zeros()
    return S


def nearest_neighbours(X: Any, count: int) -> Any:
    """Ones between samples of which one is among the ``count`` nearest of the other, CSR.

    Missing entries are taken as the mean of their feature.
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
