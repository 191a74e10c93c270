"""Keyframes: where a stream starts, or starts anew: N, the row, and values to start from.

Streams of the paper's scheme predict nothing, and have no values to start from. Two bits beside N
tell whether rows are coded column by column, each with its own step, and whether the sender has
given up the rows before: then a receiver that misses some does not wait for them.
"""

import struct
import zlib
from typing import NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.lossless.parts import Reader, number
from thresher.tasks.compression.packet import VERSION, Packet, PacketError
from thresher.tasks.compression.paper import PaperState
from thresher.tasks.compression.row_batch import StreamState
from thresher.tasks.compression.state import CodecState

_HEAD = struct.Struct("<H")
_OLD_HEAD = struct.Struct("<HQ")  # before version 4
_LAST_ROW = 2**63  # of the format: row numbers fit a signed integer of 64 bits

_BY_COLUMN, _GIVES_UP = 0x4000, 0x8000

MOST_SENSORS = 4096
"""By judgement: second moments of twice as many variables are kept, here half a gigabyte."""


class Keyframe(NamedTuple):
    """What a keyframe tells; ``level`` has one value for all sensors, or one each, or none."""

    n_sensors: int
    start: int
    level: Array
    by_column: bool = False
    gives_up: bool = False

    @property
    def is_paper(self) -> bool:
        """Whether the stream is one of the paper's scheme."""
        return not self.level.size

    def state(self) -> CodecState | PaperState | StreamState:
        """What both sides know after it."""
        if self.is_paper:
            return PaperState.starting(self.n_sensors)
        level = np.empty(self.n_sensors)
        level[:] = self.level
        return (StreamState if self.by_column else CodecState).starting_at(level)

    def written(self) -> bytes:
        """The payload."""
        told = _BY_COLUMN * self.by_column | _GIVES_UP * self.gives_up | self.n_sensors
        return _HEAD.pack(told) + number(self.start) + self.level.tobytes()


def keyframe_digest(payload: bytes, sequence: int) -> int:
    """What stands for the state after a keyframe, and can be checked before there is one."""
    return zlib.crc32(payload, sequence)


def read_keyframe(packet: Packet) -> Keyframe:
    """The keyframe in a packet; nothing is made of its claims yet."""
    if not packet.leads_to(keyframe_digest(packet.payload, packet.sequence)):
        raise PacketError("The keyframe is damaged.")
    found = parsed_keyframe(packet.payload, packet.version)
    return found._replace(gives_up=found.gives_up or packet.version < 3)


def parsed_keyframe(payload: bytes, version: int = VERSION) -> Keyframe:
    """The keyframe in a payload."""
    parts = Reader(payload)
    try:
        if version < VERSION:
            told, start = _OLD_HEAD.unpack(parts.take(_OLD_HEAD.size))
        else:
            (told,), start = _HEAD.unpack(parts.take(_HEAD.size)), parts.number()
    except PacketError:
        raise PacketError("The packet does not decode: its header is cut.") from None
    N = told & ~(_BY_COLUMN | _GIVES_UP)
    by_column, values = bool(told & _BY_COLUMN), parts.rest()
    sizes = (4, 4 * N) if by_column else (0, 4, 4 * N)
    if not 1 <= N <= MOST_SENSORS or len(values) not in sizes or start >= _LAST_ROW:
        raise PacketError("The packet does not decode: its header makes no sense.")
    level = np.frombuffer(values, np.float32)
    if not np.isfinite(level).all():
        raise PacketError("The packet does not decode: some values are not numbers.")
    return Keyframe(N, start, level, by_column, bool(told & _GIVES_UP))
