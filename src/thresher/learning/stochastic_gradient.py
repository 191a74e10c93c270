"""Dictionary by projected stochastic gradient steps: Algorithm 1 of paper E, (11)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class StepStatistics(Statistics):
    """What a step size depends on; gradients leave nothing behind.

    Attributes
    ----------
    curvature : float
        How curved the loss was in the dictionary, summed over samples.
    weight : float
        Total weight of the samples, never discounted: τt.
    """

    curvature: float
    weight: float

    def discounted(self, factor: float) -> "StepStatistics":
        """Steps shrink with all samples ever seen."""
        return self


@dataclass(frozen=True)
class GradientSums:
    """``Σ cᵀ∇`` of a block, the curvature that the step is divided by, and the total weight."""

    gradient: Array
    curvature: float
    weight: float

    def __add__(self, other: "GradientSums") -> "GradientSums":
        """Merge two sums."""
        return GradientSums(
            self.gradient + other.gradient,
            self.curvature + other.curvature,
            self.weight + other.weight,
        )


@dataclass(frozen=True)
class StochasticGradient:
    """``D ← Π(D − η_t G)``, G the mean (sub)gradient of the batch, ``η_t = a/(τt + b)``.

    t counts batches from 1. Without ``tau``, τt counts the samples seen, those of the batch
    included, so that batches may be uneven. With ``scaled`` the step is divided by the curvature
    that it sees, averaged over the stream::

        Σ ‖c‖² mean_f |∇|/|x − cD|

    so that it has no unit: data times a thousand give the same dictionary. As published it has
    one, and diverges on the paper's own data (errata E.3). Where the slope jumps, the quotient of
    an entry is anything, and that of the sample takes its place, ``‖∇‖₁/‖x − cD‖₁``. ``constant``
    leaves out the decrease (OL-Wang).
    """

    a: float = 2e4
    b: float = 2e4
    tau: float | None = None
    scaled: bool = True
    constant: bool = False

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Nothing: every loss has a slope, and every set a projection."""
        return None

    def empty(self, n_components: int, n_features: int) -> StepStatistics:
        """Nothing seen."""
        return StepStatistics(0.0, 0.0)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> GradientSums:
        """The gradient, and how curved the loss is."""
        C = fit.C
        weights = np.ones(len(C), dtype=C.dtype)
        if sample_weight is not None:
            weights = sample_weight.astype(C.dtype)
        energy = np.einsum("nk,nk->n", C, C) * weights
        if fit.loss.smooth:
            curvature = fit.curvatures(energy).mean(dtype=np.float64)
        else:
            curvature = energy @ fit.row_curvatures()
        gradient = fit.dictionary_gradient(C * weights[:, None]).astype(np.float64)
        return GradientSums(gradient, float(curvature), float(weights.sum(dtype=np.float64)))

    def learn(
        self,
        past: StepStatistics,
        sums: GradientSums,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, StepStatistics, Array]:
        """One step."""
        more = sums.weight if self.tau is None else self.tau
        mean = 1 / sums.weight if sums.weight > 0 else 0.0
        seen, curvature = past.weight + more, past.curvature + sums.curvature * mean * more
        eta = self.a / (self.b if self.constant else seen + self.b)
        if self.scaled:
            eta = eta * seen / curvature if curvature > 0 else 0.0
        target = D.astype(np.float64) - eta * mean * sums.gradient
        moved = np.where(free[:, None], regulariser.prox(target, eta), D).astype(D.dtype)
        return moved, StepStatistics(curvature, seen), np.ones(len(D), dtype=D.dtype)

    def cautious(self) -> "StochasticGradient":
        """There is none."""
        return self

    def usage(self, statistics: StepStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
