"""Packets: what encoder and decoder exchange, framed so that damage is noticed.

    version and kind 1 | stream 4 | sequence, LEB128 | payload | digest 2 | CRC-16 of all 2

An encoder draws a number of 32 bits when it starts, which names its stream, so that no decoder
takes one encoder for another, or for what it was before a restart. The digest is that of the
sender's state after the packet: a receiver that did not come to the same state refuses it, whatever
the reason. Damage that changes values passes both with probability 2⁻³².

    keyframe  sensors and flags 2 | row | value to start from 4, for all sensors or each
    request   packets 2, 0 for all | restart 1
"""

from __future__ import annotations

import binascii
import struct
import zlib
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.wire import MAX_SENSORS, Array, PacketError, Reader, number

VERSION = 1
_HEAD, _END, _REQUEST, _SENSORS = map(struct.Struct, ("<BI", "<H", "<HB", "<H"))
_MIN_BYTES = _HEAD.size + 1 + 2 * _END.size
_PAPER, _GIVES_UP = 0x4000, 0x8000


class Kind(IntEnum):
    """What a packet holds."""

    KEYFRAME = 1
    ROWS = 2
    DICTIONARY = 3
    REQUEST = 4


class Payload(NamedTuple):
    """What a packet brings; the sender's state and rows after it, but for keyframes."""

    kind: Kind
    data: bytes
    state: Any = None
    n_rows: int = 0


class Packet(NamedTuple):
    """A packet without its frame."""

    kind: Kind
    stream: int
    sequence: int
    digest: int
    payload: bytes

    def packed(self) -> bytes:
        """Return the bytes of the packet."""
        head = _HEAD.pack(VERSION << 4 | self.kind, self.stream) + number(self.sequence)
        content = head + self.payload + _END.pack(self.digest & 0xFFFF)
        return content + _END.pack(binascii.crc_hqx(content, 0xFFFF))


def unpack(data: bytes) -> Packet | None:
    """Return the packet in some bytes, None if they are damaged; `PacketError` if not readable."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"A packet must be bytes, got {type(data).__name__}.")
    data = bytes(data)
    if len(data) < _MIN_BYTES or binascii.crc_hqx(data[:-2], 0xFFFF) != _END.unpack(data[-2:])[0]:
        return None
    first, stream = _HEAD.unpack_from(data)
    if first >> 4 != VERSION or first & 15 not in list(Kind):
        raise PacketError(
            f"The packet has version {first >> 4} of the format and kind {first & 15}; this "
            f"library reads version {VERSION}. Use the same release of thresher on both sides."
        )
    parts = Reader(data[_HEAD.size : -4])
    sequence, (digest,) = parts.number(), _END.unpack(data[-4:-2])
    return Packet(Kind(first & 15), stream, sequence, digest, parts.rest())


class Keyframe(NamedTuple):
    """Where a stream starts, or restarts.

    ``level`` has one value for all sensors or one each, and none in streams of paper D. A sender
    that ``gives_up`` the rows before has them no more: a receiver does not wait for them.
    """

    stream: int
    sequence: int
    n_sensors: int
    start: int
    level: Array
    gives_up: bool = False

    def packed(self) -> bytes:
        """Return the packet."""
        flags = _PAPER * (not self.level.size) | _GIVES_UP * self.gives_up | self.n_sensors
        payload = _SENSORS.pack(flags) + number(self.start) + self.level.tobytes()
        digest = zlib.crc32(payload)
        return Packet(Kind.KEYFRAME, self.stream, self.sequence, digest, payload).packed()


def read_keyframe(packet: Packet) -> Keyframe:
    """Return the keyframe in a packet."""
    parts = Reader(packet.payload)
    if packet.digest != zlib.crc32(packet.payload) & 0xFFFF:
        raise PacketError("The keyframe is damaged.")
    (flags,), start = _SENSORS.unpack(parts.take(_SENSORS.size)), parts.number()
    N = flags & ~(_PAPER | _GIVES_UP)
    if not 1 <= N <= MAX_SENSORS or start >= 2**63 or not packet.stream:
        raise PacketError("The keyframe has a number of sensors, a row or a stream out of range.")
    level = read_level(parts.rest(), N)
    if bool(flags & _PAPER) != (not level.size):
        raise PacketError("The keyframe has values that its flags exclude.")
    return Keyframe(packet.stream, packet.sequence, N, start, level, bool(flags & _GIVES_UP))


def read_level(data: bytes, N: int) -> Array:
    """Return the values to start from: none, one for all sensors, or one each."""
    if len(data) not in (0, 4, 4 * N):
        raise PacketError("The keyframe has values for another number of sensors.")
    level = np.frombuffer(data, np.float32)
    if not np.isfinite(level).all():
        raise PacketError("The keyframe has values that are not finite.")
    return level


class Request(NamedTuple):
    """What a decoder requests: so many packets from a number on, 0 for all; or a restart."""

    stream: int
    sequence: int
    n_packets: int = 0
    restart: bool = False

    def packed(self) -> bytes:
        """Return the packet."""
        payload = _REQUEST.pack(min(self.n_packets, 65535), self.restart)
        return Packet(Kind.REQUEST, self.stream, self.sequence, 0, payload).packed()


def read_request(data: bytes) -> Request:
    """Return the request in some bytes."""
    packet = unpack(data)
    if packet is None or packet.kind != Kind.REQUEST:
        raise PacketError("This is not a request of a decoder; hand it on unchanged.")
    count, restart = _REQUEST.unpack(Reader(packet.payload).take(_REQUEST.size))
    return Request(packet.stream, packet.sequence, count, bool(restart))
