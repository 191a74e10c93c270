"""Lossless columns: integers, times in a fixed list of formats, and anything else as bytes.

Bytes are packed by zstd, bz2 or lzma, whichever is smallest, or stored, and unpacked to no more
than is expected.
"""

from __future__ import annotations

import bz2
import lzma
from typing import Any

import numpy as np
import pyarrow as pa

from thresher.streams.times import format_times, parse_times
from thresher.tasks.compression.kernels.arithmetic import reader, writer, written
from thresher.tasks.compression.kernels.rows import code_rows, new_row_state
from thresher.tasks.compression.wire import (
    Array,
    PacketError,
    Reader,
    check_claim,
    check_memory,
    number,
    padded,
    part,
    signed,
)

# --------------------------------------------------------------------------------- bytes

_STORED, _ZSTD, _BZIP2, _TEXT, _WORDS = range(5)  # part of the format
_DICTIONARY = 2**23  # bytes that lzma looks back; part of the format


def _lzma_filters(literal_bits: int, position_bits: int) -> list[dict[str, Any]]:
    """Return one filter without a frame: the file does not choose how much memory it takes."""
    preset = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": literal_bits}
    return [{**preset, "lp": position_bits, "pb": position_bits, "dict_size": _DICTIONARY}]


_FILTERS = {_TEXT: _lzma_filters(3, 0), _WORDS: _lzma_filters(0, 2)}


def pack_bytes(data: bytes, effort: int = 2) -> bytes:
    """Return bytes in the smallest way, after a byte that names it; effort 1 leaves out lzma."""
    ways = {_STORED: data, _ZSTD: _zstd(data, 19), _BZIP2: bz2.compress(data)}
    size = min(max(2 ** (len(data) - 1).bit_length(), 2**12), _DICTIONARY)  # larger is only slower
    for way, (f,) in _FILTERS.items() if effort > 1 else ():
        ways[way] = lzma.compress(data, lzma.FORMAT_RAW, filters=[{**f, "dict_size": size}])
    best = min(ways, key=lambda way: len(ways[way]))
    return bytes([best]) + ways[best]


def packed_size(data: bytes) -> int:
    """Return an estimate of the bytes that `pack_bytes` makes."""
    return len(_zstd(data, 1))


def unpack_bytes(data: bytes, size: int) -> bytes:
    """Return so many bytes again; `PacketError` if there are not just as many."""
    way, content = (data[0], data[1:]) if data else (-1, b"")
    try:
        if way in _FILTERS:
            decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS[way])
            found = _limited(decoder, content, size)
        elif way == _BZIP2:
            found = _limited(bz2.BZ2Decompressor(), content, size)
        elif way == _STORED:
            found = content
        elif way == _ZSTD:
            found = pa.Codec("zstd").decompress(content, size, asbytes=True)
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


def _limited(decoder: Any, content: bytes, size: int) -> bytes:
    """Return what a decoder makes of some bytes, and one byte more than expected at most."""
    found = decoder.decompress(content, size + 1)
    while len(found) <= size and not decoder.needs_input and not decoder.eof:
        more = decoder.decompress(b"", size + 1 - len(found))
        if not more:
            break
        found += more
    return found


# ------------------------------------------------------------------------------ integers

_ORDERS = 3  # of differences
_CONSTANT, _PACKED, _CODED = range(3)
_EXACT = 2**50  # integers beyond are not coded by the row models, which calculate in doubles
_WORKSPACE = 64  # bytes that an integer takes at most
_UNIT = np.ones((1, 2)), np.ones(1), np.full(1, np.inf), np.full(1, np.inf), False


def smallest_integers(A: Array) -> Array:
    """Return the same integers in the fewest bytes each."""
    low, high = A.min(initial=0), A.max(initial=0)
    for size in (1, 2, 4):
        if np.iinfo(f"i{size}").min <= low and high <= np.iinfo(f"i{size}").max:
            return A.astype(f"<i{size}")
    return A.astype("<i8")


def pack_integers(values: Array) -> bytes:
    """Return integers of 64 bits as bytes, without their count.

    Differences of the order that packs best, modulo 2⁶⁴; then a constant, packed bytes, or the row
    models of streams.
    """
    x = np.asarray(values).astype(np.int64)
    if not x.size:
        return b""
    orders, D = list[Array](), x
    for order in range(_ORDERS):
        orders.append(D)
        D = np.diff(D, prepend=D[0] if order == 0 else 0)
    order = min(range(_ORDERS), key=lambda i: packed_size(smallest_integers(orders[i]).tobytes()))
    head, x = signed(int(x[0])) if order else b"", orders[order]
    if (x == x[0]).all():
        ways = [(_CONSTANT, signed(int(x[0])))]
    else:
        small = smallest_integers(x)
        planes = small.view(np.uint8).reshape(-1, small.itemsize).T.tobytes()
        ways = [(_PACKED, bytes([small.itemsize]) + pack_bytes(planes))]
        if x.min() > -_EXACT and x.max() < _EXACT:
            ways.append((_CODED, _coded(x)))
    return min((bytes([order | how << 4]) + head + data for how, data in ways), key=len)


