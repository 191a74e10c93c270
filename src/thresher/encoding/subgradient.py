"""Codes by projected subgradient descent: Algorithms 2 and 3 of paper E."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from thresher.encoding.iterate import Block, RowSolver, State
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

    - ``armijo``: β = 1, cut to a tenth at most eleven times, until
      ``d(c⁺) ≤ d(c) + 0.01⟨∇, c⁺ − c⟩`` at the *projected* point c⁺; else the row stays. Algorithm
      3 tests the unprojected one, where KL and IS are often undefined (errata E.1).
    - ``constant``: β = 1/L, L the curvature of the loss times ‖D‖₂².
    - ``polyak``: ``β = (d − d_best + δ)/‖∇‖²``, and the best codes are returned.

    The published steps have units: the first trial β = 1 and δ = 0.01 mean something else for data
    times a thousand (errata E.3). With ``scaled`` the first trial is that of the row before, times
    ten, starting at the size of the codes over that of the slope, and δ is relative to the loss of
    zero codes.
    """

    scaled: bool = True
    rule: Rule | None = None
    acceptance: float = 0.01
    cut: float = 0.1
    cuts: int = 11
    delta: float = 0.01
    seed: int = field(default=0, repr=False)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute the norm that the constant step needs."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem

    def start(self, block: Block, codes: Array | None) -> State:
        """Equal codes that explain the mass of the row, made feasible."""
        problem, X = block.problem, block.X
        C = problem.regulariser.region.project(block.even_codes() if codes is None else codes)
        value = block.objective(C)
        size = np.linalg.norm(C, axis=1, keepdims=True)
        slope = np.linalg.norm(problem.gradient(X, C, block.weight), axis=1, keepdims=True)
        step = np.ones_like(size)
        if self.scaled:
            step = np.where(
                slope > 0, np.where(size > 0, size, 1) / np.where(slope > 0, slope, 1), 1
            )
        zero = problem.regulariser.region.project(np.zeros_like(C))
        unit = block.objective(zero) if self.scaled else np.ones_like(value)
        return {
            "C": C, "value": value, "best": C, "best_value": value, "step": step, "unit": unit
        }  # fmt: skip

    def steps(self, block: Block, state: State, times: int) -> None:
        """Steps by the rule of the loss."""
        rule = self.rule or published_rule(block.problem.loss)
        for _ in range(times):
            getattr(self, f"_{rule}")(block, state)

    def codes(self, block: Block, state: State) -> Array:
        """The best codes so far."""
        return state["best"]

    def objective(self, block: Block, state: State) -> Array:
        """That of the best codes."""
        return state["best_value"]

    # ----------------------------------------------------------------- the rules

    def _constant(self, block: Block, state: State) -> None:
        problem = block.problem
        curvature = problem.row_curvature(block.weight, len(block.X))
        eta = 1 / (curvature * block.X.dtype.type(problem.dictionary_norm))
        gradient = problem.gradient(block.X, state["C"], block.weight)
        self._move(block, state, problem.regulariser.prox(state["C"] - eta * gradient, eta))

    def _armijo(self, block: Block, state: State) -> None:
        problem, C, value = block.problem, state["C"], state["value"]
        gradient = problem.gradient(block.X, C, block.weight)
        step = state["step"] / self.cut if self.scaled else np.ones_like(state["step"])
        moved, left = C.copy(), np.ones(len(C), dtype=bool)
        for _ in range(self.cuts + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # too far: that is no fall
                trial = problem.regulariser.prox(C - step * gradient, step)
                fall = np.einsum("nk,nk->n", gradient, trial - C)
                accepted = left & (block.objective(trial) <= value + self.acceptance * fall)
            moved[accepted] = trial[accepted]
            left &= ~accepted
            if not left.any():
                break
            step = np.where(left[:, None], step * self.cut, step)
        state["step"] = step
        self._move(block, state, moved)

    def _polyak(self, block: Block, state: State) -> None:
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        energy = np.einsum("nk,nk->n", gradient, gradient)
        excess = state["value"] - state["best_value"] + self.delta * state["unit"]
        step = np.where(energy > 0, excess / np.where(energy > 0, energy, 1), 0)[:, None]
        self._move(block, state, problem.regulariser.prox(C - step * gradient, step))

    def _move(self, block: Block, state: State, C: Array) -> None:
        state["C"], state["value"] = C, block.objective(C)
        better = state["value"] < state["best_value"]
        state["best"] = np.where(better[:, None], C, state["best"])
        state["best_value"] = np.where(better, state["value"], state["best_value"])
