"""Callbacks, which are called after each step of a fit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.engine.history import Event, HistoryRow
from thresher.linalg import Array


@dataclass(frozen=True)
class Step:
    """A step of a fit, as callbacks get it.

    Attributes
    ----------
    row : HistoryRow
        Samples, seconds, loss, certificate and change of this step.
    dictionary : array of shape (K, F)
        The current atoms, read-only.
    model : estimator
        The estimator that is being fitted, usable as it is: it can transform or be saved.
    events : tuple of Event
        What was noticed in the data of this step.
    samples : array or CSR of shape (n, F), or None
        What it learned from, as it was given; None where they are on other machines.
    """

    row: HistoryRow
    dictionary: Array
    model: Any
    events: tuple[Event, ...] = ()
    samples: Any = None


Callback = Callable[[Step], bool | None]
"""Called after each step; returning True ends the fit. It may have a method `begin`, too."""


def list_callbacks(model: Any) -> None:
    """Put a list in the place of a generator, which could be read once, and so called once."""
    if isinstance(model.callbacks, Iterator):
        model.callbacks = list(model.callbacks)


def begin_callbacks(model: Any, n_seen: int = 0) -> None:
    """Call ``begin`` of callbacks: a fit starts, or continues after so many samples.

    Those with a method ``begin(model, n_seen)`` may refuse the model before anything is done.
    """
    for callback in model.callbacks or ():
        begin = getattr(callback, "begin", None)
        if callable(begin):
            begin(model, n_seen)


def any_stops(callbacks: Iterable[Callable[[Any], Any]], step: Any) -> bool:
    """Call all of them, and return whether one wants to stop."""
    stops = False
    for callback in callbacks:
        answer = callback(step)
        stops |= isinstance(answer, bool | np.bool_) and bool(answer)
    return stops


@dataclass(frozen=True)
class StopAfter:
    """Stop after a number of samples, a time budget, or when the dictionary hardly moves.

    Parameters
    ----------
    samples : int, optional
        Samples seen in all.
    seconds : float, optional
        Seconds spent fitting.
    change : float, optional
        Relative change of the dictionary in a step.
    """

    samples: int | None = None
    seconds: float | None = None
    change: float | None = None

    def __call__(self, step: Step) -> bool:
        """Whether one of the limits is reached."""
        row = step.row
        return (
            (self.samples is not None and row.samples >= self.samples)
            or (self.seconds is not None and row.seconds >= self.seconds)
            or (self.change is not None and row.change <= self.change)
        )
