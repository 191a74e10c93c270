"""Bytes under lzma, bz2 or deflate, whichever is smallest; unpacked to no more than is expected."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from thresher.tasks.compression.packet import PacketError


def _lzma(literal_bits: int, position_bits: int) -> list[dict[str, Any]]:
    """One filter, without a frame: the file does not choose how much memory it takes."""
    preset = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 2**23}
    return [{**preset, "lc": literal_bits, "lp": 0, "pb": position_bits}]


# Part of the format: the numbers that name ways.
_FILTERS = [_lzma(3, 0), _lzma(0, 0), _lzma(0, 2)]
_STORED, _DEFLATED, _BZIP2 = (len(_FILTERS) + i for i in range(3))


def packed(data: bytes) -> bytes:
    """The smallest of all ways, after a byte that names it."""
    ways = [lzma.compress(data, lzma.FORMAT_RAW, filters=filters) for filters in _FILTERS]
    ways += [data, zlib.compress(data, 9, wbits=-15), bz2.compress(data)]
    best = min(range(len(ways)), key=lambda way: len(ways[way]))
    return bytes([best]) + ways[best]


def unpacked(data: bytes, size: int) -> bytes:
    """So many bytes again; `PacketError` if there are not just as many."""
    way, content = (data[0], data[1:]) if data else (-1, b"")
    try:
        if 0 <= way < len(_FILTERS):
            decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS[way])
            found = _limited(decoder.decompress, content, size)
        elif way == _STORED:
            found = content
        elif way == _DEFLATED:
            found = _limited(zlib.decompressobj(wbits=-15).decompress, content, size)
        elif way == _BZIP2:
            found = _limited(bz2.BZ2Decompressor().decompress, content, size)
        else:
            raise PacketError("The file packs a column in a way that is not known here.")
    except (lzma.LZMAError, zlib.error, OSError, EOFError, ValueError) as error:
        if isinstance(error, PacketError):
            raise
        raise PacketError("A column of the file does not unpack; get it again.") from None
    if len(found) != size:
        raise PacketError("A column of the file has another size than it tells; get it again.")
    return found


def _limited(decompress: Callable[[bytes, int], bytes], content: bytes, size: int) -> bytes:
    """At most one byte more than expected, which is enough to tell that there are too many."""
    return decompress(content, size + 1)
