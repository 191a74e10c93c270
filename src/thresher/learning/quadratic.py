"""Quadratic majorisers of the loss, minimised by block coordinate descent: paper A, (11)–(12).

Let a sample x have the codes c, found with the dictionary D₀, and let ``x̃ = cD₀ − ∇loss`` be the
sample without its outliers. If the gradient of the loss has the Lipschitz constant κ, the quadratic

    loss(x, cD₀) + ½ κ‖c(D − D₀)‖² − ⟨x̃ − cD₀, c(D − D₀)⟩

majorises the loss in the dictionary D, with equality at D₀. It depends on the sample only through
``κ cᵀc`` and ``cᵀ(x̃ − cD₀)``, which add up over samples. Missing entries have no gradient, so masks
need no special treatment (errata A.1).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.kernels.quadratic import AtomSet, FeatureCurvature, scaled_steps, sweeps
from thresher.learning.statistics import Learner, Statistics
from thresher.linalg import Array, length
from thresher.penalties import Regulariser

_MIN_CURVATURE = 0.02  # relative to inliers; heuristic, limits steps of features with outliers
_MIN_ENTRY = 1e6  # in units of the smallest normal number: smaller entries of A are set to zero
_JOINT_TOL, _JOINT_MAX_ITER = 1e-6, 100  # of projected gradient steps, where atoms are coupled


@dataclass(frozen=True)
class QuadraticStatistics(Statistics):
    """A quadratic in the dictionary, around the D₀ of a batch, or around zero for a stream.

    Attributes
    ----------
    A : float64 array of shape (K, K)
        ``Σ κ cᵀc``, κ bounding the curvature of a sample's loss; weights included.
    B : float64 array of shape (K, F)
        ``Σ cᵀ(x̃ − cD₀)``; ``Σ cᵀx̃`` for a stream.
    weight : float
        Total weight of the samples.
    curvature : float64 array of shape (F,)
        ``Σ ‖c‖²·|∇|/|x − cD₀|``: the curvature of the residuals, by feature.
    inlier : float64 array of shape (F,)
        The same sum if no entry were an outlier; zero if the curvature of the loss has no bound.
    """

    AXES: ClassVar[dict[str, str]] = {"A": "KK", "B": "KF", "curvature": "F", "inlier": "F"}

    A: Array
    B: Array
    weight: float
    curvature: Array
    inlier: Array

    def around_zero(self, D: Array, sharp: bool) -> Self:
        """Return the quadratic of a batch that was coded with D as one around zero.

        As published, its curvature is that of inliers in all entries. With ``sharp`` it is, for
        each feature, the mean curvature of the residuals: a quadratic through the residual e
        majorises the loss if its curvature is ``|∇|/|e|``. That is small for outliers (here at
        least a fiftieth of that of inliers) and zero for missing entries. With it, the dictionary
        follows a change of lighting in one step, instead of in steps of size λ.

        Losses of unbounded curvature, such as KL, always use the curvature of the residuals,
        without a lower bound.
        """
        AD = self.A @ D.astype(np.float64, copy=False)
        bounded = bool(np.logical_or.reduce(self.inlier))
        if not sharp and bounded:
            return replace(self, B=AD + self.B)
        energy = float(self.A.trace())
        lower = _MIN_CURVATURE if bounded else 0.0
        curvature = FeatureCurvature(
            self.curvature, self.inlier, energy if energy > 0 else 1.0, bounded, lower
        )
        scaled_steps(AD, np.ascontiguousarray(self.B), curvature, AD)
        return replace(self, B=AD)


@dataclass(frozen=True)
class DictionaryProblem:
    """``min over D of ½ tr(DᵀA D) − tr(DᵀB) + ψ(D)``, A and B being means: (12)."""

    A: Array
    B: Array
    regulariser: Regulariser

    @classmethod
    def of(
        cls,
        statistics: QuadraticStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> "DictionaryProblem":
        """The problem of the free atoms, given the values of the others in ``D``."""
        scale = 1.0 / statistics.weight if statistics.weight > 0 else 0.0
        if np.logical_and.reduce(free):
            return cls(statistics.A * scale, statistics.B * scale, regulariser)
        A, B = statistics.A[free], statistics.B[free]
        B = B - A[:, ~free] @ D[~free].astype(np.float64)
        return cls(A[:, free] * scale, B * scale, regulariser)

    def objective(self, D: Array) -> float:
        """Value at D, without the constant of the quadratic."""
        quadratic = float(np.vdot(D, self.A @ D)) / 2 - float(np.vdot(D, self.B))
        return quadratic + float(self.regulariser.value(D).sum())

    def gradient(self, D: Array) -> Array:
        """``A D − B``."""
        return self.A @ D - self.B


class DictionaryStep(Protocol):
    """A method that minimises the quadratic, started at the current dictionary."""

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Return better atoms as a new array; ``D`` has the free atoms only."""


