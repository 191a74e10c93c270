"""Learners of square dictionaries: their interface, and what those on the spectral ball share."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from thresher.encoding import CodingProblem
from thresher.kernels.floors import TINY
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, polar
from thresher.losses import SquaredL2
from thresher.penalties import Constrained
from thresher.sets import ConvexSet, Reals, SpectralBall

START_ITERATIONS = 20
"""Of the batch version on the first batch (paper D, Table I)."""


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
    """How a square dictionary is learned: what is summed up, and what follows.

    Statistics have the arrays and numbers of their sums at least, ``S = Σ yᵀy`` and ``weight``
    among them, so that gaps can be filled and data whitened.
    """

    @property
    def statistics(self) -> type[Statistics]:
        """What `begin` and `learn` give."""

    @property
    def name(self) -> str:
        """Short name, for states and files."""

    @property
    def coding(self) -> str:
        """How codes are found: by "projection" on the atoms, or as the solution of a "lasso"."""

    @property
    def description(self) -> str:
        """What it does, in a few words."""

    @property
    def why(self) -> str:
        """When it is the one to use, as it was measured."""

    @property
    def orthogonal(self) -> bool:
        """Whether dictionaries are orthogonal, or only lie in their set."""

    @property
    def region(self) -> ConvexSet:
        """The set that dictionaries lie in."""

    @property
    def whitens(self) -> bool:
        """Whether it can learn from whitened samples."""

    def problem(self, D: Array) -> CodingProblem:
        """What codes minimise."""

    def codes(self, Y: Array, D: Array) -> Array:
        """The codes of samples."""

    def energies(self, statistics: Any, D: Array) -> Array:
        """Mean square of the codes on every atom."""

    def nearest(self, D: Array) -> Array:
        """A dictionary to start from, as near to the given one as can be."""

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """The batch version on the first batch."""

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


class ByProducts:
    """What learners in the spectral ball share: codes are products."""

    region: ClassVar[ConvexSet] = SpectralBall()
    whitens: ClassVar[bool] = True

    def problem(self, D: Array) -> CodingProblem:
        """``½‖y − cD‖²`` over all codes c."""
        return CodingProblem(D, SquaredL2(), Constrained(region=Reals()))

    def codes(self, Y: Array, D: Array) -> Array:
        """``y Dᵀ``."""
        return Y @ D.T

    def energies(self, statistics: Any, D: Array) -> Array:
        """``d S dᵀ``, as a mean."""
        found: Array = np.einsum("ij,ij->i", D @ statistics.S, D) / max(statistics.weight, TINY)
        return found

    def nearest(self, D: Array) -> Array:
        """The nearest orthogonal matrix."""
        if np.linalg.matrix_rank(D) < len(D):
            raise ValueError(
                "init is singular, so no orthogonal matrix is nearest to it, and zero has no "
                "gradient; give N independent rows, or leave init out."
            )
        return polar(D)


class ByGuess(ByProducts, ABC):
    """Learners that start from a guess, and improve it on the first batch."""

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """The first guess, improved."""
        D = self.first_guess(Y, weight, rng)
        for _ in range(START_ITERATIONS):
            D = self.improved(Y, weight, D)
        return D

    @abstractmethod
    def first_guess(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Where the batch version starts."""

    @abstractmethod
    def improved(self, Y: Array, weight: Array, D: Array) -> Array:
        """One iteration of the batch version."""
