"""Packets of the paper's own scheme: η₀ codes and their positions, and dictionaries as angles.

    data        rows 2 | η₀ 2 | bytes of a number 1 | positions | values
    dictionary  sign 1 | bytes of a number 1 | N(N−1)/2 angles

A position takes one byte, or two beyond 256 sensors. Angles and values are floats, so that what the
cloud computes may differ in its last bits on another machine; digests are of what was sent.
"""

import struct
import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array, from_givens, givens_angles, n_givens_angles
from thresher.tasks.compression.batch import n_rows_in
from thresher.tasks.compression.limits import padded
from thresher.tasks.compression.packet import PacketError

_ROWS, _ANGLES = struct.Struct("<HHB"), struct.Struct("<bB")
_TURN = 4.0  # above π: no angle is larger

NUMBER_BYTES = (8, 4)
"""What a code or an angle may take: double or single precision. The paper does not say."""


class Codes(NamedTuple):
    """The codes of a row that are sent: where they stand, and what they are."""

    where: NDArray[Any]
    what: Array


@dataclass
class PaperState:
    """What edge and cloud both have: a dictionary, once one was sent, and what was sent so far."""

    D: Array
    dictionary: bytes = b""
    """The payload that it came in; empty before the first."""
    sent: int = 0
    """A checksum of all payloads."""

    @classmethod
    def starting(cls, n_sensors: int) -> Self:
        """No dictionary."""
        return cls(np.eye(n_sensors))

    @property
    def n_sensors(self) -> int:
        """N."""
        return len(self.D)

    def copy(self) -> Self:
        """A copy; dictionaries are replaced, never changed."""
        return replace(self)

    def digest(self, n_rows: int, sequence: int) -> int:
        """A checksum of all that was sent, of the rows so far, and of the packet's number."""
        return zlib.crc32(struct.pack("<QII", n_rows, sequence, self.sent))

    def recovered(self, codes: Codes) -> Array:
        """``ŷ = c D``."""
        y: Array = codes.what.astype(np.float64) @ self.D[codes.where]
        return y


def written_dictionary(D: Array, number_bytes: int, with_sign: bool) -> bytes:
    """The payload of a dictionary; without its sign, that of one with determinant 1.

    Its last atom is then the negative one, which codes made with it do not mind.
    """
    angles, sign = givens_angles(D)
    head = _ANGLES.pack(sign if with_sign else 1, number_bytes)
    return head + angles.astype(f"<f{number_bytes}").tobytes()


def read_dictionary(state: PaperState, payload: bytes) -> None:
    """Replace the dictionary of a state."""
    N = state.n_sensors
    sign, number_bytes = _head(_ANGLES, payload)
    if sign not in (-1, 1):
        raise PacketError("The packet does not decode: its header makes no sense.")
    _, angles = _arrays(payload[_ANGLES.size :], number_bytes, 0, n_givens_angles(N), N)
    if not (np.abs(angles) <= _TURN).all():
        raise PacketError("The packet does not decode: angles of more than a turn.")
    state.D, state.dictionary = from_givens(angles.astype(np.float64), sign, N), payload
    state.sent = zlib.crc32(payload, state.sent)


def written(state: PaperState, rows: list[Codes], number_bytes: int) -> bytes:
    """The payload of coded rows; the state goes on."""
    n, N = len(rows), state.n_sensors
    head = _ROWS.pack(n, len(rows[0].where), number_bytes)
    positions = np.array([codes.where for codes in rows]).astype(_positions(N)).tobytes()
    values = np.array([codes.what for codes in rows]).astype(f"<f{number_bytes}").tobytes()
    payload = padded(head + positions + values, n * N, N)
    state.sent = zlib.crc32(payload, state.sent)
    return payload


def read(state: PaperState, payload: bytes) -> Array:
    """The rows in a payload; the state goes on."""
    N, n = state.n_sensors, n_rows_in(payload, state.n_sensors)
    _, k, number_bytes = _head(_ROWS, payload)
    if not (n and 0 < k <= N):
        raise PacketError("The packet does not decode: its header makes no sense.")
    if not state.dictionary:
        raise PacketError("The packet does not decode: no dictionary came before it.")
    where, what = _arrays(payload[_ROWS.size :], number_bytes, n * k, n * k, N)
    if not ((where < N).all() and np.isfinite(what).all()):
        raise PacketError("The packet does not decode: some values are not numbers.")
    state.sent = zlib.crc32(payload, state.sent)
    pairs = zip(where.reshape(n, k), what.reshape(n, k), strict=True)
    return np.array([state.recovered(Codes(*pair)) for pair in pairs])


def _positions(N: int) -> str:
    return "<u1" if N <= 256 else "<u2"


def _head(form: struct.Struct, payload: bytes) -> tuple[int, ...]:
    if len(payload) < form.size:
        raise PacketError("The packet does not decode: its header is cut.")
    head: tuple[int, ...] = form.unpack_from(payload)
    if head[-1] not in NUMBER_BYTES:
        raise PacketError("The packet does not decode: its header makes no sense.")
    return head


def _arrays(
    data: bytes, number_bytes: int, n_positions: int, n_numbers: int, N: int
) -> tuple[NDArray[Any], Array]:
    """Positions and numbers; zeros may follow."""
    places = np.dtype(_positions(N))
    middle = n_positions * places.itemsize
    end = middle + n_numbers * number_bytes
    if len(data) < end or data[end:].strip(b"\0"):
        raise PacketError("The packet does not decode: it has another length than it tells.")
    numbers = np.frombuffer(data[middle:end], f"<f{number_bytes}")
    return np.frombuffer(data[:middle], places), numbers
