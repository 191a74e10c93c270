"""Drift detection on a series of losses by an exact Mann–Whitney test over several windows.

The last k values are compared with the n before them by the Mann–Whitney count ``U``, the number
of pairs in which the later value is larger. If all n + k values are exchangeable, every choice of
k of their ranks is equally likely, whatever their distribution, so ``P(U ≥ u)`` is known exactly
(H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically
larger than the other", Annals of Mathematical Statistics 18(1), 1947).
"""

from dataclasses import dataclass, field
from functools import cache
from math import comb
from numbers import Real

import numpy as np

from thresher.linalg import Array

# Short windows detect large shifts early, long windows detect small ones. The early losses of a
# model are high and would hide a shift, so each window is compared with 8 times as many values
# right before it (docs/guide/drift.md).
WINDOW_LENGTHS = (4, 8, 16, 32)
_REFERENCE_PER_WINDOW = 8
_MAX_VALUES = (1 + _REFERENCE_PER_WINDOW) * max(WINDOW_LENGTHS)


@dataclass
class MannWhitneyDrift:
    """Detect an upward shift of a series with a bounded false-alarm rate.

    After each value, the last 4, 8, 16 and 32 values are compared with the 32, 64, 128 and 256
    before them, each by an exact test. The smallest p-value is multiplied by the number of tests
    (Bonferroni). If the values are exchangeable, the probability of an alarm at a value is at most
    ``false_alarm_rate``, whatever their distribution. While losses fall, as they do at the start
    of a fit, alarms are rarer; autocorrelated values, such as daily cycles, can exceed the rate.

    The interface is that of river's drift detectors. The detector restarts after an alarm.

    Parameters
    ----------
    false_alarm_rate : float
        Expected share of values, one for each batch of a stream, that raise an alarm although
        nothing shifted.

    Attributes
    ----------
    drift_detected : bool
        Whether the last value raised an alarm.
    p_value : float
        The corrected p-value at the last value; one at the start.

    Examples
    --------
    >>> from thresher import MannWhitneyDrift
    >>> detector = MannWhitneyDrift(0.001)
    >>> for place, loss in enumerate([1.0, 1.2, 0.9, 1.1] * 10 + [2.0, 2.2, 2.1, 2.3]):
    ...     if detector.update(loss).drift_detected:
    ...         print(place)
    43
    """

    false_alarm_rate: float = 1e-4
    drift_detected: bool = field(default=False, init=False, compare=False, repr=False)
    p_value: float = field(default=1.0, init=False, compare=False, repr=False)
    values: Array = field(
        default_factory=lambda: np.empty(0), init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        rate = self.false_alarm_rate
        if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 < rate < 1:
            raise ValueError(f"false_alarm_rate={rate!r} must be a number between 0 and 1.")

    def update(self, x: float) -> "MannWhitneyDrift":
        """Add a value and update ``drift_detected`` and ``p_value``."""
        before = self.values[:0] if self.drift_detected else self.values
        self.values = np.append(before[max(0, len(before) + 1 - _MAX_VALUES) :], float(x))
        lengths = [k for k in WINDOW_LENGTHS if k < len(self.values)]
        tails = [_upper_tail(k, *_count_greater(self.values, k)) for k in lengths]
        self.p_value = min(1.0, len(WINDOW_LENGTHS) * min(tails, default=1.0))
        self.drift_detected = self.p_value <= self.false_alarm_rate
        return self

    def recall(self, values: Array, drift_detected: bool, p_value: float) -> None:
        """Restore a saved state; a ValueError if no detector can have it."""
        if len(values) > _MAX_VALUES or not 0 <= p_value <= 1:
            raise ValueError(f"a detector cannot hold {len(values)} values with p_value={p_value}")
        self.values, self.drift_detected, self.p_value = values, drift_detected, p_value


def _count_greater(values: Array, k: int) -> tuple[int, int]:
    """Return the length of the reference, and U, the number of pairs with a larger recent value.

    Ties count as not larger, which makes the test conservative.
    """
    before = values[-(1 + _REFERENCE_PER_WINDOW) * k : -k]
    return len(before), int(np.count_nonzero(values[-k:, np.newaxis] > before))


def _upper_tail(k: int, n: int, u: int) -> float:
    """Return ``P(U ≥ u)`` under exchangeability; one where u is at most the mean."""
    below = k * n - u  # U and kn − U have the same distribution
    return float(_distribution(k, n)[below]) if below < u else 1.0


@cache  # k and n take few values
def _distribution(k: int, n: int) -> Array:
    """Return ``P(U ≤ u)`` for all u up to the mean.

    The number of choices of ranks with the count u is the coefficient of ``q^u`` in
    ``∏_i (1 − q^(n+i)) / (1 − q^i)``, i from 1 to k.
    """
    ways = np.zeros(k * n // 2 + 1)
    ways[0] = 1.0
    for i in range(1, k + 1):
        if n + i < len(ways):
            ways[n + i :] -= ways[: -(n + i)].copy()
        in_rows = np.pad(ways, (0, -len(ways) % i)).reshape(-1, i)
        ways = np.cumsum(in_rows, axis=0).ravel()[: len(ways)]
    return np.cumsum(ways) / comb(n + k, k)
