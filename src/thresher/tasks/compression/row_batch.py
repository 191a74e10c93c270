"""A batch of rows in a packet, every column with a step of its own.

rows 2 | flags 1 | steps, unless as before | times, if any | numbers and mask, range-coded
rows 2 | flags 1 | times, if any | what `plain` makes of them, if that is smaller
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.clock import Clock, read_times, written_times
from thresher.tasks.compression.grid import WHOLE, finest_common, grid_of
from thresher.tasks.compression.kernels.mask import MaskState
from thresher.tasks.compression.kernels.range_coder import reader, writer, written
from thresher.tasks.compression.kernels.rows import RowState, code_rows, first_rows
from thresher.tasks.compression.limits import check_claim, padded
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.plain import plain_values, read_plain
from thresher.tasks.compression.steps import EACH, Steps, read_steps

_HEAD = struct.Struct("<HB")
_WHOLE, _TIMED, _PLAIN = 1, 8, 16
_ROOM = 64  # bytes that a value takes at most: 26 decisions, and twice 62 digits
_LARGEST_NUMBER = 2.0**52  # beyond which doubles are not whole numbers any more


@dataclass(frozen=True)
class StreamState:
    """What edge and cloud both know, and keep alike."""

    rows: RowState
    told: Numbers
    clock: Clock
    plain: int = 0
    """A checksum of plain rows, which leave little else behind."""

    @classmethod
    def starting_at(cls, level: Numbers) -> StreamState:
        """Values from which to start; models that have seen nothing."""
        return cls(first_rows(level), np.zeros((2, len(level)), np.int64), Clock())

    @property
    def n_sensors(self) -> int:
        """N."""
        return len(self.rows.level)

    @property
    def level(self) -> Numbers:
        """The last decoded values; of missing sensors, what is expected."""
        level: Numbers = self.rows.level
        return level

    @property
    def D(self) -> Numbers:  # noqa: N802, the notation of the papers
        """No dictionary: atoms that are sensors."""
        return np.eye(self.n_sensors)

    def copy(self) -> StreamState:
        """A copy that shares nothing."""
        *arrays, mask = self.rows
        rows = RowState._make([*(a.copy() for a in arrays), MaskState(*(a.copy() for a in mask))])
        return StreamState(rows, self.told.copy(), self.clock, self.plain)

    def digest(self, n_rows: int, sequence: int) -> int:
        """A checksum of all of it, of the rows so far, and of the packet's number."""
        *arrays, mask = self.rows
        checksum = zlib.crc32(struct.pack("<QIqq", n_rows, sequence, *self.clock), self.plain)
        for array in (*arrays, *mask, self.told):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum


class Batch(NamedTuple):
    """Rows to code: values, zero where missing; which are there; the grid of each column."""

    Y: Numbers
    present: Numbers
    grids: Numbers

    @classmethod
    def of(cls, Y: Numbers, known: Numbers | None = None) -> Batch:
        """Rows with NaN where a sensor is silent; ``known`` are grids that were met before."""
        present = ~np.isnan(Y)
        grids = np.array([grid_of(y[here]) for y, here in zip(Y.T, present.T, strict=True)])
        silent = np.asarray(~present.any(axis=0))
        if known is not None:
            grids = np.array(
                [
                    max(k, 0) if is_silent else finest_common(k, g) if k > 0 and g > 0 else g
                    for k, g, is_silent in zip(known, grids, silent, strict=True)
                ]
            )
        grids[silent & (grids == 0)] = WHOLE
        return cls(np.where(present, Y, 0.0).astype(np.float64), present, grids)

    @property
    def counts(self) -> Numbers:
        """How many values each column has."""
        return np.count_nonzero(self.present, axis=0)

    @property
    def squares(self) -> Numbers:
        """The sum of squares of each column."""
        return np.square(self.Y).sum(axis=0)

    def part(self, rows: slice) -> Batch:
        """Some of the rows."""
        return Batch(self.Y[rows], self.present[rows], self.grids)


class CodedBatch(NamedTuple):
    """A batch as bytes, and what comes of it; ``errors`` are squared, for each column."""

    steps: Steps
    data: bytes
    values: Numbers
    errors: Numbers
    state: StreamState
    is_whole: bool
    is_plain: bool = False

    def n_bytes(self, before: StreamState) -> int:
        """What the rows take in a packet, without their times."""
        return len(self.data) + (0 if self.is_plain else len(self.steps.written(before.told)[1]))

    def payload(self, before: StreamState, times: Numbers | None = None) -> bytes:
        """The payload of a packet."""
        n, N = self.values.shape
        kind, told = (0, b"") if self.is_plain else self.steps.written(before.told)
        flags = (_WHOLE if self.is_whole else 0) | kind << 1 | (_TIMED if times is not None else 0)
        flags |= _PLAIN if self.is_plain else 0
        clock = b"" if times is None else written_times(times, before.clock)
        return padded(_HEAD.pack(n, flags) + told + clock + self.data, n * N, N)

    def after(self, times: Numbers | None) -> StreamState:
        """What both sides know afterwards."""
        clock = self.state.clock if times is None else self.state.clock.after(times)
        return replace(self.state, clock=clock)


