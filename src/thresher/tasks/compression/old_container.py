"""Files of version 2, which earlier releases wrote: packets after a head.

    magic 4 | length 4 | JSON, deflated | its CRC-32 4 | (length 4 | packet)… | 0 4

Packets have their own checksums; the lengths between them are checked by what they lead to. The
JSON has the number of rows and of sensors, and what the writer keeps about them.
"""

import json
import struct
import zlib
from typing import Any, NamedTuple

from thresher.tasks.compression.keyframe import MOST_SENSORS
from thresher.tasks.compression.limits import check_claim, check_memory
from thresher.tasks.compression.packet import PacketError

OLD_MAGIC = b"THR\x02"
_NUMBER = struct.Struct("<I")
_OBJECT = 100  # bytes that a small object of Python takes, and a little more


class OldContainer(NamedTuple):
    """What is in a file of version 2."""

    packets: list[bytes]
    n_rows: int
    n_sensors: int
    about: dict[str, Any]


def read_old_container(data: bytes, max_bytes: int) -> OldContainer:
    """What is in the bytes of a file; `PacketError` if they are not one, or claim too much."""
    head, at = _part(data, 4)
    checksum, at = _number(data, at)
    if checksum != zlib.crc32(head):
        raise PacketError("The head of the file is damaged; get it again.")
    packets = []
    while True:
        packet, at = _part(data, at)
        if not packet:
            break
        packets.append(packet)
    if at != len(data):
        raise PacketError(f"The file is damaged: {len(data) - at} bytes follow its end.")
    return _checked(_document(head, max_bytes), packets)


def _document(head: bytes, max_bytes: int) -> Any:
    """The JSON of a file, if memory allows."""
    inflate = zlib.decompressobj()
    try:
        text = inflate.decompress(head, max(max_bytes // 6, 1))
    except zlib.error:
        raise PacketError("The head of the file does not inflate; get it again.") from None
    if inflate.unconsumed_tail:
        raise PacketError(
            f"The head of the file inflates to over {len(text):,} bytes. If you trust the sender, "
            f"allow more memory than max_bytes={max_bytes}."
        )
    if not inflate.eof or inflate.unused_data:
        raise PacketError("The head of the file does not inflate; get it again.")
    return parsed_json(text, max_bytes)


def parsed_json(text: bytes, max_bytes: int) -> Any:
    """What is in a text, if memory allows."""
    # Strings take up to four bytes a letter, beside the text; small objects many times their text.
    check_memory(6 * len(text) + _OBJECT * sum(map(text.count, (b",", b"[", b"{"))), max_bytes)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PacketError("The head of the file is not the JSON that it should be.") from None


def _checked(document: Any, packets: list[bytes]) -> OldContainer:
    if not isinstance(document, dict) or set(document) != {"rows", "sensors", "about"}:
        raise PacketError("The head of the file does not tell its rows, its sensors, and the rest.")
    n_rows, n_sensors, about = (document[key] for key in ("rows", "sensors", "about"))
    if not (type(n_rows) is int and type(n_sensors) is int and isinstance(about, dict)):
        raise PacketError("The head of the file does not tell its rows and sensors as numbers.")
    if n_rows < 0 or not 1 <= n_sensors <= MOST_SENSORS:
        raise PacketError(f"The file cannot have {n_rows} rows of {n_sensors} sensors.")
    check_claim(n_rows * n_sensors, n_sensors, sum(map(len, packets)))
    return OldContainer(packets, n_rows, n_sensors, about)


def _number(data: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(data):
        raise PacketError("The file is cut short; get it again.")
    return _NUMBER.unpack_from(data, at)[0], at + 4


def _part(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _number(data, at)
    if at + length > len(data):
        raise PacketError("The file is cut short; get it again.")
    return data[at : at + length], at + length
