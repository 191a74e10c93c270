"""Grids that values lie on, and the quantisation step of each column.

Sensors report whole numbers, tenths, halves of a tenth. On a grid a step is a multiple of its
spacing, and decoded values are the doubles nearest to the decimal fractions that were meant. A step
is sent as the upper half of a double, in units of the spacing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.compression.columns import pack_bytes, unpack_bytes
from thresher.tasks.compression.wire import LARGEST, Array, PacketError, Reader, part

# Grids by their number in packets, finest first, as numerator / denominator; 0 is no grid.
_FRACTIONS = np.array(
    [[0.0, 1.0]]
    + [
        [float(m * 10 ** max(e, 0)), float(10 ** max(-e, 0))]
        for e in range(-12, 5)
        for m in (1, 2, 5)
    ]
)
SPACINGS = _FRACTIONS[:, 0] / _FRACTIONS[:, 1]
WHOLE = int(np.flatnonzero(SPACINGS == 1.0)[0])
"""The grid of whole numbers."""

_WEIGHT = 6.0  # bits that a squared step is worth. Heuristic: half 4.5 % more bytes, double 0.4 %
_COARSE = ~0x1FFF  # the bits of a step without a grid that are sent: 0.1 % of the step
_FEW = 8
"""Spacings in a step below which errors jump. Heuristic: half and double change bytes by 0.1 %."""
ROUNDING = 1 + 1e-12
"""Ratio of two sums of doubles that are taken as equal: their rounding errors stay below."""


def on_grid(values: Array, grid: int) -> Array:
    """Return the points of a grid nearest to values."""
    if grid == 0:
        return values
    numerator, denominator = _FRACTIONS[grid]
    found: Array = np.rint(values / SPACINGS[grid]) * numerator / denominator
    return found


def grid_of(values: Array, known: int = 0) -> int:
    """Return the coarsest grid that all values lie on, or one that is known to do; 0 if none.

    Values lie on a grid if they are next to its points, to their own precision, and the grid is so
    coarse that not any value would.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return known or WHOLE
    precision = 4 * float(np.finfo(values.dtype).eps)
    sample = values[:: max(1, len(values) // 64)]
    grids = range(len(SPACINGS) - 1, 0, -1)
    for grid in (known, *grids) if known else grids:
        if precision * largest <= 0.01 * SPACINGS[grid] and all(
            (np.abs(some - on_grid(some, grid)) <= precision * np.abs(some)).all()
            for some in (sample, values)
        ):
            return grid
    return 0


def same_bits(a: Array, b: Array) -> NDArray[np.bool_]:
    """Return where finite values are equal, and zeros have the same sign."""
    same: NDArray[np.bool_] = (a == b) & (np.signbit(a) == np.signbit(b))
    return same


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
        """Return the steps at which a squared error is worth so many bits in each column.

        An infinite slope is lossless: the spacing of the grid, or else 1.
        """
        exact, spacing = np.isinf(slopes), np.where(grids > 0, SPACINGS[grids], 1.0)
        step = np.where(exact, spacing, np.sqrt(_WEIGHT / slopes))
        most = 2 * np.floor(np.minimum(limits / spacing, LARGEST) * ROUNDING) + 1
        # Few spacings are rounded up in some columns, down in others: so errors do not jump. The
        # golden ratio spreads evenly over any number of columns.
        spread = (0.5 + (5**0.5 - 1) / 2 * np.arange(len(step))) % 1
        ratio = np.where(exact, 1.0, step / spacing)
        ratio = np.floor(ratio + np.where(ratio < _FEW, spread, 0.5))
        multiple = _heads(np.clip(ratio, 1, most))
        # Without a grid, steps are rounded down, so that what is sent is within its bound.
        free = _heads(np.where(exact, step, np.minimum(step, 2 * limits))) & _COARSE
        steps = cls(grids, np.where(grids > 0, multiple, free), slopes, limits)
        weights = np.where(exact, 0.0, slopes) * steps.sizes**2
        weights[exact] = np.inf
        return steps._replace(weights=weights)

    @classmethod
    def sent_before(cls, sent: Array) -> Steps:
        """Return steps from what the receiver has; `PacketError` if they make no sense."""
        if sent[0].max() >= len(SPACINGS):
            raise PacketError("The packet does not decode: its grids do not exist.")
        unbounded = np.full(sent.shape[1], np.inf)
        steps = cls(sent[0], sent[1], unbounded, unbounded)
        if not ((steps.sizes > 0) & (steps.sizes < np.inf)).all():
            raise PacketError("The packet does not decode: its steps are no positive numbers.")
        return steps

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

    def written(self) -> bytes:
        """Return grids and heads: of one column if all are alike, otherwise of each."""
        sent = self.sent
        sent = sent[:, :1] if (sent == sent[:, :1]).all() else sent
        planes = sent[1].astype("<u4").view(np.uint8).reshape(-1, 4).T
        data = sent[0].astype(np.uint8).tobytes() + planes.tobytes()
        return bytes([sent.shape[1] > 1]) + part(pack_bytes(data))


def read_steps(parts: Reader, N: int) -> Steps:
    """Return the steps that follow in some bytes."""
    n = N if parts.take(1)[0] else 1
    data = np.frombuffer(unpack_bytes(parts.part(), 5 * n), np.uint8)
    heads = np.ascontiguousarray(data[n:].reshape(4, n).T).view("<u4")[:, 0]
    return Steps.sent_before(np.broadcast_to([data[:n], heads], (2, N)).astype(np.int64))


def _heads(numbers: Array) -> Array:
    """Return the upper halves of doubles, rounded."""
    bits = np.ascontiguousarray(numbers, np.float64).view(np.uint64)
    return ((bits >> np.uint64(32)) + ((bits >> np.uint64(31)) & np.uint64(1))).astype(np.int64)
