"""Lossless columns: integers, times in a fixed list of formats, and anything else as bytes.

Bytes are packed by zstd, bz2 or lzma, whichever is smallest, or stored, and unpacked to no more
than is expected. Integers are replaced by differences, then packed, or coded by the row models.
"""

from __future__ import annotations

import bz2
import lzma

import numpy as np
import pyarrow as pa

from thresher.streams.times import Times, format_times, parse_times
from thresher.tasks.compression.kernels.arithmetic import reader, writer, written
from thresher.tasks.compression.kernels.rows import code_rows, new_row_state
from thresher.tasks.compression.wire import (
    CELL_BYTES,
    Array,
    PacketError,
    Reader,
    check_memory,
    number,
    part,
    signed,
)

# --------------------------------------------------------------------------------- bytes

_STORED, _ZSTD, _BZIP2, _LZMA = range(4)  # part of the format
_DICTIONARY = 2**23  # bytes that lzma looks back; part of the format
_PRESET = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
"""Raw LZMA, part of the format, so that the file does not choose how much memory it takes."""


def pack_bytes(data: bytes, effort: int = 2) -> bytes:
    """Return bytes in the smallest way, after a byte that names it; effort 1 leaves out lzma."""
    ways = {_STORED: data, _ZSTD: _zstd(data, 19), _BZIP2: bz2.compress(data)}
    if effort > 1:
        size = min(max(len(data), 2**12), _DICTIONARY)  # larger is only slower
        filters = [{**_PRESET, "dict_size": size}]
        ways[_LZMA] = lzma.compress(data, lzma.FORMAT_RAW, filters=filters)
    best = min(ways, key=lambda way: len(ways[way]))
    return bytes([best]) + ways[best]


def unpack_bytes(data: bytes, size: int) -> bytes:
    """Return so many bytes again; `PacketError` if there are not just as many."""
    way, content = (data[0], data[1:]) if data else (-1, b"")
    try:
        if way == _LZMA:
            filters = [{**_PRESET, "dict_size": _DICTIONARY}]
            decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
            found = decoder.decompress(content, size + 1)
        elif way == _BZIP2:
            found = bz2.BZ2Decompressor().decompress(content, size + 1)
        elif way == _ZSTD:
            found = pa.Codec("zstd").decompress(content, size, asbytes=True)
        elif way == _STORED:
            found = content
        else:
            raise PacketError("The data are packed in an unknown way; they are damaged.")
    except (lzma.LZMAError, EOFError, OSError, pa.ArrowException):
        raise PacketError("The data do not unpack; they are damaged.") from None
    if len(found) != size:
        raise PacketError("The data unpack to another length; they are damaged.")
    return found


def _zstd(data: bytes, level: int) -> bytes:
    packed: bytes = pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)
    return packed


# ------------------------------------------------------------------------------ integers

_ORDERS = 3  # of differences: 0, 1, 2; part of the format
_ORDER, _PLANES = 4, 64  # where the layout has the order, and whether bytes are separated
_EXACT = 2**50  # integers beyond are not coded by the row models, which calculate in doubles
_UNIT = np.ones((1, 2)), np.ones(1), np.full(1, np.inf), np.full(1, np.inf), False


def pack_integers(columns: Array, effort: int = 2, limit: float = np.inf) -> bytes:
    """Return columns of 64-bit integers, of shape (N, n) or (n), as bytes without their shape.

    Differences of one order, modulo 2⁶⁴, in the fewest bytes each, packed; those of a single column
    may also be coded by the row models. Empty if an estimate exceeds a limit of bytes. ``effort``
    is how many layouts are packed: those of the smallest estimates.
    """
    D = np.atleast_2d(columns).astype(np.int64)
    candidates, heads = list[tuple[int, int, bytes, bytes, Array]](), b""
    for order in range(_ORDERS if D.size else 0):
        small = _in_fewest_bytes(D)
        size = small.itemsize
        planes = small.reshape(-1).view(np.uint8).reshape(-1, size).T.tobytes()
        layouts = {size: small.tobytes(), size | _PLANES: planes} if size > 1 else {1: planes}
        for layout, data in layouts.items():
            estimate = len(_zstd(data, 1))
            candidates.append((estimate, layout | order << _ORDER, heads, data, D[0]))
        if order == 0:
            heads = b"".join(map(signed, D[:, 0].tolist()))
        D = np.diff(D, axis=1, prepend=0 if order else D[:, :1])
    candidates.sort(key=lambda found: found[:2])
    if not candidates or candidates[0][0] > limit:
        return b""
    ways = [bytes([c[1]]) + c[2] + pack_bytes(c[3], effort) for c in candidates[:effort]]
    _, layout, heads, _, x = min(candidates, key=lambda c: np.abs(c[4].astype(np.float64)).sum())
    if len(D) == 1 and x.min() > -_EXACT and x.max() < _EXACT:
        coder, values = writer(len(x)), x.astype(np.float64)[:, None]
        present = np.ones(values.shape, bool)
        code_rows(new_row_state(np.zeros(1)), coder, values, present, True, *_UNIT)
        ways.append(bytes([layout & 3 << _ORDER]) + heads + written(coder))
    return min(ways, key=len)


