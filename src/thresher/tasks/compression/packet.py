"""Packets: what encoder and decoder exchange, framed so that damage is noticed.

    version and kind 1 | tag 2 | number 1 | payload | mark 2 | CRC-16 of all 2

An encoder draws a number of 32 bits when it starts, which names its stream, so that no decoder
takes one encoder for another, or for what it was before a restart. The tag is its last 16 bits, the
number the last 8 bits of the packet's sequence. The mark joins the other 16 bits with a digest of
the sender's state after the packet: a receiver that did not come to the same state of the same
stream refuses it, whatever the reason. Damage that changes values passes both with probability
2⁻³².

Keyframes and requests begin their payload with stream and sequence, 4 bytes each.

    keyframe  flags and sensors 2 | row | value to start from 4, for all sensors or each
    request   packets 2, 0 for all | flags 1
"""

from __future__ import annotations

import binascii
import struct
import zlib
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.quantise import Array
from thresher.tasks.compression.wire import MAX_SENSORS, PacketError, Reader, number

VERSION = 1
_HEAD, _TAIL = struct.Struct("<BHB"), struct.Struct("<HH")
_NAME, _REQUEST, _SENSORS = struct.Struct("<II"), struct.Struct("<HB"), struct.Struct("<H")
OVERHEAD = _HEAD.size + _TAIL.size
LAST_SEQUENCE = 2**32 - 1
_LATE = 64  # of the 256 numbers that are distinguished, those that came before
_LAST_ROW = 2**63
_PAPER, _GIVES_UP = 0x4000, 0x8000
ANY_STREAM = 0
"""Of a request by a decoder that cannot know whose packet it was; no encoder has this number."""


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
    """A packet without its frame; ``tag`` and ``number`` are the ends of stream and sequence."""

    kind: Kind
    tag: int
    number: int
    mark: int
    payload: bytes

    def sequence(self, expected: int) -> int:
        """Return the whole sequence number, near the one that is expected."""
        return max(expected + (self.number - expected + _LATE) % 256 - _LATE, 0)

    def leads_to(self, digest: int, stream: int) -> bool:
        """Return whether a state is the one that the sender had."""
        return self.mark == (digest ^ stream >> 16) & 0xFFFF


def pack(kind: Kind, stream: int, sequence: int, digest: int, payload: bytes) -> bytes:
    """Return the bytes of a packet."""
    head = _HEAD.pack(VERSION << 4 | kind, stream & 0xFFFF, sequence & 0xFF)
    content = head + payload + struct.pack("<H", (digest ^ stream >> 16) & 0xFFFF)
    return content + struct.pack("<H", binascii.crc_hqx(content, 0xFFFF))


def unpack(data: bytes) -> Packet | None:
    """Return the packet in some bytes, None if they are damaged; `PacketError` if not readable."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"A packet must be bytes, got {type(data).__name__}.")
    data = bytes(data)
    if len(data) < OVERHEAD or binascii.crc_hqx(data[:-2], 0xFFFF) != _TAIL.unpack(data[-4:])[1]:
        return None
    first, tag, counter = _HEAD.unpack_from(data)
    if first >> 4 != VERSION or first & 15 not in list(Kind):
        raise PacketError(
            f"The packet has version {first >> 4} of the format and kind {first & 15}; this "
            f"library reads version {VERSION}. Use the same release of thresher on both sides."
        )
    mark = _TAIL.unpack(data[-4:])[0]
    return Packet(Kind(first & 15), tag, counter, mark, data[_HEAD.size : -_TAIL.size])


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

    def written(self) -> bytes:
        """Return the payload."""
        flags = _PAPER * (not self.level.size) | _GIVES_UP * self.gives_up | self.n_sensors
        name = _NAME.pack(self.stream, self.sequence)
        return name + _SENSORS.pack(flags) + number(self.start) + self.level.tobytes()

    def packed(self) -> bytes:
        """Return the packet."""
        payload = self.written()
        digest = zlib.crc32(payload)
        return pack(Kind.KEYFRAME, self.stream, self.sequence, digest, payload)


def read_keyframe(packet: Packet) -> Keyframe:
    """Return the keyframe in a packet."""
    parts = Reader(packet.payload)
    stream, sequence = _NAME.unpack(parts.take(_NAME.size))
    if not packet.leads_to(zlib.crc32(packet.payload), stream) or stream & 0xFFFF != packet.tag:
        raise PacketError("The keyframe is damaged.")
    (flags,), start = _SENSORS.unpack(parts.take(_SENSORS.size)), parts.number()
    N = flags & ~(_PAPER | _GIVES_UP)
    values = parts.rest()
    sizes = (0,) if flags & _PAPER else (4, 4 * N)
    if not 1 <= N <= MAX_SENSORS or len(values) not in sizes or start >= _LAST_ROW or not stream:
        raise PacketError("The keyframe makes no sense.")
    level = np.frombuffer(values, np.float32)
    if not np.isfinite(level).all():
        raise PacketError("The keyframe has values that are not finite.")
    return Keyframe(stream, sequence, N, start, level, bool(flags & _GIVES_UP))


class Request(NamedTuple):
    """What a decoder asks for: so many packets from a number on, 0 for all; or a restart.

    ``has_tag`` if it knows only the tag of the stream. ``rename`` if the stream must draw another
    number, since another one has the same tag.
    """

    stream: int
    sequence: int
    n_packets: int = 0
    restart: bool = False
    has_tag: bool = False
    rename: bool = False

    def packed(self) -> bytes:
        """Return the packet."""
        flags = self.restart | self.has_tag << 1 | self.rename << 2
        payload = _NAME.pack(self.stream, min(self.sequence, LAST_SEQUENCE))
        payload += _REQUEST.pack(min(self.n_packets, 65535), flags)
        return pack(Kind.REQUEST, self.stream, self.sequence, 0, payload)

    def is_for(self, stream: int) -> bool:
        """Return whether a stream is meant."""
        if self.has_tag:
            return self.stream == stream & 0xFFFF
        return self.stream in (ANY_STREAM, stream)


def read_request(data: bytes) -> Request:
    """Return the request in some bytes."""
    packet = unpack(data)
    if packet is None or packet.kind != Kind.REQUEST:
        raise PacketError("This is not a request of a decoder; hand it on unchanged.")
    parts = Reader(packet.payload)
    stream, sequence = _NAME.unpack(parts.take(_NAME.size))
    count, flags = _REQUEST.unpack(parts.take(_REQUEST.size))
    restart, has_tag, rename = (bool(flags >> bit & 1) for bit in range(3))
    return Request(stream, sequence, count, restart, has_tag, rename)
