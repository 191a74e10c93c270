"""Data that change: the losses of a stream are watched, and a shift starts a trial."""

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from math import log
from sys import float_info
from typing import Any, Protocol

from thresher.engine.history import Event
from thresher.engine.method import Method
from thresher.engine.state import StreamState, Summary
from thresher.engine.trial import Trial
from thresher.learning import FixedWeight
from thresher.streams import Batch

_log = logging.getLogger(__name__)


class Detector(Protocol):
    """The interface of river's detectors, of which any will do."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last number gave an alarm."""

    def update(self, x: float) -> Any:
        """Take one more number; the first after an alarm starts anew."""


@dataclass(frozen=True)
class Watch:
    """What a state knows of shifts.

    Attributes
    ----------
    start : Detector
        As the user gave it; it is copied, never changed.
    detector : Detector
        What has seen the losses of the dictionary in use.
    trial : Trial or None
        That of the last shift, while it goes on.
    events : tuple of Event
        What the last step brought.
    """

    start: Any
    detector: Any
    trial: Trial | None = None
    events: tuple[Event, ...] = ()

    @classmethod
    def begun(cls, start: Detector) -> "Watch":
        """One that has seen nothing."""
        return cls(start, deepcopy(start))

    def anew(self) -> "Watch":
        """One like this that has seen nothing."""
        return self.begun(self.start)


def events_of(state: StreamState) -> tuple[Event, ...]:
    """What the step to a state brought."""
    return () if state.watch is None else state.watch.events


def relative_loss(method: Method, summary: Summary) -> float | None:
    """Logarithm of ``(Σ loss/Σ w) / (Σ w|x|/Σ w)^d``: of the loss by entry, over the mean entry.

    d is the degree of the loss, which makes the number free of scale; for losses that have none it
    is zero. Missing entries weigh nothing. What is below the rounding of numbers is as good as
    nothing. None if nothing but zeros was seen.
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
    """The state after a step, once rivals have learned from its batch and its loss was judged.

    ``advance`` learns from the same batch.
    """
    watch: Watch = before.watch

    def learn(rival: StreamState) -> tuple[StreamState, Summary]:
        # One λ for all, as losses grow with it.
        weight = FixedWeight(method.threshold(before))
        return advance(replace(method, outlier_weight=weight), rival)

    detector, trial = watch.detector, watch.trial
    events: tuple[Event, ...] = ()
    if trial is not None:
        after, trial, events = trial.round(after, summary, learn)
    if any(event.kind == "replaced" for event in events):
        detector = deepcopy(watch.start)  # it knew the losses of another dictionary
    elif (number := relative_loss(method, summary)) is not None:
        detector = deepcopy(detector)
        detector.update(number)
        if detector.drift_detected:
            p_value = float(getattr(detector, "p_value", "nan"))
            events = (*events, Event(after.n_samples, "shift", p_value))
            trial = Trial.begun(method, before, batch, learn)
            # What λ was measured on is of the past, too.
            after = after.changed(scale_weight=min(after.scale_weight, batch.weight))
    for event in events:
        _log.info("Drift after %d samples: %s (%.3g)", *event)
    return after.changed(watch=Watch(watch.start, detector, trial, events))
