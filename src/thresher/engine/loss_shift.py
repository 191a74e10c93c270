"""Whether a series has shifted upwards: an exact test of ranks after every number.

The last k numbers are compared with the n before them by the Mann–Whitney count ``U``, the number
of pairs in which the later one is larger. If all n + k are exchangeable, every choice of k of their
ranks is as likely as any other, whatever the distribution; so ``P(U ≥ u)`` is known exactly
(H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically
larger than the other", Annals of Mathematical Statistics 18(1), 1947).
"""

from dataclasses import dataclass, field
from functools import cache
from math import comb
from numbers import Real

import numpy as np

from thresher.linalg import Array

# A large shift shows in few numbers, a small one in many. The early losses of a model are high and
# would hide one, so each is compared with what came shortly before (docs/guide/drift.md).
RECENT = (4, 8, 16, 32)
_BEFORE = 8
LONGEST = (1 + _BEFORE) * max(RECENT)


@dataclass
class LossShift:
    """Says when the losses of a stream have risen, and how often it is wrong.

    After every number the last 4, 8, 16 and 32 are compared with the 32, 64, 128 and 256 before
    them, each at a quarter of the rate. So where a number is exchangeable with those before it an
    alarm has at most the chance ``false_alarm_rate``, and the expected number of false alarms among
    n such numbers is at most ``n · false_alarm_rate``, whatever their distribution. If losses fall,
    as they do while a model learns, there are fewer; if they depend on each other, as in a series
    with days and nights, there may be more.

    It has the interface of river's detectors; after an alarm it starts anew.

    Parameters
    ----------
    false_alarm_rate : float
        By number, that is by batch of a stream.

    Attributes
    ----------
    drift_detected : bool
        Whether the last number gave an alarm.
    p_value : float
        The smallest level at which the last number would have given one; one before there are any.

    Examples
    --------
    >>> from thresher import LossShift
    >>> detector = LossShift(0.001)
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

    def update(self, x: float) -> "LossShift":
        """Take one more number, and look."""
        before = self.values[:0] if self.drift_detected else self.values
        self.values = np.append(before[max(0, len(before) + 1 - LONGEST) :], float(x))
        tails = [_tail(k, *_pairs(self.values, k)) for k in RECENT if k < len(self.values)]
        self.p_value = min(1.0, len(RECENT) * min(tails, default=1.0))
        self.drift_detected = self.p_value <= self.false_alarm_rate
        return self

    def recall(self, values: Array, drift_detected: bool, p_value: float) -> None:
        """Be as one that was saved; a ValueError if there was none such."""
        if len(values) > LONGEST or not 0 <= p_value <= 1:
            raise ValueError(f"no detector remembers {len(values)} numbers at {p_value}")
        self.values, self.drift_detected, self.p_value = values, drift_detected, p_value


def _pairs(values: Array, k: int) -> tuple[int, int]:
    """How many numbers before the last k are looked at, and in how many pairs the later is larger.

    Equal ones count as not larger, which makes alarms rarer than they may be.
    """
    before = values[-(1 + _BEFORE) * k : -k]
    return len(before), int(np.count_nonzero(values[-k:, np.newaxis] > before))


def _tail(k: int, n: int, larger: int) -> float:
    """``P(U ≥ larger)`` for k numbers after n, all exchangeable; one from the mean downwards."""
    missing = k * n - larger  # U and kn − U have the same distribution
    return float(_tails(k, n)[missing]) if missing < larger else 1.0


@cache  # there are few k and n
def _tails(k: int, n: int) -> Array:
    """``P(U ≤ u)`` for all u up to the mean; beyond it nobody would give an alarm.

    There are as many choices of ranks with the count u as the coefficient of ``q^u`` in
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
