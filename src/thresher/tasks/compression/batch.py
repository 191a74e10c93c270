"""A batch of rows as the payload of a packet, and the state that sender and receiver share.

    flags 1 | rows | steps, unless as before | times, if any | corrections, if any | values

The values are mask and integers by the arithmetic coder (`kernels.rows`). Where rounded values and
a general compressor take fewer bytes, they are plain: the mask if values are missing, then the
values in steps, both as integers (`columns.pack_integers`). Times are differences. Corrections are
differences of 64-bit patterns for lossless columns whose values are not on a grid to the last bit:
a bit for each column, then the differences of those that have some.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.columns import pack_integers, unpack_integers
from thresher.tasks.compression.kernels.arithmetic import reader, writer, written
from thresher.tasks.compression.kernels.rows import RowState, code_rows, new_row_state
from thresher.tasks.compression.quantise import (
    Steps,
    grid_of,
    on_grid,
    read_steps,
    same_bits,
)
from thresher.tasks.compression.wire import (
    MAX_ROWS,
    Array,
    PacketError,
    Reader,
    check_claim,
    number,
    padded,
    part,
)

_LARGEST_NUMBER = 2.0**52  # steps from a prediction: beyond, doubles are no integers
_WHOLE, _STEPS, _TIMES, _PLAIN, _CORRECTED = (1 << bit for bit in range(5))  # flags


@dataclass(frozen=True)
class StreamState:
    """What sender and receiver both know.

    Attributes
    ----------
    rows : RowState
        Models of the values.
    steps : array of shape (2, N)
        Grids and steps as they were sent last.
    clock : int
        The last time.
    checksum : int
        Of plain batches and corrections, which the models do not see.
    """

    rows: RowState
    steps: Array
    clock: int = 0
    checksum: int = 0

    @classmethod
    def starting_at(cls, level: Array, N: int) -> StreamState:
        """Return the state of a stream that starts at given values, one for all or one each."""
        level = np.broadcast_to(level, (N,)).astype(np.float64)
        return cls(new_row_state(level), np.zeros((2, N), np.int64))

    @property
    def n_sensors(self) -> int:
        """N."""
        return len(self.rows.level)

    @property
    def components(self) -> None:
        """No dictionary."""

    def with_dictionary(self, payload: bytes) -> StreamState:
        """Refuse a dictionary."""
        raise PacketError("The packet does not decode: this stream has no dictionaries.")

    def copy(self) -> StreamState:
        """Return a copy whose models may be changed."""
        return replace(self, rows=_copied(self.rows))

    def at_time(self, times: Array | None) -> StreamState:
        """Return the state after some times."""
        return self if times is None else replace(self, clock=int(times[-1]))

    def digest(self, n_rows: int, sequence: int) -> int:
        """Return a checksum of the state, the rows so far, and the number of the packet."""
        checksum = zlib.crc32(struct.pack("<QIq", n_rows, sequence, self.clock), self.checksum)
        for array in (*_arrays(self.rows), self.steps):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum

    def n_rows_in(self, payload: bytes) -> int:
        """Return how many rows a payload claims; `PacketError` if it cannot have so many."""
        return _head(payload, self.n_sensors)[1]

    def read(self, payload: bytes) -> tuple[Array, Array | None, StreamState]:
        """Return values, NaN where missing, times if there are any, and the state afterwards."""
        N, state = self.n_sensors, self.copy()
        flags, n, parts = _head(payload, N)
        if flags >= 2 * _CORRECTED:
            raise PacketError("The packet does not decode: its flags make no sense.")
        steps = read_steps(parts, N) if flags & _STEPS else Steps.sent_before(self.steps)
        times = (
            self.clock + np.cumsum(unpack_integers(parts.part(), n)[0]) if flags & _TIMES else None
        )
        corrections = parts.part() if flags & _CORRECTED else b""
        is_whole, present = bool(flags & _WHOLE), np.ones((n, N), np.bool_)
        if flags & _PLAIN:
            if not is_whole:
                present = unpack_integers(parts.part(), n, N).T != 0
            values = plain_values(unpack_integers(parts.rest(), n, N).T, steps)
            state = _after_plain(state, values, present)
        else:
            values = np.zeros((n, N))
            _code(state, reader(parts.rest()), values, present, is_whole, steps)
        if not np.isfinite(values[present]).all() or not np.isfinite(state.rows.level).all():
            raise PacketError("The packet does not decode: some values are infinite.")
        values = _corrected(np.where(present, values, np.nan), corrections)
        return values, times, _after(state, steps, corrections).at_time(times)


def _head(payload: bytes, N: int) -> tuple[int, int, Reader]:
    """Return flags, rows, and what follows."""
    parts = Reader(payload)
    (flags,), n = parts.take(1), parts.number()
    if not 0 < n <= MAX_ROWS:
        raise PacketError(f"The packet does not decode: it claims {n} rows.")
    check_claim(n * N, N, len(payload))
    return flags, n, parts


def _copied(state: Any) -> Any:
    """Return a copy of nested named tuples of arrays."""
    return state.copy() if isinstance(state, np.ndarray) else type(state)(*map(_copied, state))


def _arrays(state: Any) -> list[Array]:
    if isinstance(state, np.ndarray):
        return [state]
    return [array for part in state for array in _arrays(part)]


def _code(
    state: StreamState,
    coder: Any,
    values: Array,
    present: Array,
    is_whole: bool,
    steps: Steps,
    lookahead: bool = False,
) -> float:
    largest: float = code_rows(
        state.rows, coder, values, present, is_whole,
        steps.fractions, steps.sizes, steps.weights, steps.limits, lookahead,
    )  # fmt: skip
    return largest


def _after_plain(state: StreamState, values: Array, present: Array) -> StreamState:
    """Return the state after rows that the models have not seen."""
    last = np.where(present, np.arange(len(values))[:, None], -1).max(axis=0)
    known = values[last, np.arange(values.shape[1])]
    state.rows.level[:] = np.where(last >= 0, known, state.rows.level)
    state.rows.mask.present[:] = present[-1]
    content = np.where(present, values, 0.0).tobytes()
    return replace(state, checksum=zlib.crc32(content, state.checksum))


def _after(state: StreamState, steps: Steps, corrections: bytes) -> StreamState:
    return replace(state, steps=steps.sent, checksum=zlib.crc32(corrections, state.checksum))


# ------------------------------------------------------------------------------- coding


class RowBatch(NamedTuple):
    """Rows to code: values, zero where missing; which are present; the grid of each column.

    ``is_single`` if the values were float32, for which doubles of the same float are as good.
    """

    Y: Array
    present: Array
    grids: Array
    is_single: bool = False

    @classmethod
    def of(cls, Y: Array, known: Array) -> RowBatch:
        """Return rows with NaN where missing as a batch; ``known`` are the grids before, or 0."""
        present = ~np.isnan(Y)
        columns = zip(Y.T, present.T, known.tolist(), strict=True)
        grids = np.array([grid_of(y[here], grid) for y, here, grid in columns])
        is_single = Y.dtype == np.float32
        return cls(np.where(present, Y, 0.0).astype(np.float64), present, grids, is_single)

    @property
    def counts(self) -> Array:
        """How many values each column has."""
        return np.count_nonzero(self.present, axis=0)

    @property
    def squares(self) -> Array:
        """The sum of squares of each column."""
        return np.square(self.Y).sum(axis=0)


class CodedBatch(NamedTuple):
    """A batch as bytes, squared errors by column, and the state afterwards.

    Errors are infinite where the values are too far from the state for its steps.
    """

    steps: Steps
    flags: int
    data: bytes
    errors: Array
    state: StreamState
    corrections: bytes = b""

    def payload(self, before: StreamState, shape: tuple[int, int], times: Array | None) -> bytes:
        """Return the payload of a packet."""
        flags, steps, clock = self.flags, b"", b""
        if not np.array_equal(self.steps.sent, before.steps):
            flags, steps = flags | _STEPS, self.steps.written()
        if times is not None:
            flags, clock = flags | _TIMES, part(pack_integers(np.diff(times, prepend=before.clock)))
        if self.corrections:
            flags |= _CORRECTED
        corrections = part(self.corrections) if self.corrections else b""
        head = bytes([flags]) + number(shape[0]) + steps + clock + corrections
        return padded(head + self.data, shape[0] * shape[1], shape[1])


def code_batch(
    before: StreamState, batch: RowBatch, steps: Steps, *, lookahead: bool = False
) -> CodedBatch:
    """Code rows by the row models from a state, which is left as it was."""
    state, values, present = before.copy(), _in_steps(batch, steps), batch.present.copy()
    is_whole = bool(present.all() and state.rows.mask.present.all())
    failed = CodedBatch(steps, 0, b"", np.full(len(steps.grids), np.inf), state)
    farthest = np.abs(values).max(axis=0) + np.abs(state.rows.level)
    if (farthest / steps.sizes > _LARGEST_NUMBER).any():
        return failed
    coder = writer(values.size)
    if _code(state, coder, values, present, is_whole, steps, lookahead) > _LARGEST_NUMBER:
        return failed
    corrections, errors = _corrections(batch, values, steps)
    flags, state = _WHOLE * is_whole, _after(state, steps, corrections)
    return CodedBatch(steps, flags, written(coder), errors, state, corrections)


def round_plain(batch: RowBatch, steps: Steps) -> tuple[Array, Array] | None:
    """Return values in steps, and as they decode; None if a step is too fine for them."""
    Y = _in_steps(batch, steps)
    if np.abs(Y).max(initial=0.0) / steps.sizes.min() > _LARGEST_NUMBER:
        return None
    Q = np.rint(Y / steps.sizes).astype(np.int64)
    return Q, plain_values(Q, steps)


def plain_values(Q: Array, steps: Steps) -> Array:
    """Return multiples of the steps, on the grids of their columns."""
    values = Q * steps.sizes
    return np.stack([on_grid(y, g) for y, g in zip(values.T, steps.grids, strict=True)], axis=1)


def code_plain(
    before: StreamState, batch: RowBatch, steps: Steps, effort: int, limit: float
) -> CodedBatch | None:
    """Code rows in the plain way; None if that takes more than so many bytes."""
    found = round_plain(batch, steps)
    if found is None:
        return None
    Q, values = found
    # A missing value takes the one before, which costs least.
    places = np.where(batch.present, np.arange(len(Q))[:, None], 0)
    kept = np.maximum.accumulate(places, axis=0)
    data = pack_integers(np.take_along_axis(Q, kept, axis=0).T, effort, limit)
    if not data:
        return None
    if not batch.present.all():
        data = part(pack_integers(batch.present.T)) + data
    corrections, errors = _corrections(batch, values, steps)
    flags = _PLAIN | _WHOLE * bool(batch.present.all())
    state = _after(_after_plain(before.copy(), values, batch.present), steps, corrections)
    return CodedBatch(steps, flags, data, errors, state, corrections)


def _in_steps(batch: RowBatch, steps: Steps) -> Array:
    """Return what is coded in steps: lossless columns without a grid are corrections only."""
    return np.where(np.isinf(steps.weights) & (steps.grids == 0), 0.0, batch.Y)


def _corrections(batch: RowBatch, values: Array, steps: Steps) -> tuple[bytes, Array]:
    """Return corrections of lossless columns, and the squared errors of the other columns."""
    exact = batch.present & np.isinf(steps.weights)
    errors = np.square(np.where(batch.present & ~exact, values - batch.Y, 0.0)).sum(axis=0)
    kind = np.float32 if batch.is_single else np.float64
    wrong = exact & ~same_bits(values.astype(kind), batch.Y.astype(kind))
    columns = wrong.any(axis=0)
    if not columns.any():
        return b"", errors
    changes = np.where(wrong, _bits(batch.Y) - _bits(values), 0)
    packed = pack_integers(changes.T[columns][exact.T[columns]])
    return np.packbits(columns).tobytes() + packed, errors


def _corrected(values: Array, corrections: bytes) -> Array:
    """Return decoded values, NaN where missing, after corrections."""
    if not corrections:
        return values
    parts, N = Reader(corrections), values.shape[1]
    columns = np.unpackbits(np.frombuffer(parts.take(-(-N // 8)), np.uint8), count=N).astype(bool)
    found = values.T[columns]
    there = ~np.isnan(found)
    changes = unpack_integers(parts.rest(), int(np.count_nonzero(there)))[0]
    found[there] = (_bits(found[there]) + changes).view(np.float64)
    if not np.isfinite(found[there]).all():
        raise PacketError("The packet does not decode: some values are infinite.")
    corrected = values.copy()
    corrected.T[columns] = found
    return corrected


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float64).view(np.int64)
