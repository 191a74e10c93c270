"""The weight λ of outliers, in the units of the data: given, from the range, or from noise."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from thresher.linalg import Array

Measured = Literal["nothing", "data", "residuals"]

_PER_MEDIAN = 1.4826  # standard deviations of a normal, per median of its absolute values
_FAR = 2.5
_NEAR = 0.98758  # of a normal lies within 2.5 standard deviations


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """Smallest value that at least ``share`` of the weight does not exceed; zero if none."""
    if not len(values):
        return 0.0
    if (weights == weights[0]).all():  # the usual case, without sorting everything
        place = min(max(int(np.ceil(share * len(values))) - 1, 0), len(values) - 1)
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order], dtype=np.float64)
    place = np.searchsorted(cumulated, share * cumulated[-1])
    return float(values[order[min(place, len(values) - 1)]])


class OutlierWeight(Protocol):
    """A rule for λ: what it measures on each batch, and λ from the running mean of that."""

    @property
    def measures(self) -> Measured:
        """What the rule looks at: nothing, the data, or the residuals of coded samples."""

    def measure(self, values: Array, weights: Array) -> float:
        """The scale seen in some entries (given as absolute values), weighted."""

    def weight(self, scale: float, n_features: int) -> float:
        """λ, given the running mean of the scale."""

    def in_unit(self, unit: float) -> "OutlierWeight":
        """The rule for data that are measured in ``unit``."""


@dataclass(frozen=True)
class FixedWeight:
    """λ as the user gave it; the paper's is ``1/√F`` for data of peak 1 (VII-C)."""

    value: float
    measures: Measured = "nothing"

    def measure(self, values: Array, weights: Array) -> float:
        """Nothing to measure."""
        return 0.0

    def weight(self, scale: float, n_features: int) -> float:
        """The given number."""
        return self.value

    def in_unit(self, unit: float) -> OutlierWeight:
        """The number has the unit of the data."""
        return replace(self, value=self.value / unit)


@dataclass(frozen=True)
class RangeWeight:
    """``λ = range/√F``, the paper's rule in the units of the data.

    The range is the value that 99 % of the nonzero entries do not exceed, so that frames in 0–255
    and in 0–1 separate alike, and a few huge glitches do not count.
    """

    share: float = 0.99
    measures: Measured = "data"

    def measure(self, values: Array, weights: Array) -> float:
        """High quantile of the entries that are not zero."""
        positive = values > 0
        if not positive.any():
            return 0.0
        return weighted_quantile(values[positive], weights[positive], self.share)

    def weight(self, scale: float, n_features: int) -> float:
        """``range/√F``."""
        return scale / float(np.sqrt(n_features))

    def in_unit(self, unit: float) -> OutlierWeight:
        """The same: what is measured has the unit already."""
        return self


@dataclass(frozen=True)
class NoiseWeight:
    """``λ = factor·σ``, σ from the median absolute residual (1.4826 times it, as for a normal).

    A residual beyond 2.5 standard deviations of the noise is then an outlier. Outliers are not
    noise, and would raise the median with their number: what lies beyond 2.5σ, but for the share
    that a normal has there, is left out of the count. One such correction is enough.
    """

    factor: float = 2.5
    measures: Measured = "residuals"

    def measure(self, values: Array, weights: Array) -> float:
        """Robust standard deviation of the residuals that are no outliers."""
        first = _PER_MEDIAN * weighted_quantile(values, weights, 0.5)
        total = float(weights.sum(dtype=np.float64))
        if not (first > 0 and total > 0):
            return first
        near = float(weights[values <= _FAR * first].sum(dtype=np.float64)) / total
        return _PER_MEDIAN * weighted_quantile(values, weights, 0.5 * min(1.0, near / _NEAR))

    def weight(self, scale: float, n_features: int) -> float:
        """``factor·σ``."""
        return self.factor * scale

    def in_unit(self, unit: float) -> OutlierWeight:
        """The same: what is measured has the unit already."""
        return self
