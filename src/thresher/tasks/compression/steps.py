"""How the values of each column are rounded: grid and step, as the other side is told.

A step is told as the upper half of a double, which has 20 bits of fraction, in units of the grid's
spacing; without a grid, of which seven are used. What is as in the batch before is not told again.
"""

import struct
import zlib
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.grid import GRIDS
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.packet import PacketError

_ONE = struct.Struct("<BI")
_SPACINGS = np.array([grid.spacing or 1.0 for grid in GRIDS])
_FRACTIONS = np.array([[grid.numerator, grid.denominator] for grid in GRIDS])
_WEIGHT = 6.0  # bits that a squared step is worth; by trial (search.py)
_COARSE = ~0x1FFF  # the bits of a step without a grid that are told
SAME, ALL_ALIKE, EACH, CORRECTED = range(4)


class Steps(NamedTuple):
    """For each column: the number of its grid, and the step as it is told.

    ``weights`` are what a squared error, in steps, is worth in bits, and ``limits`` the largest
    errors: for the sender alone.
    """

    grids: Numbers
    heads: Numbers
    weights: Numbers
    limits: Numbers

    @classmethod
    def at(cls, slopes: Numbers, grids: Numbers, limits: Numbers) -> "Steps":
        """The steps at which a squared error is worth so many bits, column by column."""
        spacing, on_grid = _SPACINGS[grids], grids > 0
        exact = np.isinf(slopes)
        step = np.sqrt(_WEIGHT / slopes)
        most = 2 * np.floor(np.minimum(limits / spacing, 2.0**40) * (1 + 1e-12)) + 1
        whole = np.clip(np.rint(step / spacing), 1, most) * spacing
        # Rounded down, so that a step that was told is not above its bound.
        fine = np.minimum(step, 2 * limits) / spacing
        heads = np.where(on_grid, _heads(whole / spacing), _heads(fine) & _COARSE)
        told = _steps(heads) * spacing
        weights = np.where(exact, np.inf, np.where(exact, 0.0, slopes) * told**2)
        return cls(grids, heads, weights, limits)

    @property
    def fractions(self) -> Numbers:
        """Spacings of the grids, as two whole numbers."""
        return _FRACTIONS[self.grids]

    @property
    def steps(self) -> Numbers:
        """As they are told."""
        return _steps(self.heads) * _SPACINGS[self.grids]

    def written(self, before: Numbers) -> tuple[int, bytes]:
        """How they are told, given what was told before (`told`); and the bytes."""
        if np.array_equal(self.told(), before):
            return SAME, b""
        if len(np.unique(self.told(), axis=1).T) == 1:
            return ALL_ALIKE, _ONE.pack(int(self.grids[0]), int(self.heads[0]))
        planes = self.heads.astype("<u4").view(np.uint8).reshape(-1, 4).T
        data = self.grids.astype(np.uint8).tobytes() + planes.tobytes()
        return EACH, part(zlib.compress(data, 9, wbits=-15))

    def told(self) -> Numbers:
        """What the other side has."""
        return np.stack([self.grids, self.heads]).astype(np.int64)


def read_steps(kind: int, payload: bytes, before: Numbers) -> tuple[Steps, int]:
    """Steps from the start of a payload, and how many bytes they take."""
    N = before.shape[1]
    parts = Reader(payload)
    if kind == SAME:
        grids, heads = before
    elif kind == ALL_ALIKE:
        grid, head = _ONE.unpack(parts.take(_ONE.size))
        grids, heads = np.full(N, grid), np.full(N, head)
    else:
        data = np.frombuffer(_inflated(parts.part(), 5 * N), np.uint8)
        grids = data[:N].astype(np.int64)
        heads = np.ascontiguousarray(data[N:].reshape(4, N).T).view("<u4")[:, 0].astype(np.int64)
    if grids.max() >= len(GRIDS):
        raise PacketError("The packet does not decode: its grids make no sense.")
    found = Steps(grids, heads, np.full(N, np.inf), np.full(N, np.inf))
    if not ((found.steps > 0) & (found.steps < np.inf)).all():
        raise PacketError("The packet does not decode: its steps make no sense.")
    return found, parts.at


def _inflated(data: bytes, size: int) -> bytes:
    try:
        found = zlib.decompressobj(wbits=-15).decompress(data, size + 1)
    except zlib.error:
        found = b""
    if len(found) != size:
        raise PacketError("The packet does not decode: its steps are cut.")
    return found


def _heads(numbers: Numbers) -> Numbers:
    bits = np.ascontiguousarray(numbers, np.float64).view(np.uint64)
    return ((bits >> np.uint64(32)) + ((bits >> np.uint64(31)) & np.uint64(1))).astype(np.int64)


def _steps(heads: Numbers) -> Numbers:
    return (np.asarray(heads).astype(np.uint64) << np.uint64(32)).view(np.float64)
