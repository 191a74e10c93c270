"""Codes by projected gradient descent, as published in paper A (OPGD, section IV-A)."""

from dataclasses import dataclass, field

from thresher.encoding.iterate import Block, RowSolver, State
from thresher.encoding.problem import CodingProblem
from thresher.encoding.uniform import uniform_start
from thresher.linalg import Array


@dataclass(frozen=True)
class ProjectedGradient(RowSolver):
    """``c ← prox(c − η(cD + r − x)Dᵀ)``, ``η = κ/‖D‖₂²``, ``r ← clip(soft(x − cD, λ), M)``.

    That is (15)–(17). Codes and outliers start uniform on [0, 1], as published. After the first
    step r minimises exactly given c, so that the alternation *is* projected gradient descent on the
    envelope, and r needs no variable any more (errata A.1). From codes that are given it is so
    at once.
    """

    kappa: float = 0.7
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute the norm that the step size needs."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(self, block: Block, codes: Array | None) -> State:
        """Uniform codes and outliers, or given codes, and one step size per row."""
        problem, X = block.problem, block.X
        if codes is None:
            C, R = uniform_start(block, self.seed, problem.loss.envelope)
        else:
            C, R = problem.regulariser.region.project(codes), None
        curvature = problem.row_curvature(block.weight, X.shape[0])
        eta = self.kappa / (curvature * X.dtype.type(problem.dictionary_norm))
        state = {"C": C, "eta": eta}
        if R is not None:
            values = problem.fit(X, C, block.weight, R).values()
            state["R"], state["objective"] = R, values + problem.regulariser.value(C)
        return state

    def steps(self, block: Block, state: State, times: int) -> None:
        """Projected (proximal, under a penalty) gradient steps."""
        problem, eta = block.problem, state["eta"]
        for _ in range(times):
            C, R = state["C"], state.pop("R", None)
            gradient = problem.gradient(block.X, C, block.weight, R)
            state["C"] = problem.regulariser.prox(C - eta * gradient, eta)

    def codes(self, block: Block, state: State) -> Array:
        """The current codes."""
        return state["C"]
