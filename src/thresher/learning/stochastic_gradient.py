"""Dictionary by projected stochastic gradient steps: Algorithm 1 of paper E, (11)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.statistics import Statistics
from thresher.learning.surrogate import BatchSums
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class StepStatistics(Statistics):
    """What a step size depends on; gradients leave nothing behind.

    Attributes
    ----------
    curvature : float
        ``Σ ‖c‖²·mean |∇|/|x − y|``: how curved the loss was in the dictionary.
    weight : float
        Total weight of the samples, never discounted: τt.
    """

    curvature: float
    weight: float

    def discounted(self, factor: float) -> "StepStatistics":
        """Steps shrink with all samples ever seen."""
        return self


@dataclass(frozen=True)
class StochasticGradient:
    """``D ← Π(D − η G)``, G the mean gradient of the batch, ``η = a/(τt + b)``.

    τt counts the samples seen. With ``scaled`` the step is divided by the curvature of the loss in
    the dictionary, averaged over the stream, so that it has no unit: data times a thousand give
    the same dictionary. As published it does, and diverges on the paper's own data (errata E.3).
    ``constant`` leaves out the decrease (OL-Wang).
    """

    a: float = 2e4
    b: float = 2e4
    scaled: bool = True
    constant: bool = False

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0):
            raise ValueError(f"Steps need a > 0 and b > 0, got a={self.a} and b={self.b}.")

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Nothing: every loss has a slope, and every set a projection."""
        return None

    def empty(self, n_components: int, n_features: int) -> StepStatistics:
        """Nothing seen."""
        return StepStatistics(0.0, 0.0)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> BatchSums:
        """The gradient, and how curved the loss is."""
        return BatchSums.of(fit, sample_weight, fit.weight)

    def learn(
        self,
        past: StepStatistics,
        sums: BatchSums,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, StepStatistics, Array]:
        """One step."""
        seen = past.weight + sums.weight
        curvature = past.curvature + float(sums.curvature.mean())
        eta = self.a / (self.b if self.constant else past.weight + self.b)
        if self.scaled:
            eta = eta * seen / curvature if curvature > 0 else 0.0
        gradient = sums.gradient / sums.weight if sums.weight > 0 else sums.gradient
        target = D.astype(np.float64) - eta * gradient
        moved = np.where(free[:, None], regulariser.prox(target, eta), D).astype(D.dtype)
        return moved, StepStatistics(curvature, seen), np.ones(len(D), dtype=D.dtype)

    def cautious(self) -> "StochasticGradient":
        """There is none."""
        return self

    def usage(self, statistics: StepStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
