"""What bytes may claim, so that a few of them cannot ask for hours or for all memory.

A packet stands for at most `VALUES_PER_BYTE` values for each byte of its payload, where a value of
N sensors counts ``1 + N / 256``, since it takes that much longer. A sender whose data are simpler
than that adds zeros, which the range coder would put there anyway; a receiver compares the claim
with the bytes before it makes room for anything. How much memory a receiver gives to what it reads
is its own choice, ``max_bytes``.
"""

from thresher.tasks.compression.packet import PacketError

VALUES_PER_BYTE = 512
"""By judgement, part of the format: 1 kB may then take a few seconds (docs/lab/sensor_codec.md)."""
LARGEST_BATCH = 65535
"""Rows of a packet: a bound of the format, which once counted them in two bytes."""
HISTORY = 2**13
"""Values that plain rows may look back at; by judgement, part of the format."""
MOST_BYTES = 2**30
"""Memory that a reader allows by default; by judgement."""


def least_bytes(n_values: int, n_sensors: int) -> int:
    """How many bytes at least stand for so many values."""
    return -(-n_values * (256 + n_sensors) // (256 * VALUES_PER_BYTE))


def most_rows(n_bytes: int, n_sensors: int) -> int:
    """How many rows so many bytes stand for at most."""
    return min(256 * VALUES_PER_BYTE * n_bytes // ((256 + n_sensors) * n_sensors), LARGEST_BATCH)


def padded(payload: bytes, n_values: int, n_sensors: int) -> bytes:
    """A payload that is long enough for what it stands for."""
    return payload.ljust(least_bytes(n_values, n_sensors), b"\0")


def check_claim(n_values: int, n_sensors: int, n_bytes: int) -> None:
    """Refuse bytes that claim to stand for more values than they may."""
    least = least_bytes(n_values, n_sensors)
    if n_bytes < least:
        raise PacketError(
            f"{n_bytes} bytes claim to hold {n_values} values, which take {least} at least: they "
            "were not written by this library."
        )


def check_memory(needed: int, max_bytes: int) -> None:
    """Refuse what would take more memory than the reader allows."""
    if needed > max_bytes:
        raise PacketError(
            f"To read this takes some {needed:,} bytes of memory, {max_bytes:,} are allowed. If "
            f"you trust the sender, allow more: max_bytes={needed}."
        )


def state_bytes(n_sensors: int) -> int:
    """Memory of a stream: second moments of 2N variables, regressions, contexts, last values."""
    return 64 * n_sensors**2 + 512 * n_sensors + 2**15 + 8 * HISTORY


def packet_bytes(n_rows: int, n_sensors: int) -> int:
    """Memory to decode a packet: a copy of the models, a Cholesky factor, values and their mask."""
    return 2 * state_bytes(n_sensors) + 9 * n_rows * n_sensors


def file_bytes(n_rows: int, n_sensors: int) -> int:
    """Memory to decode a file: all values, the models, and a packet that may have all rows."""
    return 8 * n_rows * n_sensors + state_bytes(n_sensors) + packet_bytes(n_rows, n_sensors)
