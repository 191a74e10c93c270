"""Batch dictionary in the ℓ1 distance by linearised ADMM, as published in paper B (Algorithm 3)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.coded_samples import CodedSamples, linearised_step, needs_l1
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class NoStatistics(Statistics):
    """Nothing: all samples are there."""


@dataclass(frozen=True)
class L1DictionaryADMM:
    """``min over D in S of ‖P − C D‖₁``: `linearised_step` again and again, from the last D.

    Published are ``φ = 5``, ``γ = 1.89``, for documents that sum to one; κ is not given, ours is in
    units of ``1/λmax(CᵀC)``. Stops when both residuals are small, ``‖P − C D − E‖₁ ≤ tol ‖P‖₁`` and
    ``(φ/κ) max |D' − D| ≤ tol max_k Σ_n c_nk`` (errata B.9). The loss is not monotone on the way.
    """

    keeps_samples: ClassVar[bool] = True

    phi: float = 5.0
    gamma: float = 1.89
    kappa: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """The ℓ1 distance, whose residual is split off."""
        return needs_l1(loss)

    def empty(self, n_components: int, n_features: int) -> NoStatistics:
        """Nothing."""
        return NoStatistics()

    def summarise(self, fit: Fit, sample_weight: Array | None) -> CodedSamples:
        """The samples and codes themselves."""
        return CodedSamples.of(fit, sample_weight)

    def learn(
        self,
        past: NoStatistics,
        sums: CodedSamples,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, NoStatistics, Array]:
        """Algorithm 3, warm-started; without any codes there is no step."""
        ones = np.ones(len(D), dtype=D.dtype)
        largest = sums.spectral_norm()
        if largest == 0:
            return D.copy(), past, ones
        kappa, size = self.kappa / largest, sums.loss(sums.P)
        slope = float((sums.sample_weight @ np.abs(sums.C)).max())
        point, residual, dual = D, sums.residual(D), np.zeros_like(sums.P)
        for _ in range(self.max_iter):
            before = point
            point, residual, dual, gap = linearised_step(
                sums, point, residual, dual, self.phi, kappa, self.gamma, regulariser, free
            )
            moved = float(np.abs(point - before).max()) * self.phi / kappa
            if sums.loss(gap) <= self.tol * size and moved <= self.tol * slope:
                break
        return point.astype(D.dtype), past, ones

    def cautious(self) -> "L1DictionaryADMM":
        """There is none."""
        return self

    def usage(self, statistics: NoStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
