"""Packets: what edge and cloud say to each other, framed so that damage is noticed.

    version and kind 1 | stream 4 | sequence 4 | mark 2 | payload | CRC-32 of all 4
    version and kind 1 | tag 2 | number 1 | payload | mark 2 | CRC-16 of all 2

The stream is a number that an edge draws when it starts, so that nobody takes one edge for another,
or for what it was before a restart. Keyframes and requests tell it whole; the others, which are
short, have its last 16 bits, the tag, and the last 8 of their sequence. The mark joins the rest of
the stream's number with a digest of the sender's state after the packet, of the rows and the
packets so far: a receiver that did not come to the same state of the same stream refuses it,
whatever the reason. Damage that changes values passes both with a chance of 2⁻³².

Packets of versions 2 and 3 are read too; they were

    magic 2 | version 1 | kind 1 | stream 4 | sequence 4 | digest 4 | payload | CRC-32 of all 4
    magic 1 | version and kind 1 | stream 4 | sequence 4 | digest 2 | payload | CRC-32 of all 4
"""

import binascii
import struct
import zlib
from enum import IntEnum
from typing import NamedTuple

VERSION = 4
_LONG = struct.Struct("<BIIH")
_SHORT = struct.Struct("<BHB")
_SUM = struct.Struct("<I")
_SHORT_SUM = struct.Struct("<H")
_SECOND = struct.Struct("<2sBBIII")
_THIRD = struct.Struct("<BBIIH")
_OLD_MAGIC, _SECOND_MAGIC = ord("T"), b"Ts"
OVERHEAD = _SHORT.size + 2 * _SHORT_SUM.size
LAST_SEQUENCE = 2**32 - 1
_LATE = 64  # of the 256 numbers that are told apart; by judgement: those that came before

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

    @property
    def is_long(self) -> bool:
        """Whether the frame tells stream and sequence whole."""
        return self in (Kind.KEYFRAME, Kind.REQUEST)


class Packet(NamedTuple):
    """A packet, without its frame.

    Of a short one that was just read, ``stream`` is its tag and ``sequence`` its number, until
    `of_stream` tells them whole; ``digest`` is its mark.
    """

    kind: Kind
    stream: int
    sequence: int
    digest: int
    payload: bytes
    version: int = VERSION

    @property
    def is_short(self) -> bool:
        """Whether the frame had a tag and a number only."""
        return self.version == VERSION and not self.kind.is_long

    def of_stream(self, stream: int, expected: int) -> "Packet":
        """The packet with its whole numbers, as one of a stream whose next packet is expected."""
        ahead = (self.sequence - expected + _LATE) % 256 - _LATE
        return self._replace(stream=stream, sequence=max(expected + ahead, 0))

    def leads_to(self, digest: int) -> bool:
        """Whether a state is the one that the sender had."""
        if self.version == VERSION:
            digest = mark(digest, self.stream)
        return self.digest == (digest if self.version < VERSION - 1 else digest & 0xFFFF)


def mark(digest: int, stream: int) -> int:
    """What a short packet tells of a state, and of the part of its stream that the tag leaves."""
    return (digest ^ stream >> 16) & 0xFFFF


def tag(stream: int) -> int:
    """What a short packet tells of its stream."""
    return stream & 0xFFFF


def packed(packet: Packet) -> bytes:
    """The bytes of a packet."""
    kind, stream, sequence, digest, payload, version = packet
    first = version << 4 | kind
    if kind not in (Kind.DATA, Kind.DICTIONARY):
        content = _LONG.pack(first, stream, sequence, digest & 0xFFFF) + payload
        return content + _SUM.pack(zlib.crc32(content))
    content = _SHORT.pack(first, tag(stream), sequence & 0xFF) + payload
    content += _SHORT_SUM.pack(digest & 0xFFFF)
    return content + _SHORT_SUM.pack(binascii.crc_hqx(content, 0xFFFF))


def unpacked(data: bytes) -> Packet:
    """The packet in some bytes; `PacketError` if they are not one, whole and of this version."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"A packet is bytes, as Edge.send gives them; not {type(data).__name__}.")
    data = bytes(data)
    if len(data) < OVERHEAD:
        raise PacketError(f"A packet has {OVERHEAD} bytes at least; these are {len(data)}.")
    if data[0] == _OLD_MAGIC:
        return _unpacked_old(data)
    version, kind = data[0] >> 4, data[0] & 15
    if version == VERSION and kind in (Kind.DATA, Kind.DICTIONARY):
        digest, checksum = _SHORT_SUM.unpack(data[-4:-2])[0], _SHORT_SUM.unpack(data[-2:])[0]
        if binascii.crc_hqx(data[:-2], 0xFFFF) != checksum:
            raise _damaged()
        _, stream, sequence = _SHORT.unpack_from(data)
        return Packet(Kind(kind), stream, sequence, digest, data[_SHORT.size : -4])
    _check_sum(data)
    if version != VERSION:
        raise _other_version(version)
    found = _known(kind)
    if len(data) < _LONG.size + _SUM.size:
        raise PacketError("The packet does not decode: its frame is cut.")
    _, stream, sequence, digest = _LONG.unpack_from(data)
    return Packet(found, stream, sequence, digest, data[_LONG.size : -4])


def _unpacked_old(data: bytes) -> Packet:
    """A packet of version 2 or 3, as earlier releases wrote them."""
    _check_sum(data)
    if data[:2] == _SECOND_MAGIC and len(data) >= _SECOND.size + _SUM.size:
        _, version, kind, stream, sequence, digest = _SECOND.unpack_from(data)
        size, known = _SECOND.size, 2
    elif len(data) >= _THIRD.size + _SUM.size:
        _, both, stream, sequence, digest = _THIRD.unpack_from(data)
        version, kind, size, known = both >> 4, both & 15, _THIRD.size, 3
    else:
        raise PacketError("These bytes are not a packet of a sensor stream.")
    if version != known:
        raise _other_version(version)
    return Packet(_known(kind), stream, sequence, digest, data[size:-4], version)


def _known(kind: int) -> Kind:
    if kind not in list(Kind):
        raise PacketError(f"The packet is of an unknown kind, {kind}.")
    return Kind(kind)


def _check_sum(data: bytes) -> None:
    """Refuse bytes that do not end in their CRC-32."""
    if zlib.crc32(data[:-4]) != _SUM.unpack(data[-4:])[0]:
        raise _damaged()


def _damaged() -> PacketError:
    return PacketError("The packet is damaged: its checksum does not fit.")


def _other_version(version: int) -> VersionError:
    return VersionError(
        f"The packet has version {version} of the format, this library reads versions 2 to "
        f"{VERSION}: use the same release of thresher on both sides."
    )
