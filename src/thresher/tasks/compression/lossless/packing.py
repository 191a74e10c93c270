"""Bytes under lzma, zstd, bz2 or deflate, whichever is smallest.

They are unpacked to no more than is expected. zstd is of the extra ``codec``: without it the others
are used, and files that were written with it are refused in a sentence.
"""

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
_STORED, _DEFLATED, _BZIP2, _ZSTD = (len(_FILTERS) + i for i in range(4))
_WINDOW = 2**23  # bytes that zstd may look back, and takes to unpack


def packed(data: bytes) -> bytes:
    """The smallest of all ways, after a byte that names it."""
    ways = [lzma.compress(data, lzma.FORMAT_RAW, filters=filters) for filters in _FILTERS]
    ways += [data, zlib.compress(data, 9, wbits=-15), bz2.compress(data)]
    ways += [_zstd_packed(data)] if _zstandard() else []
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
        elif way == _ZSTD:
            found = _zstd_unpacked(content, size)
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


def _zstandard() -> Any:
    """The package, or None."""
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard


def _zstd_packed(data: bytes) -> bytes:
    """One frame without a mark and without its size, which are known."""
    zstd = _zstandard()
    how = zstd.ZstdCompressionParameters.from_level(
        22,
        source_size=len(data),
        window_log=_WINDOW.bit_length() - 1,
        format=zstd.FORMAT_ZSTD1_MAGICLESS,
        write_content_size=False,
        write_checksum=False,
        write_dict_id=False,
    )
    packed: bytes = zstd.ZstdCompressor(compression_params=how).compress(data)
    return packed


def _zstd_unpacked(content: bytes, size: int) -> bytes:
    zstd = _zstandard()
    if zstd is None:
        raise PacketError(
            "The file packs a column with zstd; install the extra: pip install 'thresher[codec]'."
        )
    how = {"max_window_size": _WINDOW, "format": zstd.FORMAT_ZSTD1_MAGICLESS}
    try:
        found: bytes = zstd.ZstdDecompressor(**how).stream_reader(content).read(size + 1)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    return found
