"""Packets: what edge and cloud say to each other, framed so that damage is noticed.

    magic 2 | version 1 | kind 1 | stream 4 | sequence 4 | digest 4 | payload | CRC-32 of all 4

The stream is a number that an edge draws when it starts, so that nobody takes one edge for another,
or for what it was before a restart. The digest is that of the sender's state after the packet: a
receiver that did not come to the same state refuses it, whatever the reason. Version and checksum
keep their places in all versions.
"""

import struct
import zlib
from enum import IntEnum
from typing import NamedTuple

MAGIC = b"Ts"
VERSION = 2
_HEAD = struct.Struct("<2sBBIII")
_SUM = struct.Struct("<I")
OVERHEAD = _HEAD.size + _SUM.size
LAST_SEQUENCE = 2**32 - 1

ANY_STREAM = 0
"""Of a request by a cloud that could not tell whose packet it was; no edge has this number."""


class PacketError(ValueError):
    """A packet, or a file of packets, that cannot be decoded; the message says why."""


class VersionError(PacketError):
    """A whole packet of another version of the format."""


class Kind(IntEnum):
    """What a packet brings."""

    KEYFRAME = 1
    DATA = 2
    DICTIONARY = 3
    REQUEST = 4


class Packet(NamedTuple):
    """A packet, without its frame."""

    kind: Kind
    stream: int
    sequence: int
    digest: int
    payload: bytes


def packed(packet: Packet) -> bytes:
    """The bytes of a packet."""
    head = _HEAD.pack(MAGIC, VERSION, *packet[:-1])
    content = head + packet.payload
    return content + _SUM.pack(zlib.crc32(content))


def unpacked(data: bytes) -> Packet:
    """The packet in some bytes; `PacketError` if they are not one, whole and of this version."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"A packet is bytes, as Edge.send gives them; not {type(data).__name__}.")
    data = bytes(data)
    if len(data) < OVERHEAD:
        raise PacketError(f"A packet has {OVERHEAD} bytes at least; these are {len(data)}.")
    (checksum,) = _SUM.unpack(data[-4:])
    if zlib.crc32(data[:-4]) != checksum:
        raise PacketError("The packet is damaged: its checksum does not fit.")
    magic, version, kind, stream, sequence, digest = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise PacketError("These bytes are not a packet of a sensor stream.")
    if version != VERSION:
        raise VersionError(
            f"The packet has version {version} of the format, this library reads version "
            f"{VERSION}: use the same release of thresher on both sides."
        )
    if kind not in list(Kind):
        raise PacketError(f"The packet is of an unknown kind, {kind}.")
    return Packet(Kind(kind), stream, sequence, digest, data[_HEAD.size : -4])
