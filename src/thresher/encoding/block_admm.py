"""Codes by ADMM through the loss's proximal map, with an exact small solve: the block encoder."""

from dataclasses import dataclass

import numpy as np

from thresher.encoding.iterate import State
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array

_START_RIDGE = 0.03


@dataclass(frozen=True)
class BlockADMM:
    """Splits the prediction ``y = cD`` and the codes ``p = c``; two matrix products a step.

    With scaled duals u and w and over-relaxation α::

        c ← ((y − u)Dᵀ + s(p − w)) (D Dᵀ + sI)⁻¹
        v ← α cD + (1 − α)y + u     y ← prox_{loss/ρ}(v)      u ← v − y
        h ← α c + (1 − α)p + w      p ← prox_{φ/(ρs)}(h)      w ← h − p

    The matrix knows neither the loss nor ρ, so it is inverted once per dictionary, and any loss
    and any penalty enter through proximal maps. A missing entry has the identity as its map, an
    entry weight multiplies 1/ρ there: masks and weights cost nothing. p is feasible and is what
    counts as the codes. ``relative_shift`` is s in units of the mean squared length of an atom,
    so that nothing depends on the scale of data or dictionary.
    """

    rho: float = 0.5
    relative_shift: float = 0.3
    relaxation: float = 1.6

    def shift(self, problem: CodingProblem) -> float:
        """s, in the units of ``D Dᵀ``."""
        mean = float(np.trace(problem.gram)) / problem.gram.shape[0]
        return self.relative_shift * mean if mean > 0 else 1.0

    def prepare(self, problem: CodingProblem) -> None:
        """Invert the matrices of the start and of the c-step once for all rows."""
        s = self.shift(problem)
        problem.shifted_gram_inverse(s)
        problem.shifted_gram_inverse(_START_RIDGE * s)

    def start(self, problem: CodingProblem, X: Array, weight: Array | None) -> State:
        """Least squares codes made feasible; the dual that fits them."""
        s = self.shift(problem)
        observed = X if weight is None else np.where(weight > 0, X, 0)
        C = observed @ problem.D.T @ problem.shifted_gram_inverse(_START_RIDGE * s)
        P = problem.regulariser.prox(C, 0.0)
        Y = P @ problem.D
        U = problem.loss.gradient(X, Y, weight) / self.rho
        return {"P": P, "W": np.zeros_like(P), "Y": Y, "U": U}

    def step(self, problem: CodingProblem, X: Array, weight: Array | None, state: State) -> None:
        """One round; the four lines of the class docstring."""
        s, a = self.shift(problem), self.relaxation
        P, W, Y, U = state["P"], state["W"], state["Y"], state["U"]
        C = ((Y - U) @ problem.D.T + s * (P - W)) @ problem.shifted_gram_inverse(s)
        V = a * (C @ problem.D) + (1 - a) * Y + U
        Y = problem.loss.prox(V, X, 1 / self.rho, weight)
        H = a * C + (1 - a) * P + W
        P = problem.regulariser.prox(H, 1 / (self.rho * s))
        state["P"], state["W"], state["Y"], state["U"] = P, H - P, Y, V - Y

    def codes(self, state: State) -> Array:
        """The feasible copy p."""
        return state["P"]

    def objective(
        self, problem: CodingProblem, X: Array, weight: Array | None, state: State
    ) -> Array:
        """The objective at p."""
        return problem.objective(X, state["P"], weight)
