"""Neighbours should have like codes: the manifold regularisation of paper C, section 4.2."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from thresher.linalg import Array

_FEW_ROWS = 64


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
