"""Codes by the alternating direction method of multipliers, as published in paper A (OADMM)."""

from dataclasses import dataclass, field

import numpy as np

from thresher.encoding.iterate import Block, RowSolver, State
from thresher.encoding.problem import CodingProblem
from thresher.encoding.uniform import uniform_start
from thresher.linalg import Array
from thresher.losses import Envelope
from thresher.sets import Reals


@dataclass(frozen=True)
class OutlierADMM(RowSolver):
    """Eqs (25)–(30): copies u of the codes h and q of the outliers r.

    In the notation of the paper::

        h ← (D Dᵀ + ρ₁I)⁻¹ ((x − r)Dᵀ + ρ₁u − α)     r ← prox_{φ/(1+ρ₂)}((ρ₂q + x − β − hD)/(1+ρ₂))
        u ← prox(h + α/ρ₁)                           q ← Π(r + β/ρ₂)
        α ← α + ρ₁(h − u)                            β ← β + ρ₂(r − q)

    with the new h in the r-step. u and q start uniform on [0, 1], and the duals at zero. The
    feasible copies u, q are what it returns and what its stop looks at: at (h, r) the objective can
    lie below the optimum (errata A.5); ``as_printed`` takes h, r all the same. The factor of
    ``D Dᵀ + ρ₁I`` is shared by all rows, unless entries are weighted: then each row has its own.
    """

    rho_1: float = 1.0
    rho_2: float = 1.0
    as_printed: bool = False
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Invert the matrix of (25) once for all rows."""
        problem.shifted_gram_inverse(self.rho_1)

    def start(self, block: Block, codes: Array | None) -> State:
        """Uniform codes (unless there are some) and outliers, as published, and zero duals."""
        problem, X, weight = block.problem, block.X, block.weight
        U, Q = uniform_start(block, self.seed, _envelope(problem))
        assert Q is not None
        if codes is not None:
            U = problem.regulariser.region.project(codes)
        state = {"H": U, "U": U, "R": Q, "Q": Q}
        state |= {"alpha": np.zeros_like(U), "beta": np.zeros_like(Q)}
        if weight is not None:
            gram = (weight[:, None, :] * problem.D) @ problem.D.T
            state["inverse"] = np.linalg.inv(
                gram + self.rho_1 * np.eye(len(gram[0]), dtype=X.dtype)
            )
        state["objective"] = self.objective(block, state)
        return state

    def steps(self, block: Block, state: State, times: int) -> None:
        """Rounds of (25)–(30)."""
        for _ in range(times):
            self._round(block, state)

    def _round(self, block: Block, state: State) -> None:
        problem, X, weight = block.problem, block.X, block.weight
        rho_1, rho_2, D, loss = self.rho_1, self.rho_2, problem.D, _envelope(problem)
        U, Q, R, alpha, beta = (state[name] for name in ("U", "Q", "R", "alpha", "beta"))
        if weight is None:
            H = ((X - R) @ D.T + rho_1 * U - alpha) @ problem.shifted_gram_inverse(rho_1)
            V = (X - H @ D + rho_2 * Q - beta) / (1 + rho_2)
            R = loss.penalty.prox(V, 1 / (1 + rho_2), Reals())
        else:
            right = (weight * (X - R)) @ D.T + rho_1 * U - alpha
            H = np.einsum("nk,nkj->nj", right, state["inverse"])
            V = (weight * (X - H @ D) + rho_2 * Q - beta) / (weight + rho_2)
            R = self._weighted_outliers(loss, V, weight)
        U = problem.regulariser.prox(H + alpha / rho_1, 1 / rho_1)
        Q = loss.region.project(R + beta / rho_2)
        state["alpha"] = alpha + rho_1 * (H - U)
        state["beta"] = beta + rho_2 * (R - Q)
        state["H"], state["U"], state["R"], state["Q"] = H, U, R, Q

    def _weighted_outliers(self, loss: Envelope, V: Array, weight: Array) -> Array:
        """The r-step with entry weights w: the cost ``w·φ`` against a curvature of ``w + ρ₂``."""
        if loss.penalty.weights is not None:
            return loss.penalty.prox(V, weight / (weight + self.rho_2), Reals())
        # Under a group penalty weights are 0 or 1; a missing entry belongs to no group.
        return loss.penalty.prox(V * weight, 1 / (1 + self.rho_2), Reals())

    def codes(self, block: Block, state: State) -> Array:
        """The feasible copy u."""
        return state["H" if self.as_printed else "U"]

    def outliers(self, block: Block, state: State) -> Array:
        """The feasible copy q; an entry that is missing has none."""
        R = state["R" if self.as_printed else "Q"]
        return R if block.weight is None else np.where(block.weight > 0, R, 0)

    def objective(self, block: Block, state: State) -> Array:
        """The objective of (5) at both."""
        problem, C, R = block.problem, self.codes(block, state), self.outliers(block, state)
        fit = _envelope(problem).value_with(block.X, C @ problem.D, R, block.weight)
        return fit + problem.regulariser.value(C)


def _envelope(problem: CodingProblem) -> Envelope:
    envelope = problem.loss.envelope
    if envelope is None:
        raise ValueError(
            f"OADMM splits outliers from the squared loss and cannot use {problem.loss}; use "
            "an outlier envelope such as Huber, or another solver."
        )
    return envelope
