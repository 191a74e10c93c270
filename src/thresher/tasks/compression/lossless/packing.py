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
_STORED, _DEFLATED, _BZIP2, _ZSTD, _DEFLATED_AFTER, _ZSTD_AFTER = (
    len(_FILTERS) + i for i in range(6)
)
_DEFLATE_WINDOW = 2**15
_WINDOW = 2**23  # bytes that zstd may look back, and takes to unpack


def packed(data: bytes, before: bytes = b"") -> bytes:
    """The smallest of all ways, after a byte that names it.

    ``before`` are bytes that whoever unpacks has already: what came there need not be told again.
    """
    ways = dict(enumerate(lzma.compress(data, lzma.FORMAT_RAW, filters=f) for f in _FILTERS))
    ways |= {_STORED: data, _DEFLATED: deflated(data), _BZIP2: bz2.compress(data)}
    if _zstandard():
        ways[_ZSTD] = _zstd_packed(data)
    if before:
        ways[_DEFLATED_AFTER] = deflated(data, before)
        if _zstandard():
            ways[_ZSTD_AFTER] = _zstd_packed(data, before)
    best = min(ways, key=lambda way: len(ways[way]))
    return bytes([best]) + ways[best]


def deflated(data: bytes, before: bytes = b"", level: int = 9) -> bytes:
    """By zlib, without a frame."""
    if before:
        known = before[-_DEFLATE_WINDOW:]
        deflate = zlib.compressobj(level, zlib.DEFLATED, wbits=-15, zdict=known)
    else:
        deflate = zlib.compressobj(level, zlib.DEFLATED, wbits=-15)
    return deflate.compress(data) + deflate.flush()


def unpacked(data: bytes, size: int, before: bytes = b"") -> bytes:
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
        elif way == _DEFLATED_AFTER and before:
            inflate = zlib.decompressobj(-15, before[-_DEFLATE_WINDOW:])
            found = _limited(inflate.decompress, content, size)
        elif way == _BZIP2:
            found = _limited(bz2.BZ2Decompressor().decompress, content, size)
        elif way == _ZSTD or (way == _ZSTD_AFTER and before):
            found = _zstd_unpacked(content, size, before if way == _ZSTD_AFTER else b"")
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


def _zstd_packed(data: bytes, before: bytes = b"") -> bytes:
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
    packer = zstd.ZstdCompressor(compression_params=how, dict_data=_known(before))
    packed: bytes = packer.compress(data)
    return packed


def _known(before: bytes) -> Any:
    """Bytes that both sides have, as zstd takes them; None if there are none."""
    if not before:
        return None
    zstd = _zstandard()
    return zstd.ZstdCompressionDict(before, dict_type=zstd.DICT_TYPE_RAWCONTENT)


def _zstd_unpacked(content: bytes, size: int, before: bytes) -> bytes:
    zstd = _zstandard()
    if zstd is None:
        raise PacketError(
            "The file packs a column with zstd; install the extra: pip install 'thresher[codec]'."
        )
    how = {"max_window_size": _WINDOW, "format": zstd.FORMAT_ZSTD1_MAGICLESS}
    how["dict_data"] = _known(before)
    try:
        found: bytes = zstd.ZstdDecompressor(**how).stream_reader(content).read(size + 1)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    return found
