"""Codes under the ℓ1 distance by linearised ADMM, as published in paper B (Algorithm 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.iterate import Block, RowSolver, State, Stop
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array
from thresher.losses import L1Distance


@dataclass(frozen=True)
class LinearisedADMM(RowSolver):
    """Algorithm 2: a copy E of the residual ``P − C D``, its dual ρ, one gradient step for codes.

    As printed, with ``κ = 1/λmax(D Dᵀ)``, ``φ = 5``, ``γ = 1.89``::

        E ← soft(P − C D + ρ/φ, 1/φ)                 G ← (C D + E − P − ρ/φ) Dᵀ
        C ← [C − κG − λκ/φ]₊                         ρ ← ρ + γφ(P − C D − E)

    E need not be stored: with ``U = clip(φ(P − C D) + ρ, 1)``, which is φ(P − C D − E) + ρ,

        C' ← [C + (κ/φ)(U Dᵀ − λ)]₊                  ρ ← ρ + γ(U − ρ − φ(C' − C) D).

    φ is for documents that sum to one; others are taken as if they did, so that it has no unit.
    ``κλmax + γ`` exceeds 2, where convergence is proven, and still it converges (errata B.2),
    slowly: score with exact codes.
    """

    phi: float = 5.0
    gamma: float = 1.89
    kappa: float = 1.0
    """In units of ``1/λmax(D Dᵀ)``."""

    def prepare(self, problem: CodingProblem) -> None:
        """Find λmax once for all blocks."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(self, block: Block, codes: Array | None) -> State:
        """Zero codes, as published, or those that were given; a zero dual."""
        problem = block.problem
        if not isinstance(problem.loss, L1Distance):
            raise ValueError(
                f"This ADMM splits off the residual of the ℓ1 distance and cannot use "
                f"{problem.loss}; use L1Distance, or another solver."
            )
        X = block.X.toarray() if hasattr(block.X, "toarray") else block.X  # the dual is dense
        n, K = X.shape[0], len(problem.D)
        C = np.zeros((n, K), dtype=X.dtype) if codes is None else np.array(codes, dtype=X.dtype)
        seen = X if block.weight is None else np.where(block.weight > 0, X, 0)
        size = np.abs(seen).sum(axis=1, keepdims=True)
        phi = X.dtype.type(self.phi) / np.where(size > 0, size, 1)
        moved = np.full(n, np.inf, dtype=X.dtype)
        bound = problem.loss.bounds(X, block.weight)
        bound = np.ones((n, 1), dtype=X.dtype) if bound is None else bound
        state = {"C": C, "residual": seen - C @ problem.D, "dual": np.zeros_like(X), "phi": phi}
        return state | {"bound": bound, "primal": moved, "change": moved.copy()}

    def steps(self, block: Block, state: State, times: int) -> None:
        """Rounds of Algorithm 2."""
        problem = block.problem
        D, phi, bound, number = problem.D, state["phi"], state["bound"], block.X.dtype.type
        kappa = number(self.kappa / problem.dictionary_norm)
        for _ in range(times):
            C, dual, residual = state["C"], state["dual"], state["residual"]
            U = np.clip(phi * residual + dual, -bound, bound)
            step = kappa / phi
            new = problem.regulariser.prox(C + step * (U @ D.T), step)
            towards = (new - C) @ D
            change = U - dual - phi * towards  # φ(P − C' D − E)
            state["C"], state["residual"] = new, residual - towards
            state["dual"] = dual + number(self.gamma) * change
            state["primal"] = np.abs(change).sum(axis=1) / number(self.phi)
            state["change"] = np.abs(new - C).sum(axis=1)

    def codes(self, block: Block, state: State) -> Array:
        """The codes themselves; they are feasible."""
        return state["C"]


@dataclass(frozen=True)
class Settled(Stop):
    """Stop a row when it meets its constraint and its codes rest.

    ``‖P − C D − E‖₁ ≤ tol ‖p‖₁``, and codes moved by no more than ``tol`` of their sum.
    """

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: Block, state: State) -> NDArray[np.bool_]:
        """Look at what the last step left in the state."""
        total = np.abs(state["C"]).sum(axis=1)
        rests = state["change"] <= self.tol * total
        return np.asarray(rests & (state["primal"] <= self.tol))