def unpack_integers(data: bytes, n: int) -> Array:
    """Return so many integers again; `PacketError` if the bytes are not theirs."""
    parts = Reader(data)
    if n == 0:
        parts.end()
        return np.empty(0, np.int64)
    (tag,) = parts.take(1)
    order, how = tag & 15, tag >> 4
    if order >= _ORDERS or how > _CODED:
        raise PacketError("The data have integers in an unknown way; they are damaged.")
    first = _wrapped(parts.signed()) if order else np.int64(0)
    if how == _CONSTANT:
        x = np.full(n, _wrapped(parts.signed()), np.int64)
        parts.end()
    elif how == _CODED:
        x = _decoded(parts.rest(), n)
    else:
        (size,) = parts.take(1)
        if size not in (1, 2, 4, 8):
            raise PacketError("The data have integers of an unknown size; they are damaged.")
        planes = np.frombuffer(unpack_bytes(parts.rest(), n * size), np.uint8).reshape(size, n)
        x = np.ascontiguousarray(planes.T).reshape(-1).view(f"<i{size}").astype(np.int64)
    for _ in range(order):
        x = np.cumsum(x)
    return x + first


def _wrapped(value: int) -> np.int64:
    return np.int64((value + 2**63) % 2**64 - 2**63)


def _coded(x: Array) -> bytes:
    values, coder = x.astype(np.float64)[:, None], writer(_WORKSPACE * len(x) + 64)
    code_rows(new_row_state(np.zeros(1)), coder, values, np.ones(values.shape, bool), True, *_UNIT)
    return padded(written(coder), len(x), 1)


def _decoded(data: bytes, n: int) -> Array:
    check_claim(n, 1, len(data))
    values = np.zeros((n, 1))
    present = np.ones(values.shape, bool)
    code_rows(new_row_state(np.zeros(1)), reader(data), values, present, True, *_UNIT)
    if not (np.abs(values) <= _EXACT).all():
        raise PacketError("The data have integers that do not decode; they are damaged.")
    return values[:, 0].astype(np.int64)


# --------------------------------------------------------------------------------- cells

_AS_TEXT, _AS_INTEGERS, _AS_TIMES = range(3)
_OBJECT = 80  # bytes that a string takes in addition to its letters, and its place in a list
_DIGITS = 18  # of an integer of 64 bits


def pack_texts(cells: list[str]) -> bytes:
    """Return cells as bytes, without their count: integers, times, or text."""
    integers = _integers_of(cells)
    if integers is not None:
        return bytes([_AS_INTEGERS]) + pack_integers(integers)
    times = parse_times(cells)
    if times is not None and format_times(times) == cells:
        zones = part(pack_integers(times.zones)) if times.zones.any() else b"\0"
        head = bytes([_AS_TIMES]) + number(times.format)
        return head + zones + pack_integers(times.ticks)
    lines = [cell.replace("\\", "\\\\").replace("\n", "\\n") for cell in cells]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return bytes([_AS_TEXT]) + number(len(data)) + pack_bytes(data)


def unpack_texts(data: bytes, n: int, max_bytes: int) -> list[str]:
    """Return so many cells again, within so much memory."""
    check_memory(n * _OBJECT, max_bytes)
    parts = Reader(data)
    (way,) = parts.take(1)
    if way == _AS_INTEGERS:
        return list(map(str, unpack_integers(parts.rest(), n).tolist()))
    if way == _AS_TIMES:
        return _unpacked_times(parts, n)
    if way != _AS_TEXT:
        raise PacketError("The data have a column in an unknown way; they are damaged.")
    size = parts.number()
    # Letters take up to four bytes each, twice for the lines, in addition to the bytes themselves.
    check_memory(9 * size + n * _OBJECT, max_bytes)
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
    if not cells or not all(len(c) <= _DIGITS and c.lstrip("-").isdecimal() for c in cells):
        return None
    found = list(map(int, cells)) if all(c.count("-") <= 1 for c in cells) else []
    return np.array(found, np.int64) if list(map(str, found)) == cells else None


def _unpacked_times(parts: Reader, n: int) -> list[str]:
    from thresher.streams.times import Times

    which, zones = parts.number(), parts.part()
    minutes = unpack_integers(zones, n) if zones else np.zeros(n, np.int64)
    try:
        return format_times(Times(which, unpack_integers(parts.rest(), n), minutes))
    except ValueError as error:
        if isinstance(error, PacketError):
            raise
        raise PacketError("The data have times that do not exist; they are damaged.") from None


def _unescaped(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
