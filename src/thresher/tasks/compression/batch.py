"""A batch of rows in a packet: its header, its mask, its numbers."""

import struct
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from thresher.kernels.bundles import read_only
from thresher.linalg import Array
from thresher.tasks.compression.entropy import BitReader, BitWriter
from thresher.tasks.compression.grid import GRIDS
from thresher.tasks.compression.kernels.lattice import lattice_encode, lattice_next
from thresher.tasks.compression.kernels.mask import mask_chances, mask_learn
from thresher.tasks.compression.kernels.transform import (
    transform_encode,
    transform_next,
    values_on_grid,
)
from thresher.tasks.compression.limits import check_claim, padded
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.state import CodecState

_HEAD = struct.Struct("<HBBI")  # rows, flags, grid, step
_DOUBLE, _WORDS = struct.Struct("<d"), struct.Struct("<II")
_LARGEST_NUMBER = 2**52  # beyond which doubles are not whole numbers any more


class Mode(IntEnum):
    """How values become numbers."""

    LATTICE = 0
    TRANSFORM = 1


class Quantiser(NamedTuple):
    """What the cloud has to be told about a batch, and how the edge rounds.

    ``weight`` is what a squared error, in steps, is worth in bits.
    """

    mode: Mode
    grid: int
    step: float
    weight: float = np.inf
    n_nonzero: int = 2**31

    @property
    def unit(self) -> float:
        """What steps are told in: the spacing of the grid, if there is one."""
        return GRIDS[self.grid].spacing or 1.0

    def head(self) -> int:
        """The step for a packet: the upper half of a double, which has 20 bits of fraction."""
        low, high = _WORDS.unpack(_DOUBLE.pack(self.step / self.unit))
        return int(high + (low >> 31))

    def told(self) -> "Quantiser":
        """With the step that the cloud is told."""
        return self._replace(step=_step(self.head()) * self.unit)


def _step(head: int) -> float:
    return float(_DOUBLE.unpack(_WORDS.pack(0, head))[0])


class Coded(NamedTuple):
    """A batch as numbers under chances, and what comes of it."""

    quantiser: Quantiser
    numbers: Array
    chances: Array
    values: Array
    bits: float
    error: float
    state: CodecState


def coded(before: CodecState, Y: Array, present: Array, quantiser: Quantiser) -> Coded:
    """Code rows from a state, which is left as it was."""
    state, quantiser = before.copy(), quantiser.told()
    grid = GRIDS[quantiser.grid]
    Y, present = read_only(Y), read_only(present)
    result: tuple[Array, Array, Array, float, float]
    if quantiser.mode == Mode.LATTICE:
        result = lattice_encode(state.lattice, Y, present, grid, quantiser.step, quantiser.weight)
    else:
        result = transform_encode(
            state.transform,
            state.level,
            Y,
            present,
            grid,
            quantiser.step,
            quantiser.weight,
            quantiser.n_nonzero,
        )
    numbers, chances, values, bits, error = result
    if numbers.size and max(int(numbers.max()), -int(numbers.min())) > _LARGEST_NUMBER:
        bits = error = np.inf  # the step is too small for such values: no way to code them
    return Coded(quantiser, numbers, chances, values, bits, error, state)


def written(batch: Coded, present: Array) -> bytes:
    """The payload of a packet; the state of the batch learns the mask."""
    mask = batch.state.mask
    whole = bool(present.all() and mask.present.all())
    q = batch.quantiser
    head = _HEAD.pack(len(present), q.mode | whole << 1, q.grid, q.head())
    writer = BitWriter()
    if not whole:
        changes, chances = np.empty(present.shape, np.int32), np.empty(present.shape, np.int32)
        for t, row in enumerate(present):
            mask_chances(mask, chances[t])
            changes[t] = row != mask.present
            mask_learn(mask, read_only(row))
        writer.bits(changes, chances)
    writer.numbers(batch.numbers, batch.chances)
    return padded(head + writer.getvalue(), present.size, present.shape[1])


def n_rows_in(payload: bytes, n_sensors: int) -> int:
    """How many rows a payload claims; `PacketError` if it cannot have so many."""
    if len(payload) < _HEAD.size:
        raise PacketError("The packet does not decode: its header is cut.")
    n = int(_HEAD.unpack_from(payload)[0])
    check_claim(n * n_sensors, n_sensors, len(payload))
    return n


def read(state: CodecState, payload: bytes) -> Array:
    """The values in a payload, NaN where missing; moves the state on."""
    n = n_rows_in(payload, state.n_sensors)
    _, flags, grid, head = _HEAD.unpack_from(payload)
    if not (n and flags < 4 and grid < len(GRIDS)):
        raise PacketError("The packet does not decode: its header makes no sense.")
    step = _step(head) * (GRIDS[grid].spacing or 1.0)
    if not 0 < step < np.inf:
        raise PacketError("The packet does not decode: its step makes no sense.")
    reader = BitReader(payload[_HEAD.size :])
    present: Array = np.ones((n, state.n_sensors), np.bool_)
    if not flags >> 1:
        chances = np.empty(state.n_sensors, np.int32)
        for row in present:
            mask_chances(state.mask, chances)
            row[:] = state.mask.present ^ reader.bits(chances).astype(np.bool_)
            mask_learn(state.mask, read_only(row))
    decode = _read_lattice if flags & 1 == Mode.LATTICE else _read_transform
    values = decode(state, reader, present, grid, step)
    if not np.isfinite(values[present]).all():
        raise PacketError("The packet does not decode: some values are not numbers.")
    return values


def _read_lattice(
    state: CodecState, reader: BitReader, present: Array, grid: int, step: float
) -> Array:
    N, chances = state.n_sensors, np.zeros(5, np.int32)
    values = np.full(present.shape, np.nan)
    for t, row in enumerate(present):
        j = lattice_next(state.lattice, row, -1, 0, GRIDS[grid], step, chances)
        while j < N:
            q = reader.number(chances.tolist())
            j = lattice_next(state.lattice, row, j, q, GRIDS[grid], step, chances)
        values[t, row] = state.level[row]
    return values


def _read_transform(
    state: CodecState, reader: BitReader, present: Array, grid: int, step: float
) -> Array:
    N, chances, predicted = state.n_sensors, np.zeros(5, np.int32), np.zeros(state.n_sensors)
    values = np.full(present.shape, np.nan)
    for t, row in enumerate(present):
        transform_next(state.transform, state.level, -1, 0, step, predicted, chances)
        for k in range(N):
            q = reader.number(chances.tolist())
            transform_next(state.transform, state.level, k, q, step, predicted, chances)
        values[t, row] = values_on_grid(state.level, GRIDS[grid])[row]
    return values
