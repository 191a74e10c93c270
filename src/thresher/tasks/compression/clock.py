"""Times of the rows of a stream: where they go on as before, they take nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader, number, signed
from thresher.tasks.compression.packet import VERSION, PacketError


class Clock(NamedTuple):
    """The time of the last row, and the step that led to it; in units of the sender."""

    last: int = 0
    step: int = 0

    def after(self, times: Numbers) -> Clock:
        """The clock after some rows."""
        steps = np.diff(times, prepend=np.int64(self.last))
        return Clock(int(times[-1]), int(steps[-1]))


def written_times(times: Numbers, clock: Clock) -> bytes:
    """Times after a clock: changes of their steps, as a list or packed; none if there are none."""
    changes = _changes(times, clock)
    if clock == Clock():  # no step leads to the first time of all
        changes[1:2] += changes[0]
    places = np.flatnonzero(changes)
    if not len(places):
        return b""
    pairs = zip(np.diff(places, prepend=-1) - 1, changes[places], strict=True)
    few = number(len(places)) + b"".join(number(int(gap)) + signed(int(c)) for gap, c in pairs)
    return min(few, b"\0" + packed_part(changes), key=len)


def regular_times(n: int, clock: Clock) -> Numbers:
    """So many times that go on as before."""
    return np.int64(clock.last) + np.int64(clock.step) * np.arange(1, n + 1)


def read_times(data: bytes, n: int, clock: Clock, version: int) -> tuple[Numbers, int]:
    """So many times, and the bytes that they take."""
    parts, changes = Reader(data), np.zeros(n, np.int64)
    count = parts.number() if version >= VERSION else 0
    if count:
        at = -1
        for _ in range(min(count, n + 1)):
            at += parts.number() + 1
            if at >= n:
                raise PacketError("The packet does not decode: it has more times than rows.")
            changes[at] = parts.signed()
    else:
        content = parts.part()
        changes = unpacked_integers(content, n) if content else changes
    if clock == Clock() and version >= VERSION:
        changes[1:2] -= changes[0]
    return np.int64(clock.last) + np.cumsum(np.int64(clock.step) + np.cumsum(changes)), parts.at


def _changes(times: Numbers, clock: Clock) -> Numbers:
    steps = np.diff(times, prepend=np.int64(clock.last))
    return np.diff(steps, prepend=np.int64(clock.step))
