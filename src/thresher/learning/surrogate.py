"""The quadratic surrogate of paper A, (11)–(12): what a stream leaves behind, and its minimiser.

Coded samples enter the dictionary step only through ``A = Σ cᵀc`` and ``B = Σ cᵀx̃``, where x̃ is the
sample without its outliers: ``x̃ = cD − ∇loss``. If the gradient of the loss has Lipschitz constant
one, this quadratic lies above the loss and touches it at the current D; where an entry is missing
the gradient is zero and ``x̃ = cD``, so masks change nothing (errata A.1).

Since ``Σ cᵀx̃ = A D − Σ cᵀ∇``, a batch is summed up by A and by its gradient.
"""

from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import numpy as np

from thresher.encoding.fit import Fit
from thresher.kernels.quadratic import Bends, pulled
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.penalties import Constrained

_LEAST_CURVATURE = 0.02


@dataclass(frozen=True)
class QuadraticStatistics(Statistics):
    """The quadratic that stands for a stream.

    Attributes
    ----------
    A : float64 array of shape (K, K)
        ``Σ cᵀc``.
    B : float64 array of shape (K, F)
        ``Σ cᵀx̃``.
    weight : float
        Total weight of the samples.
    """

    AXES: ClassVar[dict[str, str]] = {"A": "KK", "B": "KF"}

    A: Array
    B: Array
    weight: float

    @classmethod
    def empty(cls, n_components: int, n_features: int) -> "QuadraticStatistics":
        """Statistics of no sample."""
        A = np.zeros((n_components, n_components))
        return cls(A, np.zeros((n_components, n_features)), 0.0)


@dataclass(frozen=True)
class BatchSums:
    """A coded block or batch, reduced to sums; they add up over blocks.

    Attributes
    ----------
    A : float64 array of shape (K, K)
        ``Σ κ cᵀc``, κ bounding the curvature of a row's loss, sample and entry weights included.
    gradient : float64 array of shape (K, F)
        ``Σ cᵀ∇``, weights included.
    weight : float
        Total weight of the samples.
    curvature : float64 array of shape (F,)
        ``Σ ‖c‖²·|∇|/|x − cD|``: the curvature that the residuals show, by feature.
    inlier : float64 array of shape (F,)
        ``Σ w‖c‖²``, w the weight of the entry: that sum if no entry were an outlier. Zero if the
        loss has no largest curvature, and so no inliers.
    energy : float
        ``Σ κ‖c‖²``: that sum if every entry had the largest weight of its row.
    """

    A: Array
    gradient: Array
    weight: float
    curvature: Array
    inlier: Array
    energy: float

    @classmethod
    def of(cls, fit: Fit, sample_weight: Array | None) -> "BatchSums":
        """Sum up a coded block."""
        if (at_once := fit.sums_at_once(sample_weight)) is not None:
            return cls._from(*at_once, sample_weight)
        C, kappa = fit.C, fit.row_curvatures()
        energy = np.einsum("nk,nk->n", C, C)
        # A copy, since the product of a matrix with itself is rounded in another way.
        weighted, weighted_energy, total = C.copy(), energy, float(len(C))
        if sample_weight is not None:
            weights = sample_weight.astype(C.dtype)
            kappa, total = weights * kappa, float(weights.sum(dtype=np.float64))
            weighted, weighted_energy = C * weights[:, None], energy * weights
        whole = energy * kappa
        energy_in_all = float(np.add.reduce(whole, None, np.float64))
        F = fit.D.shape[1]
        bounded = np.isfinite(fit.loss.curvature)
        inlier = fit.inlier_energies(whole) if bounded else np.zeros(F)
        return cls(
            ((C * kappa[:, None]).T @ C).astype(np.float64, copy=False),
            fit.dictionary_gradient(weighted).astype(np.float64, copy=False),
            total,
            fit.curvatures(weighted_energy).astype(np.float64, copy=False),
            inlier,
            energy_in_all,
        )

    @classmethod
    def _from(
        cls, A: Array, gradient: Array, curvature: Array, squares: Array, weight: Array | None
    ) -> "BatchSums":
        """From what was summed up at once, where the curvature of an inlier is one."""
        energies = squares if weight is None else squares * weight
        energy = float(np.add.reduce(energies, None, np.float64))
        total = float(len(squares)) if weight is None else float(weight.sum(dtype=np.float64))
        double = (part.astype(np.float64, copy=False) for part in (A, gradient, curvature))
        A, gradient, curvature = double
        return cls(A, gradient, total, curvature, np.full(len(curvature), energy), energy)

    def __add__(self, other: "BatchSums") -> "BatchSums":
        """Merge two sums."""
        return type(self)(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        )

    def surrogate(self, D: Array, sharp: bool) -> QuadraticStatistics:
        """The quadratic that stands for the batch in the dictionary step, at the dictionary D.

        As published its curvature is that of an inlier, everywhere. ``sharp`` takes for each
        feature the mean curvature that its samples have: a quadratic through the residual e that
        majorises the loss needs no more than ``|∇|/|e|``, which is small for outliers (here at
        least a fiftieth of an inlier's) and zero where entries are missing. On the average over
        samples it is still above the loss, and the dictionary can follow a change of light in one
        step instead of moving by λ at a time.

        Losses whose curvature has no bound (KL, a user's own) are always taken this way, with the
        curvature that residuals show and no least one: features of very different sizes have very
        different curvatures, and each moves by its own.
        """
        AD = self.A @ D.astype(np.float64, copy=False)
        bounded = bool(np.logical_or.reduce(self.inlier))
        if not sharp and bounded:
            return QuadraticStatistics(self.A, AD - self.gradient, self.weight)
        energy = self.energy if self.energy > 0 else 1.0
        least = _LEAST_CURVATURE if bounded else 0.0
        bends = Bends(self.curvature, self.inlier, energy, bounded, least)
        pulled(AD, np.ascontiguousarray(self.gradient), bends, AD)
        return QuadraticStatistics(self.A, AD, self.weight)


