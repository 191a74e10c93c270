"""Files: ``.thr``.

    magic 4 | length of the head | head, deflated | values | other columns, one after the other
    | zeros, if the rest is too short for what it stands for | CRC-32 of all 4

All parts have their lengths in front. The head is JSON: the number of rows, of sensors and of other
columns, and what the writer keeps about them. The values are keyframes and batches, each a kind and
the payload of a packet; before the first keyframe, a stream starts at zero.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.batch import StreamState
from thresher.tasks.compression.packet import Kind, Payload
from thresher.tasks.compression.paper import PaperState
from thresher.tasks.compression.quantise import Array
from thresher.tasks.compression.wire import (
    MAX_SENSORS,
    PacketError,
    Reader,
    check_claim,
    check_memory,
    file_bytes,
    min_bytes,
    number,
    packet_bytes,
    part,
)

MAGIC = b"THR\x01"
Progress = Callable[[int, int], None]
_KEYS = {"rows", "sensors", "columns", "about"}
_MAX_COLUMNS = 2**16
_OBJECT = 100  # bytes that a small object of Python takes, and a little more
_DICTIONARY = (
    b'null,5,4,3],"blank":[1],"delimiter":";"\t","newline":"\\r\\n","decimal":",","bom":true,'
    b'"ended":false,"missing":["","null","nan"],"arrow":{"measured":"temperature","humidity",'
    b'"pressure","time","s1","s0"],"kinds":["kept","kept",2,1,0,0,0]}}}{"rows":8760,"sensors":1,'
    b'"columns":1,"about":{"table":{"names":["time","'
)
"""Part of the format: what heads are like, so that they take few bytes."""


class Container(NamedTuple):
    """What is in a file; ``values`` are those of sensors, ``columns`` the others."""

    n_rows: int
    n_sensors: int
    about: dict[str, Any]
    values: bytes
    columns: list[bytes]


def write_container(file: Container) -> bytes:
    """Return the bytes of a file."""
    head = {"rows": file.n_rows, "sensors": file.n_sensors, "columns": len(file.columns)}
    text = json.dumps(head | {"about": file.about}, separators=(",", ":"), ensure_ascii=False)
    data = MAGIC + packed_head(text.encode()) + b"".join(map(part, [file.values, *file.columns]))
    n_columns = file.n_sensors + len(file.columns)
    missing = min_bytes(file.n_rows * n_columns, n_columns) - len(data)
    data += part(bytes(max(missing, 0)))
    return data + zlib.crc32(data).to_bytes(4, "little")


def read_container(data: bytes, max_bytes: int) -> Container:
    """Return what is in the bytes of a file; `PacketError` if they are none, or claim too much."""
    if data[:3] != MAGIC[:3]:
        raise PacketError("This is not a file of `thresher compress`.")
    if data[:4] != MAGIC:
        raise PacketError("The file has another version of the format; use the release of thresher "
                          "that wrote it.")  # fmt: skip
    if len(data) < 12 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise PacketError("The file is damaged, or cut short; request it again.")
    parts = Reader(data[4:-4])
    size = parts.number()
    check_memory(6 * size, max_bytes)
    text = _unpacked_head(parts.part(), size)
    # Strings take up to four bytes a letter, beside the text; small objects many times their text.
    check_memory(6 * len(text) + _OBJECT * sum(map(text.count, (b",", b"[", b"{"))), max_bytes)
    try:
        n_rows, n_sensors, n_columns, about = _checked(json.loads(text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PacketError):
            raise
        raise PacketError("The head of the file is not the JSON that it should be.") from None
    check_claim(n_rows * (n_sensors + n_columns), n_sensors + n_columns, len(data))
    values, columns = parts.part(), [parts.part() for _ in range(n_columns)]
    if parts.part().strip(b"\0"):
        raise PacketError("The file has bytes that belong to nothing; it is damaged.")
    parts.end()
    check_memory(file_bytes(n_rows, n_sensors), max_bytes)
    return Container(n_rows, n_sensors, about, values, columns)


def packed_head(text: bytes) -> bytes:
    """Return a head as it stands in a file: its length, and what deflate makes of it."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=_DICTIONARY)
    return number(len(text)) + part(deflate.compress(text) + deflate.flush())


def _unpacked_head(data: bytes, size: int) -> bytes:
    inflate = zlib.decompressobj(-15, zdict=_DICTIONARY)
    try:
        text = inflate.decompress(data, size + 1)
    except zlib.error:
        text = b""
    if len(text) != size or inflate.unused_data:
        raise PacketError("The head of the file does not inflate; it is damaged.")
    return text


def _checked(head: Any) -> tuple[int, int, int, dict[str, Any]]:
    if not isinstance(head, dict) or set(head) != _KEYS or not isinstance(head["about"], dict):
        raise PacketError("The head of the file has other entries than it should.")
    numbers = [head[key] for key in ("rows", "sensors", "columns")]
    limits = (2**63, MAX_SENSORS, _MAX_COLUMNS)
    if any(type(n) is not int or not 0 <= n <= m for n, m in zip(numbers, limits, strict=True)):
        raise PacketError(f"The file cannot have {numbers} rows, sensors and other columns.")
    return (*numbers, head["about"])


# ------------------------------------------------------------------------------- values


def write_values(payloads: list[Payload]) -> bytes:
    """Return keyframes and batches as the values of a file."""
    return b"".join(bytes([payload.kind]) + part(payload.data) for payload in payloads)


def read_values(data: bytes, n: int, N: int, max_bytes: int, progress: Progress) -> Array:
    """Return so many rows; `PacketError` if the bytes are not theirs."""
    values, done, parts = np.empty((n, N)), 0, Reader(data)
    state: Any = StreamState.starting_at(np.zeros(1), N, n)
    while not parts.is_empty:
        (kind,) = parts.take(1)
        payload = parts.part()
        if kind == Kind.KEYFRAME and len(payload) in (0, 4, 4 * N):
            level = np.frombuffer(payload, np.float32)
            if not np.isfinite(level).all():
                raise PacketError("The file has a keyframe that is not finite.")
            state = PaperState.starting(N) if not level.size else (
                StreamState.starting_at(level, N, n)
            )  # fmt: skip
        elif kind == Kind.DICTIONARY and isinstance(state, PaperState):
            state = state.with_dictionary(payload)
        elif kind == Kind.ROWS:
            rows = state.n_rows_in(payload)
            check_memory(values.nbytes + packet_bytes(rows, N), max_bytes)
            if done + rows > n:
                raise PacketError("The file has more rows than its head says.")
            values[done : done + rows], _, state = state.read(payload)
            done += rows
            progress(done, n)
        else:
            raise PacketError("The file has values of an unknown kind.")
    if done != n:
        raise PacketError(f"The file has {done} of its {n} rows.")
    return values
