"""Orthogonal dictionaries from stationary streams: find the atoms, refine on their supports."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from thresher.kernels.floors import TINY
from thresher.learning.orthogonal import ByGuess, Progress, random_orthogonal
from thresher.learning.sparsity import cubes_by_length, rank_weights
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, approach, polar

_SMALLEST = 1e-28  # variance of zero codes, relative to the others: rounding
_NOISY = 1e-3
_EMPTY = 1e-12  # squared length of a sample, relative to the mean: nothing in it


@dataclass(frozen=True)
class RefinedSums(Statistics):
    """Sums of a block.

    ``G`` and ``T`` are the gradients of the two stages. The next four describe a mixture of two
    normal distributions that the codes are taken for: how many are zero but for noise, their
    squares, and the same of the others. ``lead`` and ``spread`` sum up how much less the refined
    dictionary leaves out than the first, and its square.
    """

    AXES: ClassVar[dict[str, str]] = {"G": "KF", "T": "KF", "S": "FF"}

    G: Array
    T: Array
    S: Array
    weight: float
    n_zero: float
    zero_squares: float
    n_other: float
    other_squares: float
    lead: float
    spread: float


@dataclass(frozen=True)
class RefinedStatistics(RefinedSums):
    """Discounted sums, both dictionaries, which is shown, since when; samples since they turned."""

    AXES: ClassVar[dict[str, str]] = {**RefinedSums.AXES, "first": "KF", "refined": "KF"}

    first: Array
    refined: Array
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
        return max(zero, _SMALLEST * other, TINY), max(other, TINY), share


@dataclass(frozen=True)
class RefinedLearner(ByGuess):
    """Two stages, each a polar factor of a running sum; the better dictionary is shown.

    1. ``G ← f G + Σ (|c| ∘ c/‖c‖)ᵀ y``, ``D = polar(G)``: the ℓ3 norm of paper D with samples that
       count by their length, without the convex combination of Algorithm 2.
    2. ``T ← f T + Σ (c ∘ [|c| > τ])ᵀ y``, ``D = polar(T)``: Procrustes on the supports that were
       found. Without noise the error falls below any power of t, as τ falls with it (errata D.4).

    The threshold τ is four standard deviations of the codes that are zero but for noise, whose
    variance v₀, beside v₁ of the others, comes from a mixture of two normals that is fitted on the
    way. It is six if v₀ is below v₁/1000: then little of it is noise, much is atoms that still
    turn, and two of them that are mixed by more than τ would stay so.

    The second stage begins on the codes of the first, after 50 N samples. It takes over when the
    first has settled (100 N samples, and v₁ is 30 times v₀) and leaves out no less, and is dropped
    again if it then leaves out more by two standard deviations: it may sit where two atoms are
    mixed, or the data may not be sparse at all.

    N² numbers do not follow from a few samples: dictionaries turn when N/4 new samples have come,
    or a 128th of the stream; sums take every batch.
    """

    statistics: ClassVar[type[Statistics]] = RefinedStatistics
    name: ClassVar[str] = "refined"
    coding: ClassVar[str] = "projection"

    first_memory: float = 6.0
    memory: float = 8.0
    settled: float = 100.0
    contrast: float = 30.0
    orthogonal: bool = field(default=True, init=False)

    @property
    def description(self) -> str:
        """Both stages."""
        return "ℓ3 power iteration, then Procrustes on supports"

    @property
    def why(self) -> str:
        """Streams that do not change."""
        return (
            "the stream does not change, so that supports become certain, and least squares on "
            "them end far closer than any norm (docs/lab/orthogonal.md)"
        )

    def first_guess(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Random."""
        return random_orthogonal(Y.shape[1], rng)

    def improved(self, Y: Array, weight: Array, D: Array) -> Array:
        """The first stage on one batch."""
        return polar(cubes_by_length(Y @ D.T).T @ (Y * weight[:, None]), D)

    def begin(self, Y: Array, weight: Array, D: Array) -> RefinedStatistics:
        """The mixture starts from the smaller and the larger half of the first codes."""
        zero = np.zeros(D.shape)
        squares = (Y @ D.T)[weight > 0] ** 2
        lengths = squares.sum(axis=1)
        squares = np.sort(squares[lengths > _EMPTY * lengths.mean()], axis=None)
        half = len(squares) // 2
        low, high = float(squares[:half].sum()), float(squares[half:].sum())
        mixture = (half, low, len(squares) - half, high)
        return RefinedStatistics(zero, zero, zero, 0.0, *mixture, 0.0, 0.0, D, D)

    def summarise(self, past: RefinedStatistics, D: Array, Y: Array, weight: Array) -> RefinedSums:
        """Code with the first dictionary, later with both."""
        weighted = Y * weight[:, None]
        C = Y @ past.first.T
        G, S, total = cubes_by_length(C).T @ weighted, weighted.T @ Y, float(weight.sum())
        if not self._second_stage(past):
            return RefinedSums(G, np.zeros_like(G), S, total, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        C2 = Y @ past.refined.T
        # What the k largest codes leave out, averaged over k as in `ranked`.
        lead = (np.sort(C * C, axis=1) - np.sort(C2 * C2, axis=1)) @ (
            1 - rank_weights(C.shape[1])[::-1]
        )
        if past.chosen:
            C = C2
        squares = C * C
        v0, v1, share = past.mixture
        threshold = (16 if v0 > _NOISY * v1 else 36) * v0
        kept = (squares > threshold) | (squares >= squares.max(axis=1, keepdims=True))
        # Empty samples fit any dictionary: their zeros would tell that this one is exact.
        mean = np.trace(past.S) / past.weight
        counted = np.where(squares.sum(axis=1) > _EMPTY * mean, weight, 0)
        # Probability that a code is zero but for noise.
        odds = np.log(max(share, TINY) / max(1 - share, TINY)) + 0.5 * np.log(v1 / v0)
        zero = counted[:, None] / (
            1 + np.exp(np.minimum(0.5 * squares * (1 / v0 - 1 / v1) - odds, 700))
        )
        n_zero, zero_squares = float(zero.sum()), float((zero * squares).sum())
        return RefinedSums(
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

    def learn(
        self, past: RefinedStatistics, sums: RefinedSums, D: Array, progress: Progress
    ) -> tuple[Array, RefinedStatistics]:
        """Discount, add, decide, and turn the dictionaries."""
        if not sums.weight > 0:
            return D, past
        left = max(0.0, 1 - progress.n_batch / progress.n_seen)
        f = left**self.first_memory
        now = replace(
            past,
            G=f * past.G + sums.G,
            S=past.S + sums.S,
            weight=past.weight + sums.weight,
            pending=past.pending + sums.weight,
        )
        if self._second_stage(past):
            now = self._decided(self._added(now, sums, left**self.memory), progress.n_seen)
        if now.pending < max(len(D) / 4, progress.n_seen / 128):
            return now.shown, now
        first = refined = now.first
        if not now.chosen or progress.step % 8 == 0:  # later it is only there to compare
            first = refined = approach(now.G, now.first)
        if self._second_stage(past):
            refined = approach(now.T, now.refined if now.chosen else first)
        now = replace(now, first=first, refined=refined, pending=0.0)
        return now.shown, now

    def _second_stage(self, past: RefinedStatistics) -> bool:
        return past.weight >= self.settled * len(past.G) / 2

    def _added(self, now: RefinedStatistics, sums: RefinedSums, g: float) -> RefinedStatistics:
        """The sums of the second stage, the past discounted by g."""
        names = ("T", "n_zero", "zero_squares", "n_other", "other_squares", "lead", "spread")
        return replace(
            now, **{name: g * getattr(now, name) + getattr(sums, name) for name in names}
        )

    def _decided(self, now: RefinedStatistics, n_seen: float) -> RefinedStatistics:
        """Whether the refined dictionary is shown."""
        N = len(now.G)
        if now.chosen and now.lead < -2 * np.sqrt(now.spread):
            length = float(np.linalg.norm(now.T)) / np.sqrt(N)
            again = replace(now, T=length * now.first, refined=now.first, lead=0.0, spread=0.0)
            return replace(again, chosen=0.0, since=n_seen)
        v0, v1, _ = now.mixture
        waited = n_seen - now.since >= 2 * n_seen / (self.memory + 1)
        ready = waited and n_seen >= self.settled * N and v1 > self.contrast * v0
        if not now.chosen and ready and now.lead >= 0:
            return replace(now, chosen=1.0, lead=0.0, spread=0.0)
        return now
