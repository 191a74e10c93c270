"""Squares in K dimensions: a squared loss sees a sample only through its products with the atoms.

With ``G = D Dᵀ`` and ``b = x Dᵀ``, any D̂ and x̂ with ``D̂ D̂ᵀ = G`` and ``x̂ D̂ᵀ = b`` give the same
loss up to a constant. The eigenvectors of G make a D̂ with K columns instead of F, and sparse rows
enter by one sparse product. The Mahalanobis distance has ``G = D M Dᵀ`` and ``b = x M Dᵀ``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding.problem import CodingProblem
from thresher.kernels.floors import TINY
from thresher.linalg import Array
from thresher.losses import Mahalanobis, SquaredL2

_LEAST_EIGENVALUE = 1e-13  # of the largest: about what rounding makes of zero in float64


@dataclass(frozen=True)
class Compressed:
    """The problem on D̂, and the matrix that takes ``x Dᵀ`` to x̂."""

    problem: CodingProblem
    atoms: Array
    to_samples: Array

    @staticmethod
    def applies(problem: CodingProblem, X: Any, weight: Array | None) -> bool:
        """Whether the loss is a square of whole samples that are not in K dimensions already."""
        K, F = problem.D.shape
        return isinstance(problem.loss, Mahalanobis) or (
            isinstance(problem.loss, SquaredL2)
            and weight is None
            and (F != K or sparse.issparse(X))
        )

    @classmethod
    def of(cls, problem: CodingProblem) -> "Compressed":
        """Made once for a dictionary, in float64."""

        def make() -> Compressed:
            D = problem.D.astype(np.float64)
            atoms = D @ problem.loss.matrix if isinstance(problem.loss, Mahalanobis) else D
            values, vectors = np.linalg.eigh(atoms @ D.T)
            roots = np.sqrt(np.maximum(values, _LEAST_EIGENVALUE * max(values[-1], TINY)))
            small = CodingProblem(
                np.ascontiguousarray(vectors * roots).astype(problem.D.dtype),
                SquaredL2(),
                problem.regulariser,
            )
            transposed = np.ascontiguousarray(atoms.T).astype(problem.D.dtype)
            return cls(small, transposed, (vectors / roots).astype(problem.D.dtype))

        made: Compressed = problem.remember("compressed", make)
        return made

    def samples(self, X: Any) -> Array:
        """``x̂ = b Q Λ^−½``."""
        return np.ascontiguousarray((X @ self.atoms) @ self.to_samples)