@dataclass(frozen=True)
class DictionaryProblem:
    """``min over D of ½ tr(DᵀA D) − tr(DᵀB) + ψ(D)``, A and B being means: (12).

    `of` leaves out frozen atoms, whose part of the quadratic moves into B.
    """

    A: Array
    B: Array
    regulariser: Constrained

    @classmethod
    def of(
        cls,
        statistics: QuadraticStatistics,
        D: Array,
        regulariser: Constrained,
        free: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> "DictionaryProblem":
        """The problem of the free atoms, given the values of the others in ``D``."""
        scale = 1.0 / statistics.weight if statistics.weight > 0 else 0.0
        if np.logical_and.reduce(free):
            return cls(statistics.A * scale, statistics.B * scale, regulariser)
        A, B = statistics.A[free], statistics.B[free]
        B = B - A[:, ~free] @ D[~free].astype(np.float64)
        return cls(A[:, free] * scale, B * scale, regulariser)

    def objective(self, D: Array) -> float:
        """Value at D; negative at the optimum, up to the constant ``½ mean ‖x̃‖²``."""
        quadratic = float(np.vdot(D, self.A @ D)) / 2 - float(np.vdot(D, self.B))
        return quadratic + float(self.regulariser.value(D).sum())

    def gradient(self, D: Array) -> Array:
        """``A D − B``."""
        return self.A @ D - self.B

    def residual(self, D: Array) -> float:
        """``L·‖D − prox(D − ∇/L)‖`` relative to ‖B‖: zero exactly at the optimum."""
        L = float(np.linalg.norm(self.A, 2))
        size = float(np.linalg.norm(self.B))
        if L == 0 or size == 0:
            return 0.0
        moved = self.regulariser.prox(D - self.gradient(D) / L, 1 / L)
        return L * float(np.linalg.norm(D - moved)) / size


class DictionaryStep(Protocol):
    """A way to minimise the surrogate, started at the current dictionary."""

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Return better atoms as a new array; ``D`` has the free atoms only."""
