"""Dictionary by projected gradient descent, all atoms together."""

from dataclasses import dataclass

import numpy as np

from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array


@dataclass(frozen=True)
class ProjectedGradientStep:
    """``D ← prox(D − η(A D − B))`` with ``η = 1/‖A‖₂``, until the objective converges.

    Parameters
    ----------
    tol : float
        Relative change of the objective in an iteration at which it ends.
    max_iter : int
        Maximum number of iterations.
    """

    tol: float = 1e-6
    max_iter: int = 100

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from D; without any coded sample there is no step."""
        D = D.astype(np.float64)
        norm = float(np.linalg.norm(problem.A, 2))
        if norm == 0:
            return D
        eta, before = 1 / norm, problem.objective(D)
        for _ in range(self.max_iter):
            D = problem.regulariser.prox(D - eta * problem.gradient(D), eta)
            now = problem.objective(D)
            if abs(now - before) <= self.tol * abs(before):
                break
            before = now
        return D
