"""Dictionary by projected gradient descent, as published in paper A (OPGD, section IV-A2)."""

from dataclasses import dataclass

import numpy as np

from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array


def has_settled(now: float, before: float, tol: float) -> bool:
    """Whether an objective stopped changing, relative to its size (it is negative: errata A.8)."""
    return abs(now - before) <= tol * abs(before)


@dataclass(frozen=True)
class DictionaryGradient:
    """``D ← Π(D − η(A D − B))``, ``η = κ/‖A‖_F``: (20)–(22), until the objective settles.

    ``‖A‖_F`` is the published bound; ``spectral=True`` takes the tight ``‖A‖₂`` (errata A.6).
    """

    kappa: float = 0.7
    tol: float = 1e-4
    max_iter: int = 200
    spectral: bool = False

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from D; without any coded sample there is no step."""
        bound = float(np.linalg.norm(problem.A, 2 if self.spectral else "fro"))
        D = D.astype(np.float64)
        if bound == 0:
            return D
        eta = self.kappa / bound
        before = problem.objective(D)
        for _ in range(self.max_iter):
            D = problem.regulariser.prox(D - eta * problem.gradient(D), eta)
            now = problem.objective(D)
            if has_settled(now, before, self.tol):
                break
            before = now
        return D
