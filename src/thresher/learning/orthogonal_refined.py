"""Orthogonal dictionaries from stationary streams: find atoms, then refine on their supports."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from thresher.kernels.floors import TINY
from thresher.learning.orthogonal import (
    START_ITERATIONS,
    OrthogonalLearner,
    Progress,
    cubes_by_length,
    no_dictionary,
    random_orthogonal,
    rank_weights,
)
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, approach, polar

_MIN_VARIANCE = 1e-28  # of zero codes, relative to the others: rounding error
_NOISY = 1e-3  # variance of zero codes, relative to the others, above which it is noise
_EMPTY = 1e-12  # squared length of an empty sample, relative to the mean


@dataclass(frozen=True)
class RefinedStatistics(Statistics):
    """Gradients of both stages, a mixture of the codes, and the two dictionaries.

    Attributes
    ----------
    G, T : arrays of shape (N, N)
        Gradients of the two stages.
    S : array of shape (N, N)
        ``Σ yᵀy``.
    weight : float
        Total weight of the samples.
    n_zero, zero_squares, n_other, other_squares : float
        A mixture of two normal distributions fitted to the codes: the expected number of codes that
        are zero up to noise, the sum of their squares, and the same of the others.
    lead, spread : float
        Sum and sum of squares of the energy by which the refined dictionary leaves out less.
    first, refined : arrays of shape (N, N)
        The dictionaries of the two stages; empty for a batch.
    chosen, since : float
        Whether the refined dictionary is shown (1 or 0), and since which sample.
    pending : float
        Weight of the samples since the last update of the dictionaries.
    """

    AXES: ClassVar[dict[str, str]] = {"G": "KF", "T": "KF", "S": "FF", "first": "KF",
                                      "refined": "KF"}  # fmt: skip

    G: Array
    T: Array
    S: Array
    weight: float
    n_zero: float = 0.0
    zero_squares: float = 0.0
    n_other: float = 0.0
    other_squares: float = 0.0
    lead: float = 0.0
    spread: float = 0.0
    first: Array = field(default_factory=no_dictionary)
    refined: Array = field(default_factory=no_dictionary)
    chosen: float = 0.0
    since: float = 0.0
    pending: float = 0.0

    @property
    def shown(self) -> Array:
        """The dictionary in use."""
        return self.refined if self.chosen else self.first

    @property
    def mixture(self) -> tuple[float, float, float]:
        """Variances of zero and of other codes, and the share of zeros."""
        other = self.other_squares / max(self.n_other, TINY)
        zero = self.zero_squares / max(self.n_zero, TINY)
        share = self.n_zero / max(self.n_zero + self.n_other, TINY)
        return max(zero, _MIN_VARIANCE * other, TINY), max(other, TINY), share


@dataclass(frozen=True)
class RefinedLearner(OrthogonalLearner):
    """Two stages, each a polar factor of a running sum; the better dictionary is shown.

    1. ``G ← f G + Σ (|c| ∘ c/‖c‖)ᵀ y``, ``D = polar(G)``: the ℓ3 norm of paper D with samples
       weighted by their length, without the convex combination of Algorithm 2.
    2. ``T ← f T + Σ (c ∘ [|c| > τ])ᵀ y``, ``D = polar(T)``: Procrustes on the estimated supports.
       Without noise the error falls below any power of t, as τ falls with it (errata D.4).

    The threshold τ is four standard deviations of the codes that are zero up to noise. Their
    variance v₀, and v₁ of the others, come from a mixture of two normal distributions that is
    fitted online. τ is six standard deviations if v₀ is below v₁/1000: then v₀ is mostly due to
    atoms that still move, and a smaller τ would keep two mixed atoms mixed.

    The second stage begins on the codes of the first, after 50 N samples. Its dictionary is shown
    once the first has converged (100 N samples, and v₁ is 30 times v₀) and the second leaves out no
    more energy. It is dropped if it then leaves out more by two standard deviations: it may be a
    stationary point with two mixed atoms, or the data may not be sparse at all.

    N² numbers cannot be estimated from a few samples: dictionaries are updated after N/4 new
    samples, or a 128th of the stream; the sums include every batch.

    Parameters
    ----------
    first_memory, memory : float
        ω of the forgetting ``(1 − b/n)^ω`` in the first and the second stage.
    samples_per_atom : float
        Samples for each atom before the refined dictionary may be shown.
    contrast : float
        The least v₁/v₀ at which it may be shown.
    """

    statistics: ClassVar[type[Statistics]] = RefinedStatistics
    name: ClassVar[str] = "refined"

    first_memory: float = 6.0
    memory: float = 8.0
    samples_per_atom: float = 100.0
    contrast: float = 30.0

    @property
    def description(self) -> str:
        """Both stages."""
        return "ℓ3 power iteration, then Procrustes on supports"

    @property
    def why(self) -> str:
        """Stationary streams."""
        return (
            "the stream is stationary, so supports become certain, and least squares on them are "
            "far more accurate than any norm (docs/lab/orthogonal.md)"
        )

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Power iterations of the first stage on the first batch, from a random dictionary."""
        D = random_orthogonal(Y.shape[1], rng)
        for _ in range(START_ITERATIONS):
            D = polar(cubes_by_length(Y @ D.T).T @ (Y * weight[:, None]), D)
        return D

    def begin(self, Y: Array, weight: Array, D: Array) -> RefinedStatistics:
        """Zeros, and a mixture of the smaller and the larger half of the first codes."""
        squares = (Y @ D.T)[weight > 0] ** 2
        lengths = squares.sum(axis=1)
        squares = np.sort(squares[lengths > _EMPTY * lengths.mean()], axis=None)
        half = len(squares) // 2
        return replace(
            RefinedStatistics.zeros(*D.shape),
            n_zero=half,
            zero_squares=float(squares[:half].sum()),
            n_other=len(squares) - half,
            other_squares=float(squares[half:].sum()),
            first=D,
            refined=D,
        )

    def summarise(
        self, past: RefinedStatistics, D: Array, Y: Array, weight: Array
    ) -> RefinedStatistics:
        """Code with the first dictionary, later with both."""
        weighted = Y * weight[:, None]
        C = Y @ past.first.T
        G, S, total = cubes_by_length(C).T @ weighted, weighted.T @ Y, float(weight.sum())
        if not self._second_stage(past):
            return RefinedStatistics(G, np.zeros_like(G), S, total)
        C2 = Y @ past.refined.T
        # Energies outside the k largest codes, averaged over k as in `rank_weighted`.
        lead = (np.sort(C * C, axis=1) - np.sort(C2 * C2, axis=1)) @ (
            1 - rank_weights(C.shape[1])[::-1]
        )
        if past.chosen:
            C = C2
        squares = C * C
        v0, v1, share = past.mixture
        threshold = (16 if v0 > _NOISY * v1 else 36) * v0
        kept = (squares > threshold) | (squares >= squares.max(axis=1, keepdims=True))
        # Empty samples fit any dictionary, so their zeros are excluded.
        mean = np.trace(past.S) / past.weight
        counted = np.where(squares.sum(axis=1) > _EMPTY * mean, weight, 0)
        # Posterior probability that a code is zero up to noise.
        odds = np.log(max(share, TINY) / max(1 - share, TINY)) + 0.5 * np.log(v1 / v0)
        zero = counted[:, None] / (
            1 + np.exp(np.minimum(0.5 * squares * (1 / v0 - 1 / v1) - odds, 700))
        )
        n_zero, zero_squares = float(zero.sum()), float((zero * squares).sum())
        return RefinedStatistics(
            G,
            np.where(kept, C, 0).T @ weighted,
            S,
            total,
            n_zero=n_zero,
            zero_squares=zero_squares,
            n_other=float(counted.sum()) * C.shape[1] - n_zero,
            other_squares=float((counted @ squares).sum()) - zero_squares,
            lead=float(weight @ lead),
            spread=float(weight @ (lead * lead)),
        )

    def update(
        self, past: RefinedStatistics, batch: RefinedStatistics, D: Array, progress: Progress
    ) -> tuple[Array, RefinedStatistics]:
        """Discount, add, choose, and update the dictionaries."""
        if not batch.weight > 0:
            return D, past
        left = max(0.0, 1 - progress.n_batch / progress.n_seen)
        f = left**self.first_memory
        now = replace(
            past,
            G=f * past.G + batch.G,
            S=past.S + batch.S,
            weight=past.weight + batch.weight,
            pending=past.pending + batch.weight,
        )
        if self._second_stage(past):
            now = self._chosen(self._added(now, batch, left**self.memory), progress.n_seen)
        if now.pending < max(len(D) / 4, progress.n_seen / 128):
            return now.shown, now
        first = refined = now.first
        if not now.chosen or progress.step % 8 == 0:  # later it only serves the comparison
            first = refined = approach(now.G, now.first)
        if self._second_stage(past):
            refined = approach(now.T, now.refined if now.chosen else first)
        now = replace(now, first=first, refined=refined, pending=0.0)
        return now.shown, now

    def _second_stage(self, past: RefinedStatistics) -> bool:
        return past.weight >= self.samples_per_atom * len(past.G) / 2

    def _added(
        self, now: RefinedStatistics, batch: RefinedStatistics, g: float
    ) -> RefinedStatistics:
        """Add the sums of the second stage, with the past discounted by g."""
        names = ("T", "n_zero", "zero_squares", "n_other", "other_squares", "lead", "spread")
        return replace(
            now, **{name: g * getattr(now, name) + getattr(batch, name) for name in names}
        )

    def _chosen(self, now: RefinedStatistics, n_seen: float) -> RefinedStatistics:
        """Choose the dictionary to show."""
        N = len(now.G)
        if now.chosen and now.lead < -2 * np.sqrt(now.spread):
            length = float(np.linalg.norm(now.T)) / np.sqrt(N)
            reset = replace(now, T=length * now.first, refined=now.first, lead=0.0, spread=0.0)
            return replace(reset, chosen=0.0, since=n_seen)
        v0, v1, _ = now.mixture
        waited = n_seen - now.since >= 2 * n_seen / (self.memory + 1)
        ready = waited and n_seen >= self.samples_per_atom * N and v1 > self.contrast * v0
        if not now.chosen and ready and now.lead >= 0:
            return replace(now, chosen=1.0, lead=0.0, spread=0.0)
        return now
