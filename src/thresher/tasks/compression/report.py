"""Sizes and errors of compressed values, and the report about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher import __version__
from thresher.report import Report
from thresher.tasks.compression.wire import Array

_FAR = 10.0
"""Times the error that was asked: then a column is refused. Heuristic: at an error of 1 %, a column
may lose a tenth of its size, a twentieth at half and a fifth at double."""
_MAX_ROWS = 200  # of the table of columns in a report: about four screens


@dataclass(frozen=True)
class Errors:
    """Errors of decoded values: over all, and for each column by itself.

    Attributes
    ----------
    relative : float
        The root of the squared error over the squares, of all values.
    own : array of shape (N)
        The same for each column alone.
    rms, largest : array of shape (N)
        For each column the root mean square and the largest error in the units of the data.
    """

    relative: float
    own: Array
    rms: Array
    largest: Array

    @classmethod
    def of(cls, decoded: Array, Y: Array) -> Errors:
        """Compare values with those that were compressed; NaN where missing."""
        E = np.nan_to_num(decoded - Y)
        observed = np.maximum(np.count_nonzero(~np.isnan(Y), axis=0), 1)
        squares, errors = np.nansum(Y**2, axis=0), np.square(E).sum(axis=0)
        return cls(
            relative=float(np.sqrt(errors.sum() / max(squares.sum(), np.finfo(float).tiny))),
            own=np.sqrt(np.divide(errors, squares, np.where(errors, np.inf, 0), where=squares > 0)),
            rms=np.sqrt(errors / observed),
            largest=np.abs(E).max(axis=0, initial=0.0),
        )

    def check_columns(self, names: list[str], error: float) -> None:
        """Refuse a column whose own error is ten times the bound of all, or as large as itself.

        The bound is for all columns together: far smaller ones than the others could be lost.
        """
        asked = max(error, self.relative)
        worst = int(np.argmax(self.own)) if len(self.own) else -1
        if worst >= 0 and self.own[worst] > min(_FAR * asked, 1.0):
            raise ValueError(
                f"Column {names[worst]!r} would have an error of {self.own[worst]:.1%} of its own "
                f"size, where {asked:.1%} of all columns together was asked: others are larger. "
                f"Set a share of each column, error='{100 * asked:g}%', or an error for this one."
            )


@dataclass(frozen=True)
class CompressionReport:
    """Sizes and errors, as measured on the decoded values.

    Attributes
    ----------
    n_bytes, source_bytes : int
        Of the result, and of the file or array that was compressed.
    memory : int
        Bytes of memory that it takes to read the result.
    errors : Errors
        Over all measurements, and for each column.
    names : list of str
        Columns of measurements.
    kept : dict
        Bytes of each column that is kept as it is.
    value_bytes : int
        What the measurements take.
    values : array of shape (n, N)
        The measurements that were compressed.
    source : str
        The name of the file, or empty.
    """

    n_bytes: int
    source_bytes: int
    memory: int
    errors: Errors
    names: list[str]
    value_bytes: int
    values: Array
    kept: dict[str, int] = field(default_factory=dict)
    source: str = ""

    columns = ("Sensor", "missing", "relative error", "root mean square error", "largest error")
    """Of the table of errors."""

    @property
    def raw_bytes(self) -> int:
        """Of the values as 32-bit numbers."""
        return 4 * self.values.size

    def rows(self, most: int) -> list[list[str]]:
        """Return the rows of the table of errors, those of largest relative error."""
        errors, missing = self.errors, np.isnan(self.values).mean(axis=0)
        worst = np.sort(np.argsort(-errors.own, kind="stable")[:most])
        return [
            [self.names[j], f"{missing[j]:.1%}", f"{errors.own[j]:.3%}", f"{errors.rms[j]:.3g}",
             f"{errors.largest[j]:.3g}"]
            for j in worst
        ]  # fmt: skip

    def page(self) -> Report:
        """Return the report with sizes, errors of the columns, and what takes the bytes."""
        error = self.errors.relative
        ratio = self.source_bytes / self.n_bytes
        report = Report(
            f"{self.source or f'{len(self.names):,} sensors'}, {ratio:.1f} times smaller",
            f"{self.n_bytes:,} bytes instead of {self.source_bytes:,}. The result was decoded "
            f"again to measure its relative error: {error:.3%}.",
            f"Thresher {__version__} · compression",
        )
        report.facts(
            [
                (f"{self.n_bytes:,}", "bytes"),
                (f"{ratio:.1f} ×", "smaller than the source"),
                (f"{self.raw_bytes / self.n_bytes:.1f} ×", "smaller than 32-bit numbers"),
                (f"{error:.2%}", "relative error of all values"),
            ]
        )
        if self.names:
            rows = self.rows(_MAX_ROWS)
            caption = "Errors are in the unit of each sensor; missing values stay missing."
            if len(rows) < len(self.names):
                caption += f" The {len(rows)} of largest relative error."
            report.heading("Errors of the sensors")
            report.table(self.columns, rows, caption=caption)
        sizes: list[tuple[Any, int]] = [(f"{len(self.names)} sensors", self.value_bytes)]
        sizes += [*self.kept.items()]
        sizes.append(("head", self.n_bytes - sum(size for _, size in sizes)))
        report.heading("Bytes")
        report.table(
            ("Column", "bytes", "share"),
            [(name, f"{size:,}", f"{size / self.n_bytes:.1%}") for name, size in sizes],
            caption="Columns that are kept as they are, such as times and text, have their names.",
        )
        return report
