"""The non-convex stochastic Frank–Wolfe method of paper D, for any smooth loss and oracle set."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.sets import OracleSet

Schedule = Callable[[int], float]
"""A weight for each step t = 1, 2, …"""


@dataclass(frozen=True)
class PowerSchedule:
    """``scale · (t + shift)^(−power)``, at most ``limit``."""

    scale: float
    shift: float
    power: float
    limit: float = np.inf

    def __call__(self, t: int) -> float:
        """The weight of step t."""
        return float(min(self.scale * (t + self.shift) ** -self.power, self.limit))


PUBLISHED_AVERAGING = PowerSchedule(4.0, 1.0, 0.5)
"""ρ_t of Algorithm 1. It exceeds one before t = 15 (errata D.1)."""
PUBLISHED_STEP = PowerSchedule(2.0, 2.0, 0.75)
"""γ_t of Algorithm 1."""


def exact_gradient(t: int) -> float:
    """An averaging weight of one, for gradients without noise."""
    return 1.0


class FrankWolfeState(NamedTuple):
    """The state after ``t`` steps.

    ``gap`` is the Frank–Wolfe gap ``⟨G, X − S⟩`` of the point *before* the last step, estimated
    with the averaged gradient. With exact gradients of a convex loss it bounds ``F(X) − min F``.
    """

    X: Array
    G: Array
    t: int = 0
    gap: float = np.inf


@dataclass(frozen=True)
class StochasticFrankWolfe:
    r"""Minimise :math:`E_y f(X, y)` over a convex set, one stochastic gradient at a time.

    Algorithm 1 of paper D, for t = 1, 2, …:

    .. math::

        G_t &= (1 - \rho_t) G_{t-1} + \rho_t \nabla f(X_{t-1}, y_t), \\
        S_t &= \arg\min_{S \in \mathcal C} \langle G_t, S \rangle, \\
        X_t &= \mathcal P[(1 - \gamma_t) X_{t-1} + \gamma_t S_t].

    Parameters
    ----------
    region : OracleSet
        The set :math:`\mathcal C`: ``SpectralBall``, ``NuclearBall``, ``L1Ball``, ``L2Ball``,
        ``Box``, ``Simplex``, or a custom set with ``minimise_linear``.
    averaging, step : callable
        ρ_t and γ_t; the defaults are the paper's.
    improve : callable, optional
        :math:`\mathcal P`: any map into the set that does not raise the loss, such as
        `thresher.linalg.polar` for orthogonal dictionaries (Lemma 4). None: the identity.
    nearest : bool
        Of several minimisers :math:`S_t` take the one nearest to :math:`X_{t-1}`; otherwise any.
    """

    region: OracleSet
    averaging: Schedule = field(default=PUBLISHED_AVERAGING)
    step: Schedule = field(default=PUBLISHED_STEP)
    improve: Callable[[Array], Array] | None = None
    nearest: bool = True

    def __post_init__(self) -> None:
        if not hasattr(self.region, "minimise_linear"):
            raise ValueError(
                f"Frank–Wolfe needs a set with minimise_linear, not {self.region!r}; use "
                "SpectralBall, NuclearBall, L1Ball, L2Ball, Box or Simplex from thresher.sets."
            )

    def begin(self, X: Array) -> FrankWolfeState:
        """The state before the first step, at a member of the set."""
        if not self.region.contains(X):
            raise ValueError(
                f"The start does not lie in {self.region!r}; project it first: region.project(X)."
            )
        return FrankWolfeState(X.copy(), np.zeros_like(X))

    def advance(self, state: FrankWolfeState, gradient: Array) -> FrankWolfeState:
        """Make one step with the mean gradient of a mini-batch at ``state.X``."""
        X, t = state.X, state.t + 1
        rho, gamma = self.averaging(t), self.step(t)
        G = (1 - rho) * state.G + rho * gradient
        S = self.region.minimise_linear(G, X if self.nearest else None)
        gap = float(np.sum(G * (X - S)))
        X = (1 - gamma) * X + gamma * S
        return FrankWolfeState(X if self.improve is None else self.improve(X), G, t, gap)


def frank_wolfe(
    gradient: Callable[[Array, int], Array],
    region: OracleSet,
    start: Array,
    *,
    averaging: Schedule = PUBLISHED_AVERAGING,
    step: Schedule = PUBLISHED_STEP,
    improve: Callable[[Array], Array] | None = None,
    n_steps: int = 1000,
    tol: float = 0.0,
    callback: Callable[[FrankWolfeState], bool | None] | None = None,
) -> FrankWolfeState:
    """Run `StochasticFrankWolfe` for ``n_steps`` steps, or until the gap falls to ``tol``.

    Parameters
    ----------
    gradient : callable
        ``gradient(X, t)``: the gradient of the loss at X, of the whole or of the t-th mini-batch.
    region, averaging, step, improve
        As in `StochasticFrankWolfe`.
    start : array
        A member of the set.
    n_steps, tol : int, float
        Maximum number of steps, and the gap at which to stop; 0 makes all steps. The gap of an
        averaged stochastic gradient is an estimate.
    callback : callable, optional
        Called with every state; returning True ends the run.

    Returns
    -------
    FrankWolfeState
        ``X``, the averaged gradient ``G``, the number of steps ``t``, and the last ``gap``.

    Examples
    --------
    Complete a matrix of rank one from half of its entries:

    >>> import numpy as np
    >>> from thresher.sets import NuclearBall
    >>> rng = np.random.default_rng(0)
    >>> truth = np.outer(rng.normal(size=8), rng.normal(size=6))
    >>> seen = rng.random(truth.shape) < 0.7
    >>> ball = NuclearBall(np.linalg.norm(truth))
    >>> end = frank_wolfe(
    ...     lambda X, t: np.where(seen, X - truth, 0),
    ...     ball,
    ...     np.zeros(truth.shape),
    ...     averaging=exact_gradient,
    ...     step=lambda t: 2 / (t + 2),
    ...     n_steps=2000,
    ... )
    >>> bool(np.linalg.norm(end.X - truth) < 0.05 * np.linalg.norm(truth))
    True
    """
    method = StochasticFrankWolfe(region, averaging, step, improve)
    state = method.begin(np.asarray(start, dtype=np.float64))
    for t in range(1, n_steps + 1):
        slope = gradient(state.X, t)
        if np.isfinite(slope).all():  # oracles fail otherwise
            state = method.advance(state, slope)
        if not (np.isfinite(slope).all() and np.isfinite(state.X).all()):
            raise ValueError(
                f"The gradient of step {t} is not finite; check the loss, or rescale the data."
            )
        if (tol > 0 and state.gap <= tol) or (callback is not None and callback(state)):
            break
    return state
