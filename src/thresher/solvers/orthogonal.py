"""Solvers of orthogonal dictionaries (paper D)."""

from collections.abc import Callable
from dataclasses import dataclass

from thresher.learning import (
    CONVEX_AVERAGING,
    CONVEX_STEP,
    PUBLISHED_AVERAGING,
    PUBLISHED_STEP,
    FrankWolfeLearner,
    OrthogonalLearner,
    RefinedLearner,
    TrackedLearner,
)


@dataclass(frozen=True)
class OrthogonalSolver:
    """A learner of orthogonal dictionaries, made from the norm p and whether data drift."""

    make: Callable[[int, bool], OrthogonalLearner]
    powers: tuple[int, ...] = (3, 4)


def _published_frank_wolfe(p: int, drifts: bool) -> OrthogonalLearner:
    return FrankWolfeLearner(PUBLISHED_AVERAGING, PUBLISHED_STEP, True, p)


def _convex_frank_wolfe(p: int, drifts: bool) -> OrthogonalLearner:
    return FrankWolfeLearner(CONVEX_AVERAGING, CONVEX_STEP, False, p)


def _best_orthogonal(p: int, drifts: bool) -> OrthogonalLearner:
    return TrackedLearner() if drifts else RefinedLearner()


ORTHOGONAL_SOLVERS = {
    "auto": OrthogonalSolver(_best_orthogonal, (3,)),
    "noncvx_sfw": OrthogonalSolver(_published_frank_wolfe),
    "sfw": OrthogonalSolver(_convex_frank_wolfe),
}
