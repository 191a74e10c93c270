"""Orthogonal dictionaries from streams that drift: for compression, with a half-life."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from thresher.learning.orthogonal import (
    NEGLIGIBLE_ENERGY,
    START_ITERATIONS,
    OrthogonalLearner,
    Progress,
    by_energy,
    no_dictionary,
    principal_directions,
    rank_weighted,
    rotated,
    second_moments,
    tail_energies,
)
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, approach, polar

_MIN_ADVANTAGE = 0.1  # of the learned dictionary, in logarithms of tail energies; heuristic


@dataclass(frozen=True)
class TrackedStatistics(Statistics):
    """Gradient, second moments, tail energies, and the two dictionaries that are compared.

    Attributes
    ----------
    G : array of shape (N, N)
        Gradient of the sparsity measure.
    S : array of shape (N, N)
        ``Σ yᵀy``.
    left, left_mixed : arrays of shape (N,)
        Tail energies of the codes on either dictionary.
    weight : float
        Total weight of the samples.
    learned, mixed : arrays of shape (N, N)
        The learned dictionary, and the one mixed with principal directions; empty for a batch.
    pending, pending_mixed : float
        Weight of the samples since the last update of either.
    """

    AXES: ClassVar[dict[str, str]] = {
        "G": "KF",
        "S": "FF",
        "left": "K",
        "left_mixed": "K",
        "learned": "KF",
        "mixed": "KF",
    }

    G: Array
    S: Array
    left: Array
    left_mixed: Array
    weight: float
    learned: Array = field(default_factory=no_dictionary)
    mixed: Array = field(default_factory=no_dictionary)
    pending: float = 0.0
    pending_mixed: float = 0.0

    @property
    def shown(self) -> Array:
        """The mixed dictionary, unless the learned one has clearly smaller tail energies.

        Tail energies are compared for k up to N/2, by logarithms, so that all k count alike. Larger
        k, and energies below a ten-billionth of the total, may be rounding errors.
        """
        half = max(1, len(self.left) // 2)
        negligible = max(NEGLIGIBLE_ENERGY * float(np.trace(self.S)), np.finfo(np.float64).tiny)
        left = np.maximum([self.left[:half], self.left_mixed[:half]], negligible)
        learned, mixed = np.log(left).mean(axis=1)
        return self.learned if learned < mixed - _MIN_ADVANTAGE else self.mixed


@dataclass(frozen=True)
class TrackedLearner(OrthogonalLearner):
    """Track the dictionary with the least energy outside the k largest codes, averaged over k.

    ``G ← f G + Σ (j^(−3/2) c_j)ᵀ y`` with codes ranked within their sample, ``D = polar(G)``; f is
    the user's forgetting. Second moments detect weak directions, such as those of sensors that fell
    silent, long before the codes do. So a second dictionary has the principal directions V, with
    the strongest quarter rotated, within its span, to the strongest atoms of D:
    ``polar(D₁ V₁ᵀ) V₁`` above ``V₂``. It is shown, unless D clearly left out less energy so far, on
    samples before either was updated with them.

    D is updated after every N/16 new samples, V after every N/64, by a symmetric eigenvalue
    problem. Longer intervals would save most of the time, but lose accuracy.
    """

    statistics: ClassVar[type[Statistics]] = TrackedStatistics
    name: ClassVar[str] = "tracked"

    rotated_share: float = 0.25

    @property
    def description(self) -> str:
        """The sparsity measure and the second dictionary."""
        return "ranked codes and principal directions"

    @property
    def why(self) -> str:
        """Streams that drift."""
        return "a half-life was given, and ranked codes track drift best (docs/lab/orthogonal.md)"

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Power iterations on the first batch, from its principal directions."""
        D = principal_directions(second_moments(Y, weight))
        for _ in range(START_ITERATIONS):
            D = polar(rank_weighted(Y @ D.T).T @ (Y * weight[:, None]), D)
        return D

    def begin(self, Y: Array, weight: Array, D: Array) -> TrackedStatistics:
        """Zeros; both dictionaries are D."""
        return replace(TrackedStatistics.zeros(*D.shape), learned=D, mixed=D)

    def summarise(
        self, past: TrackedStatistics, D: Array, Y: Array, weight: Array
    ) -> TrackedStatistics:
        """Code with both dictionaries."""
        C = Y @ past.learned.T
        weighted = Y * weight[:, None]
        return TrackedStatistics(
            G=rank_weighted(C).T @ weighted,
            S=weighted.T @ Y,
            left=weight @ tail_energies(C),
            left_mixed=weight @ tail_energies(Y @ past.mixed.T),
            weight=float(weight.sum()),
        )

    def update(
        self, past: TrackedStatistics, batch: TrackedStatistics, D: Array, progress: Progress
    ) -> tuple[Array, TrackedStatistics]:
        """Discount, add, and update both dictionaries."""
        if not batch.weight > 0:
            return D, past
        f = progress.keep
        now = replace(
            past,
            G=f * past.G + batch.G,
            S=f * past.S + batch.S,
            left=f * past.left + batch.left,
            left_mixed=f * past.left_mixed + batch.left_mixed,
            weight=f * past.weight + batch.weight,
            pending=past.pending + batch.weight,
            pending_mixed=past.pending_mixed + batch.weight,
        )
        if now.pending >= len(D) / 16:
            now = replace(now, learned=approach(now.G, now.learned), pending=0.0)
        if now.pending_mixed >= len(D) / 64:
            now = replace(now, mixed=self._mixed(now.S, now.learned), pending_mixed=0.0)
        return now.shown, now

    def _mixed(self, S: Array, D: Array) -> Array:
        """Principal directions, the strongest rotated towards the strongest atoms."""
        order = by_energy(S, D)
        V = principal_directions(S, D, order)
        K = max(1, round(self.rotated_share * len(D)))
        V[:K] = rotated(V[:K], D[np.sort(order[:K])])
        return V
