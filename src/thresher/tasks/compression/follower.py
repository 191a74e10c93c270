"""One stream, as the cloud follows it."""

from typing import Any

from thresher.linalg import Array
from thresher.tasks.compression import batch, dictionary, paper
from thresher.tasks.compression.keyframe import Keyframe, read_keyframe
from thresher.tasks.compression.packet import Kind, Packet, PacketError


class LatePacketError(PacketError):
    """A packet that was used before, or whose rows were given up: nothing has to be done."""


class Follower:
    """Uses the packets of a stream in their order, and knows which rows it did not get.

    Attributes
    ----------
    n_sensors_ : int
        N.
    n_rows_ : int
        The row that is expected next.
    gaps_ : list of (start, stop)
        Rows that were lost for good.
    """

    def __init__(self, keyframe: Keyframe) -> None:
        self.n_sensors_ = keyframe.n_sensors
        self.n_rows_ = 0
        self.gaps_: list[tuple[int, int]] = []
        self.sequence = 0
        self._start(keyframe)

    @property
    def components_(self) -> Array:
        """The dictionary, atoms in rows."""
        D: Array = self._state.D.copy()
        return D

    def use(self, packet: Packet) -> Array | None:
        """The rows in a packet, None if it brings none; if it is refused, nothing has changed."""
        if packet.sequence < self.sequence:
            raise LatePacketError(f"Packet {packet.sequence} came again, or late; it is left out.")
        values = None
        if packet.kind == Kind.KEYFRAME:
            self._start(read_keyframe(packet))
        else:
            values = self._decoded(packet)
        self.sequence = packet.sequence + 1
        return values

    def _start(self, keyframe: Keyframe) -> None:
        if keyframe.n_sensors != self.n_sensors_ or keyframe.start < self.n_rows_:
            raise PacketError("The packet does not decode: the keyframe does not fit the stream.")
        self._state: Any = keyframe.state()
        self._is_paper = keyframe.is_paper
        if keyframe.start > self.n_rows_:
            self.gaps_.append((self.n_rows_, keyframe.start))
        self.n_rows_ = keyframe.start

    def _decoded(self, packet: Packet) -> Array | None:
        """Go on to the state that the packet leads to, if it is the edge's."""
        if packet.sequence != self.sequence:
            raise PacketError(
                f"Packet {self.sequence} was expected, but {packet.sequence} came: some are lost."
            )
        state, values, n_rows = self._state.copy(), None, self.n_rows_
        if packet.kind == Kind.DATA:
            values = (paper if self._is_paper else batch).read(state, packet.payload)
            n_rows += len(values)
        else:
            (paper if self._is_paper else dictionary).read_dictionary(state, packet.payload)
        if state.digest(n_rows, packet.sequence) != packet.digest:
            raise PacketError("The packet decodes to another state than that of the edge.")
        self._state, self.n_rows_ = state, n_rows
        return values
