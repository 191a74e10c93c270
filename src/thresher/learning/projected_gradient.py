"""Dictionary by projected gradient descent, as published in paper A (OPGD, section IV-A2)."""

from dataclasses import dataclass

import numpy as np

from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array


def has_settled(now: float, before: float, tol: float, as_printed: bool = False) -> bool:
    """Whether an objective stopped changing, relative to its size.

    The dictionary's is negative: ``as_printed``, divided by it as it is, every change is small
    (errata A.8).
    """
    return (as_printed and before < 0) or abs(now - before) <= tol * abs(before)


@dataclass(frozen=True)
class DictionaryGradient:
    """``D ← Π(D − η(A D − B))``, ``η = κ/‖A‖_F``: (20)–(22), until the objective settles.

    ``‖A‖_F`` is the bound below (18); ``spectral=True`` takes the tight ``‖A‖₂``, and
    ``as_printed=True`` the ``‖D‖₂²`` of the codes that the text after (22) names (errata A.6).
    """

    kappa: float = 0.7
    tol: float = 1e-4
    max_iter: int = 200
    spectral: bool = False
    as_printed: bool = False

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from D; without any coded sample there is no step."""
        D = D.astype(np.float64)
        bound = float(np.linalg.norm(problem.A, 2 if self.spectral else "fro"))
        if self.as_printed:
            bound = float(np.linalg.norm(D, 2)) ** 2
        if bound == 0:
            return D
        eta = self.kappa / bound
        before = problem.objective(D)
        for _ in range(self.max_iter):
            D = problem.regulariser.prox(D - eta * problem.gradient(D), eta)
            now = problem.objective(D)
            if has_settled(now, before, self.tol, self.as_printed):
                break
            before = now
        return D
