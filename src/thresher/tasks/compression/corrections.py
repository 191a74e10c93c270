"""Corrections of decoded values, for columns that come back to the bit.

A value that is next to a point of its grid, such as ``3 * 0.1``, is coded as that point. What is
left is the difference between the bits of both, as whole numbers of 64 bits:

    columns with corrections, a bit each | differences of their values that are there, by column
"""

from __future__ import annotations

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.grid import same_bits
from thresher.tasks.compression.lossless.integers import packed_integers, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader
from thresher.tasks.compression.packet import PacketError


def written_corrections(Y: Numbers, values: Numbers, exact: Numbers, is_single: bool) -> bytes:
    """Differences that make decoded values those of Y where ``exact``; nothing if they are.

    Values of floats of 32 bits (``is_single``) are the same if they round to the same float.
    """
    if is_single:
        same = same_bits(values.astype(np.float32), Y.astype(np.float32))
    else:
        same = same_bits(values, Y)
    wrong = exact & ~same
    columns = wrong.any(axis=0)
    if not columns.any():
        return b""
    differences = np.where(wrong, _bits(Y) - _bits(values), 0)
    there = exact.T[columns]
    return np.packbits(columns).tobytes() + packed_integers(differences.T[columns][there])


def corrected_values(values: Numbers, corrections: bytes) -> Numbers:
    """Decoded values, NaN where missing, after corrections; `PacketError` if they do not fit."""
    if not corrections:
        return values
    parts, N = Reader(corrections), values.shape[1]
    mask = np.frombuffer(parts.take(-(-N // 8)), np.uint8)
    columns = np.flatnonzero(np.unpackbits(mask, count=N))
    found = values.T[columns]
    there = ~np.isnan(found)
    differences = unpacked_integers(parts.rest(), int(np.count_nonzero(there)))
    found[there] = (_bits(found[there]) + differences).view(np.float64)
    if not np.isfinite(found[there]).all():
        raise PacketError("The packet does not decode: some values are not numbers.")
    corrected = values.copy()
    corrected.T[columns] = found
    return corrected


def _bits(values: Numbers) -> Numbers:
    return np.ascontiguousarray(values, np.float64).view(np.int64)
