"""Codes by the alternating direction method of multipliers, as published in paper A (OADMM)."""

from dataclasses import dataclass, field

import numpy as np

from thresher.encoding.iterate import Block, RowSolver, State
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array
from thresher.losses import Envelope
from thresher.sets import Reals


@dataclass(frozen=True)
class OutlierADMM(RowSolver):
    """Eqs (25)–(30) with ``ρ₁ = ρ₂ = ρ``: copies u of the codes h and q of the outliers r.

    In the notation of the paper::

        h ← (D Dᵀ + ρI)⁻¹ ((x − r)Dᵀ + ρu − α)       r ← prox_{φ/(1+ρ)}((ρq + x − β − hD)/(1+ρ))
        u ← prox(h + α/ρ)                            q ← Π(r + β/ρ)
        α ← α + ρ(h − u)                             β ← β + ρ(r − q)

    with the new h in the r-step. The feasible copies u, q are what it returns and what its stop
    looks at: at (h, r) the objective can lie below the optimum (errata A.5). The factor of
    ``D Dᵀ + ρI`` is shared by all rows, unless entries are weighted: then each row has its own.
    """

    rho: float = 1.0
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Invert the matrix of (25) once for all rows."""
        problem.shifted_gram_inverse(self.rho)

    def start(self, block: Block, codes: Array | None) -> State:
        """Uniform codes and outliers, as published, and zero duals."""
        problem, X, weight = block.problem, block.X, block.weight
        loss = _envelope(problem)
        rng = np.random.default_rng(self.seed)
        n, (K, F) = X.shape[0], problem.D.shape
        U = problem.regulariser.region.project(
            rng.random((n, K)).astype(X.dtype) if codes is None else codes
        )
        Q = loss.region.project(rng.random((n, F)).astype(X.dtype))
        state = {"U": U, "Q": Q, "R": Q, "alpha": np.zeros_like(U), "beta": np.zeros_like(Q)}
        if weight is not None:
            gram = (weight[:, None, :] * problem.D) @ problem.D.T
            state["inverse"] = np.linalg.inv(gram + self.rho * np.eye(K, dtype=X.dtype))
        return state

    def steps(self, block: Block, state: State, times: int) -> None:
        """Rounds of (25)–(30)."""
        for _ in range(times):
            self._round(block, state)

    def _round(self, block: Block, state: State) -> None:
        problem, X, weight = block.problem, block.X, block.weight
        rho, D, loss = self.rho, problem.D, _envelope(problem)
        U, Q, R, alpha, beta = (state[name] for name in ("U", "Q", "R", "alpha", "beta"))
        if weight is None:
            H = ((X - R) @ D.T + rho * U - alpha) @ problem.shifted_gram_inverse(rho)
            V = (X - H @ D + rho * Q - beta) / (1 + rho)
            R = loss.penalty.prox(V, 1 / (1 + rho), Reals())
        else:
            right = (weight * (X - R)) @ D.T + rho * U - alpha
            H = np.einsum("nk,nkj->nj", right, state["inverse"])
            V = (weight * (X - H @ D) + rho * Q - beta) / (weight + rho)
            R = self._weighted_outliers(loss, V, weight)
        U = problem.regulariser.prox(H + alpha / rho, 1 / rho)
        Q = loss.region.project(R + beta / rho)
        state["alpha"] = alpha + rho * (H - U)
        state["beta"] = beta + rho * (R - Q)
        state["U"], state["Q"], state["R"] = U, Q, R

    def _weighted_outliers(self, loss: Envelope, V: Array, weight: Array) -> Array:
        """The r-step with entry weights w: the cost ``w·φ`` against a curvature of ``w + ρ``."""
        if loss.penalty.weights is not None:
            return loss.penalty.prox(V, weight / (weight + self.rho), Reals())
        # Under a group penalty weights are 0 or 1; a missing entry belongs to no group.
        return loss.penalty.prox(V * weight, 1 / (1 + self.rho), Reals())

    def codes(self, block: Block, state: State) -> Array:
        """The feasible copy u."""
        return state["U"]

    def objective(self, block: Block, state: State) -> Array:
        """The objective of (5) at the feasible copies (u, q)."""
        problem, X, weight = block.problem, block.X, block.weight
        Q = state["Q"] if weight is None else np.where(weight > 0, state["Q"], 0)
        fit = _envelope(problem).value_with(X, state["U"] @ problem.D, Q, weight)
        return fit + problem.regulariser.value(state["U"])


def _envelope(problem: CodingProblem) -> Envelope:
    envelope = problem.loss.envelope
    if envelope is None:
        raise ValueError(
            f"OADMM splits outliers from the squared loss and cannot use {problem.loss}; use "
            "an outlier envelope such as Huber, or another solver."
        )
    return envelope
