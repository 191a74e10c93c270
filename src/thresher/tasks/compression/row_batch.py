"""A batch of rows in a packet, every column with a step of its own.

head (`row_head`) | steps, unless as before | times, if they do not go on as before
    | corrections, if columns without error need them (`corrections`) | and then

    numbers and mask, range-coded
    layout, unless as before | mask, if any | what `plain` makes of the numbers, if that is smaller
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.clock import Clock, read_times, regular_times, written_times
from thresher.tasks.compression.corrections import corrected_values, written_corrections
from thresher.tasks.compression.grid import WHOLE, finest_common, grid_of
from thresher.tasks.compression.kernels.mask import MaskState
from thresher.tasks.compression.kernels.range_coder import Coder, reader, writer, written
from thresher.tasks.compression.kernels.rows import RowState, code_rows, first_rows
from thresher.tasks.compression.limits import HISTORY, check_claim, padded
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.packet import VERSION, PacketError
from thresher.tasks.compression.plain import Past, Plain, plain_rows, read_plain, read_plain_rows
from thresher.tasks.compression.row_head import RowHead, Times, read_head
from thresher.tasks.compression.steps import Steps, read_steps

_ROOM = 64  # bytes that a value takes at most: 26 decisions, and twice 62 digits
_LARGEST_NUMBER = 2.0**52  # beyond which doubles are not whole numbers any more


@dataclass(frozen=True)
class StreamState:
    """What edge and cloud both know, and keep alike."""

    rows: RowState
    told: Numbers
    clock: Clock
    past: Numbers
    """The last values, gaps filled with those before; never changed in place."""
    plain: int = 0
    """A checksum of plain rows, which leave little else behind."""
    layout: bytes = b""
    """Of the last plain rows."""
    n_last: int = 0
    """How many rows the last batch had."""

    @classmethod
    def starting_at(cls, level: Numbers) -> StreamState:
        """Values from which to start; models that have seen nothing."""
        told = np.zeros((2, len(level)), np.int64)
        return cls(first_rows(level), told, Clock(), level[None].copy())

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
        return replace(self, rows=rows, told=self.told.copy())

    def after(self, values: Numbers, times: Numbers | None) -> StreamState:
        """With the values and times of rows; NaN where missing."""
        rows = np.vstack([self.past[-1], values])
        kept = np.maximum.accumulate(
            np.where(np.isnan(rows), 0, np.arange(len(rows))[:, None]), axis=0
        )
        filled = np.vstack([self.past, np.take_along_axis(rows, kept, axis=0)[1:]])
        most = max(HISTORY // rows.shape[1], 1)
        clock = self.clock if times is None else self.clock.after(times)
        return replace(self, clock=clock, past=filled[-most:], n_last=len(values))

    def digest(self, n_rows: int, sequence: int) -> int:
        """A checksum of all of it, of the rows so far, and of the packet's number."""
        *arrays, mask = self.rows
        checksum = zlib.crc32(struct.pack("<QIqq", n_rows, sequence, *self.clock), self.plain)
        for array in (*arrays, *mask, self.told):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum


class Batch(NamedTuple):
    """Rows to code: values, zero where missing; which are there; the grid of each column.

    ``is_single`` if the values were floats of 32 bits, for which doubles of the same float are as
    good.
    """

    Y: Numbers
    present: Numbers
    grids: Numbers
    is_single: bool = False

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
        known = np.where(present, Y, 0.0).astype(np.float64)
        return cls(known, present, grids, Y.dtype == np.float32)

    @property
    def counts(self) -> Numbers:
        """How many values each column has."""
        return np.count_nonzero(self.present, axis=0)

    @property
    def nonzero(self) -> Numbers:
        """How many values of each column are not zero."""
        return np.count_nonzero(self.Y, axis=0)

    @property
    def squares(self) -> Numbers:
        """The sum of squares of each column."""
        return np.square(self.Y).sum(axis=0)

    def part(self, rows: slice) -> Batch:
        """Some of the rows."""
        return self._replace(Y=self.Y[rows], present=self.present[rows])


