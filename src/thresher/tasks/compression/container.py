"""Files: ``.thr``.

    magic 4 | rows | sensors | other columns | length of the head | head, packed | values
    | other columns, one after the other | CRC-32 of all 4

Numbers are LEB128, and parts have their length in front. The head is what the writer keeps about
the data, as JSON; it is empty if there is nothing. The values are keyframes and batches, each a
kind and the payload of a packet.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresher.tasks.compression.batch import StreamState
from thresher.tasks.compression.columns import pack_bytes, unpack_bytes
from thresher.tasks.compression.packet import Kind, Payload, read_level
from thresher.tasks.compression.paper import PaperState
from thresher.tasks.compression.wire import (
    CELL_BYTES,
    MAX_SENSORS,
    Array,
    PacketError,
    Reader,
    check_memory,
    file_bytes,
    number,
    packet_bytes,
    part,
)

MAGIC = b"THR\x01"
Progress = Callable[[int, int], None] | None
_MAX_COLUMNS = 2**16


class Container(NamedTuple):
    """What is in a file; ``values`` are those of sensors, ``columns`` the others."""

    n_rows: int
    n_sensors: int
    about: dict[str, Any]
    values: bytes
    columns: list[bytes]


def write_container(file: Container) -> bytes:
    """Return the bytes of a file."""
    head = json.dumps(file.about, separators=(",", ":"), ensure_ascii=False) if file.about else ""
    data = MAGIC + b"".join(map(number, [file.n_rows, file.n_sensors, len(file.columns)]))
    data += packed_head(head.encode()) + b"".join(map(part, [file.values, *file.columns]))
    return data + zlib.crc32(data).to_bytes(4, "little")


def packed_head(text: bytes) -> bytes:
    """Return a head as it stands in a file."""
    return number(len(text)) + (part(pack_bytes(text)) if text else b"")


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
    n_rows, n_sensors, n_columns, size = (parts.number() for _ in range(4))
    if n_rows >= 2**63 or n_sensors > MAX_SENSORS or n_columns > _MAX_COLUMNS:
        raise PacketError(
            f"The file cannot have {n_rows} rows, {n_sensors} sensors and {n_columns} columns."
        )
    check_memory(6 * size, max_bytes)
    about = _read_head(unpack_bytes(parts.part(), size), max_bytes) if size else {}
    values, columns = parts.part(), [parts.part() for _ in range(n_columns)]
    parts.end()
    check_memory(file_bytes(n_rows, n_sensors), max_bytes)
    return Container(n_rows, n_sensors, about, values, columns)


def _read_head(text: bytes, max_bytes: int) -> dict[str, Any]:
    # Strings take up to four bytes a letter, and small objects many times their text.
    check_memory(6 * len(text) + CELL_BYTES * sum(map(text.count, (b",", b"[", b"{"))), max_bytes)
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        raise PacketError("The head of the file is not the JSON that it should be.") from None
    if not isinstance(about, dict):
        raise PacketError("The head of the file is not the JSON object that it should be.")
    return about


# ------------------------------------------------------------------------------- values


def write_values(payloads: list[Payload]) -> bytes:
    """Return keyframes and batches as the values of a file."""
    return b"".join(bytes([payload.kind]) + part(payload.data) for payload in payloads)


def read_values(file: Container, max_bytes: int, progress: Progress) -> Array:
    """Return the rows of a file; `PacketError` if the bytes are not theirs."""
    n, N = file.n_rows, file.n_sensors
    values, done, parts = np.empty((n, N)), 0, Reader(file.values)
    state: Any = None
    while not parts.is_empty:
        (kind,) = parts.take(1)
        payload = parts.part()
        if kind == Kind.KEYFRAME:
            level = read_level(payload, N)
            state = StreamState.starting_at(level, N) if level.size else PaperState(N)
        elif kind == Kind.DICTIONARY and state is not None:
            state = state.with_dictionary(payload)
        elif kind == Kind.ROWS and state is not None:
            rows = state.n_rows_in(payload)
            check_memory(values.nbytes + packet_bytes(rows, N), max_bytes)
            if done + rows > n:
                raise PacketError("The file has more rows than its head says.")
            values[done : done + rows], _, state = state.read(payload)
            done += rows
            if progress is not None:
                progress(done, n)
        else:
            raise PacketError("The file has values of an unknown kind.")
    if done != n and N:
        raise PacketError(f"The file has {done} of its {n} rows.")
    return values
