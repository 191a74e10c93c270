"""A plain way to write a table: rounded evenly, differences, and a packer for bytes.

Where values come again exactly, or follow no law that the range coder knows, lzma and its like may
be smaller; then this way is taken. In a stream, packers know the rows before.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.corrections import written_corrections
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


class Plain(NamedTuple):
    """Rows in the plain way; ``layout`` is how bytes lie, ``data`` what a packer made of them."""

    steps: Steps
    layout: bytes
    mask: bytes
    data: bytes


class Past(NamedTuple):
    """What whoever reads knows already: the last values, without gaps; steps and layout as told."""

    values: Numbers
    told: Numbers
    layout: bytes

    @classmethod
    def none(cls, n_columns: int) -> Past:
        """At the start of a file."""
        return cls(np.zeros((0, n_columns)), np.full((2, n_columns), -1), b"")


def plain_rows(
    batch: Batch, bounds: Bounds, left: Numbers, limits: Numbers, past: Past
) -> Plain | None:
    """All rows within the squared errors ``left``; None if no step keeps them."""
    tried = [
        (len(steps.written(past.told)[1]), steps, _Laid.best(batch, steps, past))
        for steps in _coarse(batch, bounds, left, limits, past.told)
    ]
    if not tried:
        return None
    _, steps, laid = min(tried, key=lambda one: one[0] + one[2][0].quick)
    best = min((one.packed() for one in laid), key=lambda one: one[0])
    return Plain(steps, best[1], _packed_mask(batch.present), best[2])


def plain_values(batch: Batch, bounds: Bounds, left: Numbers, limits: Numbers) -> bytes | None:
    """All rows of a file within the squared errors ``left``; None if no step keeps them."""
    past = Past.none(batch.Y.shape[1])
    found = plain_rows(batch, bounds, left, limits, past)
    if found is None or not _is_exact(found, batch):
        return None
    kind, told = found.steps.written(past.told)
    return bytes([kind]) + told + part(found.mask) + found.layout + found.data


def _is_exact(plain: Plain, batch: Batch) -> bool:
    """Whether columns without error come back to the bit."""
    values = _values(_rounded(batch, plain.steps), plain.steps)
    exact = batch.present & np.isinf(plain.steps.weights)
    return not written_corrections(batch.Y, values, exact, batch.is_single)


def read_plain(data: bytes, n: int, N: int, level: Numbers | None = None) -> Numbers:
    """The values of a file again, NaN where missing; `PacketError` if the bytes are not theirs.

    ``level`` are values from which streams of version 3 counted.
    """
    parts = Reader(data)
    (kind,) = parts.take(1)
    if kind not in (1, 2):
        raise PacketError("The file has steps in a way that is not known here.")
    steps, size = read_steps(kind, data[1:], np.zeros((2, N), np.int64))
    parts.take(size)
    mask, layout = parts.part(), parts.take(3 + N)
    Q = _unlaid(layout, parts.rest(), n, np.zeros((0, N), np.int64))
    start = 0 if level is None else _counted(level, steps)
    return _finite(Q + start, steps, _unpacked_mask(mask, n, N))


def read_plain_rows(plain: Plain, n: int, past: Numbers) -> Numbers:
    """The values of a packet again, NaN where missing, given those before."""
    Q = _unlaid(plain.layout, plain.data, n, _counted(past, plain.steps))
    return _finite(Q, plain.steps, _unpacked_mask(plain.mask, n, past.shape[1]))


def _finite(Q: Numbers, steps: Steps, present: Numbers) -> Numbers:
    values = _values(Q, steps)
    if not np.isfinite(values).all():
        raise PacketError("The file has values that are not numbers; get it again.")
    return np.where(present, values, np.nan)


# ------------------------------------------------------------------ rounding


def _coarse(
    batch: Batch, bounds: Bounds, left: Numbers, limits: Numbers, told: Numbers
) -> list[Steps]:
    """Some of the largest steps that keep each group within its squared error, and those told.

    Where values come again, the error falls and rises as steps grow: some that are larger than the
    first that is too large may do, and which of them packs best nobody knows.
    """
    exact = bounds.exact | (bounds.summed(batch.nonzero) == 0)
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
    tried = list(map(at, found[:1] + found[1:][-_CANDIDATES:]))
    if np.array_equal(told[0], batch.grids) and told[1].all():
        tried.append(tried[0]._replace(heads=told[1]))
    return [steps for steps in tried if _all(within(steps)) and (steps.steps <= 2 * limits).all()]


def _all(fits: Numbers | None) -> bool:
    return fits is not None and bool(fits.all())


def _rounded(batch: Batch, steps: Steps) -> Numbers:
    return np.rint(batch.Y / steps.steps).astype(np.int64)


def _counted(values: Numbers, steps: Steps) -> Numbers:
    """Known values in steps; zero where they are too far to count from."""
    counts = np.rint(values / steps.steps)
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


class _Laid(NamedTuple):
    """Differences as bytes, in a layout; the bytes of those before; what they take, about."""

    layout: bytes
    data: bytes
    before: bytes
    told: int
    quick: int

    @classmethod
    def best(cls, batch: Batch, steps: Steps, past: Past) -> list[_Laid]:
        """The layouts that pack best in a quick way."""
        h = len(past.values)
        Q = np.vstack([_counted(past.values, steps), _rounded(batch, steps)])
        present = np.vstack([np.ones((h, Q.shape[1]), bool), batch.present])
        laid = _layouts(_held(Q, present), h, past.layout)
        return sorted(laid, key=lambda one: one.quick)[:_TRIED]

    @classmethod
    def of(cls, R: Numbers, h: int, layout: bytes, known: bytes) -> _Laid:
        """The rows of differences from ``h`` on, after those before."""
        before, data = (_bytes(part, layout) for part in (R[:h], R[h:]))
        told = 0 if layout == known else len(layout)
        return cls(layout, data, before, told, told + _quick(data, before))

    def packed(self) -> tuple[int, bytes, bytes]:
        """What it takes in all; the layout, and the bytes."""
        data = packing.packed(self.data, self.before)
        return self.told + len(data), self.layout, data


def _layouts(Q: Numbers, h: int, known: bytes) -> Iterator[_Laid]:
    """The best order for each column, one order for all, and those of the rows before."""
    N = Q.shape[1]
    best = bytes(_best_order(Q, j, h) for j in range(N))
    for orders in sorted({best, bytes(N), bytes([1] * N), known[3:] or best}):
        R = _differences(Q, np.frombuffer(orders, np.uint8))
        size = _smallest(R[h:]).itemsize
        for turned in (0, 1) if N > 1 else (0,):
            for apart in (0, 1) if size > 1 else (0,):
                yield _Laid.of(R, h, bytes([size, turned, apart]) + orders, known)


def _bytes(R: Numbers, layout: bytes) -> bytes:
    """Differences as bytes; those that are too large for it, which are but known before, wrap."""
    size, turned, apart = layout[:3]
    small = np.ascontiguousarray((R.T if turned else R).astype(f"<i{size}"))
    if apart:
        small = small.reshape(-1).view(np.uint8).reshape(-1, size).T
    return small.tobytes()


def _unlaid(layout: bytes, data: bytes, n: int, before: Numbers) -> Numbers:
    """Whole numbers again, given those before."""
    (size, turned, apart), N = layout[:3], before.shape[1]
    orders = np.frombuffer(layout[3:], np.uint8)
    if size not in (1, 2, 4, 8) or turned > 1 or apart > 1:
        raise PacketError("The file has values in a layout that is not known here.")
    if orders.max(initial=0) >= 2 * _LEFT or orders[0] >= _LEFT:
        raise PacketError("The file has differences of an order that is not known here.")
    known = _differences(before, orders)
    content = np.frombuffer(packing.unpacked(data, n * N * size, _bytes(known, layout)), np.uint8)
    if apart:
        content = np.ascontiguousarray(content.reshape(size, n * N).T).reshape(-1)
    R = content.view(f"<i{size}").astype(np.int64)
    R = R.reshape(N, n).T if turned else R.reshape(n, N)
    return _summed(np.vstack([known, R]), orders)[len(before) :]


def _best_order(Q: Numbers, j: int, h: int = 0) -> int:
    """Of least entropy, from row ``h`` on."""
    orders = range(_SAME_COLUMN + (_LEFT if j else 0))
    return min(orders, key=lambda order: _entropy(_column(Q, j, order)[h:]))


def _column(Q: Numbers, j: int, order: int) -> Numbers:
    column = Q[:, j] - (Q[:, j - 1] if order >= _LEFT else 0)
    for _ in range(order % _LEFT):
        column = np.diff(column, prepend=0)
    return column


def _differences(Q: Numbers, orders: Numbers) -> Numbers:
    return np.stack([_column(Q, j, int(order)) for j, order in enumerate(orders)], axis=1)


def _summed(R: Numbers, orders: Numbers) -> Numbers:
    """The inverse of `_differences`."""
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


def _quick(data: bytes, before: bytes) -> int:
    """About how many bytes packers make of some, after those before."""
    if not before:
        return len(lzma.compress(data, lzma.FORMAT_RAW, filters=_QUICK))
    return len(packing.deflated(data, before, level=6))


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
