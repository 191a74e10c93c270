"""Dictionary by ADMM, as published in paper A (OADMM, section IV-B2)."""

from dataclasses import dataclass

import numpy as np

from thresher.learning.projected_gradient import has_settled
from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array


@dataclass(frozen=True)
class DictionaryADMM:
    """Eqs (33)–(35), with ρ = ρ₃.

    With Q the feasible copy and Δ the dual (the paper's D)::

        W ← (A + ρI)⁻¹ (B − Δ + ρQ)     Q ← Π(W + Δ/ρ)     Δ ← Δ + ρ(W − Q)

    Q is returned, and the stop looks at Q (errata A.5); ``as_printed`` both are W.
    """

    rho: float = 1.0
    tol: float = 1e-4
    max_iter: int = 200
    as_printed: bool = False

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from ``Q = D`` with a zero dual."""
        rho, A, B = self.rho, problem.A, problem.B
        shown: Array = D.astype(np.float64)
        if not A.any():
            return shown
        inverse = np.linalg.inv(A + rho * np.eye(len(A)))
        Q, dual = shown, np.zeros_like(shown)
        before = problem.objective(shown)
        for _ in range(self.max_iter):
            W = inverse @ (B - dual + rho * Q)
            Q = problem.regulariser.prox(W + dual / rho, 1 / rho)
            dual = dual + rho * (W - Q)
            shown = W if self.as_printed else Q
            now = problem.objective(shown)
            if has_settled(now, before, self.tol, self.as_printed):
                break
            before = now
        return shown