@dataclass(frozen=True)
class BlockDescent:
    """``d_k ← prox(d_k + (B_k − A_k D)/A_kk)``, one atom after the other, in sweeps.

    As a function of d_k the quadratic is isotropic, so each update is the exact minimiser: there is
    no step size, and the objective never increases. Common sets use a compiled sweep, in the
    precision of the dictionary.

    Parameters
    ----------
    max_sweeps : int
        Maximum number of sweeps.
    tol : float
        Movement of the atoms in a sweep, relative to their length, at which sweeps end.
    """

    max_sweeps: int = 8
    tol: float = 1e-5

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Sweep from D; coupled atoms move together, by projected gradient steps."""
        if problem.regulariser.form.couples_rows:
            return _projected_gradient(problem, D).astype(D.dtype)
        D = np.array(D, order="C")
        A = np.ascontiguousarray(problem.A, dtype=D.dtype)
        B = np.ascontiguousarray(problem.B, dtype=D.dtype)
        # Discounted entries of long unused atoms are too small for a division.
        tiny = np.abs(A) < _MIN_ENTRY * np.finfo(D.dtype).tiny
        if np.logical_or.reduce(tiny, None):
            A = np.where(tiny, D.dtype.type(0), A)
        least = self.tol * length(D)
        form = problem.regulariser.form
        radius = min(form.sum_radius, form.length_radius)
        if form.elastic and (form.is_orthant or (form.is_ball and radius < np.inf)):
            by_sum = form.sum_radius < np.inf
            atoms = AtomSet.of(D.dtype, form.l1, form.l2, radius, by_sum)
            sweeps(A, B, D, atoms, D.dtype.type(least), self.max_sweeps)
            return D
        for _ in range(self.max_sweeps):
            if _sweep(problem.regulariser, A, B, D) <= least:
                break
        return D


def _sweep(regulariser: Regulariser, A: Array, B: Array, D: Array) -> float:
    """Sweep once over atoms in any set, in place; return how far they moved."""
    moved = 0.0
    for k in range(len(D)):
        if A[k, k] <= 0:
            continue
        target = D[k] + (B[k] - A[k] @ D) / A[k, k]
        atom = regulariser.prox(target[None], 1 / A[k, k])[0]
        moved += float(np.sum((atom - D[k]) ** 2))
        D[k] = atom
    return float(np.sqrt(moved))


def _projected_gradient(problem: DictionaryProblem, D: Array) -> Array:
    """``D ← prox(D − η(A D − B))`` with ``η = 1/‖A‖₂``, until the objective converges.

    Block descent would give one atom the share of the others in a common bound.
    """
    D = D.astype(np.float64)
    norm = float(np.linalg.norm(problem.A, 2))
    if norm == 0:
        return D
    eta, before = 1 / norm, problem.objective(D)
    for _ in range(_JOINT_MAX_ITER):
        D = problem.regulariser.prox(D - eta * problem.gradient(D), eta)
        now = problem.objective(D)
        if abs(now - before) <= _JOINT_TOL * abs(before):
            break
        before = now
    return D


@dataclass(frozen=True)
class QuadraticLearner(Learner):
    """Add the quadratic of the batch to those of the stream, and minimise the sum.

    Parameters
    ----------
    step : DictionaryStep
        Minimises the quadratic.
    sharp : bool
        Whether the quadratic has the curvature of the residuals, or the published one.
    share : float
        Share of the way to the minimum that the dictionary moves.
    """

    step: DictionaryStep
    sharp: bool = False
    share: float = 1.0

    def empty(self, n_components: int, n_features: int) -> QuadraticStatistics:
        """Zeros."""
        return QuadraticStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> QuadraticStatistics:
        """The quadratic of a block; in one compiled call where the loss allows it."""
        C, F, s = fit.C, fit.D.shape[1], sample_weight
        total = float(len(C)) if s is None else float(s.sum(dtype=np.float64))
        if (at_once := fit.sums_at_once(s)) is not None:
            A, gradient, curvature, _ = at_once
            A = A.astype(np.float64, copy=False)
            inlier = np.full(F, A.trace())  # entries of weight one have the curvature one
        else:
            kappa, energy = fit.row_curvatures(), np.einsum("nk,nk->n", C, C)
            # A copy: BLAS rounds the product of a matrix with itself differently.
            weighted, weighted_energy = C.copy(), energy
            if s is not None:
                weights = s.astype(C.dtype)
                kappa, weighted = weights * kappa, C * weights[:, None]
                weighted_energy = energy * weights
            A = ((C * kappa[:, None]).T @ C).astype(np.float64, copy=False)
            gradient, curvature = fit.dictionary_gradient(weighted), fit.curvatures(weighted_energy)
            bounded = np.isfinite(fit.loss.curvature)
            inlier = fit.inlier_energies(energy * kappa) if bounded else np.zeros(F)
        B = np.negative(gradient, dtype=np.float64)
        return QuadraticStatistics(A, B, total, curvature.astype(np.float64, copy=False), inlier)

    def update(
        self,
        past: QuadraticStatistics,
        batch: QuadraticStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, QuadraticStatistics, Array]:
        """Add the quadratic of the batch, and minimise the sum over the free atoms."""
        statistics = past + batch.around_zero(D, self.sharp)
        problem = DictionaryProblem.of(statistics, D, regulariser, free)
        if np.logical_and.reduce(free):
            moved = self.step.minimise(problem, D).astype(D.dtype, copy=False)
        else:
            moved = D.copy()
            moved[free] = self.step.minimise(problem, D[free])
        if self.share < 1:
            moved = D + D.dtype.type(self.share) * (moved - D)
        return moved, statistics, np.ones(len(D), D.dtype)

    def cautious(self) -> "QuadraticLearner":
        """Use the published curvature, an upper bound; if used already, half the step."""
        return replace(self, sharp=False) if self.sharp else replace(self, share=self.share / 2)

    def usage(self, statistics: QuadraticStatistics, D: Array) -> Array:
        """The energy of the predictions of each atom, ``A_kk ‖d_k‖²``."""
        lengths = np.einsum("kf,kf->k", D, D, dtype=np.float64)
        share: Array = statistics.A.diagonal() * lengths
        return share
