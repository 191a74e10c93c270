"""What happened, step by step, in bounded memory."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from thresher.linalg import Array

LONGEST = 10_000  # rows; by judgement


class HistoryRow(NamedTuple):
    """One step of a fit."""

    samples: int
    """Samples seen so far."""
    seconds: float
    """Time spent so far, over all calls."""
    loss: float
    """Mean loss per sample of this batch, before the dictionary moved."""
    certificate: float
    """Largest certificate among the first codes of this batch: how exact they are."""
    change: float
    """Change of the dictionary, relative to its length."""
    violation: float = float("nan")
    """Accumulated squared violation of the constraint, for methods that have one (OIADMM)."""
    surrogate: float = float("nan")
    """What the dictionary step minimises, for methods that sum up a surrogate (paper A, (11))."""
    gap: float = float("nan")
    """The Frank–Wolfe gap before the step, for methods that have one (paper D)."""
    regret: float = float("nan")
    """What the regret against the best fixed dictionary cannot exceed (OIADMM, paper B)."""


class Event(NamedTuple):
    """Something that a fit noticed in the data, or that was changed, see docs/guide/drift.md."""

    samples: int
    """Samples seen by then."""
    kind: str
    """``shift``: losses rose; ``replaced``, ``kept``: what became of the dictionary then;
    ``outlier_weight``, ``forgetting``: a changed parameter."""
    statistic: float
    """Of a shift the p-value (NaN if the detector has none); of ``replaced`` and ``kept`` the loss
    of the best rival, over that of the dictionary in use; of a change the new λ or half-life (NaN
    for a rule or a schedule, infinite if nothing is forgotten)."""


KINDS = ("shift", "replaced", "kept", "outlier_weight", "forgetting")
_MOST_EVENTS = 1000  # the last ones; by judgement


class History:
    """A list of `HistoryRow`; when it grows too long, every second of its older half is dropped."""

    def __init__(self) -> None:
        self._rows: list[HistoryRow] = []
        self._events: list[Event] = []

    def append(self, row: HistoryRow, events: Iterable[Event] = ()) -> None:
        """Add a step, and what was noticed in it."""
        self._rows.append(row)
        if events:
            self.note(events)
        if len(self._rows) > LONGEST:
            half = LONGEST // 2
            self._rows = self._rows[:half:2] + self._rows[half:]

    def note(self, events: Iterable[Event]) -> None:
        """Add what was noticed in a step; the last thousand are kept."""
        self._events = [*self._events, *events][-_MOST_EVENTS:]

    @property
    def events(self) -> tuple[Event, ...]:
        """What was noticed in the data, in order."""
        return tuple(self._events)

    def __copy__(self) -> "History":
        other = History()
        other._rows, other._events = self._rows.copy(), self._events.copy()
        return other

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> HistoryRow:
        return self._rows[index]

    def __iter__(self) -> Iterator[HistoryRow]:
        return iter(self._rows)

    def column(self, name: str) -> Array:
        """One column as an array, such as ``history.column("loss")``."""
        return self.to_array()[:, HistoryRow._fields.index(name)]

    def to_array(self) -> Array:
        """All rows as a float64 array of shape (steps, 9)."""
        return np.array(self._rows, dtype=np.float64).reshape(-1, len(HistoryRow._fields))

    def events_to_array(self) -> Array:
        """Samples, kind (as a number) and statistic of all events, shape (events, 3)."""
        numbers = [(samples, KINDS.index(kind), value) for samples, kind, value in self._events]
        return np.array(numbers, dtype=np.float64).reshape(-1, 3)

    def note_array(self, values: Array) -> None:
        """Note what `events_to_array` gave; a ValueError if the array cannot come from it."""
        whole = (values[:, :2] >= 0) & (values[:, :2] < [2**53, len(KINDS)])
        if len(values) > _MOST_EVENTS or not whole.all():
            raise ValueError(f"an array of the shape {values.shape} has no events")
        self.note(Event(int(n), KINDS[int(kind)], float(value)) for n, kind, value in values)

    @classmethod
    def from_array(cls, values: Array) -> "History":
        """Undo `to_array`; a ValueError if the array cannot come from it."""
        good = len(values) <= LONGEST and values.shape[1] == len(HistoryRow._fields)
        if not good or not ((values[:, 0] >= 0) & (values[:, 0] < 2**53)).all():
            raise ValueError(f"an array of the shape {values.shape} is no history")
        history = cls()
        history._rows = [HistoryRow(int(row[0]), *map(float, row[1:])) for row in values]
        return history
