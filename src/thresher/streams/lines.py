"""Lines of files, of bounded length: a packed file of a megabyte may have a line of gigabytes."""

from collections.abc import Iterator
from typing import Any

LONGEST_LINE = 2**24
"""Bytes of a line. Heuristic: a row of 800,000 numbers; as lists of JSON it may take 400 MB."""


def bounded_lines(file: Any, name: str) -> Iterator[bytes]:
    """Lines of a binary file; a ValueError names one that is too long."""
    number = 1
    while line := file.readline(LONGEST_LINE + 1):
        check_length(len(line), number, name)
        yield line
        number += 1


def check_length(n_bytes: int, number: int, name: str) -> None:
    """Refuse a line of so many bytes."""
    if n_bytes > LONGEST_LINE:
        raise ValueError(
            f"Line {number} of {name} is longer than {LONGEST_LINE:,} bytes, the limit; write one "
            "record a line, or numbers as .npy or Parquet."
        )