def coded_batch(before: StreamState, batch: Batch, steps: Steps) -> CodedBatch:
    """Code rows from a state, which is left as it was."""
    state, values, present = before.copy(), batch.Y.copy(), batch.present.copy()
    state.told[:] = steps.told()
    largest = np.abs(batch.Y).max(initial=0.0) + np.abs(before.level).max()
    errors = np.full(len(steps.grids), np.inf)
    is_whole = bool(present.all() and state.rows.mask.present.all())
    if largest / steps.steps.min() > _LARGEST_NUMBER:  # no way to code them
        return CodedBatch(steps, b"", values, errors, state, is_whole)
    coder = writer(_ROOM * values.size + 64)
    worst = code_rows(
        state.rows, coder, values, present, is_whole,
        steps.fractions, steps.steps, steps.weights, steps.limits,
    )  # fmt: skip
    if worst <= _LARGEST_NUMBER:
        difference = np.where(batch.present, values - batch.Y, 0.0)
        errors = np.square(difference).sum(axis=0)
    return CodedBatch(steps, written(coder), values, errors, state, is_whole)


def plain_batch(
    before: StreamState, batch: Batch, like: CodedBatch, bounds: Bounds, left: Numbers
) -> CodedBatch | None:
    """The rows of a coded batch in the plain way; None if there is none."""
    data = plain_values(batch, bounds, left, like.steps.limits, before.level)
    if data is None:
        return None
    n, N = batch.Y.shape
    values = read_plain(data, n, N, before.level)
    errors = np.square(np.where(batch.present, values - batch.Y, 0.0)).sum(axis=0)
    state = _after_plain(before, values)
    return CodedBatch(like.steps, data, values, errors, state, False, is_plain=True)


def _after_plain(before: StreamState, values: Numbers) -> StreamState:
    """What both sides know after rows that the models of numbers have not seen."""
    state, present = before.copy(), ~np.isnan(values)
    last = np.maximum.accumulate(np.where(present, np.arange(len(values))[:, None], -1), axis=0)[-1]
    known = np.where(last >= 0, values[last, np.arange(values.shape[1])], before.level)
    state.rows.level[:] = known
    state.rows.mask.present[:] = present[-1]
    return replace(state, plain=zlib.crc32(values.tobytes(), state.plain))


def n_rows_in(payload: bytes, n_sensors: int) -> int:
    """How many rows a payload claims; `PacketError` if it cannot have so many."""
    if len(payload) < _HEAD.size:
        raise PacketError("The packet does not decode: its header is cut.")
    n = int(_HEAD.unpack_from(payload)[0])
    check_claim(n * n_sensors, n_sensors, len(payload))
    return n


def read_batch(state: StreamState, payload: bytes) -> tuple[Numbers, Numbers | None, StreamState]:
    """Values, NaN where missing, and times, if any; and the state afterwards."""
    n, N = n_rows_in(payload, state.n_sensors), state.n_sensors
    _, flags = _HEAD.unpack_from(payload)
    kind, at = flags >> 1 & 3, _HEAD.size
    is_plain = bool(flags & _PLAIN)
    if not n or flags > _PLAIN + _TIMED + 2 * EACH + _WHOLE or kind > (0 if is_plain else EACH):
        raise PacketError("The packet does not decode: its header makes no sense.")
    times, clock = None, state.clock
    if not is_plain:
        steps, size = read_steps(kind, payload[at:], state.told)
        at += size
    if flags & _TIMED:
        times, size = read_times(payload[at:], n, clock)
        at, clock = at + size, clock.after(times)
    if is_plain:
        values = read_plain(payload[at:], n, N, state.level)
        after = _after_plain(state, values)
        return values, times, replace(after, clock=clock)
    values, present = np.zeros((n, N)), np.ones((n, N), np.bool_)
    state.told[:] = steps.told()
    code_rows(
        state.rows, reader(payload[at:]), values, present, bool(flags & _WHOLE),
        steps.fractions, steps.steps, steps.weights, steps.limits,
    )  # fmt: skip
    if not (np.isfinite(values).all() and np.isfinite(state.level).all()):
        raise PacketError("The packet does not decode: some values are not numbers.")
    values[~present] = np.nan
    return values, times, replace(state, clock=clock)
