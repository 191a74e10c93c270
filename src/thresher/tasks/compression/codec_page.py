"""The page about an array of sensor values, as a codec compresses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.report import Report, timed
from thresher.tasks.compression.beside import tell_rounding
from thresher.tasks.compression.report import Errors

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

_MOST_SENSORS = 60  # rows of the table; by judgement


def codec_page(codec: SensorCodec, Y: Any, names: Sequence[str] | None) -> Report:
    """Compress values, decode them again, and tell what became of them.

    Parameters
    ----------
    codec : SensorCodec
    Y : array-like of shape (n, N)
    names : sequence of str, optional
        Of the sensors.
    """
    (data, _), seconds = timed(lambda: codec.compress(Y))
    (decoded, _), back = timed(lambda: codec.decompress(data))
    values = np.asarray(Y, dtype=np.float64)
    errors = Errors.of(decoded, values)
    n, N = values.shape
    labels = [f"sensor {j}" for j in range(N)] if names is None else [str(name) for name in names]
    report = Report(
        f"{N:,} sensors in {len(data):,} bytes",
        f"{n:,} rows were compressed and decoded again to measure their error: "
        f"{errors.relative:.3%} of the size of all values, where {codec.error:.3%} was asked.",
        f"Thresher {__version__} · compression",
    )
    report.facts(
        [
            (f"{len(data):,}", "bytes"),
            (f"{4 * values.size / len(data):.1f} ×", "smaller than 32-bit numbers"),
            (f"{8 * len(data) / max(values.size, 1):.2f}", "bits a value"),
            (f"{seconds:.2g} s", f"to compress, and {back:.2g} s to decode"),
        ]
    )
    shown = np.sort(np.argsort(-errors.own, kind="stable")[:_MOST_SENSORS])
    report.heading("What each sensor lost")
    report.table(
        ["sensor", "of its own size", "root mean square", "largest"],
        [
            [labels[j], f"{errors.own[j]:.3%}", f"{errors.rms[j]:.3g}", f"{errors.largest[j]:.3g}"]
            for j in shown
        ],
        caption="Errors in the unit of each sensor."
        + (f" The {len(shown)} of largest error." if len(shown) < N else ""),
    )
    tell_rounding(report, values, len(data), seconds, errors.relative)
    return report