def unpack_integers(data: bytes, n: int, N: int = 1) -> Array:
    """Return N columns of n integers again; `PacketError` if the bytes are not theirs."""
    parts = Reader(data)
    if n == 0:
        parts.end()
        return np.empty((N, 0), np.int64)
    (layout,) = parts.take(1)
    size, order = layout & 15, layout >> _ORDER & 3
    if size not in (0, 1, 2, 4, 8) or order >= _ORDERS or layout >= 2 * _PLANES or N > 1 > size:
        raise PacketError("The data have integers in an unknown layout; they are damaged.")
    heads = [(parts.signed() + 2**63) % 2**64 - 2**63 for _ in range(N if order else 0)]
    if size == 0:
        values, present = np.zeros((n, 1)), np.ones((n, 1), bool)
        code_rows(new_row_state(np.zeros(1)), reader(parts.rest()), values, present, True, *_UNIT)
        if not (np.abs(values) <= _EXACT).all():
            raise PacketError("The data have integers that do not decode; they are damaged.")
        D = values.T.astype(np.int64)
    else:
        found = np.frombuffer(unpack_bytes(parts.rest(), N * n * size), np.uint8)
        if layout & _PLANES:
            found = np.ascontiguousarray(found.reshape(size, -1).T).reshape(-1)
        D = found.view(f"<i{size}").astype(np.int64).reshape(N, n)
    for _ in range(order):
        D = np.cumsum(D, axis=1)
    return D + np.array(heads, np.int64)[:, None] if order else D


def _in_fewest_bytes(A: Array) -> Array:
    low, high = A.min(), A.max()
    bounds = ((size, np.iinfo(f"i{size}")) for size in (1, 2, 4, 8))
    size = next(size for size, bound in bounds if bound.min <= low and high <= bound.max)
    return A.astype(f"<i{size}")


# --------------------------------------------------------------------------------- cells

_AS_TEXT, _AS_INTEGERS, _AS_TIMES = range(3)


def pack_texts(cells: list[str]) -> bytes:
    """Return cells as bytes, without their count: integers, times, or text."""
    integers = _integers_of(cells)
    if integers is not None:
        return bytes([_AS_INTEGERS]) + pack_integers(integers)
    times = parse_times(cells)
    if times is not None and format_times(times) == cells:
        head = bytes([_AS_TIMES]) + number(times.format)
        return head + part(pack_integers(times.zones)) + pack_integers(times.ticks)
    lines = [cell.replace("\\", "\\\\").replace("\n", "\\n") for cell in cells]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return bytes([_AS_TEXT]) + number(len(data)) + pack_bytes(data)


def unpack_texts(data: bytes, n: int, max_bytes: int) -> list[str]:
    """Return so many cells again, within so much memory."""
    check_memory(n * CELL_BYTES, max_bytes)
    parts = Reader(data)
    (way,) = parts.take(1)
    if way == _AS_INTEGERS:
        return list(map(str, unpack_integers(parts.rest(), n)[0].tolist()))
    if way == _AS_TIMES:
        which, zones = parts.number(), unpack_integers(parts.part(), n)[0]
        ticks = unpack_integers(parts.rest(), n)[0]
        try:
            return format_times(Times(which, ticks, zones))
        except ValueError:
            raise PacketError("The data have times that do not exist; they are damaged.") from None
    if way != _AS_TEXT:
        raise PacketError("The data have a column in an unknown way; they are damaged.")
    size = parts.number()
    # Letters take up to four bytes each, twice for the lines, in addition to the bytes themselves.
    check_memory(9 * size + n * CELL_BYTES, max_bytes)
    try:
        text = unpack_bytes(parts.rest(), size).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise PacketError("The data have text that is not UTF-8; they are damaged.") from None
    lines = text.split("\n") if n else []
    if len(lines) != n or (not n and text):
        raise PacketError("The data have another number of cells; they are damaged.")
    return [_unescaped(line) if "\\" in line else line for line in lines]


def _integers_of(cells: list[str]) -> Array | None:
    """Return the integers of cells that are written as Python writes them."""
    try:
        found = pa.array(cells, pa.large_string()).cast(pa.int64())
    except (pa.ArrowException, UnicodeError):
        return None
    return found.to_numpy() if found.cast(pa.large_string()).to_pylist() == cells else None


def _unescaped(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