class CodedBatch(NamedTuple):
    """A batch as bytes, and what comes of it; ``errors`` are squared, for each column.

    ``values`` are zero, or anything, where ``present`` tells that they are missing. They are those
    before ``corrections``, which the state does not know; ``errors`` are those after them.
    """

    steps: Steps
    data: bytes
    values: Numbers
    present: Numbers
    errors: Numbers
    state: StreamState
    is_whole: bool
    plain: Plain | None = None
    corrections: bytes = b""

    def n_bytes(self, before: StreamState) -> int:
        """What the rows take in a packet, without their times."""
        return len(self.payload(before))

    def payload(self, before: StreamState, times: Numbers | None = None) -> bytes:
        """The payload of a packet."""
        n, N = self.values.shape
        kind, told = self.steps.written(before.told)
        clock = b"" if times is None else written_times(times, before.clock)
        said = Times.NONE if times is None else Times.TOLD if clock else Times.REGULAR
        head = RowHead(n, self.is_whole, kind, said, is_corrected=bool(self.corrections))
        corrections = part(self.corrections) if self.corrections else b""
        data = self.data
        if self.plain is not None:
            same = self.plain.layout == before.layout
            head = head._replace(is_plain=True, same_layout=same)
            mask = b"" if self.is_whole else part(self.plain.mask)
            data = (b"" if same else self.plain.layout) + mask + self.plain.data
        return padded(head.written(before.n_last) + told + clock + corrections + data, n * N, N)

    def after(self, times: Numbers | None) -> StreamState:
        """What both sides know afterwards."""
        state = self.state.after(np.where(self.present, self.values, np.nan), times)
        return _after_corrections(state, self.corrections)


def coded_batch(before: StreamState, batch: Batch, steps: Steps) -> CodedBatch:
    """Code rows from a state, which is left as it was."""
    state, values, present = before.copy(), batch.Y.copy(), batch.present.copy()
    state.told[:] = steps.told()
    largest = np.abs(batch.Y).max(initial=0.0) + np.abs(before.level).max()
    errors = np.full(len(steps.grids), np.inf)
    is_whole = bool(present.all() and state.rows.mask.present.all())
    if largest / steps.steps.min() > _LARGEST_NUMBER:  # no way to code them
        return CodedBatch(steps, b"", values, present, errors, state, is_whole)
    coder = writer(_ROOM * values.size + 64)
    worst = code_rows(
        state.rows, coder, values, present, is_whole,
        steps.fractions, steps.steps, steps.weights, steps.limits,
    )  # fmt: skip
    corrections = b""
    if worst <= _LARGEST_NUMBER:
        corrections, errors = _corrected(batch, values, steps)
    data = written(coder)
    return CodedBatch(
        steps, data, values, batch.present, errors, state, is_whole, corrections=corrections
    )


def _corrected(batch: Batch, values: Numbers, steps: Steps) -> tuple[bytes, Numbers]:
    """Return the corrections of lossless columns, and the squared errors after applying them."""
    exact = np.isinf(steps.weights)
    corrections = written_corrections(batch.Y, values, batch.present & exact, batch.is_single)
    difference = np.where(batch.present & ~exact, values - batch.Y, 0.0)
    return corrections, np.square(difference).sum(axis=0)


def _after_corrections(state: StreamState, corrections: bytes) -> StreamState:
    """Include corrections in the digest of a state; without any, the state is unchanged."""
    if not corrections:
        return state
    return replace(state, plain=zlib.crc32(corrections, state.plain))


