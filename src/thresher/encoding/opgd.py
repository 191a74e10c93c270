"""Codes by projected gradient descent, as published in paper A (OPGD, section IV-A)."""

from dataclasses import dataclass, field

import numpy as np

from thresher.encoding.iterate import RowSolver, State
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array


@dataclass(frozen=True)
class ProjectedGradient(RowSolver):
    """``c ← prox(c − η ∇)``, ``η = κ/‖D‖₂²``, and ``r ← clip(soft(x − cD, λ), M)``: (15)–(17).

    The outlier r minimises exactly given c, so the alternation *is* projected gradient descent on
    the envelope, and r needs no variable of its own (MATH A.1). Codes start uniform on [0, 1], as
    published, each row of a block at its own; the same block always starts alike.
    """

    kappa: float = 0.7
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute the norm that the step size needs."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(
        self, problem: CodingProblem, X: Array, weight: Array | None, codes: Array | None
    ) -> State:
        """Uniform codes, made feasible, and one step size per row."""
        if codes is None:
            shape = (X.shape[0], problem.D.shape[0])
            codes = np.random.default_rng(self.seed).random(shape).astype(X.dtype)
        C = problem.regulariser.region.project(codes)
        curvature = problem.row_curvature(weight, X.shape[0])
        return {"C": C, "eta": self.kappa / (curvature * X.dtype.type(problem.dictionary_norm))}

    def steps(
        self, problem: CodingProblem, X: Array, weight: Array | None, state: State, times: int
    ) -> None:
        """Some iterations."""
        for _ in range(times):
            self._step(problem, X, weight, state)

    def _step(self, problem: CodingProblem, X: Array, weight: Array | None, state: State) -> None:
        """One projected (proximal, under a penalty) gradient step."""
        C, eta = state["C"], state["eta"]
        state["C"] = problem.regulariser.prox(C - eta * problem.gradient(X, C, weight), eta)

    def codes(self, problem: CodingProblem, state: State) -> Array:
        """The current codes."""
        return state["C"]
