"""Codes by projected subgradient descent: Algorithms 2 and 3 of paper E."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.iterate import Block, RowSolver, SmallChange, State, Stop
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array
from thresher.losses import Loss

Rule = Literal["armijo", "constant", "polyak"]


def published_rule(loss: Loss) -> Rule:
    """The step that the paper takes for a loss (section V-C)."""
    if not loss.smooth:
        return "polyak"
    return "constant" if np.isfinite(loss.curvature) else "armijo"


@dataclass(frozen=True)
class ProjectedSubgradient(RowSolver):
    """``c ← Π(c − β ∇)``, (12), with one of three steps.

    - ``armijo``: a first β, cut to a tenth at most eleven times, until
      ``d(c⁺) ≤ d(c) + 0.01⟨∇, c⁺ − c⟩`` at the *projected* point c⁺; else the row stays. Algorithm
      3 tests the unprojected one, where KL and IS are often undefined (errata E.1).
    - ``constant``: β = 1/L, L the curvature of the loss times ‖D‖₂².
    - ``polyak``: ``β = (d − d_best + δ)/‖∇‖²``, and the best codes are returned.

    The published steps have units: the first trial β = 1 and δ = 0.01 mean something else for data
    times a thousand (errata E.3). Here the first trial is that of the step before, times ten,
    starting at the size of the codes over that of the slope, and δ is relative to the loss of zero
    codes. ``as_printed`` is the letter: β = 1, δ as it is, and Algorithm 3, which lets what is
    undefined and the last cut through.
    """

    as_printed: bool = False
    rule: Rule | None = None
    acceptance: float = 0.01
    cut: float = 0.1
    cuts: int = 11
    delta: float = 0.01
    patience: int = 100
    """So many of Polyak's steps are looked back by the stop."""

    def prepare(self, problem: CodingProblem) -> None:
        """Compute the norm that the constant step needs."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(self, block: Block, codes: Array | None) -> State:
        """Equal codes that explain the mass of the row, made feasible."""
        problem, X = block.problem, block.X
        C = problem.regulariser.region.project(block.even_codes() if codes is None else codes)
        value = block.objective(C)
        size = np.linalg.norm(C, axis=1, keepdims=True)
        step, delta = np.ones_like(size), np.full_like(value, self.delta)
        if not self.as_printed:
            slope = np.linalg.norm(problem.gradient(X, C, block.weight), axis=1, keepdims=True)
            step = np.where(
                slope > 0, np.where(size > 0, size, 1) / np.where(slope > 0, slope, 1), 1
            )
            zero = problem.regulariser.region.project(np.zeros_like(C))
            delta = delta * block.objective(zero)
        state = {"C": C, "value": value, "best": C, "best_value": value}
        state |= {"step": step, "delta": delta, "objective": value}
        # Where a loss is flat, every step is accepted; beyond this they only lose digits.
        state["longest"] = step / np.finfo(step.dtype).eps
        if self.rule_for(problem.loss) == "polyak":
            state["bests"] = np.full((len(C), self.patience + 1), np.inf, dtype=value.dtype)
            state["bests"][:, -1] = value
        return state

    def steps(self, block: Block, state: State, times: int) -> None:
        """Steps by the rule of the loss."""
        rule = self.rule_for(block.problem.loss)
        for _ in range(times):
            getattr(self, f"_{rule}")(block, state)

    def rule_for(self, loss: Loss) -> Rule:
        """The step for a loss: that of the paper, unless another was chosen."""
        return self.rule or published_rule(loss)

    def codes(self, block: Block, state: State) -> Array:
        """The best codes so far; as printed the last, but for Polyak's steps."""
        last = self.as_printed and self.rule_for(block.problem.loss) != "polyak"
        return state["C" if last else "best"]

    def objective(self, block: Block, state: State) -> Array:
        """That of the same codes."""
        last = self.as_printed and self.rule_for(block.problem.loss) != "polyak"
        return state["value" if last else "best_value"]

    # ----------------------------------------------------------------- the rules

    def _constant(self, block: Block, state: State) -> None:
        problem = block.problem
        curvature = problem.row_curvature(block.weight, len(block.X))
        eta = 1 / (curvature * block.X.dtype.type(problem.dictionary_norm))
        gradient = problem.gradient(block.X, state["C"], block.weight)
        self._move(block, state, problem.regulariser.prox(state["C"] - eta * gradient, eta))

    def _armijo(self, block: Block, state: State) -> None:
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        longer = np.minimum(state["step"] / self.cut, state["longest"])
        step = np.ones_like(longer) if self.as_printed else longer
        moved, left = C.copy(), np.ones(len(C), dtype=bool)
        for n in range(self.cuts + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # too far: that is no fall
                trial = problem.regulariser.prox(C - step * gradient, step)
                if self.as_printed:
                    passes = self._passes_as_printed(block, state, gradient, step)
                    passes |= n == self.cuts  # untested
                else:
                    fall = np.einsum("nk,nk->n", gradient, trial - C)
                    passes = block.objective(trial) <= state["value"] + self.acceptance * fall
            accepted = left & passes
            moved[accepted] = trial[accepted]
            left &= ~accepted
            if not left.any():
                break
            step = np.where(left[:, None], step * self.cut, step)
        state["step"] = step
        self._move(block, state, moved)

    def _passes_as_printed(
        self, block: Block, state: State, gradient: Array, step: Array
    ) -> NDArray[np.bool_]:
        """``not d(c − β∇) > d(c) − αβ‖∇‖²``, so also where the left side is undefined."""
        problem, C = block.problem, state["C"] - step * gradient
        fall = step[:, 0] * np.einsum("nk,nk->n", gradient, gradient)
        fails = block.objective(C) > state["value"] - self.acceptance * fall
        if problem.loss.needs_positive_prediction:
            fails &= (C @ problem.D >= 0).all(axis=1)
        return np.asarray(~fails)

    def _polyak(self, block: Block, state: State) -> None:
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        energy = np.einsum("nk,nk->n", gradient, gradient)
        excess = state["value"] - state["best_value"] + state["delta"]
        step = np.where(energy > 0, excess / np.where(energy > 0, energy, 1), 0)[:, None]
        self._move(block, state, problem.regulariser.prox(C - step * gradient, step))
        latest = state["best_value"][:, None]
        state["bests"] = np.concatenate([state["bests"][:, 1:], latest], axis=1)

    def _move(self, block: Block, state: State, C: Array) -> None:
        state["C"], state["value"] = C, block.objective(C)
        better = state["value"] < state["best_value"]
        state["best"] = np.where(better[:, None], C, state["best"])
        state["best_value"] = np.where(better, state["value"], state["best_value"])


@dataclass(frozen=True)
class NoMoreGain(Stop):
    """Stop a row of `ProjectedSubgradient` when its objective changes by less than ``tol``.

    Relatively, in a step. Polyak's steps are not monotone, and one that does not improve says
    nothing: such a row ends when its last steps lowered the best value by less than δ, which is
    all that section V-C promises.
    """

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: Block, state: State) -> NDArray[np.bool_]:
        """From the objectives that the steps left in the state."""
        if "bests" in state:
            return np.asarray(state["bests"][:, 0] - state["best_value"] < state["delta"])
        return SmallChange(self.tol).done(solver, block, state)
