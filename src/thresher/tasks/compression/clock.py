"""Times of the rows of a stream: where they go on as before, they take a byte for each packet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader


class Clock(NamedTuple):
    """The time of the last row, and the step that led to it; in units of the sender."""

    last: int = 0
    step: int = 0

    def after(self, times: Numbers) -> Clock:
        """The clock after some rows."""
        steps = np.diff(times, prepend=np.int64(self.last))
        return Clock(int(times[-1]), int(steps[-1]))


def written_times(times: Numbers, clock: Clock) -> bytes:
    """Times after a clock: changes of their steps, nothing if there are none."""
    changes = _changes(times, clock)
    return packed_part(changes) if changes.any() else b"\0"


def read_times(data: bytes, n: int, clock: Clock) -> tuple[Numbers, int]:
    """So many times, and the bytes that they take."""
    parts = Reader(data)
    content = parts.part()
    changes = unpacked_integers(content, n) if content else np.zeros(n, np.int64)
    return np.int64(clock.last) + np.cumsum(np.int64(clock.step) + np.cumsum(changes)), parts.at


def _changes(times: Numbers, clock: Clock) -> Numbers:
    steps = np.diff(times, prepend=np.int64(clock.last))
    return np.diff(steps, prepend=np.int64(clock.step))
