"""Rules for the outlier weight λ: fixed, from the range of the data, or from the noise."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from thresher.linalg import Array

Measured = Literal["nothing", "data", "residuals"]

_STD_PER_MAD = 1.4826  # standard deviation of a normal over the median of its absolute values
_MAX_DEVIATION = 2.5  # standard deviations of an inlier
_INLIER_SHARE = 0.98758  # probability of a normal within 2.5 standard deviations


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """Smallest value that at least ``share`` of the weight does not exceed; zero if none."""
    if not len(values):
        return 0.0
    if (weights == weights[0]).all():  # a partial sort is enough
        place = min(max(int(np.ceil(share * len(values))) - 1, 0), len(values) - 1)
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order], dtype=np.float64)
    place = np.searchsorted(cumulated, share * cumulated[-1])
    return float(values[order[min(place, len(values) - 1)]])


class OutlierWeight(Protocol):
    """A rule for λ: the scale that it measures in each batch, and λ from its running mean."""

    @property
    def measures(self) -> Measured:
        """What the rule measures: nothing, the data, or the residuals of coded samples."""

    def measure(self, values: Array, weights: Array) -> float:
        """The scale of some entries, from absolute values and weights."""

    def weight(self, scale: float, n_features: int) -> float:
        """λ, given the running mean of the scale."""

    def in_unit(self, unit: float) -> "OutlierWeight":
        """The same rule for data in multiples of ``unit``."""


@dataclass(frozen=True)
class FixedWeight:
    """A fixed λ; paper A takes ``1/√F`` for data of peak 1 (VII-C)."""

    value: float
    measures: Measured = "nothing"

    def measure(self, values: Array, weights: Array) -> float:
        """Zero: nothing is measured."""
        return 0.0

    def weight(self, scale: float, n_features: int) -> float:
        """The fixed value."""
        return self.value

    def in_unit(self, unit: float) -> OutlierWeight:
        """λ has the unit of the data."""
        return replace(self, value=self.value / unit)


@dataclass(frozen=True)
class RangeWeight:
    """``λ = range/√F``, the rule of paper A in the unit of the data.

    The range is the 99 % quantile of the absolute nonzero entries, so that λ scales with the data
    and does not depend on a few extreme values.
    """

    share: float = 0.99
    measures: Measured = "data"

    def measure(self, values: Array, weights: Array) -> float:
        """The quantile of the nonzero entries."""
        positive = values > 0
        if not positive.any():
            return 0.0
        return weighted_quantile(values[positive], weights[positive], self.share)

    def weight(self, scale: float, n_features: int) -> float:
        """``range/√F``."""
        return scale / float(np.sqrt(n_features))

    def in_unit(self, unit: float) -> OutlierWeight:
        """The same rule: the measured scale has the unit."""
        return self


@dataclass(frozen=True)
class NoiseWeight:
    """``λ = factor·σ``, with σ from the median absolute residual (MAD).

    σ is 1.4826 times the median, as for a normal distribution; residuals beyond 2.5 σ are outliers.
    Outliers increase the median, so the quantile is corrected once for the share of residuals
    beyond 2.5 σ that exceeds that of a normal distribution.
    """

    factor: float = 2.5
    measures: Measured = "residuals"

    def measure(self, values: Array, weights: Array) -> float:
        """Robust standard deviation of the inliers among the residuals."""
        first = _STD_PER_MAD * weighted_quantile(values, weights, 0.5)
        total = float(weights.sum(dtype=np.float64))
        if not (first > 0 and total > 0):
            return first
        near = float(weights[values <= _MAX_DEVIATION * first].sum(dtype=np.float64)) / total
        return _STD_PER_MAD * weighted_quantile(
            values, weights, 0.5 * min(1.0, near / _INLIER_SHARE)
        )

    def weight(self, scale: float, n_features: int) -> float:
        """``factor·σ``."""
        return self.factor * scale

    def in_unit(self, unit: float) -> OutlierWeight:
        """The same rule: the measured scale has the unit."""
        return self
