"""The plain fallback: rounded values, differences, and a general compressor.

Where values come again exactly, or follow no law that the row models know, lzma may be smaller;
then a batch is written like this. Each column is replaced by differences of order 0, 1 or 2,
possibly after subtracting the column to the left. In a stream, deflate knows the rows before.

    layout 1, zero if as in the last plain batch | orders N | mask, if values are missing | data

The layout is the bytes of an integer, plus 16 if columns come one after the other, plus 32 if the
bytes of an integer are apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.columns import (
    pack_bytes,
    packed_size,
    smallest_integers,
    unpack_bytes,
)
from thresher.tasks.compression.quantise import Array, Steps, on_grid
from thresher.tasks.compression.wire import PacketError, Reader, part

_ORDERS = 3  # of differences: 0, 1, 2
_LEFT = 3  # added to these if the column to the left is subtracted
_BY_COLUMN, _APART = 16, 32
_LARGEST = 2.0**50  # steps in a value: integers beyond are not exact in doubles
_HOPELESS, _FEW = 1.4, 32  # times the rival's bytes, and more, by deflate: lzma saves a third


class PlainRows(NamedTuple):
    """Rows in the plain way: how the bytes are laid out, and what a compressor made of them."""

    steps: Steps
    values: Array
    layout: int
    orders: bytes
    mask: bytes
    data: bytes


class _Candidate(NamedTuple):
    """Differences as bytes in a layout, the bytes before them, and about what they take."""

    steps: Steps
    layout: int
    orders: bytes
    data: bytes
    before: bytes
    size: int


def plain_rows(
    Y: Array,
    present: Array,
    candidates: list[Steps],
    past: Array,
    sent: Array,
    known: bytes,
    rival: int,
    effort: int,
) -> PlainRows | None:
    """Return rows in the smallest plain way; None if a quick compressor finds it hopeless.

    Parameters
    ----------
    Y, present : arrays of shape (n, N)
        Values, and which are there.
    candidates : list of Steps
        Steps within the bounds.
    past : array
        The rows before.
    sent, known : array, bytes
        Steps and orders as they were sent before.
    rival : int
        Bytes of the same rows in the other way.
    effort : int
        1 tries one order of differences for each column, 3 packs more candidates.
    """
    tried = list[_Candidate]()
    for steps in candidates:
        found = list(_laid(Y, present, steps, past, known, effort))
        if min(one.size for one in found) > _HOPELESS * rival + _FEW:
            if not tried:
                return None
            continue
        head = len(steps.written(sent)[1])
        tried += [one._replace(size=one.size + head) for one in found]
    tried.sort(key=lambda one: one.size)
    packed = [(one, pack_bytes(one.data, one.before, effort)) for one in tried[:effort]]
    if not packed:
        return None
    best, data = min(packed, key=lambda one: len(one[1]))
    values = plain_values(_rounded(Y, best.steps), best.steps)
    return PlainRows(best.steps, values, best.layout, best.orders, _packed_mask(present), data)


def written_plain(plain: PlainRows, known: bytes) -> bytes:
    """Return the bytes of plain rows after a batch of known orders."""
    head = bytes([plain.layout]) + plain.orders
    if known and known == head:
        head = b"\0"
    mask = part(plain.mask) if plain.mask else b""
    return head + mask + plain.data


def read_plain(
    parts: Reader, n: int, steps: Steps, past: Array, known: bytes, is_whole: int
) -> tuple[Array, bytes]:
    """Return values, NaN where missing, and the layout with its orders."""
    N = len(steps.grids)
    head = parts.take(1)
    head = head + parts.take(N) if head[0] else known
    if len(head) != N + 1:
        raise PacketError("The packet does not decode: it refers to a layout before the first.")
    layout, orders = head[0], np.frombuffer(head[1:], np.uint8)
    size = layout & 15
    if size not in (1, 2, 4, 8) or layout >> 6:
        raise PacketError("The packet does not decode: it has an unknown layout.")
    if orders.max() >= 2 * _LEFT or orders[0] >= _LEFT:
        raise PacketError("The packet does not decode: it has differences of an unknown order.")
    present = np.ones((n, N), bool) if is_whole else _unpacked_mask(parts.part(), n, N)
    before = _differences(_counted(past, steps), orders)
    content = unpack_bytes(parts.rest(), n * N * size, _as_bytes(before, layout))
    data = np.frombuffer(content, np.uint8)
    if layout & _APART:
        data = np.ascontiguousarray(data.reshape(size, n * N).T).reshape(-1)
    R = data.view(f"<i{size}").astype(np.int64)
    R = R.reshape(N, n).T if layout & _BY_COLUMN else R.reshape(n, N)
    Q = _summed(np.vstack([before, R]), orders)[len(before) :]
    return np.where(present, plain_values(Q, steps), np.nan), head


def plain_values(Q: Array, steps: Steps) -> Array:
    """Return multiples of the steps, on the grids of their columns."""
    values = Q * steps.sizes
    return np.stack([on_grid(y, g) for y, g in zip(values.T, steps.grids, strict=True)], axis=1)


def rounding_errors(Y: Array, present: Array, steps: Steps) -> Array | None:
    """Return the squared error of each column after rounding; None if a step is too fine."""
    if np.abs(Y).max(initial=0.0) / steps.sizes.min() > _LARGEST:
        return None
    errors = np.where(present, plain_values(_rounded(Y, steps), steps) - Y, 0.0)
    return np.square(errors).sum(axis=0)


def _rounded(Y: Array, steps: Steps) -> Array:
    return np.rint(Y / steps.sizes).astype(np.int64)


def _counted(values: Array, steps: Steps) -> Array:
    """Return known values in steps; zero where they are too far."""
    counts = np.rint(values / steps.sizes)
    return np.where(np.abs(counts) <= _LARGEST, counts, 0.0).astype(np.int64)


def _laid(
    Y: Array,
    present: Array,
    steps: Steps,
    past: Array,
    known: bytes,
    effort: int,
) -> Iterator[_Candidate]:
    """Yield the rows as bytes in some layouts."""
    h, N = len(past), Y.shape[1]
    Q = np.vstack([_counted(past, steps), _rounded(Y, steps)])
    # Missing values are those before them, which costs least.
    there = np.vstack([np.ones((h, N), bool), present])
    kept = np.maximum.accumulate(np.where(there, np.arange(len(Q))[:, None], 0), axis=0)
    Q = np.take_along_axis(Q, kept, axis=0)
    best = bytes(_best_order(Q, j, h, effort) for j in range(N))
    orders = {best} if effort == 1 else {best, bytes(N), bytes([1] * N), known[1:] or best}
    for each in sorted(orders):
        R = _differences(Q, np.frombuffer(each, np.uint8))
        size = smallest_integers(R[h:]).itemsize
        for by_column in (0, _BY_COLUMN) if N > 1 else (0,):
            for apart in (0, _APART) if size > 1 else (0,):
                layout = size | by_column | apart
                before, data = (_as_bytes(part, layout) for part in (R[:h], R[h:]))
                told = 1 if known == bytes([layout]) + each else 1 + N
                yield _Candidate(steps, layout, each, data, before,
                                 told + packed_size(data, before))  # fmt: skip


def _as_bytes(R: Array, layout: int) -> bytes:
    """Return differences as bytes; those that are too large, which are only history, wrap."""
    size = layout & 15
    small = np.ascontiguousarray((R.T if layout & _BY_COLUMN else R).astype(f"<i{size}"))
    if layout & _APART:
        small = small.reshape(-1).view(np.uint8).reshape(-1, size).T
    return small.tobytes()


def _best_order(Q: Array, j: int, h: int, effort: int) -> int:
    """Return the order of least entropy, from row ``h`` on."""
    orders = range(2 if effort == 1 else _ORDERS + (_LEFT if j else 0))
    return min(orders, key=lambda order: _entropy(_column(Q, j, order)[h:]))


def _column(Q: Array, j: int, order: int) -> Array:
    column = Q[:, j] - (Q[:, j - 1] if order >= _LEFT else 0)
    for _ in range(order % _LEFT):
        column = np.diff(column, prepend=0)
    return column


def _differences(Q: Array, orders: Array) -> Array:
    return np.stack([_column(Q, j, int(order)) for j, order in enumerate(orders)], axis=1)


def _summed(R: Array, orders: Array) -> Array:
    """Return the inverse of `_differences`."""
    Q = np.empty_like(R)
    for j, order in enumerate(orders.tolist()):
        column = R[:, j]
        for _ in range(order % _LEFT):
            column = np.cumsum(column)
        Q[:, j] = column + (Q[:, j - 1] if order >= _LEFT else 0)
    return Q


def _entropy(column: Array) -> float:
    """Return the bits of a code for each value by itself, and of the table of the code."""
    _, counts = np.unique(column, return_counts=True)
    return float(-(counts * np.log2(counts / len(column))).sum() + 8 * len(counts))


def _packed_mask(present: Array) -> bytes:
    """Return changes of presence from row to row, rows or columns first; nothing if all there."""
    if present.all():
        return b""
    changes = np.diff(present, axis=0, prepend=True)
    ways = [
        bytes([turned]) + pack_bytes(np.packbits(layout).tobytes())
        for turned, layout in enumerate((changes, changes.T))
    ]
    return min(ways, key=len)


def _unpacked_mask(data: bytes, n: int, N: int) -> Array:
    if not data or data[0] > 1:
        raise PacketError("The packet does not decode: its mask has an unknown layout.")
    content = np.frombuffer(unpack_bytes(data[1:], -(-n * N // 8)), np.uint8)
    bits = np.unpackbits(content, count=n * N).astype(bool)
    changes = bits.reshape(N, n).T if data[0] else bits.reshape(n, N)
    return ~np.logical_xor.accumulate(changes, axis=0)
