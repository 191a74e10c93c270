"""The page about a compressed file."""

from __future__ import annotations

from thresher import __version__
from thresher.linalg import Array
from thresher.plotting import bar_panels, for_page
from thresher.report import Report
from thresher.tasks.compression.beside import tell_rounding
from thresher.tasks.compression.report import CompressionReport

_MOST_SENSORS = 200  # rows of the table; by judgement
_DRAWN = 30


def compression_page(
    done: CompressionReport, name: str, values: Array | None = None, seconds: float = float("nan")
) -> Report:
    """Tell how much smaller a file has become, and what each sensor lost.

    Parameters
    ----------
    done : CompressionReport
        Sizes and errors, as measured on the decoded file.
    name : str
        Of the file that was read.
    values : array of shape (n, N), optional
        Its measurements, to compare with rounding and lzma.
    seconds : float
        That reading, compressing and checking took.
    """
    ratio = done.source_bytes / done.n_bytes
    error = done.errors.relative
    report = Report(
        f"{name}, {ratio:.1f} times smaller",
        f"{done.n_bytes:,} bytes instead of {done.source_bytes:,}. The file was decoded again to "
        f"measure its error: {error:.3%} of the size of all values."
        if error
        else f"{done.n_bytes:,} bytes instead of {done.source_bytes:,}, and every value comes back "
        "as it was.",
        f"Thresher {__version__} · compression",
    )
    report.facts(
        [
            (f"{done.n_bytes:,}", "bytes"),
            (f"{ratio:.1f} ×", f"smaller than the {done.kind} file"),
            (f"{done.raw_bytes / done.n_bytes:.1f} ×", "smaller than 32-bit numbers"),
            (f"{error:.2%}", "relative error of all values"),
        ]
    )
    drawn = done.worst(_DRAWN)
    if done.names:
        report.heading("What each sensor lost")
    if error:
        report.picture(
            for_page(
                lambda: bar_panels(
                    ["root mean square error", "largest error", "relative to its own size"],
                    [[done.names[j] for j in drawn]] * 3,
                    [_scaled(values, drawn) for values in
                     (done.errors.rms, done.errors.largest, done.errors.own)],
                )
            ),
            "; ".join(f"{done.names[j]}: {done.errors.rms[j]:.3g}" for j in drawn),
            "Each of the three on a scale of its own; the numbers are below."
            + (f" The {len(drawn)} of largest error." if len(drawn) < len(done.names) else ""),
        )  # fmt: skip
    if done.names:
        shown = done.worst(_MOST_SENSORS)
        report.table(
            done.columns,
            [done.row(j) for j in shown],
            caption="Errors in the unit of each sensor; missing values stay missing."
            + (f" The {len(shown)} of largest error." if len(shown) < len(done.names) else ""),
        )
    report.heading("What takes the bytes")
    report.table(
        ("Column", "bytes", "share"),
        [
            (name, f"{size:,}", f"{size / done.n_bytes:.1%}")
            for name, size in [
                (f"{len(done.names)} columns of measurements", done.value_bytes),
                *zip(done.labels, done.label_bytes, strict=True),
                ("names, and what holds it together", done.rest_bytes),
            ]
        ],
        caption="Times, ids, words and other columns that are kept letter by letter stand by name.",
    )
    if values is not None and done.names:
        tell_rounding(report, values, done.n_bytes, seconds, error)
    return report


def _scaled(values: object, drawn: list[int]) -> list[float]:
    """Lengths of bars, the largest one."""
    chosen = [float(values[j]) for j in drawn]  # type: ignore[index]
    return [value / (max(chosen) or 1.0) for value in chosen]
