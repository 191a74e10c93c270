"""Learning by the quadratic surrogate: outlier envelopes, squares, and reweighted distances."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.surrogate import (
    BatchSums,
    DictionaryProblem,
    DictionaryStep,
    QuadraticStatistics,
)
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class QuadraticLearner:
    """Sums ``A = Σ cᵀc`` and ``B = Σ cᵀx̃``, then a step on the quadratic they define.

    Parameters
    ----------
    step : DictionaryStep
        Minimises the quadratic.
    sharp : bool
        Whether the quadratic has the curvature that residuals show, or the published one.
    share : float
        How much of the way to its minimum the dictionary goes.
    """

    step: DictionaryStep
    sharp: bool = False
    share: float = 1.0

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Nothing: every loss has a slope, and every set a projection."""
        return None

    def empty(self, n_components: int, n_features: int) -> QuadraticStatistics:
        """Zeros."""
        return QuadraticStatistics.empty(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> BatchSums:
        """A, the gradient, and the curvature of every feature."""
        return BatchSums.of(fit, sample_weight)

    def learn(
        self,
        past: QuadraticStatistics,
        sums: BatchSums,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, QuadraticStatistics, Array]:
        """Add the batch's quadratic, and minimise the sum over the free atoms."""
        statistics = past + sums.surrogate(D, self.sharp)
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
        """The sharp quadratic is above the loss on the average only; the plain one always is.

        Unless the loss was smoothed, or has no plain one: then a shorter step may do.
        """
        return replace(self, sharp=False) if self.sharp else replace(self, share=self.share / 2)

    def usage(self, statistics: QuadraticStatistics, D: Array) -> Array:
        """Its share of the energy of the predictions, ``A_kk ‖d_k‖²``."""
        lengths = np.einsum("kf,kf->k", D, D, dtype=np.float64)
        share: Array = statistics.A.diagonal() * lengths
        return share
