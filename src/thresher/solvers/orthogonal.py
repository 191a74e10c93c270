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
from thresher.solvers.names import Published


@dataclass(frozen=True)
class OrthogonalSolver:
    """A learner of orthogonal dictionaries, made from the norm p and whether data drift."""

    make: Callable[[int, bool], OrthogonalLearner]
    powers: tuple[int, ...] = (3, 4)


def _best_orthogonal(p: int, drifts: bool) -> OrthogonalLearner:
    return TrackedLearner() if drifts else RefinedLearner()


@dataclass(frozen=True)
class NoncvxSFW(Published[OrthogonalSolver]):
    """Nonconvex stochastic Frank–Wolfe (paper D, Algorithm 2)."""

    name = "noncvx_sfw"

    def made(self) -> OrthogonalSolver:
        """Its parts."""
        return OrthogonalSolver(
            lambda p, _: FrankWolfeLearner(PUBLISHED_AVERAGING, PUBLISHED_STEP, True, p)
        )


@dataclass(frozen=True)
class SFW(Published[OrthogonalSolver]):
    """Stochastic Frank–Wolfe without the outer polar factor, a peer of paper D."""

    name = "sfw"

    def made(self) -> OrthogonalSolver:
        """Its parts."""
        return OrthogonalSolver(
            lambda p, _: FrankWolfeLearner(CONVEX_AVERAGING, CONVEX_STEP, False, p)
        )


ORTHOGONAL_SOLVERS: dict[str, OrthogonalSolver | Published[OrthogonalSolver]] = {
    "auto": OrthogonalSolver(_best_orthogonal, (3,)),
    "noncvx_sfw": NoncvxSFW(),
    "sfw": SFW(),
}
