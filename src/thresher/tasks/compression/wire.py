"""Bytes that are read part by part, and the limits of what they may claim.

Nothing that comes from outside is trusted: lengths are compared with the bytes that are there, and
memory is taken only after the claim has been checked. All refusals are a `PacketError`.

A payload stands for at most `VALUES_PER_BYTE` values per byte, where a value of N sensors counts
``1 + N / 256``, since it takes that much longer to decode. A sender whose data are simpler adds
zeros, which the arithmetic coder would read there anyway. So a few bytes cannot ask for hours.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

MAX_SENSORS = 4096
"""Part of the format. Second moments of twice as many variables are kept: half a gigabyte."""
MAX_ROWS = 65535
"""Rows of a packet, part of the format."""
VALUES_PER_BYTE = 512
"""Part of the format: 1 kB may take seconds to decode, at half twice the bytes of constant rows."""
MAX_BYTES = 2**30
"""Memory that a reader allows by default. Heuristic: half or double is half or double the largest
file that is read without ``max_bytes``."""
CELL_BYTES = 96
"""Memory that a cell of a table, or a small object of Python, takes; an upper estimate."""
LARGEST = 1e15
"""Values beyond are refused: doubles calculate with those below (docs/guide/choices.md)."""
_LONGEST = 10  # bytes of a number of 64 bits, seven bits in each


class PacketError(ValueError):
    """A packet or a file that cannot be decoded; the message says why."""


def number(value: int) -> bytes:
    """Return an integer from 0 to 2⁶⁴ − 1 as LEB128."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def signed(value: int) -> bytes:
    """Return a signed integer of 64 bits in zigzag order as LEB128."""
    return number(2 * value if value >= 0 else -2 * value - 1)


def part(data: bytes) -> bytes:
    """Return bytes after their length."""
    return number(len(data)) + data


class Reader:
    """Read what `number`, `signed` and `part` wrote; `PacketError` if it is cut short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, n: int) -> bytes:
        """Return the next n bytes."""
        if self.at + n > len(self._data):
            raise PacketError("The data are cut short or damaged; request them again.")
        self.at += n
        return self._data[self.at - n : self.at]

    def rest(self) -> bytes:
        """Return the remaining bytes."""
        return self.take(len(self._data) - self.at)

    def number(self) -> int:
        """Return an integer from 0 to 2⁶⁴ − 1."""
        value, byte = 0, 128
        for i in range(_LONGEST):
            (byte,) = self.take(1)
            value |= (byte & 127) << 7 * i
            if byte < 128:
                break
        if byte > 127 or value >= 2**64:
            raise PacketError("The data have a number of more than 64 bits; they are damaged.")
        return value

    def signed(self) -> int:
        """Return a signed integer."""
        value = self.number()
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def part(self) -> bytes:
        """Return bytes after their length."""
        return self.take(self.number())

    @property
    def is_empty(self) -> bool:
        """Whether all bytes were read."""
        return self.at == len(self._data)

    def end(self) -> None:
        """Refuse bytes that remain."""
        if not self.is_empty:
            raise PacketError("The data have bytes that belong to nothing; they are damaged.")


# ------------------------------------------------------------------------------- limits


def min_bytes(n_values: int, n_sensors: int) -> int:
    """Return the bytes that stand for so many values at least."""
    return -(-n_values * (256 + n_sensors) // (256 * VALUES_PER_BYTE))


def padded(payload: bytes, n_values: int, n_sensors: int) -> bytes:
    """Return a payload that is long enough for the values it stands for."""
    return payload.ljust(min_bytes(n_values, n_sensors), b"\0")


def check_claim(n_values: int, n_sensors: int, n_bytes: int) -> None:
    """Refuse bytes that claim to stand for more values than they may."""
    least = min_bytes(n_values, n_sensors)
    if n_bytes < least:
        raise PacketError(
            f"{n_bytes} bytes claim to hold {n_values} values, which take at least {least}: they "
            "were not written by this library."
        )


def check_memory(needed: int, max_bytes: int) -> None:
    """Refuse what would take more memory than the reader allows."""
    if needed > max_bytes:
        raise PacketError(
            f"To read this takes about {needed:,} bytes of memory, {max_bytes:,} are allowed. If "
            f"you trust the sender, allow more: max_bytes={needed}."
        )


def state_bytes(n_sensors: int) -> int:
    """Return the memory of a stream: moments and a factor of 2N variables, contexts, values."""
    return 96 * n_sensors**2 + 512 * n_sensors + 2**15


def packet_bytes(n_rows: int, n_sensors: int) -> int:
    """Return the memory to decode a packet: a copy of the state, values and their mask."""
    return 2 * state_bytes(n_sensors) + 9 * n_rows * n_sensors


def file_bytes(n_rows: int, n_sensors: int) -> int:
    """Return the memory to decode a file: values, the state, and a batch that may have all rows."""
    return 8 * n_rows * (n_sensors + 1) + state_bytes(n_sensors) + packet_bytes(n_rows, n_sensors)
