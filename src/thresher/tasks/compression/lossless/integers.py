"""A column of whole numbers: differences of the order that suits them, in the smallest way.

Whole numbers of 64 bits are subtracted without a check for overflow, which is its own inverse. What
is left is a constant, or bytes that go through lzma, bz2 or deflate with the bytes of a number
together or apart, or numbers for the range coder of streams.
"""

from __future__ import annotations

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.grid import GRIDS, WHOLE
from thresher.tasks.compression.kernels.range_coder import reader, writer, written
from thresher.tasks.compression.kernels.rows import code_rows, first_rows
from thresher.tasks.compression.limits import check_claim, padded
from thresher.tasks.compression.lossless import packing
from thresher.tasks.compression.lossless.parts import Reader, part, signed
from thresher.tasks.compression.packet import PacketError

_PLAIN, _DIFFERENCES, _CURVATURES, _LINE = range(4)  # what is coded, by its number in files
_CONSTANT, _TOGETHER, _APART, _CODED = range(4)  # and how
_EXACT = 2**50  # so large may numbers be for the range coder, which calculates with doubles
_ROOM = 64  # bytes that a number takes at most
_TRIED = 2  # of the four kinds of differences, those of least entropy; by judgement


def packed_integers(numbers: Numbers) -> bytes:
    """Whole numbers of 64 bits as bytes, without their count."""
    x = np.asarray(numbers).astype(np.int64)
    if not x.size:
        return b""
    left = {kind: _left(x, kind) for kind in (_PLAIN, _DIFFERENCES, _CURVATURES, _LINE)}
    likely = sorted(left, key=lambda kind: _entropy(left[kind][1]))[:_TRIED]
    return min(
        (
            bytes([kind | how << 4]) + left[kind][0] + data
            for kind in likely
            for how, data in _ways(left[kind][1])
        ),
        key=len,
    )


def unpacked_integers(data: bytes, n: int) -> Numbers:
    """So many numbers again; `PacketError` if the bytes are not theirs."""
    if n == 0:
        Reader(data).end()
        return np.empty(0, np.int64)
    parts = Reader(data)
    (tag,) = parts.take(1)
    kind, how = tag & 15, tag >> 4
    if kind > _LINE or how > _CODED:
        raise PacketError("The file has numbers in a way that is not known here.")
    first, last = parts.signed(), parts.signed() if kind == _LINE else 0
    if how == _CONSTANT:
        left = np.full(n, parts.signed(), np.int64)
        parts.end()
    elif how == _CODED:
        left = _decoded(parts.rest(), n)
    else:
        left = _unpacked(parts.rest(), n, apart=how == _APART)
    return _again(kind, first, last, left)


# ------------------------------------------------------------------ what is coded


def _left(x: Numbers, kind: int) -> tuple[bytes, Numbers]:
    """A head, and what is left of numbers."""
    head = signed(int(x[0]))
    if kind == _PLAIN:
        return head, x - x[0]
    if kind == _DIFFERENCES:
        return head, np.diff(x, prepend=x[0])
    if kind == _CURVATURES:
        return head, np.diff(np.diff(x, prepend=x[0]), prepend=0)
    return head + signed(int(x[-1])), x - _line(int(x[0]), int(x[-1]), len(x))


def _again(kind: int, first: int, last: int, left: Numbers) -> Numbers:
    start = np.array(_wrapped(first))
    if kind == _PLAIN:
        return left + start
    if kind == _DIFFERENCES:
        return np.cumsum(left) + start
    if kind == _CURVATURES:
        return np.cumsum(np.cumsum(left)) + start
    return left + _line(first, last, len(left))


def _line(first: int, last: int, n: int) -> Numbers:
    """Whole numbers nearest to a line between two."""
    gaps = max(n - 1, 1)
    step, rest = divmod(last - first, gaps)
    i = np.arange(n, dtype=np.int64)
    return _wrapped(first) + i * _wrapped(step) + (i * (rest % gaps) + gaps // 2) // gaps


def _wrapped(value: int) -> np.int64:
    """A number of 64 bits, as sums without a check for overflow have it."""
    return np.int64((value + 2**63) % 2**64 - 2**63)


def _entropy(left: Numbers) -> float:
    """Bits that a code for each number by itself would take, and a little for each kind."""
    _, counts = np.unique(left, return_counts=True)
    return float(
        len(left) * np.log2(len(left)) - (counts * np.log2(counts)).sum() + 8 * len(counts)
    )


# ------------------------------------------------------------------ how it is coded


def _ways(left: Numbers) -> list[tuple[int, bytes]]:
    if (left == left[0]).all():
        return [(_CONSTANT, signed(int(left[0])))]
    small = _smallest(left)
    ways = [(_TOGETHER, _with_size(small, small.tobytes()))]
    if small.itemsize > 1:
        planes = small.view(np.uint8).reshape(-1, small.itemsize).T
        ways.append((_APART, _with_size(small, planes.tobytes())))
    if left.min() > -_EXACT and left.max() < _EXACT:
        ways.append((_CODED, _coded(left)))
    return ways


def _with_size(small: Numbers, data: bytes) -> bytes:
    return bytes([small.itemsize]) + packing.packed(data)


def _smallest(left: Numbers) -> Numbers:
    """The same numbers in the fewest bytes each."""
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= left.min() and left.max() <= np.iinfo(dtype).max:
            return left.astype(dtype).astype(np.dtype(dtype).newbyteorder("<"))
    return left.astype("<i8")


def _unpacked(data: bytes, n: int, *, apart: bool) -> Numbers:
    size = data[0] if data else 0
    if size not in (1, 2, 4, 8):
        raise PacketError("The file has numbers of a size that is not known here.")
    content = np.frombuffer(packing.unpacked(data[1:], n * size), np.uint8)
    if apart:
        content = np.ascontiguousarray(content.reshape(size, n).T)
    return content.reshape(-1).view(f"<i{size}").astype(np.int64)


def _rounding() -> tuple[Numbers, ...]:
    """Grid, step, weight and limit of whole numbers that come back as they are."""
    whole = np.array([[GRIDS[WHOLE].numerator, GRIDS[WHOLE].denominator]])
    return whole, np.ones(1), np.full(1, np.inf), np.full(1, np.inf)


def _coded(left: Numbers) -> bytes:
    values, coder = left.astype(np.float64)[:, None], writer(_ROOM * len(left) + 64)
    present = np.ones(values.shape, np.bool_)
    code_rows(first_rows(np.zeros(1)), coder, values, present, True, *_rounding())
    return padded(written(coder), len(left), 1)


def _decoded(data: bytes, n: int) -> Numbers:
    check_claim(n, 1, len(data))
    values, present = np.zeros((n, 1)), np.ones((n, 1), np.bool_)
    code_rows(first_rows(np.zeros(1)), reader(data), values, present, True, *_rounding())
    if not (np.abs(values) <= _EXACT).all():
        raise PacketError("The file has numbers that do not decode; get it again.")
    return values[:, 0].astype(np.int64)


def packed_part(numbers: Numbers) -> bytes:
    """`packed_integers` after their length."""
    return part(packed_integers(numbers))
