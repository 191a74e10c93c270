"""The cloud: packets in, rows out, or a request."""

from typing import NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.batch import read
from thresher.tasks.compression.dictionary import read_dictionary
from thresher.tasks.compression.edge import KEYFRAME, MOST_SENSORS, keyframe_digest, keyframe_level
from thresher.tasks.compression.packet import (
    Kind,
    Packet,
    PacketError,
    VersionError,
    packed,
    unpacked,
)
from thresher.tasks.compression.state import CodecState


class Received(NamedTuple):
    """What came of a packet.

    Attributes
    ----------
    values : array of shape (n, N) or None
        Decoded rows, NaN where a sensor was silent; None if the packet brought none.
    start : int
        The number of the first of these rows in the stream, or of the next one expected.
    request : bytes or None
        To be handed to `Edge.handle`: packets were lost or damaged.
    problem : str or None
        What is wrong with the packet, if it was not used.
    """

    values: Array | None
    start: int
    request: bytes | None = None
    problem: str | None = None


class Cloud:
    """Decodes the packets of an `Edge`; made by `SensorCodec.cloud`.

    A packet that is damaged, out of order, or leads to another state than the edge's is not used,
    and nothing comes of it but a request. The next keyframe puts things right.

    Attributes
    ----------
    n_rows_ : int
        The row of the stream that is expected next.
    gaps_ : list of (start, stop)
        Rows that were lost for good.
    """

    def __init__(self) -> None:
        self._state: CodecState | None = None
        self._sequence = 0
        self.n_rows_ = 0
        self.gaps_: list[tuple[int, int]] = []

    @property
    def components_(self) -> Array | None:
        """The dictionary that the cloud has, atoms in rows; None before the first keyframe."""
        return None if self._state is None else self._state.D.copy()

    def receive(self, packet: bytes) -> Received:
        """Use a packet.

        Raises
        ------
        VersionError
            If the packet is whole, and of another version of the format.
        """
        try:
            return self._used(unpacked(bytes(packet)))
        except VersionError:
            raise
        except PacketError as error:
            return Received(None, self.n_rows_, self._request(), str(error))

    def _request(self) -> bytes:
        return packed(Packet(Kind.REQUEST, self._sequence, 0, b""))

    def _used(self, packet: Packet) -> Received:
        if packet.kind == Kind.REQUEST:
            raise PacketError("A request is for the edge: hand it to Edge.handle.")
        if self._state is not None and packet.sequence < self._sequence:
            known = f"Packet {packet.sequence} came again, or late; it is left out."
            return Received(None, self.n_rows_, None, known)
        if packet.kind == Kind.KEYFRAME:
            return self._keyframe(packet)
        if self._state is None:
            raise PacketError("A stream begins with a keyframe; this packet is another one.")
        if packet.sequence != self._sequence:
            raise PacketError(
                f"Packet {self._sequence} was expected, but {packet.sequence} came: some are lost."
            )
        state = self._state.copy()
        values = None
        if packet.kind == Kind.DATA:
            values = read(state, packet.payload)
        else:
            read_dictionary(state, packet.payload)
        start = self.n_rows_
        self._accept(state, packet, start + (0 if values is None else len(values)))
        return Received(values, start)

    def _keyframe(self, packet: Packet) -> Received:
        if keyframe_digest(packet.payload, packet.sequence) != packet.digest:
            raise PacketError("The keyframe is damaged.")
        if len(packet.payload) < KEYFRAME.size:
            raise PacketError("The packet does not decode: its header is cut.")
        N, start = KEYFRAME.unpack_from(packet.payload)
        level = packet.payload[KEYFRAME.size :]
        if not 1 <= N <= MOST_SENSORS or len(level) not in (4, 4 * N) or start < self.n_rows_:
            raise PacketError("The packet does not decode: its header makes no sense.")
        state = CodecState.starting_at(keyframe_level(np.frombuffer(level, np.float32), N))
        if start > self.n_rows_:
            self.gaps_.append((self.n_rows_, start))
        self._state, self._sequence, self.n_rows_ = state, packet.sequence + 1, start
        return Received(None, start)

    def _accept(self, state: CodecState, packet: Packet, n_rows: int) -> None:
        """Go on from a state, if it is the edge's."""
        if state.digest(n_rows, packet.sequence) != packet.digest:
            raise PacketError("The packet decodes to another state than that of the edge.")
        self._state, self._sequence, self.n_rows_ = state, packet.sequence + 1, n_rows
