"""Grids that values lie on, and the quantisation step of each column.

Sensors report whole numbers, tenths, halves of a tenth. On a grid a step is a multiple of its
spacing, and decoded values are the doubles nearest to the decimal fractions that were meant. A step
is sent as the upper half of a double, in units of the spacing; steps as in the batch before are not
sent again.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.compression.wire import PacketError, Reader, part

Array = NDArray[Any]

# Grids by their number in packets, finest first, as numerator / denominator; 0 is no grid.
_FRACTIONS = np.array(
    [[0.0, 1.0]]
    + [
        [float(m * 10 ** max(e, 0)), float(10 ** max(-e, 0))]
        for e in range(-6, 5)
        for m in (1, 2, 5)
    ]
)
SPACINGS = _FRACTIONS[:, 0] / _FRACTIONS[:, 1]
WHOLE = int(np.flatnonzero(SPACINGS == 1.0)[0])
"""The grid of whole numbers."""

_ONE = struct.Struct("<BI")
_WEIGHT = (
    6.0  # bits that a squared step is worth at the best step; measured, flat within a factor 2
)
_COARSE = ~0x1FFF  # the bits of a step without a grid that are sent
_MAX_MULTIPLE = 2.0**40  # spacings in a step: beyond, doubles lose the grid
SAME, ALL_ALIKE, EACH = range(3)


def on_grid(values: Array, grid: int) -> Array:
    """Return the points of a grid nearest to values."""
    if grid == 0:
        return values
    numerator, denominator = _FRACTIONS[grid]
    found: Array = np.rint(values / SPACINGS[grid]) * numerator / denominator
    return found


def grid_of(values: Array) -> int:
    """Return the coarsest grid that all values lie on, to their own precision; 0 if none."""
    if values.size == 0:
        return 0
    precision = 4 * float(np.finfo(values.dtype).eps)
    largest = float(np.abs(values).max())
    if largest == 0:
        return WHOLE
    sample = values[:: max(1, len(values) // 64)]
    for grid in range(len(SPACINGS) - 1, 0, -1):
        if precision * largest > 0.01 * SPACINGS[grid]:
            break  # any value would do
        if _lies_on(sample, grid, precision) and _lies_on(values, grid, precision):
            return grid
    return 0


def _lies_on(values: Array, grid: int, precision: float) -> bool:
    return bool((np.abs(values - on_grid(values, grid)) <= precision * np.abs(values)).all())


def is_exact_on(values: Array, grid: int) -> bool:
    """Return whether a grid has the very values, to their last bit and sign."""
    return values.size == 0 or (grid > 0 and bool(same_bits(on_grid(values, grid), values).all()))


def same_bits(a: Array, b: Array) -> NDArray[np.bool_]:
    """Return where finite values are equal, and zeros have the same sign."""
    same: NDArray[np.bool_] = (a == b) & (np.signbit(a) == np.signbit(b))
    return same


def common_grid(a: int, b: int) -> int:
    """Return the coarsest grid that has the points of two grids; 0 if there is none."""
    for grid in range(min(a, b), 0, -1):
        ratios = SPACINGS[[a, b]] / SPACINGS[grid]
        if (np.abs(ratios - np.rint(ratios)) < 1e-9 * ratios).all():
            return grid
    return 0


class Steps(NamedTuple):
    """For each column the number of its grid, and the step as it is sent.

    ``weights`` are the bits that a squared error is worth, in squared steps, and ``limits`` the
    largest errors; only the sender knows them.
    """

    grids: Array
    heads: Array
    weights: Array
    limits: Array

    @classmethod
    def at(cls, slopes: Array, grids: Array, limits: Array) -> Steps:
        """Return the steps at which a squared error is worth so many bits in each column."""
        spacing = np.where(grids > 0, SPACINGS[grids], 1.0)
        step = np.sqrt(_WEIGHT / slopes)
        most = 2 * np.floor(np.minimum(limits / spacing, _MAX_MULTIPLE) * (1 + 1e-12)) + 1
        # Without a grid, steps are rounded down, so that what is sent is within its bound.
        multiple = _heads(np.clip(np.rint(step / spacing), 1, most))
        heads = np.where(grids > 0, multiple, _heads(np.minimum(step, 2 * limits)) & _COARSE)
        steps = cls(grids, heads, slopes, limits)
        weights = np.where(np.isinf(slopes), 0.0, slopes) * steps.sizes**2
        weights[np.isinf(slopes)] = np.inf
        return steps._replace(weights=weights)

    @property
    def fractions(self) -> Array:
        """Spacings of the grids as two integers each."""
        return _FRACTIONS[self.grids]

    @property
    def sizes(self) -> Array:
        """The steps."""
        units = np.where(self.grids > 0, SPACINGS[self.grids], 1.0)
        return (self.heads.astype(np.uint64) << np.uint64(32)).view(np.float64) * units

    @property
    def sent(self) -> Array:
        """What the receiver has: grids and heads."""
        return np.stack([self.grids, self.heads]).astype(np.int64)

    def written(self, before: Array) -> tuple[int, bytes]:
        """Return how the steps are sent after those before, and the bytes."""
        sent = self.sent
        if np.array_equal(sent, before):
            return SAME, b""
        if (sent == sent[:, :1]).all():
            return ALL_ALIKE, _ONE.pack(*sent[:, 0].tolist())
        planes = self.heads.astype("<u4").view(np.uint8).reshape(-1, 4).T
        data = self.grids.astype(np.uint8).tobytes() + planes.tobytes()
        return EACH, part(zlib.compress(data, 9, wbits=-15))


def read_steps(kind: int, parts: Reader, before: Array) -> Steps:
    """Return the steps that follow in some bytes."""
    N = before.shape[1]
    if kind == SAME:
        grids, heads = before
    elif kind == ALL_ALIKE:
        grids, heads = (np.full(N, value) for value in _ONE.unpack(parts.take(_ONE.size)))
    else:
        data = np.frombuffer(_inflated(parts.part(), 5 * N), np.uint8)
        grids = data[:N].astype(np.int64)
        heads = np.ascontiguousarray(data[N:].reshape(4, N).T).view("<u4")[:, 0].astype(np.int64)
    if grids.max() >= len(SPACINGS):
        raise PacketError("The packet does not decode: its grids do not exist.")
    steps = Steps(grids, heads, np.full(N, np.inf), np.full(N, np.inf))
    if not ((steps.sizes > 0) & (steps.sizes < np.inf)).all():
        raise PacketError("The packet does not decode: its steps are no positive numbers.")
    return steps


def _inflated(data: bytes, size: int) -> bytes:
    try:
        found = zlib.decompressobj(wbits=-15).decompress(data, size + 1)
    except zlib.error:
        found = b""
    if len(found) != size:
        raise PacketError("The packet does not decode: its steps are cut.")
    return found


def _heads(numbers: Array) -> Array:
    """Return the upper halves of doubles, rounded."""
    bits = np.ascontiguousarray(numbers, np.float64).view(np.uint64)
    return ((bits >> np.uint64(32)) + ((bits >> np.uint64(31)) & np.uint64(1))).astype(np.int64)
