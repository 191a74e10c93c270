"""Codes under the ℓ1 distance by linearised ADMM, as published in paper B (Algorithm 2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.encoding.iterate import Block, RowSolver, State, Stop
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array, thinned


@dataclass(frozen=True)
class LinearisedADMM(RowSolver):
    """Algorithm 2: a copy E of the residual ``P − C D``, its dual ρ, one gradient step for codes.

    As printed, with ``κ = 1/λmax(D Dᵀ)``, ``φ = 5``, ``γ = 1.89``::

        E ← soft(P − C D + ρ/φ, 1/φ)                 G ← (C D + E − P − ρ/φ) Dᵀ
        C ← [C − κG − λκ/φ]₊                         ρ ← ρ + γφ(P − C D − E)

    E need not be stored: with ``U = clip(φ(P − C D) + ρ, 1)``, which is φ(P − C D − E) + ρ,

        C' ← [C + (κ/φ)(U Dᵀ − λ)]₊                  ρ ← ρ + γ(U − ρ − φ(C' − C) D).

    φ has the inverse unit of the data: 5 is for documents that sum to one. ``κλmax + γ`` exceeds 2,
    where convergence is proven, and still it converges (errata B.2), slowly: score with exact
    codes.

    Codes never see features that no atom has, so those are left out; and if atoms have few
    features, as those of documents do, products only touch these.
    """

    phi: float = 5.0
    gamma: float = 1.89
    kappa: float = 1.0
    """In units of ``1/λmax(D Dᵀ)``."""

    def prepare(self, problem: CodingProblem) -> None:
        """Find λmax, and which features atoms have, once for all blocks."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem
        _used(problem)

    def start(self, block: Block, codes: Array | None) -> State:
        """Zero codes, as published, or those that were given; a zero dual."""
        problem = block.problem
        kinks = problem.loss.nonsmooth_points
        if kinks is None or kinks.square:
            raise ValueError(
                f"This ADMM splits off the residual of the ℓ1 distance and cannot use "
                f"{problem.loss}; use L1Distance, or another solver."
            )
        columns, D = _used(problem)
        weight = block.weight
        seen = block.X if weight is None else np.where(weight > 0, block.X, 0)
        size = np.asarray(abs(seen).sum(axis=1)).ravel()
        X = seen[:, columns]
        X = X.toarray() if hasattr(X, "toarray") else X  # the dual is dense
        n, K = X.shape[0], len(problem.D)
        C = np.zeros((n, K), dtype=X.dtype) if codes is None else np.array(codes, dtype=X.dtype)
        moved = np.full(n, np.inf, dtype=X.dtype)
        bound = kinks.bounds(X, None if weight is None else weight[:, columns])
        bound = np.ones((n, 1), dtype=X.dtype) if bound is None else bound
        state = {"C": C, "residual": X - _predicted(C, D), "dual": np.zeros_like(X), "size": size}
        return state | {"bound": bound, "primal": moved, "change": moved.copy()}

    def steps(self, block: Block, state: State, times: int) -> None:
        """Rounds of Algorithm 2."""
        problem = block.problem
        _, D = _used(problem)
        bound, number = state["bound"], block.X.dtype.type
        phi, step = number(self.phi), number(self.kappa / problem.dictionary_norm / self.phi)
        for _ in range(times):
            C, dual, residual = state["C"], state["dual"], state["residual"]
            U = phi * residual
            U += dual
            np.clip(U, -bound, bound, out=U)
            new = problem.regulariser.prox(C + step * _correlated(U, D), step)
            towards = _predicted(new - C, D)
            residual -= towards
            towards *= phi
            U -= dual
            U -= towards  # φ(P − C' D − E)
            state["C"] = new
            state["primal"] = np.abs(U).sum(axis=1) / phi
            state["change"] = np.abs(new - C).max(axis=1) / step
            U *= number(self.gamma)
            dual += U

    def codes(self, block: Block, state: State) -> Array:
        """The codes themselves; they are feasible."""
        return state["C"]


def _used(problem: CodingProblem) -> tuple[NDArray[np.intp], Any]:
    """The features that some atom has, and the dictionary on them, as CSR if it is sparse."""

    def make() -> tuple[NDArray[np.intp], Any]:
        columns = np.flatnonzero(problem.D.any(axis=0))
        return columns, thinned(np.ascontiguousarray(problem.D[:, columns]))

    found: tuple[NDArray[np.intp], Any] = problem.remember("features of atoms", make)
    return found


def _predicted(C: Array, D: Any) -> Array:
    """``C D``."""
    if isinstance(D, np.ndarray):
        return np.asarray(C @ D)
    return np.asarray((sparse.csr_array(C) @ D).toarray())


def _correlated(U: Array, D: Any) -> Array:
    """``U Dᵀ``."""
    if isinstance(D, np.ndarray):
        return np.asarray(U @ D.T)
    return np.asarray(D @ np.ascontiguousarray(U.T)).T


@dataclass(frozen=True)
class Settled(Stop):
    """Stop a row when it meets its constraint and its codes rest: both residuals are small.

    ``‖p − c D − e‖₁ ≤ tol ‖p‖₁`` on the features that atoms have, and ``(φ/κ) max |c' − c| ≤ tol
    max_k ‖d_k‖₁``, which is the largest slope that a code can have. The paper only says "to
    convergence" (errata B.9).
    """

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: Block, state: State) -> NDArray[np.bool_]:
        """Look at what the last step left in the state."""
        rests = state["change"] <= self.tol * np.abs(block.problem.D).sum(axis=1).max()
        return np.asarray(rests & (state["primal"] <= self.tol * state["size"]))
