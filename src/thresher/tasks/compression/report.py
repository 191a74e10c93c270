"""What came of a compressed file: sizes, and the error of every column by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array

_FAR = 10.0  # times the error that was asked; by judgement


@dataclass(frozen=True)
class Errors:
    """Of decoded values, as they will be written: over all, and for each column by itself.

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
    def of(cls, written: Array, Y: Array) -> Errors:
        """Compare values with those that were compressed; NaN where missing."""
        E = np.nan_to_num(written - Y)
        observed = np.maximum(np.count_nonzero(~np.isnan(Y), axis=0), 1)
        squares, errors = np.nansum(Y**2, axis=0), np.square(E).sum(axis=0)
        return cls(
            relative=float(np.sqrt(errors.sum() / max(squares.sum(), np.finfo(float).tiny))),
            own=np.sqrt(np.divide(errors, squares, np.where(errors, np.inf, 0), where=squares > 0)),
            rms=np.sqrt(errors / observed),
            largest=np.abs(E).max(axis=0, initial=0.0),
        )

    def check_columns(self, names: list[str], asked: float) -> None:
        """Refuse a column whose own error is ten times what was asked, or as large as itself.

        The error bound is for all columns together. Beside far larger ones a column may be lost
        altogether, and nobody would notice.
        """
        asked = max(asked, self.relative)
        if not len(self.own):
            return
        worst = int(np.argmax(self.own))
        own = self.own[worst]
        if own > min(_FAR * asked, 1.0):
            raise ValueError(
                f"Column {names[worst]!r} would come back with an error of {self.rms[worst]:.3g}, "
                f"which is {own:.1%} of its own size, where {asked:.1%} was asked. The error is "
                "relative to the size of all columns together, and others are larger. Ask for a "
                f"share of each column by itself, error='{100 * asked:g}%', or name an error for "
                "this one."
            )


@dataclass(frozen=True)
class CompressionReport:
    """Sizes and errors, as measured on the decoded file.

    Attributes
    ----------
    n_bytes, source_bytes, raw_bytes : int
        Of the file, of the table that was read, and of the values as 32-bit numbers.
    memory : int
        Bytes of memory that it takes to read the file.
    paper_ratio : int or None
        The paper's ⌊N/η₀⌋, which counts neither positions nor dictionaries.
    errors : Errors
        Over all measurements, and for each column.
    names, labels : list of str
        Columns of measurements, and those that are kept letter by letter.
    label_bytes : list of int
        What each of those takes.
    value_bytes : int
        What the measurements take.
    kind : str
        Of the table that was read, CSV or Parquet.
    values : array of shape (n, N)
        The measurements that were compressed.
    missing : array of shape (N)
        For each column of measurements, the share of missing values.
    packets : dict
        How many of each kind.
    """

    n_bytes: int
    source_bytes: int
    raw_bytes: int
    memory: int
    paper_ratio: int | None
    errors: Errors
    names: list[str]
    labels: list[str]
    missing: Array
    packets: dict[str, int]
    label_bytes: list[int]
    value_bytes: int
    kind: str
    values: Array

    columns = ("Sensor", "missing", "of its own size", "root mean square", "largest")
    """Of a table of the errors."""

    @property
    def rest_bytes(self) -> int:
        """Of names, and what holds the file together."""
        return self.n_bytes - self.value_bytes - sum(self.label_bytes)

    def worst(self, most: int) -> list[int]:
        """The numbers of so many columns, those with the largest relative error, in order."""
        return np.sort(np.argsort(-self.errors.own, kind="stable")[:most]).tolist()

    def row(self, number: int) -> list[str]:
        """The row of a column of measurements in a table of the errors."""
        errors = self.errors
        return [
            self.names[number],
            f"{self.missing[number]:.1%}",
            f"{errors.own[number]:.3%}",
            f"{errors.rms[number]:.3g}",
            f"{errors.largest[number]:.3g}",
        ]
