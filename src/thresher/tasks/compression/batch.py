"""A batch of rows as the payload of a packet, and the state that sender and receiver share.

    flags 1 | rows, unless as before | steps, unless as before | times, unless regular
    | corrections, if any | values

The values are mask and integers by the arithmetic coder (`kernels.rows`), or plain (`plain`).
Corrections are differences of 64-bit patterns for lossless columns whose values lie next to a grid
point, such as ``3 * 0.1``: a bit for each column, then the differences of those that have some.
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
from thresher.tasks.compression.plain import PlainRows, plain_rows, read_plain, written_plain
from thresher.tasks.compression.quantise import (
    WHOLE,
    Array,
    Steps,
    common_grid,
    grid_of,
    read_steps,
    same_bits,
)
from thresher.tasks.compression.wire import (
    HISTORY,
    MAX_ROWS,
    PacketError,
    Reader,
    check_claim,
    number,
    padded,
    part,
    signed,
)

_WORKSPACE = 64  # bytes that a value takes at most: 26 decisions, and twice 62 digits
LARGEST_NUMBER = 2.0**52
"""Steps from a prediction: beyond, doubles are no integers."""
_WHOLE, _STEPS, _TIMES, _PLAIN, _ROWS, _CORRECTED = 0, 1, 3, 5, 6, 7  # bits of the flags
_NO_TIMES, _IRREGULAR, _REGULAR = range(3)


@dataclass(frozen=True)
class StreamState:
    """What sender and receiver both know.

    Attributes
    ----------
    rows : RowState
        Models of the values.
    steps : array of shape (2, N)
        Grids and steps as they were sent last.
    clock : tuple of int
        The last time, and its difference from the one before.
    past : array
        The last values, missing ones replaced by those before; never changed in place.
    checksum : int
        Of plain batches and corrections, which the models do not see.
    n_last : int
        The rows of the last batch.
    orders : bytes
        Layout and orders of the differences in the last plain batch.
    """

    rows: RowState
    steps: Array
    past: Array
    clock: tuple[int, int] = (0, 0)
    checksum: int = 0
    n_last: int = 0
    orders: bytes = b""

    @classmethod
    def starting_at(cls, level: Array, N: int, n_last: int = 0) -> StreamState:
        """Return the state of a stream that starts at given values, one for all or one each."""
        level = np.broadcast_to(level, (N,)).astype(np.float64)
        return cls(new_row_state(level), np.zeros((2, N), np.int64), level[None], n_last=n_last)

    @property
    def n_sensors(self) -> int:
        """N."""
        return len(self.rows.level)

    @property
    def level(self) -> Array:
        """The last decoded values; of missing sensors, the predicted ones."""
        level: Array = self.rows.level
        return level

    @property
    def components(self) -> None:
        """No dictionary."""

    def with_dictionary(self, payload: bytes) -> StreamState:
        """Refuse a dictionary."""
        raise PacketError("The packet does not decode: this stream has no dictionaries.")

    def copy(self) -> StreamState:
        """Return a copy whose models may be changed."""
        return replace(self, rows=_copied(self.rows), steps=self.steps.copy())

    def after(self, values: Array, times: Array | None, corrections: bytes) -> StreamState:
        """Return the state after a batch, NaN where values are missing."""
        rows = np.vstack([self.past[-1], values])
        kept = np.where(np.isnan(rows), 0, np.arange(len(rows))[:, None])
        filled = np.take_along_axis(rows, np.maximum.accumulate(kept, axis=0), axis=0)
        past = np.vstack([self.past, filled[1:]])[-max(HISTORY // rows.shape[1], 1) :]
        clock = self.clock
        if times is not None:
            before = clock[0] if len(times) == 1 else int(times[-2])
            clock = int(times[-1]), _wrapped(int(times[-1]) - before)
        checksum = zlib.crc32(corrections, self.checksum)
        return replace(self, clock=clock, past=past, checksum=checksum, n_last=len(values))

    def digest(self, n_rows: int, sequence: int) -> int:
        """Return a checksum of the state, the rows so far, and the number of the packet."""
        checksum = zlib.crc32(struct.pack("<QIqq", n_rows, sequence, *self.clock), self.checksum)
        for array in (*_arrays(self.rows), self.steps):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return checksum

    def n_rows_in(self, payload: bytes) -> int:
        """Return how many rows a payload claims; `PacketError` if it cannot have so many."""
        parts = Reader(payload)
        n = self.n_last if parts.take(1)[0] >> _ROWS & 1 else parts.number()
        if not 0 < n <= MAX_ROWS:
            raise PacketError(f"The packet does not decode: it claims {n} rows.")
        check_claim(n * self.n_sensors, self.n_sensors, len(payload))
        return n

    def read(self, payload: bytes) -> tuple[Array, Array | None, StreamState]:
        """Return values, NaN where missing, times if there are any, and the state afterwards."""
        n, N = self.n_rows_in(payload), self.n_sensors
        parts, state = Reader(payload), self.copy()
        (flags,) = parts.take(1)
        if not flags >> _ROWS & 1:
            parts.number()
        kind, told = flags >> _STEPS & 3, flags >> _TIMES & 3
        if kind > 2 or told > _REGULAR:
            raise PacketError("The packet does not decode: its flags make no sense.")
        steps = read_steps(kind, parts, state.steps)
        times = None if told == _NO_TIMES else _read_times(parts, n, self.clock, told == _REGULAR)
        corrections = parts.part() if flags >> _CORRECTED & 1 else b""
        if flags >> _PLAIN & 1:
            values, orders = read_plain(parts, n, steps, self.past, self.orders, flags & 1)
            state = _after_plain(state, values, steps, orders)
        else:
            values, present = np.zeros((n, N)), np.ones((n, N), np.bool_)
            _code(state, reader(parts.rest()), values, present, bool(flags & 1), steps)
            values[~present] = np.nan
        if np.isinf(values).any() or not np.isfinite(state.level).all():
            raise PacketError("The packet does not decode: some values are infinite.")
        return (
            _corrected(values, corrections),
            times,
            state.after(values, times, corrections),
        )


def _copied(state: Any) -> Any:
    """Return a copy of nested named tuples of arrays."""
    return state.copy() if isinstance(state, np.ndarray) else type(state)(*map(_copied, state))


def _arrays(state: Any) -> list[Array]:
    if isinstance(state, np.ndarray):
        return [state]
    return [array for part in state for array in _arrays(part)]


def _code(
    state: StreamState, coder: Any, values: Array, present: Array, is_whole: bool, steps: Steps
) -> float:
    state.steps[:] = steps.sent
    largest: float = code_rows(
        state.rows, coder, values, present, is_whole,
        steps.fractions, steps.sizes, steps.weights, steps.limits,
    )  # fmt: skip
    return largest


def _after_plain(state: StreamState, values: Array, steps: Steps, orders: bytes) -> StreamState:
    """Return the state after rows that the models have not seen."""
    present = ~np.isnan(values)
    last = np.where(present, np.arange(len(values))[:, None], -1).max(axis=0)
    known = np.where(last >= 0, values[last, np.arange(values.shape[1])], state.level)
    state.rows.level[:] = known
    state.rows.mask.present[:] = present[-1]
    state.steps[:] = steps.sent
    return replace(state, orders=orders, checksum=zlib.crc32(values.tobytes(), state.checksum))


# ------------------------------------------------------------------------------- coding


class Batch(NamedTuple):
    """Rows to code: values, zero where missing; which are present; the grid of each column.

    ``is_single`` if the values were float32, for which doubles of the same float are as good.
    """

    Y: Array
    present: Array
    grids: Array
    is_single: bool = False

    @classmethod
    def of(cls, Y: Array, known: Array | None = None) -> Batch:
        """Return rows with NaN where missing as a batch; ``known`` are grids met before."""
        present = ~np.isnan(Y)
        grids = np.array([grid_of(y[here]) for y, here in zip(Y.T, present.T, strict=True)])
        silent = np.asarray(~present.any(axis=0))
        if known is not None:
            both = (known > 0) & (grids > 0)
            common = [common_grid(*pair) for pair in zip(known, grids, strict=True)]
            grids = np.where(silent, np.maximum(known, 0), np.where(both, common, grids))
        grids[silent & (grids == 0)] = WHOLE
        return cls(np.where(present, Y, 0.0).astype(np.float64), present, grids,
                   Y.dtype == np.float32)  # fmt: skip

    @property
    def counts(self) -> Array:
        """How many values each column has."""
        return np.count_nonzero(self.present, axis=0)

    @property
    def squares(self) -> Array:
        """The sum of squares of each column."""
        return np.square(self.Y).sum(axis=0)

    def part(self, rows: slice) -> Batch:
        """Return some of the rows."""
        return self._replace(Y=self.Y[rows], present=self.present[rows])


class CodedBatch(NamedTuple):
    """A batch as bytes, the decoded values, squared errors by column, and the state afterwards.

    ``values`` are those before corrections, ``errors`` those after them.
    """

    steps: Steps
    data: bytes
    values: Array
    present: Array
    errors: Array
    state: StreamState
    is_whole: bool
    is_plain: bool = False
    corrections: bytes = b""

    def payload(self, before: StreamState, times: Array | None = None) -> bytes:
        """Return the payload of a packet."""
        n, N = self.values.shape
        kind, head = self.steps.written(before.steps)
        clock = b"" if times is None else _written_times(times, before.clock)
        told = _NO_TIMES if times is None else _IRREGULAR if clock else _REGULAR
        flags = self.is_whole << _WHOLE | kind << _STEPS | told << _TIMES | self.is_plain << _PLAIN
        flags |= (n == before.n_last) << _ROWS | bool(self.corrections) << _CORRECTED
        rows = b"" if n == before.n_last else number(n)
        corrections = part(self.corrections) if self.corrections else b""
        return padded(bytes([flags]) + rows + head + clock + corrections + self.data, n * N, N)

    def after(self, times: Array | None) -> StreamState:
        """Return what both sides know afterwards."""
        values = np.where(self.present, self.values, np.nan)
        return self.state.after(values, times, self.corrections)


def code_batch(before: StreamState, batch: Batch, steps: Steps) -> CodedBatch:
    """Code rows by the row models from a state, which is left as it was."""
    state, values, present = before.copy(), batch.Y.copy(), batch.present.copy()
    largest = np.abs(batch.Y).max(initial=0.0) + np.abs(before.level).max()
    errors = np.full(len(steps.grids), np.inf)
    is_whole = bool(present.all() and state.rows.mask.present.all())
    coded = CodedBatch(steps, b"", values, batch.present, errors, state, is_whole)
    if largest / steps.sizes.min() > LARGEST_NUMBER:  # no way to code them
        return coded
    coder = writer(_WORKSPACE * values.size + 64)
    if _code(state, coder, values, present, is_whole, steps) > LARGEST_NUMBER:
        return coded._replace(data=written(coder))
    corrections, errors = _corrections(batch, values, steps)
    return coded._replace(data=written(coder), errors=errors, corrections=corrections)


def code_plain(
    before: StreamState, batch: Batch, candidates: list[Steps], rival: int, effort: int
) -> CodedBatch | None:
    """Code rows in the plain way, with the steps that pack best; None if that is hopeless."""
    plain: PlainRows | None = plain_rows(
        batch.Y, batch.present, candidates, before.past, before.steps, before.orders, rival, effort
    )
    if plain is None:
        return None
    is_whole = bool(batch.present.all())
    data = written_plain(plain, before.orders)
    values, orders = plain.values, bytes([plain.layout]) + plain.orders
    corrections, errors = _corrections(batch, values, plain.steps)
    missing = np.where(batch.present, values, np.nan)
    state = _after_plain(before.copy(), missing, plain.steps, orders)
    return CodedBatch(
        plain.steps, data, values, batch.present, errors, state, is_whole, True, corrections
    )


def _corrections(batch: Batch, values: Array, steps: Steps) -> tuple[bytes, Array]:
    """Return corrections of lossless columns, and the squared errors of the other columns."""
    lossless = np.isinf(steps.weights)
    difference = np.where(batch.present & ~lossless, values - batch.Y, 0.0)
    errors = np.square(difference).sum(axis=0)
    exact = batch.present & lossless
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
    changes = unpack_integers(parts.rest(), int(np.count_nonzero(there)))
    found[there] = (_bits(found[there]) + changes).view(np.float64)
    if not np.isfinite(found[there]).all():
        raise PacketError("The packet does not decode: some values are infinite.")
    corrected = values.copy()
    corrected.T[columns] = found
    return corrected


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float64).view(np.int64)


# -------------------------------------------------------------------------------- times


def _wrapped(value: int) -> int:
    """Return an integer of 64 bits, as sums without an overflow check have it."""
    return (value + 2**63) % 2**64 - 2**63


def _written_times(times: Array, clock: tuple[int, int]) -> bytes:
    """Return changes of the differences of times, as a list or packed; nothing if regular."""
    steps = np.diff(times, prepend=np.int64(clock[0]))
    changes = np.diff(steps, prepend=np.int64(clock[1]))
    if clock == (0, 0):  # no difference leads to the first time
        changes[1:2] += changes[0]
    at = np.flatnonzero(changes)
    if not len(at):
        return b""
    pairs = zip(np.diff(at, prepend=-1) - 1, changes[at], strict=True)
    few = number(len(at)) + b"".join(number(int(gap)) + signed(int(c)) for gap, c in pairs)
    return min(few, b"\0" + part(pack_integers(changes)), key=len)


def _read_times(parts: Reader, n: int, clock: tuple[int, int], is_regular: bool) -> Array:
    changes = np.zeros(n, np.int64)
    count = 0 if is_regular else parts.number()
    if count:
        at = -1
        for _ in range(count):
            at += parts.number() + 1
            if at >= n:
                raise PacketError("The packet does not decode: it has more times than rows.")
            changes[at] = parts.signed()
    elif not is_regular:
        changes = unpack_integers(parts.part(), n)
    if clock == (0, 0):
        changes[1:2] -= changes[0]
    steps = np.int64(clock[1]) + np.cumsum(changes)
    found: Array = np.int64(clock[0]) + np.cumsum(steps)
    return found
