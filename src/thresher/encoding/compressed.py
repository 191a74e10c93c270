"""Squares in K dimensions: a squared loss sees a sample only through its products with the atoms.

With ``G = D Dᵀ`` and ``b = x Dᵀ``, any D̂ and x̂ with ``D̂ D̂ᵀ = G`` and ``x̂ D̂ᵀ = b`` give the same
loss up to a constant. The eigenvectors of G make a D̂ with K columns instead of F, and sparse rows
enter by one sparse product. The Mahalanobis distance has ``G = D M Dᵀ`` and ``b = x M Dᵀ``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.iterate import BlockEncoder, Encoding
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.linalg import Array
from thresher.losses import SquaredL2

_LEAST_EIGENVALUE = 1e-13  # of the largest: about what rounding makes of zero in float64


@dataclass(frozen=True)
class Compressed:
    """Codes of x̂ on D̂, by any encoder."""

    encoder: BlockEncoder

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

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute D̂ once."""
        self.encoder.prepare(_Small.of(problem).problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        small = _Small.of(problem)
        return self.encoder.encode(small.problem, small.samples(X), None, start)


@dataclass(frozen=True)
class _Small:
    """The problem on D̂, and the matrix that takes ``x Dᵀ`` to x̂."""

    problem: CodingProblem
    atoms: Array
    to_samples: Array

    @classmethod
    def of(cls, problem: CodingProblem) -> "_Small":
        """Made once for a dictionary, in float64."""

        def make() -> _Small:
            metric = problem.loss.metric
            assert metric is not None
            D = problem.D.astype(np.float64)
            atoms = D * metric if np.ndim(metric) == 0 else D @ metric
            values, vectors = np.linalg.eigh(atoms @ D.T)
            # Atoms that are all zero have no scale; any will do.
            largest = values[-1] if values[-1] > np.finfo(problem.D.dtype).tiny else 1.0
            roots = np.sqrt(np.maximum(values, _LEAST_EIGENVALUE * largest))
            small = CodingProblem(
                np.ascontiguousarray(vectors * roots).astype(problem.D.dtype),
                SquaredL2(),
                problem.regulariser,
            ).sharing(problem.remember_always("compressed", dict))
            transposed = np.ascontiguousarray(atoms.T).astype(problem.D.dtype)
            return cls(small, transposed, (vectors / roots).astype(problem.D.dtype))

        made: _Small = problem.remember("compressed", make)
        return made

    def samples(self, X: Any) -> Array:
        """``x̂ = b Q Λ^−½``."""
        return np.ascontiguousarray((X @ self.atoms) @ self.to_samples)
