"""Dictionaries in packets: the rotation from the dictionary that the cloud has, as Givens angles.

The edge codes with what the cloud will have, rounded angles and all, so that coarse angles cost a
little sparsity and no accuracy. All atoms need N(N−1)/2 angles and a sign; where the weak ones code
to zero anyway, the leading rows are enough, and the others only have to be orthogonal to them.
"""

import struct
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from thresher.linalg import Array, givens_angles, n_givens_angles, turned_by_whole_givens
from thresher.tasks.compression.entropy import BitReader, BitWriter
from thresher.tasks.compression.kernels.adaptive_bits import chances_of_scale, first_chances
from thresher.tasks.compression.limits import check_claim, padded
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.state import CodecState

_HEAD = struct.Struct("<HbB")
MOST_ANGLE_BITS = 12
"""By judgement. Coarser angles cost a little sparsity and no accuracy."""


class Rotation(NamedTuple):
    """A rotation of the leading atoms, in multiples of 2π / 2^bits."""

    numbers: Array
    sign: int
    n_rows: int
    bits: int

    def applied(self, D: Array) -> Array:
        """The dictionary after the rotation, the same on any machine."""
        return turned_by_whole_givens(D, self.numbers, self.sign, 2**self.bits)

    def written(self) -> bytes:
        """The payload: rows, sign and bits; then for each row the mean size and the angles."""
        writer, rows = BitWriter(), self._by_row()
        sizes = [_size_index(row) for row in rows]
        for row, size in zip(rows, sizes, strict=True):
            writer.numbers(row, np.tile(_chances(size), (len(row), 1)))
        head = _HEAD.pack(self.n_rows, self.sign, self.bits)
        payload = head + bytes(sizes) + writer.getvalue()
        return padded(payload, len(self.numbers), _order(len(self.numbers), self.n_rows))

    def _by_row(self) -> list[Array]:
        N = _order(len(self.numbers), self.n_rows)
        ends = [n_givens_angles(N, r + 1) for r in range(self.n_rows)]
        return np.split(self.numbers, ends[:-1])

    def leading(self, n_rows: int, N: int) -> "Rotation":
        """The rotation of fewer atoms."""
        numbers = self.numbers[: n_givens_angles(N, n_rows)]
        return self._replace(numbers=numbers, n_rows=min(n_rows, self.n_rows))


def rotation_towards(D: Array, cloud: Array, bits: int) -> Rotation:
    """The rotation from the cloud's dictionary to D."""
    angles, sign = givens_angles(D @ cloud.T)
    numbers = np.rint(angles * 2**bits / (2 * np.pi)).astype(np.int64)
    return Rotation(numbers, sign, len(D) - 1, bits)


def matched(D: Array, cloud: Array) -> Array:
    """The atoms of D in the order, and with the signs, of the cloud's that they are most like."""
    likeness = cloud @ D.T
    _, order = linear_sum_assignment(-np.abs(likeness))
    signs = np.where(likeness[np.arange(len(D)), order] < 0, -1.0, 1.0)
    atoms: Array = signs[:, None] * D[order]
    return atoms


def read_dictionary(state: CodecState, payload: bytes) -> None:
    """Turn the dictionary of a state."""
    if len(payload) < _HEAD.size:
        raise PacketError("The packet does not decode: its header is cut.")
    n_rows, sign, bits = _HEAD.unpack_from(payload)
    N, start = state.n_sensors, _HEAD.size + n_rows
    possible = 0 < n_rows < N and sign in (-1, 1) and 2 <= bits <= MOST_ANGLE_BITS
    if not possible or len(payload) < start:
        raise PacketError("The packet does not decode: its header makes no sense.")
    check_claim(n_givens_angles(N, n_rows), N, len(payload))
    reader, numbers = BitReader(payload[start:]), []
    for r, size in enumerate(payload[_HEAD.size : start]):
        chances = _chances(size).tolist()
        numbers += [reader.number(chances) for _ in range(N - 1 - r)]
    if max(map(abs, numbers)) > 2**bits:
        raise PacketError("The packet does not decode: angles of more than a turn.")
    rotate_dictionary(state, Rotation(np.array(numbers), sign, n_rows, bits))


def rotate_dictionary(state: CodecState, rotation: Rotation) -> None:
    """The state after the cloud has a rotation; what was known about the old atoms is dropped."""
    state.transform.D[:] = rotation.applied(state.D)
    for known in (state.transform.codes, state.transform.moments):
        known[:] = 0


def _order(n_angles: int, n_rows: int) -> int:
    """N, from how many angles ``n_rows`` rows have: ``n_rows (2N − n_rows − 1) / 2``."""
    return (2 * n_angles // n_rows + n_rows + 1) // 2


def _size_index(numbers: Array) -> int:
    """The mean size in eighths of an octave, from 1/16 up."""
    return int(np.clip(np.rint(8 * np.log2(np.abs(numbers).mean() + 1e-9)) + 32, 0, 160))


def _chances(size: int) -> Array:
    chances: Array = chances_of_scale(first_chances(), 2.0 ** ((min(size, 160) - 32) / 8))
    return chances
