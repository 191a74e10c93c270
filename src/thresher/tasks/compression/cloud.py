"""The cloud: packets in, rows out, or a request."""

import logging
from typing import NamedTuple

from thresher.linalg import Array
from thresher.tasks.compression.follower import EarlyPacketError, Follower, LatePacketError
from thresher.tasks.compression.keyframe import read_keyframe
from thresher.tasks.compression.limits import (
    MOST_BYTES,
    check_memory,
    packet_bytes,
    state_bytes,
)
from thresher.tasks.compression.packet import (
    ANY_STREAM,
    VERSION,
    Kind,
    Packet,
    PacketError,
    VersionError,
    tag,
    unpacked,
)
from thresher.tasks.compression.sender import Request

_log = logging.getLogger(__name__)


class Received(NamedTuple):
    """What came of a packet.

    Attributes
    ----------
    values : array of shape (n, N) or None
        Decoded rows, NaN where a sensor was silent; None if the packet brought none. A packet that
        was missing brings the rows of those that waited for it, too.
    start : int
        The number of the first of these rows in their stream, or of the next one expected.
    request : bytes or None
        To be handed to `Edge.handle`: packets were lost or damaged.
    problem : str or None
        What is wrong with the packet, if it was not used.
    stream : int or None
        Whose packet it is: rows of different streams are from different edges, or from one that
        was started again. None if the packet is too damaged to tell, or of a stream that is not
        known here.
    times : array of shape (n) or None
        The times of the rows, if the edge has sent some, as whole numbers in its unit.
    """

    values: Array | None
    start: int
    request: bytes | None = None
    problem: str | None = None
    stream: int | None = None
    times: Array | None = None


class SameTagError(PacketError):
    """A stream that begins with the tag of another one."""


class Cloud:
    """Decodes the packets of `Edge` objects; made by `SensorCodec.cloud`.

    A packet that is damaged, or leads to another state than the edge's, is not used, and nothing
    comes of it but a request. One that comes too early waits for those before it, which are asked
    for; an edge that does not have them any more answers with a keyframe, and starts anew.

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
            return Received(None, self.n_rows_, self._for_damage(), str(error))
        known = self._followed(found)
        if known is None and found.is_short:
            tagged = Request(found.stream, 0, is_tagged=True)
            problem = (
                f"A stream whose number ends in {found.stream:04x} is not known here. A stream "
                "begins with a keyframe; this packet is another one."
            )
            return Received(None, 0, tagged.written(), problem)
        if known is not None and found.is_short:
            found = found.of_stream(known.stream, known.sequence)
        start, sequence = (known.n_rows_, known.sequence) if known else (0, 0)
        if found.kind == Kind.REQUEST:
            problem = "A request is for the edge: hand it to Edge.handle."
            return Received(None, start, None, problem, found.stream)
        asked: Request | None = None
        try:
            return self._used(found, known)
        except LatePacketError as error:
            problem = str(error)
        except EarlyPacketError as error:
            assert known is not None
            problem, asked = str(error), Request(found.stream, sequence, known.n_missing)
        except SameTagError as error:
            problem = str(error)
            asked = Request(found.stream, sequence, anew=True, is_renamed=True)
        except PacketError as error:
            # A packet of a stream that is followed, and the next one: it would not help to get it
            # again. Of a stream that is not, all that there is may be had.
            anew = known is not None or found.kind == Kind.KEYFRAME
            problem, asked = str(error), Request(found.stream, sequence, anew=anew)
        request = None if asked is None else asked.written()
        return Received(None, start, request, problem, found.stream)

    def _followed(self, packet: Packet) -> Follower | None:
        """The stream of a packet, if it is known."""
        if not packet.is_short:
            return self.streams_.get(packet.stream)
        tagged = (f for stream, f in self.streams_.items() if tag(stream) == packet.stream)
        return next(tagged, None)

    def _for_damage(self) -> bytes:
        """Ask for a packet of which nothing is known: the next one, if there is but one stream."""
        if len(self.streams_) != 1:
            return Request(ANY_STREAM, 0, 1).written()
        ((stream, follower),) = self.streams_.items()
        return Request(stream, follower.sequence, 1).written()

    def _used(self, packet: Packet, follower: Follower | None) -> Received:
        if follower is None:
            follower = self._begun(packet)
            return Received(None, follower.n_rows_, stream=packet.stream)
        n_rows = follower.n_rows_in(packet) if packet.sequence == follower.sequence else 0
        self._make_room(packet_bytes(n_rows, follower.n_sensors_), packet.stream)
        rows = follower.use(packet)
        self.streams_[packet.stream] = self.streams_.pop(packet.stream)  # heard last
        return Received(rows.values, rows.start, None, None, packet.stream, rows.times)

    def _begun(self, packet: Packet) -> Follower:
        """Follow a stream that is new here."""
        if packet.kind != Kind.KEYFRAME or packet.stream == ANY_STREAM:
            raise PacketError(
                f"Stream {packet.stream:08x} is not known here. A stream begins with a keyframe; "
                "this packet is another one."
            )
        same = [
            s for s in self.streams_ if packet.version == VERSION and tag(s) == tag(packet.stream)
        ]
        if same:
            raise SameTagError(
                f"Stream {packet.stream:08x} ends as stream {same[0]:08x} does; it has to draw "
                "another number."
            )
        keyframe = read_keyframe(packet)
        N = keyframe.n_sensors
        self._make_room(state_bytes(N) + packet_bytes(0, N), packet.stream)
        follower = Follower(keyframe, packet.stream)
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
        sizes = {s: state_bytes(f.n_sensors_) + f.waiting_bytes for s, f in self.streams_.items()}
        needed += sizes.get(stream, 0)
        others = {s: size for s, size in sizes.items() if s != stream}
        check_memory(needed, self._max_bytes)
        excess = needed + sum(others.values()) - self._max_bytes
        for silent, size in others.items():
            if excess <= 0:
                break
            excess -= size
            row = self.streams_.pop(silent).n_rows_
            _log.warning("Stream %08x is forgotten at row %d: memory is short.", silent, row)
