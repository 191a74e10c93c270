"""The decoder: packets in, rows out, or a request."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.batch import StreamState
from thresher.tasks.compression.packet import (
    Keyframe,
    Kind,
    Packet,
    Request,
    read_keyframe,
    unpack,
)
from thresher.tasks.compression.paper import PaperState
from thresher.tasks.compression.wire import (
    MAX_BYTES,
    Array,
    PacketError,
    check_memory,
    packet_bytes,
    state_bytes,
)

_WAITING = 2**24
"""Bytes of memory for packets of a stream that came too early. Heuristic: 900,000 values; half and
double are that much less or more to send again after a gap."""
_log = logging.getLogger(__name__)


class Decoded(NamedTuple):
    """What a packet brought.

    Attributes
    ----------
    rows : array of shape (n, N) or None
        Decoded rows, NaN where a sensor was missing; None if the packet brought none. A packet that
        had been lost also brings the rows of those that waited for it.
    times : array of shape (n) or None
        Integers, if the encoder got times.
    request : bytes or None
        To hand to `Encoder.handle`: packets were lost or damaged.
    start : int
        The number of the first row in its stream, or of the next one that is expected.
    stream : int or None
        The stream of the packet, if it is known.
    problem : str or None
        Why the packet was not used.
    """

    rows: Array | None
    times: Array | None
    request: bytes | None = None
    start: int = 0
    stream: int | None = None
    problem: str | None = None


class _Stream:
    """Uses the packets of a stream in their order."""

    def __init__(self, keyframe: Keyframe) -> None:
        self.number, self.n_sensors = keyframe.stream, keyframe.n_sensors
        self.n_rows, self.sequence = 0, keyframe.sequence
        self.gaps: list[tuple[int, int]] = []
        self._waiting: dict[int, Packet] = {}
        self.state: Any = None
        self._start(keyframe)

    @property
    def n_missing(self) -> int:
        """How many packets are missing before those that wait; 0 if none wait."""
        return min(self._waiting) - self.sequence if self._waiting else 0

    @property
    def n_bytes(self) -> int:
        """The memory of the stream, and of the rows of packets that wait."""
        return state_bytes(self.n_sensors) + sum(map(self._size, self._waiting.values()))

    def n_rows_in(self, packet: Packet) -> int:
        """Return how many rows a packet claims."""
        return self.state.n_rows_in(packet.payload) if packet.kind == Kind.ROWS else 0

    def wait(self, packet: Packet) -> None:
        """Keep a packet until those before it have come, as long as memory allows."""
        if self.n_bytes - state_bytes(self.n_sensors) + self._size(packet) <= _WAITING:
            self._waiting[packet.sequence] = packet

    def use(self, packet: Packet) -> Decoded:
        """Return the rows that a packet completes; if it is refused, nothing has changed."""
        found = [self._take(packet)]
        while self.sequence in self._waiting:
            try:
                found.append(self._take(self._waiting.pop(self.sequence)))
            except PacketError:
                break  # it is requested when the next one comes
        self._waiting = {s: p for s, p in self._waiting.items() if s > self.sequence}
        rows = [values for values, _ in found if values is not None]
        times = [clock for _, clock in found if clock is not None]
        if not rows:
            return Decoded(None, None, start=self.n_rows, stream=self.number)
        whole = np.concatenate(times) if len(times) == len(rows) else None
        start = self.n_rows - sum(map(len, rows))
        return Decoded(np.vstack(rows), whole, start=start, stream=self.number)

    def _size(self, packet: Packet) -> int:
        return 256 + len(packet.payload) + 18 * self.n_rows_in(packet) * self.n_sensors

    def _take(self, packet: Packet) -> tuple[Array | None, Array | None]:
        """Use the next packet: go on to the state that it leads to, if it is the sender's."""
        values = times = None
        if packet.kind == Kind.KEYFRAME:
            self._start(read_keyframe(packet))
        else:
            if packet.kind == Kind.ROWS:
                values, times, state = self.state.read(packet.payload)
            else:
                state = self.state.with_dictionary(packet.payload)
            n_rows = self.n_rows + (0 if values is None else len(values))
            if packet.digest != state.digest(n_rows, packet.sequence) & 0xFFFF:
                raise PacketError("The packet decodes to another state than the encoder's.")
            self.state, self.n_rows = state, n_rows
            self.sequence = packet.sequence + 1
        return values, times

    def _start(self, keyframe: Keyframe) -> None:
        N, level = keyframe.n_sensors, keyframe.level
        if self.n_sensors != N or keyframe.start < self.n_rows:
            raise PacketError("The keyframe does not fit the stream.")
        self.state = StreamState.starting_at(level, N) if level.size else PaperState(N)
        if keyframe.start > self.n_rows:
            self.gaps.append((self.n_rows, keyframe.start))
        self.n_rows, self.sequence = keyframe.start, keyframe.sequence + 1


