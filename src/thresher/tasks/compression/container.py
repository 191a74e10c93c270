"""Files of packets: ``.thr``.

    magic 4 | length 4 | JSON, deflated | its CRC-32 4 | (length 4 | packet)… | 0 4

Packets have their own checksums; the lengths between them are checked by what they lead to.
"""

import json
import struct
import zlib
from typing import Any

from thresher.tasks.compression.packet import PacketError

_MAGIC = b"THR\x01"
_NUMBER = struct.Struct("<I")


def written_container(
    packets: list[bytes], n_rows: int, n_sensors: int, about: dict[str, Any]
) -> bytes:
    """The bytes of a file."""
    document = {"rows": n_rows, "sensors": n_sensors, "about": about}
    head = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
    parts = [_MAGIC, _NUMBER.pack(len(head)), head, _NUMBER.pack(zlib.crc32(head))]
    for packet in packets:
        parts += [_NUMBER.pack(len(packet)), packet]
    return b"".join([*parts, _NUMBER.pack(0)])


def read_container(data: bytes) -> tuple[list[bytes], int, int, dict[str, Any]]:
    """Packets, rows, sensors, and what was kept about them."""
    if data[:3] != _MAGIC[:3]:
        raise PacketError("This is not a file of `thresher compress`.")
    if data[:4] != _MAGIC:
        raise PacketError(
            f"The file has version {data[3] if len(data) > 3 else '?'} of the format, this library "
            f"reads version {_MAGIC[3]}: use the release of thresher that wrote it, or a later one."
        )
    head, at = _part(data, 4)
    checksum, at = _number(data, at)
    if checksum != zlib.crc32(head):
        raise PacketError("The head of the file is damaged; get it again.")
    document = json.loads(zlib.decompress(head))
    packets = []
    while True:
        packet, at = _part(data, at)
        if not packet:
            break
        packets.append(packet)
    if at != len(data):
        raise PacketError(f"The file is damaged: {len(data) - at} bytes follow its end.")
    return packets, document["rows"], document["sensors"], document["about"]


def _number(data: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(data):
        raise PacketError("The file is cut short; get it again.")
    return _NUMBER.unpack_from(data, at)[0], at + 4


def _part(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _number(data, at)
    if at + length > len(data):
        raise PacketError("The file is cut short; get it again.")
    return data[at : at + length], at + length
