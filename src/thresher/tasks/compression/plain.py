"""A plain way to write a table: rounded evenly, differences, and a packer for bytes.

Where values come again exactly, or follow no law that the range coder knows, lzma and its like may
be smaller; then this way is taken.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.grid import GRIDS
from thresher.tasks.compression.lossless import packing
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.steps import Steps, read_steps

if TYPE_CHECKING:
    from thresher.tasks.compression.row_batch import Batch

_SAME_COLUMN = 3  # orders of differences that a column is tried with: 0, 1, 2
_LEFT = 3  # added to these, if the column to the left is subtracted
_OCTAVES, _HALVINGS = 24.0, 12
# By judgement: steps up to twice as large, whose slopes are two octaves lower, in such a number.
_OCTAVES_LARGER, _LARGER = 2.0, 24
_CANDIDATES = 4
_LARGEST = 2.0**50
_QUICK = [{"id": lzma.FILTER_LZMA1, "preset": 1, "lc": 0, "lp": 0, "pb": 0}]
_TRIED = 2  # layouts that are packed in all ways, of those that pack best in a quick one


def plain_values(
    batch: Batch, bounds: Bounds, left: Numbers, limits: Numbers, level: Numbers | None = None
) -> bytes | None:
    """All rows within the squared errors ``left``; None if no step keeps them.

    ``level`` are values that whoever reads knows already: numbers are counted from there.
    """
    tried = [
        (steps, list(_layouts(_held(_rounded(batch, steps) - _start(level, steps), batch.present))))
        for steps in _coarse(batch, bounds, left, limits)
    ]
    if not tried:
        return None
    steps, layouts = min(tried, key=lambda one: min(len(_quick(data)) for _, data in one[1]))
    kind, told = steps.written(np.full((2, len(steps.grids)), -1))
    layouts = sorted(layouts, key=lambda layout: len(_quick(layout[1])))[:_TRIED]
    best = min((head + packing.packed(data) for head, data in layouts), key=len)
    return bytes([kind]) + told + part(_packed_mask(batch.present)) + best


def read_plain(data: bytes, n: int, N: int, level: Numbers | None = None) -> Numbers:
    """The values again, NaN where missing; `PacketError` if the bytes are not theirs."""
    parts = Reader(data)
    (kind,) = parts.take(1)
    if kind not in (1, 2):
        raise PacketError("The file has steps in a way that is not known here.")
    steps, size = read_steps(kind, data[1:], np.zeros((2, N), np.int64))
    parts.take(size)
    present = _unpacked_mask(parts.part(), n, N)
    size, turned, apart = parts.take(3)
    if size not in (1, 2, 4, 8) or turned > 1 or apart > 1:
        raise PacketError("The file has values in a layout that is not known here.")
    orders = np.frombuffer(parts.take(N), np.uint8)
    content = np.frombuffer(packing.unpacked(parts.rest(), n * N * size), np.uint8)
    if apart:
        content = np.ascontiguousarray(content.reshape(size, n * N).T).reshape(-1)
    R = content.view(f"<i{size}").astype(np.int64)
    Q = _summed(R.reshape(N, n).T if turned else R.reshape(n, N), orders)
    values = _values(Q + _start(level, steps), steps)
    if not np.isfinite(values).all():
        raise PacketError("The file has values that are not numbers; get it again.")
    return np.where(present, values, np.nan)


# ------------------------------------------------------------------ rounding


def _coarse(batch: Batch, bounds: Bounds, left: Numbers, limits: Numbers) -> list[Steps]:
    """Some of the largest steps that keep each group within its squared error.

    Where values come again, the error falls and rises as steps grow: some that are larger than the
    first that is too large may do, and which of them packs best nobody knows.
    """
    exact = bounds.exact | (bounds.summed(batch.squares) == 0)
    middle = 0.5 * np.maximum(bounds.summed(batch.counts), 1) / np.maximum(left, 1e-300)

    def at(octaves: Numbers) -> Steps:
        slopes = np.where(exact, np.inf, middle * 2.0**octaves)[bounds.groups]
        return Steps.at(slopes, batch.grids, limits)

    def within(steps: Steps) -> Numbers | None:
        if np.abs(batch.Y).max(initial=0.0) / steps.steps.min() > _LARGEST:
            return None
        errors = np.where(batch.present, _values(_rounded(batch, steps), steps) - batch.Y, 0.0)
        return (bounds.summed(np.square(errors).sum(axis=0)) <= left) | exact

    low, high = np.full(len(left), -_OCTAVES), np.full(len(left), _OCTAVES)
    for _ in range(_HALVINGS):
        octaves = (low + high) / 2
        fits = within(at(octaves))
        if fits is None:
            return []
        low, high = np.where(fits, low, octaves), np.where(fits, octaves, high)
    found, best = [high], high
    for i in range(1, _LARGER + 1):
        octaves = high - i * _OCTAVES_LARGER / _LARGER
        fits = within(at(octaves))
        if fits is not None and fits.any():
            best = np.where(fits, octaves, best)
            found.append(best)
    return [steps for steps in map(at, found[:1] + found[1:][-_CANDIDATES:]) if _all(within(steps))]


def _all(fits: Numbers | None) -> bool:
    return fits is not None and bool(fits.all())


def _rounded(batch: Batch, steps: Steps) -> Numbers:
    return np.rint(batch.Y / steps.steps).astype(np.int64)


def _start(level: Numbers | None, steps: Steps) -> Numbers:
    """Known values in steps; zero if there are none, or if they are too far to count from."""
    if level is None:
        return np.zeros(len(steps.grids), np.int64)
    counts = np.rint(level / steps.steps)
    return np.where(np.abs(counts) <= _LARGEST, counts, 0.0).astype(np.int64)


def _values(Q: Numbers, steps: Steps) -> Numbers:
    """Multiples of steps; on a grid, the doubles nearest to the decimal fractions."""
    values = Q * steps.steps
    for j, grid in enumerate(steps.grids):
        if grid:
            whole = np.rint(values[:, j] / GRIDS[grid].spacing)
            values[:, j] = whole * GRIDS[grid].numerator / GRIDS[grid].denominator
    return values


def _held(Q: Numbers, present: Numbers) -> Numbers:
    """Missing values take the one before them, which costs least."""
    rows = np.maximum.accumulate(np.where(present, np.arange(len(Q))[:, None], 0), axis=0)
    return np.take_along_axis(np.where(present, Q, 0), rows, axis=0)


# ------------------------------------------------------------------ differences and layouts


def _layouts(Q: Numbers) -> Iterator[tuple[bytes, bytes]]:
    """Heads and bytes: the best order for each column, and one order for all."""
    N = Q.shape[1]
    best = np.array([_best_order(Q, j) for j in range(N)], np.uint8)
    for orders in {best.tobytes(), bytes(N), bytes([1] * N)}:
        R = _differences(Q, np.frombuffer(orders, np.uint8))
        for turned in (0, 1):
            small = _smallest(R.T if turned else R)
            yield bytes([small.itemsize, turned, 0]) + orders, small.tobytes()
            if small.itemsize > 1:
                planes = small.reshape(-1).view(np.uint8).reshape(-1, small.itemsize).T
                yield bytes([small.itemsize, turned, 1]) + orders, planes.tobytes()


def _best_order(Q: Numbers, j: int) -> int:
    """Of least entropy."""
    orders = range(_SAME_COLUMN + (_LEFT if j else 0))
    return min(orders, key=lambda order: _entropy(_column(Q, j, order)))


def _column(Q: Numbers, j: int, order: int) -> Numbers:
    column = Q[:, j] - (Q[:, j - 1] if order >= _LEFT else 0)
    for _ in range(order % _LEFT):
        column = np.diff(column, prepend=0)
    return column


def _differences(Q: Numbers, orders: Numbers) -> Numbers:
    return np.stack([_column(Q, j, int(order)) for j, order in enumerate(orders)], axis=1)


def _summed(R: Numbers, orders: Numbers) -> Numbers:
    """The inverse of `_differences`."""
    if orders.max(initial=0) >= 2 * _LEFT or orders[0] >= _LEFT:
        raise PacketError("The file has differences of an order that is not known here.")
    Q = np.empty_like(R)
    for j, order in enumerate(orders.tolist()):
        column = R[:, j]
        for _ in range(order % _LEFT):
            column = np.cumsum(column)
        Q[:, j] = column + (Q[:, j - 1] if order >= _LEFT else 0)
    return Q


def _entropy(column: Numbers) -> float:
    _, counts = np.unique(column, return_counts=True)
    return float(-(counts * np.log2(counts / len(column))).sum() + 8 * len(counts))


def _smallest(A: Numbers) -> Numbers:
    for size in (1, 2, 4):
        info = np.iinfo(f"i{size}")
        if info.min <= A.min(initial=0) and A.max(initial=0) <= info.max:
            return np.ascontiguousarray(A.astype(f"<i{size}"))
    return np.ascontiguousarray(A.astype("<i8"))


def _quick(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_RAW, filters=_QUICK)


# ------------------------------------------------------------------ what is missing


def _packed_mask(present: Numbers) -> bytes:
    """Changes from row to row, rows or columns first; nothing if all is there."""
    if present.all():
        return b""
    changes = np.diff(present, axis=0, prepend=True)
    ways = [
        bytes([turned]) + packing.packed(np.packbits(layout).tobytes())
        for turned, layout in enumerate((changes, changes.T))
    ]
    return min(ways, key=len)


def _unpacked_mask(data: bytes, n: int, N: int) -> Numbers:
    if not data:
        return np.ones((n, N), bool)
    if data[0] > 1:
        raise PacketError("The file has gaps in a way that is not known here.")
    content = np.frombuffer(packing.unpacked(data[1:], -(-n * N // 8)), np.uint8)
    bits = np.unpackbits(content, count=n * N).astype(bool)
    changes = bits.reshape(N, n).T if data[0] else bits.reshape(n, N)
    return ~np.logical_xor.accumulate(changes, axis=0)
