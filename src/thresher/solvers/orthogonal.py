"""Solvers of orthogonal dictionaries, and of square ones (paper D)."""

from collections.abc import Callable
from dataclasses import dataclass

from thresher.learning import (
    START_ITERATIONS,
    AlternatingLearner,
    FrankWolfeLearner,
    OrthogonalLearner,
    PowerSchedule,
    RefinedLearner,
    TrackedLearner,
)
from thresher.solvers.constants import (
    ABOVE_MINUS_1,
    AT_LEAST_0,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    check_constants,
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
    r"""Nonconvex stochastic Frank–Wolfe (paper D, Algorithm 2).

    For t = 1, 2, …

    .. math::

        G_t &= (1 - \rho_t) G_{t-1} + \rho_t g_t, \qquad S_t = \mathrm{polar}(-G_t), \\
        D_t &= \mathrm{polar}((1 - \gamma_t) D_{t-1} + \gamma_t S_t),

    ``G₀ = 0``, g the mean gradient of :math:`-\|y D^T\|_p^p` over the batch at the last dictionary.

    Parameters
    ----------
    averaging_scale, averaging_shift, averaging_power : float
        Of ``ρ_t = scale · (t + shift)^(−power)``, step 1: ``4 (t + 1)^(−1/2)``, which exceeds one
        before t = 15 (errata D.1).
    step_scale, step_shift, step_power : float
        Of γ_t, step 3: ``2 (t + 2)^(−3/4)``.
    start_iterations : int
        Of the batch version that starts on the first batch (Table I): the same steps, with this
        batch in each; then t and G begin again.
    as_printed : bool
        A singular G has several polar factors. The default is the one nearest to the last
        dictionary (errata D.3); as printed, whichever the SVD gives.
    """

    name = "noncvx_sfw"
    averaging_scale: float = 4.0
    averaging_shift: float = 1.0
    averaging_power: float = 0.5
    step_scale: float = 2.0
    step_shift: float = 2.0
    step_power: float = 0.75
    start_iterations: int = START_ITERATIONS
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            averaging_scale=POSITIVE,
            averaging_shift=ABOVE_MINUS_1,
            averaging_power=AT_LEAST_0,
            step_scale=POSITIVE,
            step_shift=ABOVE_MINUS_1,
            step_power=AT_LEAST_0,
            start_iterations=COUNT_OR_0,
            as_printed=FLAG,
        )

    def made(self) -> OrthogonalSolver:
        """Its parts."""
        averaging = PowerSchedule(self.averaging_scale, self.averaging_shift, self.averaging_power)
        step = PowerSchedule(self.step_scale, self.step_shift, self.step_power)
        return OrthogonalSolver(
            lambda p, _: FrankWolfeLearner(
                averaging, step, True, p, self.start_iterations, not self.as_printed
            )
        )


@dataclass(frozen=True)
class SFW(Published[OrthogonalSolver]):
    """Stochastic Frank–Wolfe for convex problems, Baseline 1 of paper D: no outer polar factor.

    As `noncvx_sfw`, but for t = 0, 1, 2, … and ``D_t = (1 − γ_t) D_{t−1} + γ_t S_t``, which stays
    in the ball. The paper names the method only; the constants are those of the authors' code.

    Parameters
    ----------
    averaging_scale, averaging_shift, averaging_power : float
        Of ρ_t: ``4/(t + 8)^(2/3)``, so that the first G is the first gradient.
    step_scale, step_shift, step_power : float
        Of γ_t: ``2/(t + 8)``. The first must not exceed one.
    start_iterations, as_printed
        As in `noncvx_sfw`.
    """

    name = "sfw"
    averaging_scale: float = 4.0
    averaging_shift: float = 8.0
    averaging_power: float = 2 / 3
    step_scale: float = 2.0
    step_shift: float = 8.0
    step_power: float = 1.0
    start_iterations: int = START_ITERATIONS
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            averaging_scale=POSITIVE,
            averaging_shift=POSITIVE,
            averaging_power=AT_LEAST_0,
            step_scale=POSITIVE,
            step_shift=POSITIVE,
            step_power=AT_LEAST_0,
            start_iterations=COUNT_OR_0,
            as_printed=FLAG,
        )
        first = self.step_scale * self.step_shift**-self.step_power
        if first > 1:
            raise ValueError(
                f"The first step of sfw would be step_scale · step_shift^(−step_power) = "
                f"{first:.3g}; above one it leaves the ball."
            )

    def made(self) -> OrthogonalSolver:
        """Its parts; schedules count from one there."""
        averaging = PowerSchedule(
            self.averaging_scale, self.averaging_shift - 1, self.averaging_power
        )
        step = PowerSchedule(self.step_scale, self.step_shift - 1, self.step_power)
        return OrthogonalSolver(
            lambda p, _: FrankWolfeLearner(
                averaging, step, False, p, self.start_iterations, not self.as_printed
            )
        )


@dataclass(frozen=True)
class AODL(Published[OrthogonalSolver]):
    r"""Online alternating dictionary learning, Baseline 3 of paper D; atoms are *not* orthogonal.

    .. math:: \min \sum_t \|y_t - c_t D\|^2 + \lambda \|c_t\|_1 \qquad (23)

    Exact codes with the last dictionary, ``A += cᵀc``, ``B += cᵀy``, then atom after atom the best
    of the unit ball (Mairal et al., 2009, which the paper refers to).

    Parameters
    ----------
    penalty : float, optional
        λ, in the unit of the data. Paper D does not give it; None is ``2.4/√N``, which is as we
        remember that of Mairal et al., for samples of length one (twice theirs, as (23) has no ½).
    sweeps : int
        How often a step moves all atoms.
    start_iterations : int
        Of codes and atoms in turn on the first batch (Table I).
    as_printed : bool
        (23) leaves out that atoms have length one at most, and then has no minimiser: atoms grow
        for ever (errata D.8).
    """

    name = "aodl"
    penalty: float | None = None
    sweeps: int = 1
    start_iterations: int = START_ITERATIONS
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self, penalty=POSITIVE, sweeps=COUNT, start_iterations=COUNT_OR_0, as_printed=FLAG
        )

    def made(self) -> OrthogonalSolver:
        """Its parts."""
        learner = AlternatingLearner(
            self.penalty, self.sweeps, not self.as_printed, self.start_iterations
        )
        return OrthogonalSolver(lambda p, _: learner, (3,))


ORTHOGONAL_SOLVERS: dict[str, OrthogonalSolver | Published[OrthogonalSolver]] = {
    "auto": OrthogonalSolver(_best_orthogonal, (3,)),
    "noncvx_sfw": NoncvxSFW(),
    "sfw": SFW(),
    "aodl": AODL(),
}
