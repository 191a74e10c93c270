"""Batch dictionary in the ℓ1 distance by linearised ADMM, as published in paper B (Algorithm 3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.kernels.floors import TINY
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

    Published are ``φ = 5``, ``γ = 1.89``; κ is not given, ours is ``1/λmax(CᵀC)``. φ is for
    documents that sum to one; others are taken as if they did, on the average. Stops when the
    constraint is met and atoms rest, both to ``tol``; the best dictionary on the way is returned,
    since the loss is not monotone.
    """

    phi: float = 5.0
    gamma: float = 1.89
    tol: float = 1e-4
    max_iter: int = 200

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
        size = sums.loss(sums.P) / max(sums.weight, TINY)
        if largest == 0 or size == 0:
            return D.copy(), past, ones

        def objective(atoms: Array, residual: Array) -> float:
            return sums.loss(residual) + sums.weight * float(regulariser.value(atoms).sum())

        best = point = D
        residual = sums.residual(D)
        least = objective(best, residual)
        dual = np.zeros_like(sums.P)
        for _ in range(self.max_iter):
            before = point
            point, residual, dual, gap = linearised_step(
                sums, point, residual, dual, self.phi / size, 1 / largest, self.gamma, regulariser,
                free,
            )  # fmt: skip
            now = objective(point, residual)
            if now < least:
                best, least = point, now
            missed = float(sums.sample_weight @ np.abs(gap).sum(axis=1))
            moved = float(np.abs(point - before).sum())
            if missed <= self.tol * size * sums.weight and moved <= self.tol * np.abs(point).sum():
                break
        return best.astype(D.dtype), past, ones

    def cautious(self) -> "L1DictionaryADMM":
        """It returns nothing that is worse."""
        return self

    def usage(self, statistics: NoStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
