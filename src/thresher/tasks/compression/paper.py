"""Packets of ``mode="paper"``: codes and positions, and dictionaries as Givens angles.

    rows        rows | η₀ | positions, 1 or 2 bytes each | values, 8 bytes each
    dictionary  sign 1 | bits of an angle 1, 0 for doubles | N(N−1)/2 angles

Values are doubles whose last bits may differ on another machine, so digests are of what was sent.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array, n_givens_angles
from thresher.published.orthogonal import Codes, DictionaryAngles, DictionaryCompression
from thresher.tasks.compression.packet import Kind, Payload
from thresher.tasks.compression.wire import (
    MAX_ROWS,
    PacketError,
    Reader,
    check_claim,
    number,
    padded,
)

MAX_ANGLE_BITS = 24
"""Beyond, single precision would do."""


@dataclass(frozen=True)
class PaperState:
    """What both sides have: a dictionary, once one was sent, and a checksum of what was sent."""

    n_sensors: int
    components: Array | None = None
    dictionary: bytes = b""
    checksum: int = 0

    def digest(self, n_rows: int, sequence: int) -> int:
        """Return a checksum of all that was sent, the rows so far, and the packet's number."""
        return zlib.crc32(struct.pack("<QII", n_rows, sequence, self.checksum))

    def n_rows_in(self, payload: bytes) -> int:
        """Return how many rows a payload claims."""
        n = Reader(payload).number()
        if not 0 < n <= MAX_ROWS:
            raise PacketError(f"The packet does not decode: it claims {n} rows.")
        check_claim(n * self.n_sensors, self.n_sensors, len(payload))
        return n

    def with_dictionary(self, payload: bytes) -> PaperState:
        """Return the state after a dictionary."""
        N, n_angles = self.n_sensors, n_givens_angles(self.n_sensors)
        parts = Reader(payload)
        sign, bits = struct.unpack("<bB", parts.take(2))
        size = 8 * n_angles if not bits else -(-n_angles * bits // 8)
        data = parts.rest()
        if sign not in (-1, 1) or bits > MAX_ANGLE_BITS or bits == 1 or len(data) != size:
            raise PacketError("The packet does not decode: its dictionary has another length.")
        angles = _unpacked_angles(data, bits, n_angles)
        if not (np.abs(angles) <= 4.0).all():  # above π; NaN is refused too
            raise PacketError("The packet does not decode: angles of more than a turn.")
        D = DictionaryAngles(angles, sign).matrix(N)
        return replace(self, components=D, dictionary=payload, checksum=self._after(payload))

    def read(self, payload: bytes) -> tuple[Array, None, PaperState]:
        """Return the rows in a payload, no times, and the state afterwards."""
        n, N = self.n_rows_in(payload), self.n_sensors
        parts = Reader(payload)
        k = (parts.number(), parts.number())[1]
        if not 0 < k <= N or self.components is None:
            raise PacketError("The packet does not decode: it has codes without a dictionary.")
        place = np.dtype("<u1" if N <= 256 else "<u2")
        positions = np.frombuffer(parts.take(n * k * place.itemsize), place).reshape(n, k)
        values = np.frombuffer(parts.take(n * k * 8), "<f8").reshape(n, k)
        if parts.rest().strip(b"\0") or (positions >= N).any() or not np.isfinite(values).all():
            raise PacketError("The packet does not decode: its codes make no sense.")
        rows = Codes(positions, values).decoded(self.components)
        return rows, None, replace(self, checksum=self._after(payload))

    def _after(self, payload: bytes) -> int:
        return zlib.crc32(payload, self.checksum)


class PaperCoder:
    """Codes rows as `DictionaryCompression` does, slot by slot."""

    def __init__(self, scheme: DictionaryCompression, bits: int | None) -> None:
        N = len(scheme.D)
        self.n_rows, self.n_sensors = 0, N
        self.errors, self.squares, self.counts = (np.zeros(N) for _ in range(3))
        self._scheme, self._bits = scheme, bits or 0
        self._state: PaperState | None = None

    @property
    def components(self) -> Array:
        """The edge's own dictionary."""
        return self._scheme.D.copy()

    def restart(self) -> Iterator[Payload]:
        """Yield a keyframe, and the dictionary of the cloud."""
        if self._state is None:
            return
        dictionary = self._state.dictionary
        yield self._keyframe()
        if dictionary:
            self._state = self._state.with_dictionary(dictionary)
            yield Payload(Kind.DICTIONARY, dictionary, self._state, self.n_rows)

    def code(self, Y: Array, times: Array | None, size: int) -> Iterator[Payload]:
        """Yield the payloads of checked rows; times are not sent."""
        Y = Y.astype(np.float64)
        if self._state is None and len(Y):
            yield self._keyframe()
        for at in range(0, len(Y), size):
            slot = Y[at : at + size]
            for sent in self._scheme.slot(slot):
                assert self._state is not None
                if isinstance(sent, DictionaryAngles):
                    payload = _written_angles(sent, self._bits)
                    self._state = self._state.with_dictionary(payload)
                    yield Payload(Kind.DICTIONARY, payload, self._state, self.n_rows)
                else:
                    payload = _written_codes(sent, self.n_sensors)
                    rows, _, self._state = self._state.read(payload)
                    self._count(rows, slot[: len(rows)])
                    slot = slot[len(rows) :]
                    yield Payload(Kind.ROWS, payload, self._state, self.n_rows)

    def _keyframe(self) -> Payload:
        self._state = PaperState(self.n_sensors)
        return Payload(Kind.KEYFRAME, b"")

    def _count(self, rows: Array, Y: Array) -> None:
        self.errors += np.nansum((rows - Y) ** 2, axis=0)
        self.squares += np.nansum(Y**2, axis=0)
        self.counts += np.count_nonzero(~np.isnan(Y), axis=0)
        self.n_rows += len(rows)


def _written_codes(codes: Codes, N: int) -> bytes:
    n, k = codes.positions.shape
    positions = codes.positions.astype("<u1" if N <= 256 else "<u2").tobytes()
    data = number(n) + number(k) + positions + codes.values.astype("<f8").tobytes()
    return padded(data, n * N, N)


def _written_angles(sent: DictionaryAngles, bits: int) -> bytes:
    head = struct.pack("<bB", sent.sign, bits)
    if not bits:
        return head + sent.angles.astype("<f8").tobytes()
    numbers = np.rint(sent.angles / (2 * np.pi / 2**bits)).astype(np.int64) % 2**bits
    planes = (numbers[:, None] >> np.arange(bits)) & 1
    return head + np.packbits(planes.astype(bool)).tobytes()


def _unpacked_angles(data: bytes, bits: int, n: int) -> Array:
    if not bits:
        return np.frombuffer(data, "<f8")
    planes = np.unpackbits(np.frombuffer(data, np.uint8), count=n * bits).reshape(n, bits)
    numbers = planes.astype(np.int64) @ (1 << np.arange(bits))
    angles: Array = np.where(numbers >= 2 ** (bits - 1), numbers - 2**bits, numbers)
    return angles * (2 * np.pi / 2**bits)