class Decoder:
    """Decodes the packets of encoders; made by `SensorCodec.decoder`.

    A packet that is damaged, or leads to another state than the encoder's, is not used, and brings
    only a request. One that comes too early waits for those before it, which are requested; an
    encoder that has them no more answers with a keyframe.

    Streams are kept apart by their numbers: an encoder that is started again begins another stream
    with rows from 0, and `Decoded.stream` says whose rows they are.

    Parameters
    ----------
    max_bytes : int
        Memory for all streams. Where it does not suffice, the stream that was silent longest is
        forgotten; a single one that needs more is refused.

    Attributes
    ----------
    streams_ : dict
        For each stream the row that is expected next; the last one that was heard is last.
    n_rows_ : int
        Of the stream that began last: the row that is expected next.
    gaps_ : list of (start, stop)
        Of the stream that began last: rows that were lost for good.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._streams: dict[int, _Stream] = {}
        self._latest: _Stream | None = None

    @property
    def streams_(self) -> dict[int, int]:
        """For each stream the row that is expected next."""
        return {stream.number: stream.n_rows for stream in self._streams.values()}

    @property
    def n_rows_(self) -> int:
        """The row of the stream that began last which is expected next."""
        return 0 if self._latest is None else self._latest.n_rows

    @property
    def gaps_(self) -> list[tuple[int, int]]:
        """Rows of the stream that began last which were lost for good."""
        return [] if self._latest is None else self._latest.gaps

    @property
    def components_(self) -> Array | None:
        """In ``mode="paper"``, the dictionary of the stream that began last."""
        return None if self._latest is None else self._latest.state.components

    def decode(self, packet: bytes) -> Decoded:
        """Use a packet.

        Raises
        ------
        PacketError
            If the packet is whole, and of another version of the format.
        """
        found = unpack(packet)
        if found is None:
            return self._refused("The packet is damaged: its checksum does not fit.",
                                 self._next_packet(), None)  # fmt: skip
        stream, kind = self._streams.get(found.stream), found.kind
        if kind == Kind.REQUEST:
            return self._refused("A request is for the encoder: hand it to Encoder.handle.", None,
                                 stream)  # fmt: skip
        if stream is None and kind != Kind.KEYFRAME:
            asked = Request(found.stream, 0)
            return self._refused("The stream is not known: no keyframe came before.", asked, None)
        try:
            keyframe = read_keyframe(found) if kind == Kind.KEYFRAME else None
            if stream is None:
                assert keyframe is not None
                return self._begin(keyframe)
            if found.sequence < stream.sequence:
                problem = f"Packet {found.sequence} was used before, or is too late."
                return self._refused(problem, None, stream)
            if found.sequence > stream.sequence and not (keyframe and keyframe.gives_up):
                stream.wait(found)
                problem = f"Packet {found.sequence} came before packet {stream.sequence}."
                asked = Request(stream.number, stream.sequence, stream.n_missing)
                return self._refused(problem, asked, stream)
            needed = packet_bytes(stream.n_rows_in(found), stream.n_sensors)
            self._free_memory(needed, stream)
            decoded = stream.use(found)
            self._streams[stream.number] = self._streams.pop(stream.number)  # the latest is last
            return decoded
        except PacketError as error:
            # The next packet of a stream that is followed: it would not help to get it again.
            return self._refused(str(error), Request(found.stream, 0, restart=True), stream)

    def _refused(self, problem: str, asked: Request | None, stream: _Stream | None) -> Decoded:
        request = None if asked is None else asked.packed()
        if stream is None:
            return Decoded(None, None, request, self.n_rows_, None, problem)
        return Decoded(None, None, request, stream.n_rows, stream.number, problem)

    def _next_packet(self) -> Request | None:
        """Ask for a damaged packet: the next one, if there is one stream whose packet it was."""
        if len(self._streams) != 1:
            return None
        (stream,) = self._streams.values()
        return Request(stream.number, stream.sequence, 1)

    def _begin(self, keyframe: Keyframe) -> Decoded:
        """Follow a new stream."""
        N = keyframe.n_sensors
        self._free_memory(state_bytes(N) + packet_bytes(0, N), None)
        if self._streams:
            _log.warning("Stream %08x begins at row %d; the one before it is at row %d.",
                         keyframe.stream, keyframe.start, self.n_rows_)  # fmt: skip
        self._latest = self._streams[keyframe.stream] = _Stream(keyframe)
        return Decoded(None, None, start=keyframe.start, stream=keyframe.stream)

    def _free_memory(self, needed: int, stream: _Stream | None) -> None:
        """Forget the streams that were silent longest, if memory is short."""
        needed += stream.n_bytes if stream else 0
        check_memory(needed, self._max_bytes)
        others = [other for other in self._streams.values() if other is not stream]
        excess = needed + sum(other.n_bytes for other in others) - self._max_bytes
        for silent in others:
            if excess <= 0:
                break
            excess -= silent.n_bytes
            del self._streams[silent.number]
            _log.warning("Stream %08x is forgotten at row %d: memory is short.", silent.number,
                         silent.n_rows)  # fmt: skip
