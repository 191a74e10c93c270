"""Codes by projected gradient descent with Armijo's step size rule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.loop import ActiveRows, RowSolver, State
from thresher.encoding.problem import CodingProblem, Rows
from thresher.linalg import Array


@dataclass(frozen=True)
class ArmijoGradient(RowSolver):
    """``c⁺ = prox(c − β∇)`` with a backtracking step size β for each row.

    A step is accepted if ``d(c⁺) ≤ d(c) + acceptance ⟨∇, c⁺ − c⟩``. The first trial is the accepted
    step of the iteration before, divided by ``cut``; it starts at the size of the codes over that
    of the gradient. Otherwise β is multiplied by ``cut``. A row whose trials all fail stays.

    Parameters
    ----------
    acceptance : float
        Share of the predicted decrease that a step must reach.
    cut : float
        Factor between two trials.
    cuts : int
        Maximum number of reductions in an iteration.
    """

    acceptance: float = 0.01
    cut: float = 0.1
    cuts: int = 11

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A gradient."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.smooth else "a loss without kinks"

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Equal codes that explain the mass of the row, or given codes, made feasible."""
        problem, X = block.problem, block.X
        C = problem.regulariser.region.project(block.even_codes() if codes is None else codes)
        value = block.objective(C)
        size = np.linalg.norm(C, axis=1, keepdims=True)
        slope = np.linalg.norm(problem.gradient(X, C, block.weight), axis=1, keepdims=True)
        step = np.where(slope > 0, np.where(size > 0, size, 1) / np.where(slope > 0, slope, 1), 1)
        state = {"C": C, "value": value, "best": C, "best_value": value, "objective": value}
        # Where a loss is flat, every step is accepted; beyond this bound steps only lose digits.
        return state | {"step": step, "longest": step / np.finfo(step.dtype).eps}

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Iterations, each with its line search."""
        for _ in range(times):
            self.search(block, state)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The best codes so far."""
        return state["best"]

    def objective(self, block: ActiveRows, state: State) -> Array:
        """The objective of the best codes."""
        return state["best_value"]

    def search(self, block: ActiveRows, state: State) -> None:
        """Take the first step of each row that is accepted."""
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        step = self.first_trial(state)
        moved, left = C.copy(), np.ones(len(C), dtype=bool)
        for n in range(self.cuts + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long
                trial = problem.regulariser.prox(C - step * gradient, step)
                accepted = left & self.accepts(block, state, gradient, step, trial, n)
            moved[accepted] = trial[accepted]
            left &= ~accepted
            if not left.any():
                break
            step = np.where(left[:, None], step * self.cut, step)
        state["step"] = step
        self.move(block, state, moved)

    def first_trial(self, state: State) -> Array:
        """The longest step size of an iteration, shape (n, 1)."""
        longer: Array = np.minimum(state["step"] / self.cut, state["longest"])
        return longer

    def accepts(
        self, block: ActiveRows, state: State, gradient: Array, step: Array, trial: Array, n: int
    ) -> NDArray[np.bool_]:
        """Whether the n-th trial of each row decreases the objective enough."""
        predicted = np.einsum("nk,nk->n", gradient, trial - state["C"])
        enough = block.objective(trial) <= state["value"] + self.acceptance * predicted
        return np.asarray(enough)

    def move(self, block: ActiveRows, state: State, C: Array) -> None:
        """Take new codes, and keep the best."""
        state["C"], state["value"] = C, block.objective(C)
        better = state["value"] < state["best_value"]
        state["best"] = np.where(better[:, None], C, state["best"])
        state["best_value"] = np.where(better, state["value"], state["best_value"])
