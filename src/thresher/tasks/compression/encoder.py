"""The encoder of a stream: rows in, packets out."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher.estimators.validation import unmasked
from thresher.tasks.compression.batch import CodedBatch, RowBatch, StreamState, code_plain
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.packet import (
    Keyframe,
    Kind,
    Packet,
    Payload,
    read_request,
)
from thresher.tasks.compression.rate import Budget, RateControl, UncodableError
from thresher.tasks.compression.wire import LARGEST, Array

_SMALLEST = 1e-30  # if all values are below, squares lose digits (docs/guide/choices.md)
_HOPELESS = 1.25
"""Times the bytes of the row models that an estimate of plain rows may take, so that they are
packed. Heuristic: at half 1.2 % more bytes, at double the same bytes in 1.6 times the time."""


class RowCoder:
    """Codes rows by the row models or plain, whichever is smaller, within bounds."""

    def __init__(
        self, bounds: Bounds, effort: int, sizes: tuple[Array, Array] | None = None
    ) -> None:
        N = len(bounds.groups)
        self.n_rows, self.n_sensors = 0, N
        self._bounds, self._effort = bounds, effort
        self._rate = RateControl(bounds, effort)
        # Root mean squares of the columns, of their groups and their own, if known beforehand.
        self._sizes = sizes
        self.state: StreamState | None = None
        self._grids = np.zeros(N, np.int64)
        self.counts, self.squares, self.errors = (np.zeros(N) for _ in range(3))

    def code(self, Y: Array, times: Array | None, size: int) -> Iterator[Payload]:
        """Yield the payloads of checked rows."""
        for start in range(0, len(Y), size):
            batch = RowBatch.of(Y[start : start + size], self._grids)
            self._grids = batch.grids
            yield from self._batch(batch, None if times is None else times[start : start + size])

    def restart(self) -> Iterator[Payload]:
        """Yield a keyframe with the last values."""
        if self.state is not None:
            yield self._keyframe(self.state.rows.level)

    def _keyframe(self, level: Array) -> Payload:
        """Start from given values, one for all sensors or one each."""
        level = level.astype(np.float32)
        self.state = StreamState.starting_at(level, self.n_sensors)
        return Payload(Kind.KEYFRAME, level.tobytes())

    def _batch(self, batch: RowBatch, times: Array | None) -> Iterator[Payload]:
        """Yield the payload of a batch, by the row models or plain; before it, a keyframe."""
        budget, coded = self._budget(batch), None
        if self.state is not None:
            coded = self._by_rows(self.state, batch, budget)
        for level in self._levels(batch) if coded is None else ():
            keyframe = self._keyframe(level)
            self._rate = RateControl(self._bounds, self._effort)
            assert self.state is not None
            coded = self._by_rows(self.state, batch, budget)
            if coded is not None:
                yield keyframe
                break
        if coded is None:
            raise ValueError(
                "Some values are too large for one stream with the others, or error is finer than "
                "doubles represent; put NaN where a sensor failed, or set a larger error."
            )
        assert self.state is not None
        payload = coded.payload(self.state, batch.Y.shape, times)
        steps = self._rate.plain_steps(batch, budget)
        limit = _HOPELESS * len(payload)
        plain = steps and code_plain(self.state, batch, steps, self._effort, limit)
        other = plain and plain.payload(self.state, batch.Y.shape, times)
        if plain and other and len(other) < len(payload):
            coded, payload = plain, other
        self.state = coded.state.at_time(times)
        self.counts = self.counts + batch.counts
        self.squares = self.squares + batch.squares
        self.errors = self.errors + coded.errors
        self.n_rows += len(batch.Y)
        yield Payload(Kind.ROWS, payload, self.state, self.n_rows)

    def _levels(self, batch: RowBatch) -> Iterator[Array]:
        """Yield values to start from, where there are none or the last ones are too far."""
        known = batch.Y[batch.present]
        yield np.array([np.median(known) if known.size else 0.0])
        yield np.median(batch.Y, axis=0)

    def _by_rows(self, state: StreamState, batch: RowBatch, budget: Budget) -> CodedBatch | None:
        try:
            coded = self._rate.choose(state, batch, budget)
        except UncodableError:
            return None
        return coded if np.isfinite(coded.errors).all() else None

    def _budget(self, batch: RowBatch) -> Budget:
        """Return the error that the stream may have after a batch, and has before."""
        counts = self.counts + batch.counts
        squares = own = self.squares + batch.squares
        if self._sizes is not None:
            squares, own = (counts * size**2 for size in self._sizes)
        return Budget(
            self._bounds.summed(self.errors),
            self._bounds.allowed(counts, squares),
            self._bounds.largest(counts, own),
        )


class Encoder:
    """Codes rows into packets for a `Decoder`; made by `SensorCodec.encoder`.

    An encoder that was pickled or copied goes on as a stream of its own, since nobody knows what
    the other one has sent since: it keeps what it has learned, counts its rows on, and begins with
    a keyframe.

    Attributes
    ----------
    stream_ : int
        The number of the stream, which is random.
    n_bytes_ : dict
        Bytes sent so far by kind of packet, and those that were sent again.
    n_packets_ : dict
        Packets sent so far by kind.
    n_rows_ : int
        Rows sent so far.
    relative_error_ : float
        Root of the squared error over the squares so far, of observed entries.
    column_errors_ : array of shape (N)
        Root mean square error of each column so far, in its own unit.
    """

    def __init__(
        self, coder: Any, batch_size: int, buffer_size: int, *, fill: bool, exact: bool
    ) -> None:
        self._coder = coder
        self._size, self._buffer_size = batch_size, buffer_size
        self._fill, self._exact = fill, exact
        self._held: tuple[Array, Array | None] | None = None
        self.n_bytes_ = dict.fromkeys(["keyframe", "rows", "dictionary", "again"], 0)
        self.n_packets_ = dict.fromkeys(["keyframe", "rows", "dictionary"], 0)
        self._rename()
        self._is_copy, self._n_sent = False, 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rename()
        self._is_copy = True

    @property
    def n_rows_(self) -> int:
        """Rows sent so far."""
        return int(self._coder.n_rows)

    @property
    def relative_error_(self) -> float:
        """Root of the squared error over the squares so far."""
        squares = self._coder.squares.sum()
        return float(np.sqrt(self._coder.errors.sum() / squares)) if squares else 0.0

    @property
    def column_errors_(self) -> Array:
        """Root mean square error of each column so far."""
        found: Array = np.sqrt(self._coder.errors / np.maximum(self._coder.counts, 1))
        return found

    @property
    def components_(self) -> Array | None:
        """In ``mode="paper"``, the encoder's own dictionary after the last slot."""
        found: Array | None = getattr(self._coder, "components", None)
        return found

    def encode(self, rows: Any, times: Any = None) -> list[bytes]:
        """Return the packets of some rows, which have to reach the decoder in this order.

        Parameters
        ----------
        rows : array-like of shape (n, N)
            Values in the order of time; NaN where a sensor is missing.
        times : array-like of shape (n), optional
            An integer for each row, such as seconds, or a date of NumPy. Regular times take no
            bytes; they come back as integers.
        """
        Y = checked_rows(rows, self._coder.n_sensors, exact=self._exact)
        T = _checked_times(times, len(Y))
        packets = list[bytes]()
        if self._held is not None and (self._held[1] is None) != (T is None):
            packets = self.flush()
        if self._held is not None:
            Y = np.vstack([self._held[0], Y])
            T = None if T is None else np.concatenate([self._held[1], T])
            self._held = None
        n = len(Y) - len(Y) % self._size if self._fill else len(Y)
        if n < len(Y):
            self._held = Y[n:], None if T is None else T[n:]
        return packets + self._sent(Y[:n], None if T is None else T[:n])

    def flush(self) -> list[bytes]:
        """Return the packet of the rows that wait for others (``fill_packets=True``)."""
        held, self._held = self._held, None
        return [] if held is None else self._sent(*held)

    def handle(self, request: bytes) -> list[bytes]:
        """Answer the request of a decoder.

        Packets that were lost are sent again, if this encoder still has them (``buffer_size``). If
        not, or if the decoder cannot use them, a keyframe with the last values restarts the stream,
        and the rows before are lost. Requests for other streams are not answered.
        """
        asked, again = read_request(request), list[bytes]()
        if asked.stream != self.stream_ or asked.sequence >= self._sequence:
            return []
        start = asked.sequence - (self._sequence - len(self._kept))
        if start >= 0 and not asked.restart:
            again = list(self._kept)[start : start + asked.n_packets if asked.n_packets else None]
        self.n_bytes_["again"] += sum(map(len, again))
        return again or self._restart(gives_up=True)

    def _rename(self) -> None:
        """Go on as a stream of another number."""
        self.stream_, self._sequence = secrets.randbelow(2**32 - 1) + 1, 0
        self._kept: deque[bytes] = deque()  # the last packets, without a gap

    def _restart(self, *, gives_up: bool = False) -> list[bytes]:
        self._is_copy = False
        return [self._packet(payload, gives_up) for payload in self._coder.restart()]

    def _sent(self, Y: Array, T: Array | None) -> list[bytes]:
        packets = self._restart() if self._is_copy and len(Y) else []
        return packets + [self._packet(p) for p in self._coder.code(Y, T, self._size)]

    def _packet(self, payload: Payload, gives_up: bool = False) -> bytes:
        kind = payload.kind
        if kind == Kind.KEYFRAME:
            level = np.frombuffer(payload.data, np.float32)
            n_rows, N = self._n_sent, self._coder.n_sensors
            data = Keyframe(self.stream_, self._sequence, N, n_rows, level, gives_up).packed()
        else:
            self._n_sent = payload.n_rows
            digest = payload.state.digest(payload.n_rows, self._sequence)
            data = Packet(kind, self.stream_, self._sequence, digest, payload.data).packed()
        self._sequence += 1
        self.n_packets_[kind.name.lower()] += 1
        self.n_bytes_[kind.name.lower()] += len(data)
        self._kept.append(data)
        while self._kept and sum(map(len, self._kept)) > self._buffer_size:
            self._kept.popleft()
        return data


