"""Files: ``.thr``.

    magic 4 | head | values | columns that are kept letter by letter, one after the other |
    zeros, if the rest is too short for what it stands for | CRC-32 of all 4

Parts have their lengths in front. The head is JSON: the number of rows, of sensors and of other
columns, and what the writer keeps about them.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, NamedTuple

from thresher.tasks.compression.keyframe import MOST_SENSORS
from thresher.tasks.compression.limits import check_claim, check_memory, least_bytes
from thresher.tasks.compression.lossless.parts import Reader, number, part
from thresher.tasks.compression.old_container import parsed_json
from thresher.tasks.compression.packet import PacketError

MAGIC = b"THR\x03"
_KEYS = {"rows", "sensors", "columns", "about"}
_MOST_COLUMNS = 2**16  # by judgement
_USUAL = (
    b'null,5,4,3],"blank":[1],"delimiter":";"\t","newline":"\\r\\n","decimal":",","bom":true,'
    b'"ended":false,"missing":["","null","nan"],"metadata":{"pandas":"parquet":{"names":["types":['
    b'"timestamp[ns, tz=UTC]","string","int64","float","double","temperature","humidity",'
    b'"pressure","time","s1","s0"],"kinds":["kept","kept",2,1,0,0,0]}}}{"rows":8760,"sensors":1,'
    b'"columns":1,"about":{"table":{"names":["time","'
)
"""Part of the format: what heads are like, so that the usual words take next to nothing."""


class Container(NamedTuple):
    """What is in a file; ``values`` are those of sensors, ``columns`` the others."""

    n_rows: int
    n_sensors: int
    about: dict[str, Any]
    values: bytes
    columns: list[bytes]


def written_container(file: Container) -> bytes:
    """The bytes of a file."""
    document = {"rows": file.n_rows, "sensors": file.n_sensors, "columns": len(file.columns)}
    text = json.dumps(
        document | {"about": file.about}, separators=(",", ":"), ensure_ascii=False
    ).encode()
    data = MAGIC + number(len(text)) + part(packed_head(text)) + part(file.values)
    data += b"".join(map(part, file.columns))
    missing = _least(file.n_rows, file.n_sensors, len(file.columns)) - len(data)
    data += part(bytes(max(missing, 0)))
    return data + zlib.crc32(data).to_bytes(4, "little")


def read_container(data: bytes, max_bytes: int) -> Container:
    """What is in the bytes of a file; `PacketError` if they are not one, or claim too much."""
    if data[:3] != MAGIC[:3]:
        raise PacketError("This is not a file of `thresher compress`.")
    if data[:4] != MAGIC:
        raise PacketError(
            f"The file has version {data[3] if len(data) > 3 else '?'} of the format, this library "
            f"reads versions 2 and {MAGIC[3]}: use the release of thresher that wrote it."
        )
    if len(data) < 12 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise PacketError("The file is damaged, or cut short; get it again.")
    parts = Reader(data[4:-4])
    size = parts.number()
    check_memory(6 * size, max_bytes)
    document = parsed_json(_unpacked_head(parts.part(), size), max_bytes)
    n_rows, n_sensors, n_columns, about = _checked(document)
    check_claim(n_rows * (n_sensors + n_columns), n_sensors + n_columns, len(data))
    values, columns = parts.part(), [parts.part() for _ in range(n_columns)]
    if parts.part().strip(b"\0"):
        raise PacketError("The file has bytes that belong to nothing; get it again.")
    parts.end()
    return Container(n_rows, n_sensors, about, values, columns)


def packed_head(text: bytes) -> bytes:
    """A head as it stands in a file."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=_USUAL)
    return deflate.compress(text) + deflate.flush()


def _unpacked_head(data: bytes, size: int) -> bytes:
    inflate = zlib.decompressobj(-15, zdict=_USUAL)
    try:
        text = inflate.decompress(data, size + 1)
    except zlib.error:
        text = b""
    if len(text) != size or inflate.unused_data:
        raise PacketError("The head of the file does not inflate; get it again.")
    return text


def _least(n_rows: int, n_sensors: int, n_columns: int) -> int:
    return least_bytes(n_rows * (n_sensors + n_columns), n_sensors + n_columns)


def _checked(document: Any) -> tuple[int, int, int, dict[str, Any]]:
    if not isinstance(document, dict) or set(document) != _KEYS:
        raise PacketError("The head of the file does not tell its rows, its sensors, and the rest.")
    numbers = [document[key] for key in ("rows", "sensors", "columns")]
    about = document["about"]
    if any(type(n) is not int for n in numbers) or not isinstance(about, dict):
        raise PacketError("The head of the file does not tell its rows and sensors as numbers.")
    n_rows, n_sensors, n_columns = numbers
    if n_rows < 0 or not 0 <= n_sensors <= MOST_SENSORS or not 0 <= n_columns <= _MOST_COLUMNS:
        raise PacketError(
            f"The file cannot have {n_rows} rows of {n_sensors} sensors and {n_columns} columns."
        )
    return n_rows, n_sensors, n_columns, about