def plain_batch(
    before: StreamState, batch: Batch, like: CodedBatch, bounds: Bounds
) -> CodedBatch | None:
    """The rows of a coded batch in the plain way, at its error at most; None if there is none."""
    left = bounds.summed(like.errors)
    past = Past(before.past, before.told, before.layout)
    plain = plain_rows(batch, bounds, left, like.steps.limits, past)
    if plain is None:
        return None
    values = read_plain_rows(plain, len(batch.Y), before.past)
    corrections, errors = _corrected(batch, values, plain.steps)
    state, is_whole = _after_plain(before, values, plain), not plain.mask
    return CodedBatch(
        plain.steps, b"", values, batch.present, errors, state, is_whole, plain, corrections
    )


def _after_plain(before: StreamState, values: Numbers, plain: Plain | None) -> StreamState:
    """What both sides know after rows that the models of numbers have not seen."""
    state, present = before.copy(), ~np.isnan(values)
    last = np.maximum.accumulate(np.where(present, np.arange(len(values))[:, None], -1), axis=0)[-1]
    known = np.where(last >= 0, values[last, np.arange(values.shape[1])], before.level)
    state.rows.level[:] = known
    state.rows.mask.present[:] = present[-1]
    state = replace(state, plain=zlib.crc32(values.tobytes(), state.plain))
    if plain is None:  # of version 3
        return state
    state.told[:] = plain.steps.told()
    return replace(state, layout=plain.layout)


def n_rows_in(payload: bytes, state: StreamState, version: int = VERSION) -> int:
    """How many rows a payload claims; `PacketError` if it cannot have so many."""
    n = read_head(payload, state.n_last, version)[0].n
    check_claim(n * state.n_sensors, state.n_sensors, len(payload))
    return n


def read_batch(
    state: StreamState, payload: bytes, version: int = VERSION
) -> tuple[Numbers, Numbers | None, StreamState]:
    """Values, NaN where missing, and times, if any; and the state afterwards."""
    n, N = n_rows_in(payload, state, version), state.n_sensors
    head, at = read_head(payload, state.n_last, version)
    is_old_plain = head.is_plain and version < VERSION
    if not is_old_plain:
        steps, size = read_steps(head.steps, payload[at:], state.told)
        at += size
    times = regular_times(n, state.clock) if head.times == Times.REGULAR else None
    if head.times == Times.TOLD:
        times, size = read_times(payload[at:], n, state.clock, version)
        at += size
    corrections = b""
    if head.is_corrected:
        parts = Reader(payload[at:])
        corrections = parts.part()
        at += parts.at
    if is_old_plain:
        values = read_plain(payload[at:], n, N, state.level)
        state = _after_plain(state, values, None)
    elif head.is_plain:
        plain = _read_plain(head, steps, payload[at:], state)
        values = read_plain_rows(plain, n, state.past)
        state = _after_plain(state, values, plain)
    else:
        values = _read_numbers(state, reader(payload[at:]), head, steps)
    state = _after_corrections(state.after(values, times), corrections)
    return corrected_values(values, corrections), times, state


def _read_plain(head: RowHead, steps: Steps, data: bytes, state: StreamState) -> Plain:
    if head.same_layout and not state.layout:
        raise PacketError("The packet does not decode: its layout is that of no packet before.")
    parts = Reader(data)
    layout = state.layout if head.same_layout else parts.take(3 + state.n_sensors)
    mask = b"" if head.is_whole else parts.part()
    return Plain(steps, layout, mask, parts.rest())


def _read_numbers(state: StreamState, coder: Coder, head: RowHead, steps: Steps) -> Numbers:
    """Values by the models of numbers, which are moved on."""
    shape = head.n, state.n_sensors
    values, present = np.zeros(shape), np.ones(shape, np.bool_)
    state.told[:] = steps.told()
    code_rows(
        state.rows, coder, values, present, head.is_whole,
        steps.fractions, steps.steps, steps.weights, steps.limits,
    )  # fmt: skip
    if not (np.isfinite(values).all() and np.isfinite(state.level).all()):
        raise PacketError("The packet does not decode: some values are not numbers.")
    values[~present] = np.nan
    return values
