"""Squares in K dimensions: a squared loss depends on a sample only through its products.

With ``G = D Dᵀ`` and ``b = x Dᵀ``, any D̂ and x̂ with ``D̂ D̂ᵀ = G`` and ``x̂ D̂ᵀ = b`` give the same
loss up to a constant. The eigenvectors of G make a D̂ with K columns instead of F, and sparse rows
enter by one sparse product. The Mahalanobis distance has ``G = D M Dᵀ`` and ``b = x M Dᵀ``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.loop import Encoder, Encoding
from thresher.encoding.problem import CodingProblem, Rows
from thresher.linalg import Array
from thresher.losses import SquaredL2

_LEAST_EIGENVALUE = 1e-13  # of the largest: about what rounding makes of zero in float64


@dataclass(frozen=True)
class Gram(Encoder):
    """Codes of x̂ on D̂, by any encoder."""

    encoder: Encoder

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A square of whole samples that are not in K dimensions already."""
        metric = problem.loss.metric
        if metric is None:
            return "a squared loss"
        K, F = problem.D.shape
        if np.ndim(metric) == 0 and rows.weighted:
            return "samples whose entries all weigh the same"
        if np.ndim(metric) == 0 and F == K and not rows.sparse:
            return "more features than atoms"
        return None

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Compute D̂, and the matrices that take x to x̂ = b Q Λ^−½; in float64."""
        metric, dtype = problem.loss.metric, problem.D.dtype
        assert metric is not None
        D = problem.D.astype(np.float64)
        atoms = D * metric if np.ndim(metric) == 0 else D @ metric
        values, vectors = np.linalg.eigh(atoms @ D.T)
        # Atoms that are all zero have no scale; any will do.
        largest = values[-1] if values[-1] > np.finfo(dtype).tiny else 1.0
        roots = np.sqrt(np.maximum(values, _LEAST_EIGENVALUE * largest))
        small = np.ascontiguousarray(vectors * roots).astype(dtype)
        encode = self.encoder.prepare(CodingProblem(small, SquaredL2(), problem.regulariser))
        return np.ascontiguousarray(atoms.T).astype(dtype), (vectors / roots).astype(dtype), encode

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Codes of the rows of a block."""
        atoms, to_samples, encode = shared
        encoding: Encoding = encode(np.ascontiguousarray((X @ atoms) @ to_samples), None, start)
        return encoding
