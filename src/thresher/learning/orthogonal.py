"""Orthogonal dictionaries by stochastic Frank–Wolfe as published: Algorithm 2 of paper D, SFW."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from thresher.learning.frank_wolfe import (
    FrankWolfeState,
    PowerSchedule,
    StochasticFrankWolfe,
)
from thresher.learning.sparsity import power_gradient
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, polar
from thresher.sets import SpectralBall


class Progress(NamedTuple):
    """Where a stream stands when a batch has been coded."""

    step: int
    """Number of this batch, from one."""
    n_batch: float
    """Weight of its samples."""
    n_seen: float
    """Weight of all samples so far, with this batch."""
    keep: float
    """How much the past counts, by the user's forgetting; one for the plain average."""


class OrthogonalLearner(Protocol):
    """How an orthogonal dictionary is learned: what is summed up, and what follows.

    Statistics have the arrays and numbers of their sums at least, ``S = Σ yᵀy`` and ``weight``
    among them, so that gaps can be filled and data whitened.
    """

    @property
    def statistics(self) -> type[Statistics]:
        """What `begin` and `learn` give."""

    @property
    def description(self) -> str:
        """What it does, in a few words."""

    @property
    def why(self) -> str:
        """When it is the one to use, as it was measured."""

    @property
    def orthogonal(self) -> bool:
        """Whether dictionaries are orthogonal, or only lie in the ball."""

    def improved(self, Y: Array, weight: Array, D: Array) -> Array:
        """One iteration of the batch version, for the start."""

    def first_guess(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Where the batch version starts."""

    def begin(self, Y: Array, weight: Array, D: Array) -> Any:
        """Statistics of no sample; the first batch may set scales."""

    def summarise(self, past: Any, D: Array, Y: Array, weight: Array) -> Any:
        """Sums over a block; they add up over blocks."""

    def learn(self, past: Any, sums: Any, D: Array, progress: Progress) -> tuple[Array, Any]:
        """The next dictionary and statistics."""


def random_orthogonal(n: int, rng: np.random.Generator) -> Array:
    """Drawn uniformly from the orthogonal group."""
    return polar(rng.standard_normal((n, n)))


def second_moments(Y: Array, weight: Array) -> Array:
    """``Σ yᵀ y``."""
    S: Array = (Y * weight[:, None]).T @ Y
    return S


@dataclass(frozen=True)
class GradientStatistics(Statistics):
    """The averaged gradient G; as sums of a block, ``Σ (|c|^(p−2) ∘ c)ᵀ y``."""

    AXES: ClassVar[dict[str, str]] = {"G": "KF", "S": "FF"}

    G: Array
    S: Array
    weight: float


@dataclass(frozen=True)
class FrankWolfeLearner:
    r"""Maximise :math:`E\|y D^T\|_p^p` over the unit spectral ball (paper D, (5)).

    Algorithm 2 is Algorithm 1 with the loss :math:`-\|y D^T\|_p^p`, so that

    .. math:: g = -p \;\mathrm{mean}\,(|c|^{p-2} \circ c)^T y, \qquad c = y D^T,

    the oracle ``polar(−G)`` and, in NoncvxSFW, ``polar`` again as the improving map (Lemma 4). Each
    step takes an SVD or two.
    """

    statistics: ClassVar[type[Statistics]] = GradientStatistics

    averaging: PowerSchedule
    step: PowerSchedule
    orthogonal: bool = True
    p: int = 3

    @property
    def description(self) -> str:
        """The name of the paper."""
        return f"{'NoncvxSFW' if self.orthogonal else 'SFW'} on the ℓ{self.p} norm"

    @property
    def why(self) -> str:
        """By name only."""
        return "it was asked for by name, and keeps to what was published"

    def first_guess(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Random: zero, which lies in the ball too, has no gradient (errata D.3)."""
        return random_orthogonal(Y.shape[1], rng)

    def improved(self, Y: Array, weight: Array, D: Array) -> Array:
        """``ρ = γ = 1`` on one batch: the generalised power method; with p = 4, MSP."""
        return polar(power_gradient(Y @ D.T, self.p).T @ (Y * weight[:, None]), D)

    def begin(self, Y: Array, weight: Array, D: Array) -> GradientStatistics:
        """``G₀ = 0``."""
        zero = np.zeros(D.shape)
        return GradientStatistics(zero, zero, 0.0)

    def summarise(
        self, past: GradientStatistics, D: Array, Y: Array, weight: Array
    ) -> GradientStatistics:
        """Gradients, second moments, and how many."""
        weighted = Y * weight[:, None]
        G = -self.p * power_gradient(Y @ D.T, self.p).T @ weighted
        return GradientStatistics(G, weighted.T @ Y, float(weight.sum()))

    def learn(
        self, past: GradientStatistics, sums: GradientStatistics, D: Array, progress: Progress
    ) -> tuple[Array, GradientStatistics]:
        """One step of Algorithm 1; under a half-life, weights stay above its share of a batch."""
        if not sums.weight > 0:
            return D, past
        least = 1 - progress.keep
        method = StochasticFrankWolfe(
            SpectralBall(),
            lambda t: max(self.averaging(t), least),
            lambda t: max(self.step(t), least),
            polar if self.orthogonal else None,
        )
        before = FrankWolfeState(D, past.G, progress.step - 1)
        after = method.advance(before, sums.G / sums.weight)
        S = progress.keep * past.S + sums.S
        weight = progress.keep * past.weight + sums.weight
        return after.X, replace(past, G=after.G, S=S, weight=weight)
