"""Drift: detection on the losses of a stream, and trials of new dictionaries after an alarm.

`MannWhitneyDrift` compares the last k losses with the n before them by the Mann–Whitney count
``U``, the number of pairs in which the later value is larger. If all n + k values are exchangeable,
every choice of k of their ranks is equally likely, whatever their distribution, so ``P(U ≥ u)`` is
known exactly (H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is
stochastically larger than the other", Annals of Mathematical Statistics 18(1), 1947).

After an alarm, statistics of the past may hold the dictionary in a poor optimum. But noise and
outliers raise losses too, so nothing is discarded at once: two rivals without that past learn from
the same batches as the dictionary in use, and one that explains the following batches better
replaces it.
"""

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from math import comb, log
from numbers import Real
from sys import float_info
from typing import Any, Protocol

import numpy as np

from thresher.engine.history import Event
from thresher.engine.method import Method
from thresher.engine.state import StreamState, Summary
from thresher.learning import FixedWeight
from thresher.linalg import Array
from thresher.streams import Batch

_log = logging.getLogger(__name__)

# Short windows detect large shifts early, long windows detect small ones. The early losses of a
# model are high and would hide a shift, so each window is compared with 8 times as many values
# right before it (docs/guide/drift.md).
WINDOW_LENGTHS = (4, 8, 16, 32)
_REFERENCE_PER_WINDOW = 8
_MAX_VALUES = (1 + _REFERENCE_PER_WINDOW) * max(WINDOW_LENGTHS)

# Chosen on planted changes, see docs/guide/drift.md.
WINS = 8
MAX_TRIAL_BATCHES = 32
_MAX_RIVALS = 2  # those that `Trial.begun` starts


class Detector(Protocol):
    """The interface of river's drift detectors."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last value raised an alarm."""

    def update(self, x: float) -> Any:
        """Add a value; the first after an alarm restarts the detector."""


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
        whole = values.dtype == np.float64 and values.ndim == 1 and np.isfinite(values).all()
        if not whole or len(values) > _MAX_VALUES or not 0 <= p_value <= 1:
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


Advance = Callable[[StreamState], tuple[StreamState, Summary]]
"""Learn from the current batch."""


@dataclass(frozen=True)
class Rival:
    """A state that may replace the one in use, and its consecutive batches of lower loss."""

    state: StreamState
    wins: int = 0


@dataclass(frozen=True)
class Trial:
    """Up to 32 batches in which rivals learn in parallel with the dictionary in use.

    Losses are those of samples that none of them has learned from yet. A rival with the lower loss
    in eight consecutive batches replaces the dictionary at once; the others continue against it.

    Attributes
    ----------
    rivals : tuple of Rival
    n_batches : int
        Batches that they have learned from, after the first.
    replaced : bool
        Whether a rival has replaced the dictionary.
    """

    rivals: tuple[Rival, ...]
    n_batches: int = 0
    replaced: bool = False

    def check_fields(self) -> None:
        """Raise ValueError for values that no trial can have, such as those of a forged file."""
        if not 0 < len(self.rivals) <= _MAX_RIVALS or self.n_batches < 0:
            raise ValueError(f"{len(self.rivals)} rivals after {self.n_batches} batches")
        if any(rival.wins < 0 for rival in self.rivals):
            raise ValueError("wins must not be negative")

    @classmethod
    def begun(cls, method: Method, state: StreamState, batch: Batch, advance: Advance) -> "Trial":
        """Start a trial from the state before a batch, and let the rivals learn from it.

        The first rival has the same atoms, some of which may still be right; those of the second
        start from samples of the batch, except frozen ones.
        """
        empty = method.learner.empty(*state.D.shape)
        renewed = state.changed(statistics=empty, weight_seen=0.0, watch=None)
        D = method.first_dictionary(batch, None, len(state.D), state.D.dtype, state.seed)
        if method.frozen is not None:
            D[method.frozen] = state.D[method.frozen]
        fresh = renewed.changed(D=D, average=D)
        return cls(tuple(Rival(advance(one)[0]) for one in (renewed, fresh)))

    def round(
        self, state: StreamState, summary: Summary, advance: Advance
    ) -> tuple[StreamState, "Trial | None", tuple[Event, ...]]:
        """Process a batch: return the state in use, the trial if it continues, and events.

        ``state`` has learned from the batch and gave the ``summary``.
        """
        results: list[tuple[float, Rival]] = []
        for rival in self.rivals:
            after, coded = advance(rival.state)
            wins = rival.wins + 1 if coded.loss < summary.loss else 0
            results.append((coded.loss, Rival(after, wins)))
        events: list[Event] = []
        winners = [one for one in results if one[1].wins >= WINS]
        rivals, replaced = tuple(rival for _, rival in results), self.replaced
        if winners:
            loss, best = min(winners, key=lambda one: one[0])
            state = _replaced_by(state, best.state)
            rivals = tuple(Rival(rival.state) for rival in rivals if rival is not best)
            events.append(Event(state.n_samples, "replaced", loss / summary.loss))
            replaced = True
        trial: Trial | None = Trial(rivals, self.n_batches + 1, replaced)
        if self.n_batches + 1 >= MAX_TRIAL_BATCHES or not rivals:
            trial = None
            if not replaced:
                least = min(loss for loss, _ in results)
                ratio = least / summary.loss if summary.loss > 0 else 1.0
                events.append(Event(state.n_samples, "kept", ratio))
        return state, trial, tuple(events)


