"""How readings of a column resemble each other as time goes by.

The correlation of two readings at a distance h is a mixture of kernels with nonnegative weights, so
that it is a correlation for any times, regular or not:

    ρ(h) = Σ_τ  a_τ exp(−h/τ) + b_τ (1 + h/τ) exp(−h/τ) + c_τ cos(2π h/P) exp(−h/τ),

rough, smooth, and periodic if there is a period P. What is left of ρ(0) = 1 is noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from thresher.kernels.kriging import Kernels

_RANGES = 10  # values of τ, from half a step to twice the whole time
_HARMONICS = (1, 2)
_FEW = 8  # readings, from which no correlation can be learned
_NEAR = 1024  # steps, up to which correlations are kept in a table


@dataclass(frozen=True)
class Correlation:
    """Of each column: weights of the kernels."""

    weights: NDArray[Any]  # F × kernels
    ranges: NDArray[Any]
    period: float  # in steps; 0 if there is none

    @classmethod
    def learned(
        cls, U: NDArray[Any], trusted: NDArray[Any], times: NDArray[Any], period: float
    ) -> Correlation:
        """By nonnegative least squares from products of readings at some distances."""
        n, F = U.shape
        w = trusted.astype(np.float64)
        U = np.where(trusted, U, 0.0)
        lags = _lags(n, period)
        steps = lags.astype(np.float64)
        if np.any(np.diff(times) != 1.0):
            steps = np.array([np.median(times[lag:] - times[: n - lag]) for lag in lags])
        ranges = np.geomspace(0.5, 2 * max(times[-1] - times[0], 1.0), _RANGES)
        kernels = _kernels(steps, ranges, period)
        kernels = np.hstack([kernels, (lags == 0)[:, None]])  # noise
        products, pairs = np.empty((len(lags), F)), np.empty((len(lags), F))
        for number, lag in enumerate(lags):
            products[number] = np.einsum("ij,ij->j", U[lag:], U[: n - lag])
            pairs[number] = np.einsum("ij,ij->j", w[lag:], w[: n - lag])
        weights = np.zeros((F, kernels.shape[1] - 1))
        for j in range(F):
            if pairs[0, j] < 2 or products[0, j] <= 0:
                continue
            if pairs[0, j] < _FEW:
                weights[j, _RANGES - 1] = 1.0  # nearly a straight line from reading to reading
                continue
            rho = (products[:, j] / np.maximum(pairs[:, j], 1)) / (products[0, j] / pairs[0, j])
            # Near distances decide most, and those of which many pairs tell.
            heed = np.sqrt(pairs[:, j] / pairs[0, j] / (1 + lags))
            heed[0] = 3.0
            found, _ = nnls(kernels * heed[:, None], rho * heed)
            weights[j] = found[:-1] / max(found.sum(), 1e-12)
        return cls(weights, ranges, period)

    def of_column(self, column: int, distances: NDArray[Any]) -> NDArray[Any]:
        """ρ at some distances."""
        each = _kernels(np.ravel(distances), self.ranges, self.period)
        return np.asarray((each @ self.weights[column]).reshape(np.shape(distances)))

    @cached_property
    def kernels(self) -> Kernels:
        """For compiled loops: ρ at near distances, and what it is made of."""
        near = np.arange(min(_NEAR, 2 + self.ranges[-1] / 2))
        table = self.weights @ _kernels(near, self.ranges, self.period).T
        waves = [0.0, 0.0]
        if self.period:
            waves += [2 * np.pi * harmonic / self.period for harmonic in _HARMONICS]
        return Kernels(table, self.weights, self.ranges, np.array(waves))


def _lags(n: int, period: float) -> NDArray[Any]:
    """Distances in rows: all near ones, fewer far ones, and some in every period."""
    far = np.geomspace(8, max(n // 2, 8), 20).astype(int)
    season = np.arange(0, min(3 * period, n // 2), max(period / 8, 1)).astype(int)
    lags = np.unique(np.concatenate([np.arange(9), far, season]))
    return np.asarray(lags[lags < max(n - 1, 1)])


def _kernels(h: NDArray[Any], ranges: NDArray[Any], period: float) -> NDArray[Any]:
    """Kernels in columns: rough, smooth, and each harmonic, at all ranges."""
    x = np.abs(h)[:, None] / ranges
    fade = np.exp(-x)
    kinds = [fade, fade * (1 + x)]
    if period:
        angle = 2 * np.pi * h / period
        kinds += [fade * np.cos(harmonic * angle)[:, None] for harmonic in _HARMONICS]
    return np.hstack(kinds)


def found_period(Z: NDArray[Any], trusted: NDArray[Any]) -> int:
    """Rows after which the columns, taken together, repeat themselves; 0 if they do not.

    The highest peak of their mean autocorrelation behind its first zero, if it is high
    enough not to be chance: above a fifth.
    """
    n = len(Z)
    if n < 30:
        return 0
    U = np.where(trusted, Z, 0.0)
    size = 1 << (2 * n - 1).bit_length()
    total = np.zeros(size)
    pairs = np.zeros(size)
    for j in range(0, Z.shape[1], max(Z.shape[1] // 20, 1)):
        total += np.fft.irfft(np.abs(np.fft.rfft(U[:, j], size)) ** 2, size)
        pairs += np.fft.irfft(np.abs(np.fft.rfft(trusted[:, j].astype(float), size)) ** 2, size)
    rho = total[: n // 3] / np.maximum(pairs[: n // 3], 1.0)
    if rho[0] <= 0:
        return 0
    rho /= rho[0]
    below = np.flatnonzero(rho < 0)
    if not len(below):
        return 0
    best = below[0] + int(np.argmax(rho[below[0] :]))
    inner = below[0] < best < len(rho) - 1
    return best if inner and rho[best] > 0.2 else 0
