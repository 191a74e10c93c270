"""Atoms that may be anything, under a ridge: the minimum of the quadratic in closed form."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array


@dataclass(frozen=True)
class RidgeRegression:
    """``D = (A + l2 I)⁻¹ B``: where block coordinate descent would end, in one product."""

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Solve; what rounding left of directions without codes is not divided by."""
        A = problem.A
        least = np.finfo(np.float64).eps * max(float(np.trace(A)), np.finfo(np.float64).tiny)
        shifted = A + (problem.regulariser.form.l2 + least) * np.eye(len(A))
        factor = linalg.cho_factor(shifted, lower=True, check_finite=False)
        solved: Array = linalg.cho_solve(factor, problem.B, check_finite=False)
        return np.ascontiguousarray(solved, dtype=D.dtype)  # as a file would give it back
