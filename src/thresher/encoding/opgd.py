"""Codes by projected gradient descent, as published in paper A (OPGD, section IV-A)."""

from dataclasses import dataclass, field

import numpy as np

from thresher.encoding.iterate import Block, RowSolver, State
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array


@dataclass(frozen=True)
class ProjectedGradient(RowSolver):
    """``c ← prox(c − η ∇)``, ``η = κ/‖D‖₂²``, and ``r ← clip(soft(x − cD, λ), M)``: (15)–(17).

    The outlier r minimises exactly given c, so the alternation *is* projected gradient descent on
    the envelope, and r needs no variable of its own (errata A.1). Codes start uniform on [0, 1], as
    published, each row of a block at its own; the same block always starts alike.
    """

    kappa: float = 0.7
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute the norm that the step size needs."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(self, block: Block, codes: Array | None) -> State:
        """Uniform codes, made feasible, and one step size per row."""
        problem, X = block.problem, block.X
        if codes is None:
            shape = (X.shape[0], problem.D.shape[0])
            codes = np.random.default_rng(self.seed).random(shape).astype(X.dtype)
        C = problem.regulariser.region.project(codes)
        curvature = problem.row_curvature(block.weight, X.shape[0])
        return {"C": C, "eta": self.kappa / (curvature * X.dtype.type(problem.dictionary_norm))}

    def steps(self, block: Block, state: State, times: int) -> None:
        """Projected (proximal, under a penalty) gradient steps."""
        problem, eta = block.problem, state["eta"]
        for _ in range(times):
            gradient = problem.gradient(block.X, state["C"], block.weight)
            state["C"] = problem.regulariser.prox(state["C"] - eta * gradient, eta)

    def codes(self, block: Block, state: State) -> Array:
        """The current codes."""
        return state["C"]
