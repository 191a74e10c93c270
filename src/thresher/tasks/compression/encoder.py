"""The encoder of a stream: rows in, packets out."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from thresher.estimators.validation import unmasked
from thresher.tasks.compression.batch import Batch, CodedBatch, StreamState, code_plain
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.packet import (
    ANY_STREAM,
    Keyframe,
    Kind,
    Payload,
    pack,
    read_request,
)
from thresher.tasks.compression.quantise import SPACINGS, Array
from thresher.tasks.compression.rate import Budget, RateControl

_LARGEST, _SMALLEST = 1e15, 1e-30  # values that doubles calculate with (docs/guide/choices.md)
_FINEST, _FAR = 2.0**-30, 2.0**45  # of values without a grid; spacings in the last values
_HOPELESS = 1.25  # times the bytes: then the plain way is left out for some batches, to save time
_PAUSE = 8  # batches


class Coder(Protocol):
    """What turns rows into payloads: the row models, or the scheme of paper D."""

    n_rows: int
    n_sensors: int
    errors: Array
    squares: Array
    counts: Array

    def code(self, Y: Array, times: Array | None, size: int) -> Iterator[Payload]:
        """Yield the payloads of checked rows, of so many rows each; of a keyframe, its level."""

    def restart(self) -> Iterator[Payload]:
        """Yield what a decoder needs to follow from here; nothing before the first rows."""


class RowCoder:
    """Codes rows by the row models or plain, whichever is smaller, within bounds."""

    def __init__(
        self,
        bounds: Bounds,
        effort: int,
        sizes: tuple[Array, Array] | None = None,
        n_in_file: int = 0,
    ) -> None:
        N = len(bounds.groups)
        self.n_rows, self.n_sensors = 0, N
        self._n_in_file = n_in_file  # rows; zero in a stream
        self._bounds, self._effort = bounds, effort
        self._rate = RateControl(bounds, effort)
        # Root mean squares of the columns, of their groups and their own, if known beforehand.
        self._sizes = sizes
        self.state: StreamState | None = None
        self._pause = 0
        self._grids: Array = np.full(N, -1)
        self.counts, self.squares, self.errors = (np.zeros(N) for _ in range(3))

    def code(self, Y: Array, times: Array | None, size: int) -> Iterator[Payload]:
        """Yield the payloads of checked rows."""
        starts, grids, batches = range(0, len(Y), size), self._grids, list[Batch]()
        for start in starts:
            batch = Batch.of(Y[start : start + size], grids)
            grids = np.where(batch.present.any(axis=0) & (batch.grids > 0), batch.grids, grids)
            batches.append(batch)
        exact = self._bounds.exact[self._bounds.groups]
        if any((exact & (batch.grids == 0)).any() for batch in batches):
            raise ValueError(
                "error=0 is for values on a grid, such as whole numbers or tenths; these have more "
                "digits. Set an error above zero."
            )
        self._grids = grids
        for start, batch in zip(starts, batches, strict=True):
            yield from self._batch(batch, None if times is None else times[start : start + size])

    def restart(self) -> Iterator[Payload]:
        """Yield a keyframe with the last values."""
        if self.state is not None:
            yield self._keyframe(self.state.level)

    def _keyframe(self, level: Array) -> Payload:
        """Start from given values, one for all sensors or one each."""
        level = level.astype(np.float32)
        self.state = StreamState.starting_at(level, self.n_sensors, self._n_in_file)
        return Payload(Kind.KEYFRAME, level.tobytes())

    def _batch(self, batch: Batch, times: Array | None) -> Iterator[Payload]:
        """Yield the payloads of a batch, by the row models or plain."""
        before = self.state, self.errors
        coded = list(self._by_rows(batch, times))
        yield from self._plain(batch, times, coded, *before) or coded

    def _by_rows(self, batch: Batch, times: Array | None) -> Iterator[Payload]:
        if self.state is None or self._is_far(batch):
            known = batch.Y[batch.present]
            yield self._keyframe(np.array([np.median(known) if known.size else 0.0]))
        while len(batch.Y):
            assert self.state is not None
            done, coded = self._rate.choose(self.state, batch, self._budget(batch, self.errors))
            if not np.isfinite(coded.errors).all():
                raise ValueError(
                    "Some values are too large for one stream with the others; put NaN where a "
                    "sensor failed, or start a new encoder."
                )
            n = len(done.Y)
            told = None if times is None else times[:n]
            payload = coded.payload(self.state, told)
            self.counts = self.counts + done.counts
            self.squares = self.squares + done.squares
            self._use(coded, told, self.errors)
            yield Payload(Kind.ROWS, payload, self.state, self.n_rows)
            batch, times = batch.part(slice(n, None)), None if times is None else times[n:]

    def _use(self, coded: CodedBatch, times: Array | None, errors: Array) -> None:
        """Go on to the state after a batch."""
        self.state = coded.after(times)
        self.errors = errors + coded.errors
        self.n_rows += len(coded.values)

    def _plain(
        self,
        batch: Batch,
        times: Array | None,
        coded: list[Payload],
        before: StreamState | None,
        errors: Array,
    ) -> list[Payload]:
        """Return the rows in the plain way, if that takes fewer bytes and errors are within."""
        n = len(batch.Y)
        if self._pause or not n:
            self._pause = max(self._pause - 1, 0)
            return []
        keyframes = [payload for payload in coded if payload.kind == Kind.KEYFRAME]
        if before is None and self._n_in_file:  # a file may begin without a keyframe
            keyframes = []
            before = StreamState.starting_at(np.zeros(1), self.n_sensors, self._n_in_file)
        elif keyframes:
            level = np.frombuffer(keyframes[0].data, np.float32)
            before = StreamState.starting_at(level, self.n_sensors, self._n_in_file)
        assert before is not None
        size = sum(len(payload.data) for payload in coded if payload.kind == Kind.ROWS)
        budget = self._budget(batch, errors, is_counted=True)
        # In a stream, what the rows spend is left for the plain way, in a file the whole budget.
        left = budget.left if self._n_in_file else self._bounds.summed(self.errors - errors)
        steps = self._rate.plain_steps(batch, left, budget.limits, before.steps)
        plain = code_plain(before, batch, steps, size, self._effort) if steps else None
        payload = b"" if plain is None else plain.payload(before, times)
        if plain is None or len(payload) > _HOPELESS * size + 32:
            self._pause = _PAUSE
        if plain is None or len(payload) >= size:
            return []
        self.n_rows -= n
        self._use(plain, times, errors)
        return [*keyframes, Payload(Kind.ROWS, payload, self.state, self.n_rows)]

    def _is_far(self, batch: Batch) -> bool:
        """Return whether the last values are so large that doubles lose what is between."""
        assert self.state is not None
        largest = np.abs(batch.Y).max(axis=0, initial=0.0)
        finest = np.where(batch.grids > 0, SPACINGS[batch.grids], _FINEST * largest)
        return bool((np.abs(self.state.level) > _FAR * finest)[largest > 0].any())

    def _budget(self, batch: Batch, errors: Array, *, is_counted: bool = False) -> Budget:
        """Return the error that the stream may have after some rows, and has before."""
        counts = self.counts + (0 if is_counted else batch.counts)
        squares = own = self.squares + (0 if is_counted else batch.squares)
        if self._sizes is not None:
            squares, own = (counts * size**2 for size in self._sizes)
        return Budget(
            self._bounds.summed(errors),
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
        asked = read_request(request)
        if not asked.is_for(self.stream_):
            return []
        if asked.rename:
            self._rename()
        if asked.restart:
            return self._restart(gives_up=True)
        first = self._sequence - len(self._kept)
        if not asked.has_tag and asked.stream == ANY_STREAM:
            again = list(self._kept)[-1:]  # some packet was damaged: most likely the last one
        elif asked.sequence >= self._sequence:
            return []  # there are none after it
        elif asked.sequence < first:
            again = []
        else:
            start = asked.sequence - first
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
            data = pack(kind, self.stream_, self._sequence, digest, payload.data)
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
    if np.isinf(Y).any() or (np.abs(Y) > _LARGEST).any():
        raise ValueError(
            f"Some values are infinite or beyond {_LARGEST:g}; put NaN where a sensor failed."
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
