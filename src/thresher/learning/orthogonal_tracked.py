"""Orthogonal dictionaries from streams that drift: for compression, with a half-life."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.learning.orthogonal import ByGuess, Progress, second_moments
from thresher.learning.sparsity import left_out, ranked
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, approach, polar

_CLEARLY = 0.1
_NOTHING = 1e-10  # of the energy of all samples, or of the strongest direction


@dataclass(frozen=True)
class TrackedSums(Statistics):
    """Sums of a block: the gradient, second moments, and what either dictionary leaves out."""

    AXES: ClassVar[dict[str, str]] = {"G": "KF", "S": "FF", "left": "K", "left_mixed": "K"}

    G: Array
    S: Array
    left: Array
    left_mixed: Array
    weight: float


@dataclass(frozen=True)
class TrackedStatistics(TrackedSums):
    """Discounted sums, both dictionaries, and samples since each of them turned."""

    AXES: ClassVar[dict[str, str]] = {**TrackedSums.AXES, "learned": "KF", "mixed": "KF"}

    learned: Array
    mixed: Array
    pending: float = 0.0
    pending_mixed: float = 0.0

    @property
    def shown(self) -> Array:
        """The mixed dictionary, unless the learned one clearly left out less, for k up to N/2.

        Logarithms, so that all k count; beyond, what is left may be rounding, and so may be less
        than a ten-billionth of all: where samples have few directions, chance would choose.
        """
        half = max(1, len(self.left) // 2)
        nothing = max(_NOTHING * float(np.trace(self.S)), np.finfo(np.float64).tiny)
        left = np.maximum([self.left[:half], self.left_mixed[:half]], nothing)
        learned, mixed = np.log(left).mean(axis=1)
        return self.learned if learned < mixed - _CLEARLY else self.mixed


@dataclass(frozen=True)
class TrackedLearner(ByGuess):
    """Follow the dictionary whose k largest codes leave out least, averaged over k.

    ``G ← f G + Σ (j^(−3/2) c_j)ᵀ y`` with codes ranked within their sample, ``D = polar(G)``; f is
    the user's forgetting. Weak directions, such as those of sensors that fell silent, are told by
    the second moments at once, long before their codes would turn an atom. So a second dictionary
    has the principal directions V, with the strongest quarter turned, within its span, to the
    strongest atoms of D: ``polar(D₁ V₁ᵀ) V₁`` above ``V₂``. It is shown, unless D left out clearly
    less so far, on samples that neither had seen.

    D turns when N/16 new samples have come, V when N/64 have: a symmetric eigenvalue problem.
    Waiting longer would save most of the time, but already costs accuracy.
    """

    statistics: ClassVar[type[Statistics]] = TrackedStatistics
    name: ClassVar[str] = "tracked"
    coding: ClassVar[str] = "projection"

    turned_share: float = 0.25
    orthogonal: bool = field(default=True, init=False)

    @property
    def description(self) -> str:
        """The sparsity function and its companion."""
        return "ranked codes and principal directions"

    @property
    def why(self) -> str:
        """Streams that drift."""
        return "a half-life was given: what drifts is followed by ranks (docs/lab/orthogonal.md)"

    def first_guess(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Principal directions of the first batch."""
        return principal_directions(second_moments(Y, weight))

    def improved(self, Y: Array, weight: Array, D: Array) -> Array:
        """One power iteration on a batch."""
        return polar(ranked(Y @ D.T).T @ (Y * weight[:, None]), D)

    def begin(self, Y: Array, weight: Array, D: Array) -> TrackedStatistics:
        """Nothing seen."""
        zero, none = np.zeros(D.shape), np.zeros(len(D))
        return TrackedStatistics(zero, zero, none, none, 0.0, D, D)

    def summarise(self, past: TrackedStatistics, D: Array, Y: Array, weight: Array) -> TrackedSums:
        """Code with both dictionaries."""
        C = Y @ past.learned.T
        weighted = Y * weight[:, None]
        return TrackedSums(
            G=ranked(C).T @ weighted,
            S=weighted.T @ Y,
            left=weight @ left_out(C),
            left_mixed=weight @ left_out(Y @ past.mixed.T),
            weight=float(weight.sum()),
        )

    def learn(
        self, past: TrackedStatistics, sums: TrackedSums, D: Array, progress: Progress
    ) -> tuple[Array, TrackedStatistics]:
        """Discount, add, and turn both dictionaries."""
        if not sums.weight > 0:
            return D, past
        f = progress.keep
        now = replace(
            past,
            G=f * past.G + sums.G,
            S=f * past.S + sums.S,
            left=f * past.left + sums.left,
            left_mixed=f * past.left_mixed + sums.left_mixed,
            weight=f * past.weight + sums.weight,
            pending=past.pending + sums.weight,
            pending_mixed=past.pending_mixed + sums.weight,
        )
        if now.pending >= len(D) / 16:
            now = replace(now, learned=approach(now.G, now.learned), pending=0.0)
        if now.pending_mixed >= len(D) / 64:
            now = replace(now, mixed=self._turned(now.S, now.learned), pending_mixed=0.0)
        return now.shown, now

    def _turned(self, S: Array, D: Array) -> Array:
        """Principal directions, the strongest turned towards the strongest atoms."""
        order = by_energy(S, D)
        V = principal_directions(S, D, order)
        K = max(1, round(self.turned_share * len(D)))
        V[:K] = turned(V[:K], D[np.sort(order[:K])])
        return V


def turned(V: Array, D: Array) -> Array:
    """The orthonormal rows in the span of V that are nearest to those of D: ``polar(D Vᵀ) V``."""
    rows: Array = polar(D @ V.T, np.eye(len(V))) @ V
    return rows


def by_energy(S: Array, D: Array) -> NDArray[np.intp]:
    """Atoms in falling order of ``d S dᵀ``."""
    return np.argsort(-np.einsum("ij,ij->i", D @ S, D), kind="stable")


def principal_directions(
    S: Array, near: Array | None = None, order: NDArray[np.intp] | None = None
) -> Array:
    """Eigenvectors of second moments in rows, the strongest first.

    In directions that the samples never took, any vectors would do; those near to the weakest rows
    of ``near`` are taken, by default of the identity. ``order`` is `by_energy`, if it is known.
    """
    values, V = np.linalg.eigh(S)
    directions = np.ascontiguousarray(V[:, ::-1].T)
    n_null = int(np.count_nonzero(values <= _NOTHING * values[-1]))
    if n_null:
        near = np.eye(len(S)) if near is None else near
        order = by_energy(S, near) if order is None else order
        weakest = near[np.sort(order[-n_null:])]
        directions[-n_null:] = turned(directions[-n_null:], weakest)
    # Of v and −v, the one whose largest entry is positive.
    largest = directions[np.arange(len(S)), np.abs(directions).argmax(axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]
