"""The cloud: packets in, rows out, or a request."""

import logging
from typing import NamedTuple

from thresher.linalg import Array
from thresher.tasks.compression.batch import n_rows_in
from thresher.tasks.compression.follower import Follower, LatePacketError
from thresher.tasks.compression.keyframe import read_keyframe
from thresher.tasks.compression.limits import (
    MOST_BYTES,
    check_memory,
    packet_bytes,
    state_bytes,
)
from thresher.tasks.compression.packet import (
    ANY_STREAM,
    LAST_SEQUENCE,
    Kind,
    Packet,
    PacketError,
    VersionError,
    packed,
    unpacked,
)

_log = logging.getLogger(__name__)


class Received(NamedTuple):
    """What came of a packet.

    Attributes
    ----------
    values : array of shape (n, N) or None
        Decoded rows, NaN where a sensor was silent; None if the packet brought none.
    start : int
        The number of the first of these rows in their stream, or of the next one expected.
    request : bytes or None
        To be handed to `Edge.handle`: packets were lost or damaged.
    problem : str or None
        What is wrong with the packet, if it was not used.
    stream : int or None
        Whose packet it is: rows of different streams are from different edges, or from one that
        was started again. None if the packet is too damaged to tell.
    """

    values: Array | None
    start: int
    request: bytes | None = None
    problem: str | None = None
    stream: int | None = None


class Cloud:
    """Decodes the packets of `Edge` objects; made by `SensorCodec.cloud`.

    A packet that is damaged, out of order, or leads to another state than the edge's is not used,
    and nothing comes of it but a request. The next keyframe puts things right.

    Every edge draws a number when it starts, and streams with different numbers are kept apart: two
    edges that send to one cloud are never mixed, and an edge that is started again begins another
    stream, with rows from 0. What was lost in between is what the old stream had after its
    ``n_rows_``; what the new one sent before its keyframe arrived is in its ``gaps_``.

    Parameters
    ----------
    max_bytes : int
        Memory for all streams. Where it does not suffice, the stream that was silent longest is
        forgotten; a single one that needs more is refused.

    Attributes
    ----------
    streams_ : dict
        By number: what is known of each stream, with the attributes below. The one that was silent
        longest is first.
    n_rows_ : int
        Of the stream that began last: the row that is expected next.
    gaps_ : list of (start, stop)
        Of the stream that began last: rows that were lost for good.
    """

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self._max_bytes = max_bytes
        self._latest: Follower | None = None
        self.streams_: dict[int, Follower] = {}

    @property
    def n_rows_(self) -> int:
        """The row of the stream that began last which is expected next."""
        return 0 if self._latest is None else self._latest.n_rows_

    @property
    def gaps_(self) -> list[tuple[int, int]]:
        """Rows of the stream that began last which were lost for good."""
        return [] if self._latest is None else self._latest.gaps_

    @property
    def components_(self) -> Array | None:
        """Its dictionary, atoms in rows; None before the first keyframe."""
        return None if self._latest is None else self._latest.components_

    def receive(self, packet: bytes) -> Received:
        """Use a packet.

        Raises
        ------
        VersionError
            If the packet is whole, and of another version of the format.
        """
        try:
            found = unpacked(packet)
        except VersionError:
            raise
        except PacketError as error:
            return Received(None, self.n_rows_, _request(ANY_STREAM, 0), str(error))
        known = self.streams_.get(found.stream)
        start, sequence = (known.n_rows_, known.sequence) if known else (0, 0)
        if found.kind == Kind.REQUEST:
            problem = "A request is for the edge: hand it to Edge.handle."
            return Received(None, start, None, problem, found.stream)
        try:
            return self._used(found, known)
        except LatePacketError as error:
            return Received(None, start, None, str(error), found.stream)
        except PacketError as error:
            request = _request(found.stream, sequence)
            return Received(None, start, request, str(error), found.stream)

    def _used(self, packet: Packet, follower: Follower | None) -> Received:
        if follower is None:
            follower = self._begun(packet)
            return Received(None, follower.n_rows_, stream=packet.stream)
        rows = n_rows_in(packet.payload, follower.n_sensors_) if packet.kind == Kind.DATA else 0
        self._make_room(packet_bytes(rows, follower.n_sensors_), packet.stream)
        start = follower.n_rows_
        values = follower.use(packet)
        self.streams_[packet.stream] = self.streams_.pop(packet.stream)  # heard last
        return Received(
            values, start if values is not None else follower.n_rows_, None, None, packet.stream
        )

    def _begun(self, packet: Packet) -> Follower:
        """Follow a stream that is new here."""
        if packet.kind != Kind.KEYFRAME or packet.stream == ANY_STREAM:
            raise PacketError(
                f"Stream {packet.stream:08x} is not known here. A stream begins with a keyframe; "
                "this packet is another one."
            )
        keyframe = read_keyframe(packet)
        N = keyframe.n_sensors
        self._make_room(state_bytes(N) + packet_bytes(0, N), packet.stream)
        follower = Follower(keyframe)
        follower.sequence = packet.sequence + 1
        if self.streams_:
            _log.warning(
                "Stream %08x begins at row %d: an edge was started again, or another one sends to "
                "this cloud. The stream before it is at row %d.",
                packet.stream,
                keyframe.start,
                self.n_rows_,
            )
        self._latest = self.streams_[packet.stream] = follower
        return follower

    def _make_room(self, needed: int, stream: int) -> None:
        """Forget streams that are silent, if memory is short."""
        others = {s: state_bytes(f.n_sensors_) for s, f in self.streams_.items() if s != stream}
        own = self.streams_.get(stream)
        needed += 0 if own is None else state_bytes(own.n_sensors_)
        check_memory(needed, self._max_bytes)
        excess = needed + sum(others.values()) - self._max_bytes
        for silent, size in others.items():
            if excess <= 0:
                break
            excess -= size
            row = self.streams_.pop(silent).n_rows_
            _log.warning("Stream %08x is forgotten at row %d: memory is short.", silent, row)


def _request(stream: int, sequence: int) -> bytes:
    return packed(Packet(Kind.REQUEST, stream, min(sequence, LAST_SEQUENCE), 0, b""))