def checked_rows(rows: Any, n_sensors: int, *, exact: bool = False) -> Array:
    """Return rows as an array of floats; ``exact`` refuses numbers that doubles do not hold."""
    Y = np.asarray(unmasked(rows))
    if Y.dtype.kind not in "fiub":
        raise TypeError("Sensor values must be numbers; put NaN where a sensor is missing.")
    if Y.dtype != np.float32:
        given, Y = Y, Y.astype(np.float64)
        if exact and given.dtype.itemsize > 8 and ((given != Y) & ~np.isnan(Y)).any():
            raise ValueError(
                f"error=0 is for numbers that float64 holds, got {given.dtype} with more digits. "
                "Convert them with astype(numpy.float64) first."
            )
    if Y.ndim != 2 or Y.shape[1] != n_sensors:
        raise ValueError(f"Rows must have shape (n, {n_sensors}), got {Y.shape}.")
    if np.isinf(Y).any() or (np.abs(Y) > LARGEST).any():
        raise ValueError(
            f"Some values are infinite or beyond {LARGEST:g}; put NaN where a sensor failed."
        )
    if 0 < np.abs(Y).max(initial=0.0, where=~np.isnan(Y)) < _SMALLEST:
        raise ValueError(f"All values are below {_SMALLEST:g}; give them in a smaller unit.")
    return Y


def _checked_times(times: Any, n: int) -> Array | None:
    """Return an integer for each row."""
    if times is None:
        return None
    T = np.asarray(times)
    T = T.astype(np.int64) if T.dtype.kind in "mM" else T
    if T.dtype.kind not in "iu" or T.shape != (n,):
        raise ValueError(f"times must be {n} integers or dates of NumPy, one for each row.")
    return T.astype(np.int64)
