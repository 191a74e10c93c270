"""The edge: rows in, packets out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.grid import GRIDS
from thresher.tasks.compression.keyframe import Keyframe
from thresher.tasks.compression.packet import OVERHEAD, Kind
from thresher.tasks.compression.row_batch import Batch, StreamState, plain_batch
from thresher.tasks.compression.sender import Sender, checked_rows, checked_times
from thresher.tasks.compression.spending import Budget, Choice, Spender

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

# Bounds of doubles, with a margin by judgement: 2⁻⁵² of a number is its rounding.
_FINEST = 2.0**-30  # of the values, without a grid
_FAR = 2.0**45
# By judgement: where the plain way takes a quarter more, and not just a few bytes, it is left alone
# for the next batches, which saves time.
_HOPELESS, _FEW = 1.25, 32
_REST = 8
_WORTH = 16  # frames that a packet is worth waiting for; by judgement


class Edge(Sender):
    """Codes what sensors report into packets for a `Cloud`; made by `SensorCodec.edge`.

    Attributes
    ----------
    stream_ : int
        The number of the stream.
    n_bytes_ : dict
        Bytes sent so far, by kind of packet; those that were sent again apart.
    n_packets_ : dict
        Packets sent so far: keyframes, and batches of rows.
    n_rows_ : int
        Rows sent so far.
    relative_error_ : float
        Root of the squared error so far over the squares so far, of observed entries.
    column_errors_ : array of shape (N)
        Root mean square error of each column so far, in its own unit.
    """

    def __init__(
        self,
        codec: SensorCodec,
        n_sensors: int,
        bounds: Bounds,
        sizes: tuple[Numbers, Numbers] | None = None,
        stream: int | None = None,
        patience: int = 0,
        tries_plain: bool = True,
    ) -> None:
        super().__init__(codec.buffer_size, stream)
        self._codec = codec
        self._N = n_sensors
        self._bounds = bounds
        # Root mean squares of the columns, of their groups and their own, if known beforehand.
        self._sizes = sizes
        self._spender = Spender(bounds)
        self._patience, self._due = patience, codec.rows_per_packet
        self._held: tuple[Numbers, Numbers | None] | None = None
        self._state: StreamState | None = None
        self._tries_plain, self._rest = tries_plain, 0
        self._grids: Numbers = np.full(n_sensors, -1)
        self._counts, self._squares, self._errors = (np.zeros(n_sensors) for _ in range(3))
        self.n_packets_ = {"keyframe": 0, "rows": 0, "dictionary": 0}

    @property
    def relative_error_(self) -> float:
        """Root of the squared error so far over the squares so far."""
        squares = self._squares.sum()
        return float(np.sqrt(self._errors.sum() / squares)) if squares else 0.0

    @property
    def column_errors_(self) -> Numbers:
        """Root mean square error of each column so far."""
        return np.sqrt(self._errors / np.maximum(self._counts, 1))

    def send(self, Y: Any, times: Any = None) -> list[bytes]:
        """Code rows; the packets have to reach the cloud in this order.

        Parameters
        ----------
        Y : array-like of shape (n, N)
            What the sensors report, a time in each row; NaN where one is silent.
        times : array-like of shape (n), optional
            A whole number for each row, such as seconds, or a date of NumPy. Regular ones take a
            byte in each packet, and come back as whole numbers (`Received.times`).
        """
        Y = checked_rows(Y, self._N, exact=bool(self._bounds.exact.any()))
        T = checked_times(times, len(Y))
        if not self._patience:
            return self._sent(Y, T, self._codec.rows_per_packet)
        packets = []
        if self._held is not None:
            if (self._held[1] is None) != (T is None):
                packets = self.flush()
            else:
                Y = np.vstack([self._held[0], Y])
                T = None if T is None else np.concatenate([self._held[1], T])
        while len(Y) >= self._due:
            n = self._due
            packets += self._sent(Y[:n], None if T is None else T[:n], n)
            Y, T = Y[n:], None if T is None else T[n:]
        self._held = Y, T
        return packets

    def flush(self) -> list[bytes]:
        """Send the rows that wait, if any do (``patience``)."""
        held, self._held = self._held, None
        return [] if held is None else self._sent(*held, self._due)

    def _sent(self, Y: Numbers, T: Numbers | None, size: int) -> list[bytes]:
        """The packets of checked rows, of so many rows each."""
        packets = [self._framed(kind, payload) for kind, payload in self.coded(Y, T, size)]
        if packets and self._patience:
            each = (len(packets[-1]) - OVERHEAD) / min(size, len(Y))  # bytes for a row
            most = min(_WORTH * OVERHEAD / max(each, 1e-9), self._patience)
            self._due = max(self._codec.rows_per_packet, int(most))
        return packets

    def coded(self, Y: Numbers, times: Numbers | None, size: int) -> Iterator[tuple[Kind, bytes]]:
        """What the packets of checked rows bring, without their frame, one after the other."""
        starts, grids, batches = range(0, len(Y), size), self._grids, list[Batch]()
        for start in starts:
            batches.append(Batch.of(Y[start : start + size], grids))
            grids = _met(grids, batches[-1])
        self._check_exact(batches)
        self._grids = grids
        for start, batch in zip(starts, batches, strict=True):
            yield from self._payloads(
                batch, None if times is None else times[start : start + len(batch.Y)]
            )

    def _payloads(self, batch: Batch, times: Numbers | None = None) -> Iterator[tuple[Kind, bytes]]:
        """What the packets of a batch bring."""
        known = batch.Y[batch.present]
        if self._is_copy:
            self._is_copy = False
            if self._state is not None:
                yield self._keyframe(self._state.level)
        if self._state is None or self._is_far(batch):
            yield self._keyframe(np.array([np.median(known) if known.size else 0.0]))
        while len(batch.Y):
            assert self._state is not None
            choice = self._plainer(self._spender.choose(self._state, batch, self._budget(batch)))
            n = len(choice.batch.Y)
            yield Kind.DATA, self._coded(choice, None if times is None else times[:n])
            batch = batch.part(slice(n, None))
            times = None if times is None else times[n:]

    def _plainer(self, choice: Choice) -> Choice:
        """The same rows in the plain way, if that takes fewer bytes at no larger an error."""
        if self._rest or not self._tries_plain:
            self._rest = max(self._rest - 1, 0)
            return choice
        assert self._state is not None
        plain = plain_batch(self._state, choice.batch, choice.coded, self._bounds)
        usual = choice.coded.n_bytes(self._state)
        size = np.inf if plain is None else plain.n_bytes(self._state)
        if size > _HOPELESS * usual + _FEW:
            self._rest = _REST
        return choice if plain is None or size >= usual else Choice(choice.batch, plain)

    def _framed(self, kind: Kind, payload: bytes) -> bytes:
        if kind == Kind.KEYFRAME:
            return self._keyframe_packet(payload)
        assert self._state is not None
        return self._packet(kind, payload, self._state.digest(self.n_rows_, self._sequence))

    def _check_exact(self, batches: list[Batch]) -> None:
        exact = self._bounds.exact[self._bounds.groups]
        if any((exact & (batch.grids == 0)).any() for batch in batches):
            raise ValueError(
                "error=0 is for values on a grid, such as whole numbers or tenths; these have more "
                "digits. Set an error above zero."
            )

    def _is_far(self, batch: Batch) -> bool:
        """Whether the last values are so large beside these that doubles lose what is between."""
        assert self._state is not None
        largest = np.abs(batch.Y).max(axis=0, initial=0.0)
        spacings = np.array([GRIDS[g].spacing for g in batch.grids])
        finest = np.where(spacings > 0, spacings, _FINEST * largest)
        some = largest > 0
        return bool((np.abs(self._state.level) > _FAR * finest)[some].any())

    def _budget(self, batch: Batch) -> Budget:
        """What error the stream may have after some rows, and has before."""
        counts = self._counts + batch.counts
        squares = own = self._squares + batch.squares
        if self._sizes is not None:
            squares, own = (counts * size**2 for size in self._sizes)
        return Budget(
            self._bounds.summed(self._errors),
            self._bounds.allowed(counts, squares),
            self._bounds.largest(counts, own),
        )

    def _coded(self, choice: Choice, times: Numbers | None) -> bytes:
        """The payload of a choice."""
        assert self._state is not None
        if not np.isfinite(choice.coded.errors).all():
            raise ValueError(
                "Some values are too large beside the others to be coded in one stream; put NaN "
                "where a sensor failed, or start a new edge."
            )
        payload = choice.coded.payload(self._state, times)
        self._state = choice.coded.after(times)
        self._counts += choice.batch.counts
        self._squares += choice.batch.squares
        self._errors += choice.coded.errors
        self.n_rows_ += len(choice.batch.Y)
        self.n_packets_["rows"] += 1
        return payload

    def _keyframe(self, level: Numbers, *, gives_up: bool = False) -> tuple[Kind, bytes]:
        """Start anew from given values, one for all sensors or one each."""
        keyframe = Keyframe(self._N, self.n_rows_, level.astype(np.float32), True, gives_up)
        state = keyframe.state()
        assert isinstance(state, StreamState)
        self._state = state
        return Kind.KEYFRAME, keyframe.written()

    def _restart_packets(self) -> list[bytes]:
        self._is_copy = False
        if self._state is None:
            return []
        return [self._framed(*self._keyframe(self._state.level, gives_up=True))]


def _met(grids: Numbers, batch: Batch) -> Numbers:
    """The grids of columns after a batch; one without a grid does not change what is known."""
    some = batch.present.any(axis=0)
    return np.where(some & (batch.grids > 0), batch.grids, grids)
