"""Keyframes: where a stream starts, or starts anew: N, the row, and values to start from.

Streams of the paper's scheme predict nothing, and have no values to start from.
"""

import struct
import zlib
from typing import NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.packet import Packet, PacketError
from thresher.tasks.compression.paper import PaperState
from thresher.tasks.compression.state import CodecState

_HEAD = struct.Struct("<HQ")
_LAST_ROW = 2**63  # of the format: row numbers fit a signed integer of 64 bits

MOST_SENSORS = 4096
"""By judgement: second moments of twice as many variables are kept, here half a gigabyte."""


class Keyframe(NamedTuple):
    """What a keyframe tells; ``level`` has one value for all sensors, or one each, or none."""

    n_sensors: int
    start: int
    level: Array

    @property
    def is_paper(self) -> bool:
        """Whether the stream is one of the paper's scheme."""
        return not self.level.size

    def state(self) -> CodecState | PaperState:
        """What both sides know after it."""
        if self.is_paper:
            return PaperState.starting(self.n_sensors)
        level = np.empty(self.n_sensors)
        level[:] = self.level
        return CodecState.starting_at(level)

    def written(self) -> bytes:
        """The payload."""
        return _HEAD.pack(self.n_sensors, self.start) + self.level.tobytes()


def keyframe_digest(payload: bytes, sequence: int) -> int:
    """What stands for the state after a keyframe, and can be checked before there is one."""
    return zlib.crc32(payload, sequence)


def read_keyframe(packet: Packet) -> Keyframe:
    """The keyframe in a packet; nothing is made of its claims yet."""
    if keyframe_digest(packet.payload, packet.sequence) != packet.digest:
        raise PacketError("The keyframe is damaged.")
    if len(packet.payload) < _HEAD.size:
        raise PacketError("The packet does not decode: its header is cut.")
    N, start = _HEAD.unpack_from(packet.payload)
    values = packet.payload[_HEAD.size :]
    if not 1 <= N <= MOST_SENSORS or len(values) not in (0, 4, 4 * N) or start >= _LAST_ROW:
        raise PacketError("The packet does not decode: its header makes no sense.")
    level = np.frombuffer(values, np.float32)
    if not np.isfinite(level).all():
        raise PacketError("The packet does not decode: some values are not numbers.")
    return Keyframe(N, start, level)