def _replaced_by(state: StreamState, rival: StreamState) -> StreamState:
    """Replace a state by a rival.

    λ stays that of the state, under which losses were compared, without its weight from before the
    trial.
    """
    known = min(state.scale_weight, rival.weight_seen)
    return rival.changed(scale=state.scale, scale_weight=known, watch=state.watch)


@dataclass(frozen=True)
class Watch:
    """Drift detection of a state.

    Attributes
    ----------
    start : Detector
        As the user gave it; it is copied, never changed.
    detector : Detector
        Has been updated with the losses of the dictionary in use.
    trial : Trial or None
        The current trial.
    events : tuple of Event
        Events of the last step.
    """

    start: Any
    detector: Any
    trial: Trial | None = None
    events: tuple[Event, ...] = ()

    @classmethod
    def begun(cls, start: Detector) -> "Watch":
        """Return the state before the first loss."""
        return cls(start, deepcopy(start))

    def restarted(self) -> "Watch":
        """Return the same detection before the first loss."""
        return self.begun(self.start)


def relative_loss(method: Method, summary: Summary) -> float | None:
    """Return ``log((Σ loss/Σ w) / (Σ w|x|/Σ w)^d)``, the loss per entry relative to its size.

    d is the degree of the loss, zero for losses without one, so the value does not depend on the
    scale of the data. Missing entries have weight zero, ratios are at least the rounding error, and
    batches of zeros give None.
    """
    if not summary.mass > 0:
        return None
    size: float = (summary.mass / summary.entries) ** (method.loss(1.0).degree or 0.0)
    return log(max(summary.loss / summary.entries / size, float_info.epsilon))


def watched(
    method: Method,
    before: StreamState,
    after: StreamState,
    batch: Batch,
    summary: Summary,
    advance: Callable[[Method, StreamState], tuple[StreamState, Summary]],
) -> StreamState:
    """Return the state after a step, with its rivals and its detector updated.

    ``advance`` learns from the same batch.
    """
    watch: Watch = before.watch

    def learn(rival: StreamState) -> tuple[StreamState, Summary]:
        # The same λ for all, because losses grow with it.
        weight = FixedWeight(method.threshold(before))
        return advance(replace(method, outlier_weight=weight), rival)

    detector, trial = watch.detector, watch.trial
    events: tuple[Event, ...] = ()
    if trial is not None:
        after, trial, events = trial.round(after, summary, learn)
    if any(event.kind == "replaced" for event in events):
        detector = deepcopy(watch.start)  # it was updated with losses of another dictionary
    elif (relative := relative_loss(method, summary)) is not None:
        detector = deepcopy(detector)
        detector.update(relative)
        if detector.drift_detected:
            p_value = float(getattr(detector, "p_value", "nan"))
            events = (*events, Event(after.n_samples, "shift", p_value))
            trial = Trial.begun(method, before, batch, learn)
            # λ was measured on the past, too.
            after = after.changed(scale_weight=min(after.scale_weight, batch.weight))
    for event in events:
        _log.info("Drift after %d samples: %s (%.3g)", *event)
    return after.changed(watch=Watch(watch.start, detector, trial, events))
