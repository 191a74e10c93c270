"""Packets: what edge and cloud say to each other, framed so that damage is noticed.

    magic 1 | version and kind 1 | stream 4 | sequence 4 | digest 2 | payload | CRC-32 of all 4

The stream is a number that an edge draws when it starts, so that nobody takes one edge for another,
or for what it was before a restart. The digest is that of the sender's state after the packet: a
receiver that did not come to the same state refuses it, whatever the reason.

Packets of version 2 are read too; they were

    magic 2 | version 1 | kind 1 | stream 4 | sequence 4 | digest 4 | payload | CRC-32 of all 4
"""

import struct
import zlib
from enum import IntEnum
from typing import NamedTuple

MAGIC = ord("T")
VERSION = 3
_HEAD = struct.Struct("<BBIIH")
_OLD_HEAD = struct.Struct("<2sBBIII")
_OLD_MAGIC, _OLD_VERSION = b"Ts", 2
_SUM = struct.Struct("<I")
OVERHEAD = _HEAD.size + _SUM.size
_OLD_OVERHEAD = _OLD_HEAD.size + _SUM.size
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
    version: int = VERSION

    def leads_to(self, digest: int) -> bool:
        """Whether a state is the one that the sender had."""
        return self.digest == (digest if self.version == _OLD_VERSION else digest & 0xFFFF)


def packed(packet: Packet) -> bytes:
    """The bytes of a packet."""
    kind, stream, sequence, digest, payload, version = packet
    if version == _OLD_VERSION:
        head = _OLD_HEAD.pack(_OLD_MAGIC, version, kind, stream, sequence, digest)
    else:
        head = _HEAD.pack(MAGIC, version << 4 | kind, stream, sequence, digest & 0xFFFF)
    content = head + payload
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
    if data[:2] == _OLD_MAGIC and len(data) >= _OLD_OVERHEAD:
        _, version, kind, stream, sequence, digest = _OLD_HEAD.unpack_from(data)
        size, known = _OLD_HEAD.size, _OLD_VERSION
    else:
        magic, both, stream, sequence, digest = _HEAD.unpack_from(data)
        if magic != MAGIC:
            raise PacketError("These bytes are not a packet of a sensor stream.")
        version, kind, size, known = both >> 4, both & 15, _HEAD.size, VERSION
    if version != known:
        raise VersionError(
            f"The packet has version {version} of the format, this library reads versions "
            f"{_OLD_VERSION} and {VERSION}: use the same release of thresher on both sides."
        )
    if kind not in list(Kind):
        raise PacketError(f"The packet is of an unknown kind, {kind}.")
    return Packet(Kind(kind), stream, sequence, digest, data[size:-4], version)
