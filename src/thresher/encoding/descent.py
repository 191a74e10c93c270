"""Codes of any smooth loss on any set: projected gradient steps that never make it rise."""

from dataclasses import dataclass
from typing import Any

from thresher.encoding.armijo import ArmijoGradient
from thresher.encoding.iterate import Encoder, Encoding, Never
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.encoding.two_stages import (
    finished,
    neighbouring_codes,
    prepare_neighbour,
    prepare_newton,
)
from thresher.linalg import Array

_STEP = ArmijoGradient()


@dataclass(frozen=True)
class ProjectedDescent:
    """``c ← prox(c − β∇)`` with Armijo's β, from codes of the convex neighbour.

    Rows end where they are critical to ``tol``; without one, after ``max_iter`` steps.
    """

    tol: float | None = 1e-4
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A slope."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.smooth else "a loss without kinks"

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        prepare_neighbour(problem)
        prepare_newton(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        start = neighbouring_codes(problem, X, weight) if start is None else start
        if self.tol is None:
            return Encoder(_STEP, Never(), self.max_iter, certify=False).encode(
                problem, X, weight, start
            )
        return finished(_STEP, self.tol, self.max_iter, problem, X, weight, start)
