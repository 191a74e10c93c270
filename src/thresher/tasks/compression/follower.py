"""One stream, as the cloud follows it."""

from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression import batch, dictionary, paper, row_batch
from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.keyframe import Keyframe, read_keyframe
from thresher.tasks.compression.limits import most_rows
from thresher.tasks.compression.packet import Kind, Packet, PacketError
from thresher.tasks.compression.row_batch import StreamState, read_batch

MOST_WAITING = 2**24
"""Memory for packets that came too early and wait, and for their rows, in each stream; by
judgement."""


class LatePacketError(PacketError):
    """A packet that was used before, or whose rows were given up: nothing has to be done."""


class EarlyPacketError(PacketError):
    """A packet that cannot be used before others have come."""


class Rows(NamedTuple):
    """Decoded rows, the number of the first, and their times; None if there are none."""

    start: int
    values: Numbers | None
    times: Numbers | None


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

    def __init__(self, keyframe: Keyframe, stream: int) -> None:
        self.stream = stream
        self.n_sensors_ = keyframe.n_sensors
        self.n_rows_ = 0
        self.gaps_: list[tuple[int, int]] = []
        self.sequence = 0
        self._waiting: dict[int, Packet] = {}
        self._start(keyframe)

    @property
    def components_(self) -> Numbers:
        """The dictionary, atoms in rows."""
        D: Numbers = self._state.D.copy()
        return D

    @property
    def n_missing(self) -> int:
        """How many packets are missing before those that wait; 0 if none wait."""
        return min(self._waiting) - self.sequence if self._waiting else 0

    def use(self, packet: Packet) -> Rows:
        """The rows that a packet completes; if it is refused, no rows have changed.

        A packet that comes too early waits for those before it, within bounds.
        """
        if packet.sequence < self.sequence:
            raise LatePacketError(f"Packet {packet.sequence} came again, or late; it is left out.")
        if packet.sequence > self.sequence and not self._gives_up(packet):
            self._wait(packet)
            raise EarlyPacketError(
                f"Packet {self.sequence} was expected, but {packet.sequence} came: some are lost, "
                "or late."
            )
        found, room = [self._taken(packet)], MOST_WAITING
        while self.sequence in self._waiting:
            try:
                after = self._waiting.pop(self.sequence)
                room -= self._size(after)  # known only now: rows may be as many as those before
                if room < 0:
                    break
                found.append(self._taken(after))
            except PacketError:
                break  # it is asked for when the next one comes
        self._waiting = {s: p for s, p in self._waiting.items() if s > self.sequence}
        return joined([rows for rows in found if rows is not None], self.n_rows_)

    def _gives_up(self, packet: Packet) -> bool:
        """Whether the rows before a packet are lost, and it does not help to wait."""
        return packet.kind == Kind.KEYFRAME and read_keyframe(packet).gives_up

    @property
    def waiting_bytes(self) -> int:
        """Memory that packets take which wait, with the rows that they will bring."""
        return sum(self._size(packet) for packet in self._waiting.values())

    def _size(self, packet: Packet) -> int:
        try:
            n_rows = self.n_rows_in(packet)
        except PacketError:  # as many rows as in the packet before, which is not there yet
            n_rows = most_rows(len(packet.payload), self.n_sensors_)
        return 256 + len(packet.payload) + 18 * n_rows * self.n_sensors_

    def _wait(self, packet: Packet) -> None:
        if self.waiting_bytes + self._size(packet) <= MOST_WAITING:
            self._waiting[packet.sequence] = packet

    def _taken(self, packet: Packet) -> Rows | None:
        """Use the next packet."""
        rows = None
        if packet.kind == Kind.KEYFRAME:
            self._start(read_keyframe(packet))
        else:
            rows = self._decoded(packet)
        self.sequence = packet.sequence + 1
        return rows

    def _start(self, keyframe: Keyframe) -> None:
        if keyframe.n_sensors != self.n_sensors_ or keyframe.start < self.n_rows_:
            raise PacketError("The packet does not decode: the keyframe does not fit the stream.")
        self._state: Any = keyframe.state()
        self._is_paper = keyframe.is_paper
        if keyframe.start > self.n_rows_:
            self.gaps_.append((self.n_rows_, keyframe.start))
        self.n_rows_ = keyframe.start

    def _decoded(self, packet: Packet) -> Rows | None:
        """Go on to the state that the packet leads to, if it is the edge's."""
        state, rows, n_rows = self._state.copy(), None, self.n_rows_
        if packet.kind == Kind.DATA:
            times = None
            if isinstance(state, StreamState):
                values, times, state = read_batch(state, packet.payload, packet.version)
            else:
                values = (paper if self._is_paper else batch).read(state, packet.payload)
            rows = Rows(n_rows, values, times)
            n_rows += len(values)
        elif isinstance(state, StreamState):
            raise PacketError("The packet does not decode: this stream has no dictionaries.")
        else:
            (paper if self._is_paper else dictionary).read_dictionary(state, packet.payload)
        if not packet.leads_to(state.digest(n_rows, packet.sequence)):
            raise PacketError("The packet decodes to another state than that of the edge.")
        self._state, self.n_rows_ = state, n_rows
        return rows

    def n_rows_in(self, packet: Packet) -> int:
        """How many rows a packet claims; `PacketError` if it cannot have so many."""
        if packet.kind != Kind.DATA:
            return 0
        if isinstance(self._state, StreamState):
            return row_batch.n_rows_in(packet.payload, self._state, packet.version)
        return batch.n_rows_in(packet.payload, self.n_sensors_)


def joined(parts: list[Rows], n_rows: int) -> Rows:
    """Rows of packets that follow each other."""
    if not parts:
        return Rows(n_rows, None, None)
    start = parts[0].start
    values = [rows.values for rows in parts if rows.values is not None]
    times = [rows.times for rows in parts if rows.times is not None]
    whole = np.concatenate(times) if len(times) == len(parts) else None
    return Rows(start, np.vstack(values), whole)
