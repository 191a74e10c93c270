"""Rounding and a general compressor, beside what the codec did: for the page of a file."""

from __future__ import annotations

import lzma

import numpy as np

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

_MOST_VALUES = 1_000_000  # a few seconds of lzma; by judgement


def tell_rounding(report: Report, Y: Array, n_bytes: int, seconds: float, error: float) -> None:
    """Compare bytes and seconds with rounding to the same error and lzma.

    Parameters
    ----------
    report : Report
    Y : array of shape (n, N)
        Values, NaN where missing.
    n_bytes : int
        Of the codec's file.
    seconds : float
        That it took, as far as they are known; else NaN.
    error : float
        Root mean square of its error, relative to that of the values.
    """
    some = Y[: max(1, _MOST_VALUES // Y.shape[1])]
    (packed, off), took = timed(lambda: rounded_and_packed(some, error))
    ours = n_bytes / max(Y.size, 1)
    speed = f"{Y.size / seconds:,.0f}" if seconds > 0 else "–"
    part = "" if len(some) == len(Y) else f" It saw the first {len(some):,} rows."
    tell_beside(
        report,
        ["bits a value", "relative error", "values a second"],
        [
            ["SensorCodec", f"{8 * ours:.2f}", f"{error:.2%}", speed],
            ["rounding and lzma", f"{8 * packed / max(some.size, 1):.2f}", f"{off:.2%}",
             f"{some.size / max(took, 1e-9):,.0f}"],
        ],
        "The alternative rounds all values to steps as coarse as this error allows, takes "
        "differences from row to row, and compresses them with lzma"
        + (" (without an error: the numbers as they are)" if not error else "")
        + f". It keeps no names and no columns of text, and reads and checks nothing.{part}",
    )  # fmt: skip


def rounded_and_packed(Y: Array, error: float) -> tuple[int, float]:
    """Bytes of values that are rounded to a relative error and compressed, and their true error.

    Rounding to steps of Δ is off by Δ/√12 in root mean square.
    """
    gaps = np.isnan(Y)
    known = np.where(gaps, 0, Y)
    square = float(np.square(known).sum()) or 1.0
    count = max(int((~gaps).sum()), 1)
    step = error * np.sqrt(12 * square / count)
    if step == 0:
        return len(lzma.compress(np.ascontiguousarray(Y.T).tobytes())), 0.0
    whole = np.rint(known / step)
    off = float(np.sqrt(np.square(np.where(gaps, 0, whole * step - known)).sum() / square))
    changes = np.diff(whole, axis=0, prepend=0)
    kind = np.int16 if np.abs(changes).max(initial=0) < 2**15 else np.int64
    columns = np.ascontiguousarray(changes.T.astype(kind)).tobytes()
    flags = np.packbits(gaps.T).tobytes() if gaps.any() else b""
    return len(lzma.compress(columns)) + len(lzma.compress(flags)), off
