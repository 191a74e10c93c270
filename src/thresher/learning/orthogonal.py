"""The interface of learners of orthogonal dictionaries, and their sparsity measures.

The gradient of a sparsity measure is ``w(|c|) ∘ c`` with weights that increase with ``|c|``.
Codes on an orthogonal dictionary have the length of their sample, so a measure that favours large
entries favours sparse codes (paper D, figure 3).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import CodingProblem
from thresher.kernels.floors import TINY
from thresher.learning.statistics import Statistics
from thresher.linalg import Array, polar
from thresher.losses import SquaredL2
from thresher.penalties import Regulariser
from thresher.sets import ConvexSet, Reals, SpectralBall

START_ITERATIONS = 20
"""Iterations of the batch version on the first batch (paper D, Table I)."""

NEGLIGIBLE_ENERGY = 1e-10
"""Energy relative to that of all samples, or of the strongest direction, that is rounding error."""

_RANK_POWER = 1.5


class Progress(NamedTuple):
    """The position in a stream after a batch has been coded."""

    step: int
    """Number of this batch, from one."""
    n_batch: float
    """Weight of its samples."""
    n_seen: float
    """Weight of all samples so far, with this batch."""
    keep: float
    """Discount of the past, by the user's forgetting; one for the plain average."""


class OrthogonalLearner(ABC):
    """How a square dictionary is learned, by default on the unit spectral ball.

    There codes are products with the atoms. Statistics contain at least ``S = Σ yᵀy`` and
    ``weight``, from which missing values are imputed and data whitened.
    """

    statistics: ClassVar[type[Statistics]]
    """The class of the statistics."""
    name: ClassVar[str]
    """Short name, for states and files."""
    coding: ClassVar[str] = "projection"
    """How codes are found: by "projection" on the atoms, or as the solution of a "lasso"."""
    whitens: ClassVar[bool] = True
    """Whether it can learn from whitened samples."""

    @property
    def orthogonal(self) -> bool:
        """Whether dictionaries are orthogonal, or only lie in their set."""
        return True

    @property
    def region(self) -> ConvexSet:
        """The set of the dictionaries."""
        return SpectralBall()

    @property
    @abstractmethod
    def description(self) -> str:
        """A short description of the method."""

    @property
    @abstractmethod
    def why(self) -> str:
        """The measured reason for its choice."""

    def problem(self, D: Array) -> CodingProblem:
        """The coding problem: ``½‖y − cD‖²`` over all codes c."""
        return CodingProblem(D, SquaredL2(), Regulariser(region=Reals()))

    def codes(self, Y: Array, D: Array) -> Array:
        """Codes of samples: ``y Dᵀ``."""
        return Y @ D.T

    def energies(self, statistics: Any, D: Array) -> Array:
        """Mean square of the codes on every atom: ``d S dᵀ``."""
        found: Array = np.einsum("ij,ij->i", D @ statistics.S, D) / max(statistics.weight, TINY)
        return found

    def nearest(self, D: Array) -> Array:
        """The nearest dictionary to start from: the polar factor."""
        if np.linalg.matrix_rank(D) < len(D):
            raise ValueError(
                "init is singular, so no orthogonal matrix is nearest to it, and zero has no "
                "gradient; give N independent rows, or leave init out."
            )
        return polar(D)

    @abstractmethod
    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Learn a dictionary from the first batch alone."""

    @abstractmethod
    def begin(self, Y: Array, weight: Array, D: Array) -> Any:
        """Statistics of no sample; the first batch may set scales."""

    @abstractmethod
    def summarise(self, past: Any, D: Array, Y: Array, weight: Array) -> Any:
        """Statistics of a block; they add up over blocks."""

    @abstractmethod
    def update(self, past: Any, batch: Any, D: Array, progress: Progress) -> tuple[Array, Any]:
        """Return the next dictionary and the statistics of all samples."""


def no_dictionary() -> Array:
    """An empty matrix: the dictionaries in the statistics of a batch."""
    return np.empty((0, 0))


def random_orthogonal(n: int, rng: np.random.Generator) -> Array:
    """A uniform random member of the orthogonal group."""
    return polar(rng.standard_normal((n, n)))


def second_moments(Y: Array, weight: Array) -> Array:
    """``Σ yᵀ y``."""
    S: Array = (Y * weight[:, None]).T @ Y
    return S


def principal_directions(
    S: Array, near: Array | None = None, order: NDArray[np.intp] | None = None
) -> Array:
    """Eigenvectors of second moments in rows, the strongest first.

    Directions without any energy are not unique; those nearest to the weakest rows of ``near`` are
    taken, by default of the identity. ``order`` is `by_energy`, if it is known.
    """
    values, V = np.linalg.eigh(S)
    directions = np.ascontiguousarray(V[:, ::-1].T)
    n_null = int(np.count_nonzero(values <= NEGLIGIBLE_ENERGY * values[-1]))
    if n_null:
        near = np.eye(len(S)) if near is None else near
        order = by_energy(S, near) if order is None else order
        weakest = near[np.sort(order[-n_null:])]
        directions[-n_null:] = rotated(directions[-n_null:], weakest)
    # Of v and −v, the one whose largest entry is positive.
    largest = directions[np.arange(len(S)), np.abs(directions).argmax(axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]


def rotated(V: Array, D: Array) -> Array:
    """The orthonormal rows in the span of V that are nearest to those of D: ``polar(D Vᵀ) V``."""
    rows: Array = polar(D @ V.T, np.eye(len(V))) @ V
    return rows


def by_energy(S: Array, D: Array) -> NDArray[np.intp]:
    """Indices of the atoms in descending order of ``d S dᵀ``."""
    return np.argsort(-np.einsum("ij,ij->i", D @ S, D), kind="stable")


# --------------------------------------------------------------------- sparsity measures


def power_gradient(C: Array, p: int) -> Array:
    """``|c|^(p−2) ∘ c``, the gradient of ``‖c‖_p^p / p``."""
    size = np.abs(C)
    weighted: Array = size ** (p - 2) * C
    return weighted


def cubes_by_length(C: Array) -> Array:
    """``|c| ∘ c / ‖c‖``: cubes, with samples weighted by their squared length, as in a variance.

    Without the division a few long samples dominate.
    """
    length = np.linalg.norm(C, axis=1, keepdims=True)
    weighted: Array = np.divide(np.abs(C) * C, length, out=np.zeros_like(C), where=length > 0)
    return weighted


def rank_weighted(C: Array) -> Array:
    """``j^(−3/2) c`` for the j-th largest code of a sample.

    This is the gradient of ``½ Σ_k a_k ‖k largest codes‖²`` with decreasing ``a_k > 0``: its
    maximiser minimises the energy outside the k largest codes, averaged over k.
    """
    order = np.argsort(-np.abs(C), axis=1, kind="stable")
    weights = np.empty(C.shape)
    weights.flat[order + C.shape[1] * np.arange(len(C))[:, None]] = rank_weights(C.shape[1])
    return weights * C


def rank_weights(n: int) -> Array:
    """``j^(−3/2)``, j = 1 … n."""
    weights: Array = np.arange(1.0, n + 1) ** -_RANK_POWER
    return weights


def tail_energies(C: Array) -> Array:
    """Energy of every sample outside its k largest codes, k = 1 … N, shape (n, N)."""
    ascending = np.sort(C * C, axis=1)
    ascending[:, 1:] = np.cumsum(ascending[:, :-1], axis=1)
    ascending[:, 0] = 0
    return ascending[:, ::-1]


def keep_largest(C: Array, k: int, lengths: Array | None = None) -> Array:
    """``T_k`` of paper D, V-C: the k largest codes of every sample; zero elsewhere.

    For atoms of different ``lengths``, the k largest contributions ``|c_j| ‖d_j‖``.
    """
    if k >= C.shape[1]:
        return C.copy()
    size = np.abs(C) if lengths is None else np.abs(C) * lengths
    places = np.argpartition(size, -k, axis=1)[:, -k:] + C.shape[1] * np.arange(len(C))[:, None]
    kept = np.zeros_like(C)
    kept.flat[places] = C.flat[places]
    return kept
