"""A table of sensors in; gaps filled, glitches mended, and how sure that is, out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from thresher.engine import ProgressBar
from thresher.estimators.parameters import SEED, SHARE, KeepsParameters, is_number
from thresher.estimators.reports import write_report
from thresher.estimators.results import comes_in_parts, source_of
from thresher.estimators.saving import packed_parameters, unpacked_model
from thresher.persistence import Contents
from thresher.streams import Source
from thresher.streams import open as open_source
from thresher.tasks.tables.causal import Follower
from thresher.tasks.tables.containers import SensorColumns, places_of
from thresher.tasks.tables.hindsight import STEPS, cleaned
from thresher.tasks.tables.looking import Found, Promises
from thresher.tasks.tables.saved import packed_follower, unpacked_follower

_NAMED = 5  # columns that a warning names


class Cleaned(NamedTuple):
    """A table without gaps and glitches."""

    table: Any
    """Of the kind that came in: filled, mended, all else as it was."""
    flags: Any
    """Which readings were glitches, and were replaced."""
    scores: Any
    """How unlikely each reading is: -log10 of how often a sound one is as far off; NaN in gaps."""
    lower: Any
    """Lower ends of the intervals of what was filled or replaced; NaN elsewhere."""
    upper: Any
    """Upper ends."""


class TableCleaner(KeepsParameters, BaseEstimator):
    """Fill the gaps of a table of sensors, and mend its glitches.

    Each entry is compared with what is known of it without itself: its own column around it in
    time, and the other columns of its row. How much each of them counts is learned from readings
    that are hidden, by column and by how long a gap is (`model`, `blending`). Columns may have
    different units; negative values are fine. Rows need not be evenly spaced: the times are those
    of an index or a column of times.

    Parameters
    ----------
    time : str or int, optional
        The column of times. By default an index or a column of dates and times, which may be
        text, or columns of the year, the month and so on; without any, rows are evenly spaced.
    bounds : (low, high), or a mapping of columns to such pairs, optional
        What is possible: readings outside are glitches, and nothing is filled in outside. By
        default what is filled in stays within limits that the column's readings have met again and
        again, such as zero or a hundred per cent (`limits`); elsewhere it may go beyond them all.
    no_reading : number or list of numbers, optional
        What a table has where nothing was measured, such as -999: gaps, like NaN.
    causal : bool
        Whether each row is cleaned without a look at later ones, as on a live stream.
    false_alarm_rate : float
        The share of sound readings that may be taken for glitches. It is less where glitches stand
        apart: the limit is in between. Where they are many, it may be more: about one in twenty of
        what is flagged, one in ten if ``causal``.
    coverage : float
        The share of intervals that should contain the truth.
    random_state : int, RandomState or None
        Chooses readings to hide.
    verbose : int
        0 is silent; otherwise a bar shows up once a table takes longer than two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import TableCleaner
    >>> table = np.sin(np.arange(500)[:, None] / 20 + np.arange(4))
    >>> table += 0.05 * np.random.default_rng(0).normal(size=table.shape)
    >>> table[100, 2], table[200:230, 1] = 3.0, np.nan
    >>> found = TableCleaner(random_state=0).clean(table)
    >>> bool(found.flags[100, 2]), bool(np.isnan(found.table).any())
    (True, False)
    """

    _follower: Follower
    _may_change = KeepsParameters._may_change | {"coverage"}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "causal": ["boolean"],
        "false_alarm_rate": [SHARE],
        "coverage": [SHARE],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        time: Any = None,
        bounds: Any = None,
        no_reading: Any = None,
        causal: bool = False,
        false_alarm_rate: float = 0.001,
        coverage: float = 0.9,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.time = time
        self.bounds = bounds
        self.no_reading = no_reading
        self.causal = causal
        self.false_alarm_rate = false_alarm_rate
        self.coverage = coverage
        self.random_state = random_state
        self.verbose = verbose

    def clean(self, table: Any) -> Any:
        """Fill gaps and mend glitches.

        Parameters
        ----------
        table : frame of pandas, polars or Arrow, array, path, or source
            A row for each time, a column for each sensor; null and NaN are gaps. Columns of words,
            truth values, times and ids are carried through. If there is a row for each time and
            station, each station counts as sensors of its own (`times`).

        Returns
        -------
        Cleaned
            Named tuple of ``table, flags, scores, lower, upper``. If ``causal``, and the table is a
            source or an iterable, one for each batch.
        """
        self._check_parameters()
        given = open_source(table) if isinstance(table, str | Path) else table
        if comes_in_parts(given):
            source = source_of(given)
            if self.causal:
                return self._followed(source)
            given = source.load()
        return self.clean_columns(self._columns(given))

    def clean_columns(self, columns: SensorColumns) -> Cleaned:
        """Clean a table whose times and measured columns are known; see `clean`."""
        self._check_parameters()
        if self.causal:
            _check_one_row_each(columns)
            self._follower = Follower.new(len(columns.names))
            return self._follow(columns)
        promises = self._promises(columns)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        with ProgressBar("TableCleaner: steps", STEPS, self.verbose > 0) as bar:
            found = cleaned(columns.X, columns.times, promises, rng, bar.update)
        return _told(columns, found)

    def follow(self, table: Any) -> Cleaned:
        """Clean the next rows of a live stream, given all that came before.

        It needs ``causal=True``. Results do not depend on how a stream is cut into batches, and
        `thresher.save` keeps all that is needed to go on.
        """
        self._check_parameters()
        if not self.causal:
            raise ValueError("follow cleans without a look ahead; set causal=True.")
        columns = self._columns(table, whole=False)
        if not hasattr(self, "_follower"):
            self._follower = Follower.new(len(columns.names))
            self._began_as = self._identity()
        self._check_goes_on()
        if len(columns.names) != self._follower.X.shape[1]:
            raise ValueError(
                f"These rows have {len(columns.names)} columns of numbers, those before them "
                f"{self._follower.X.shape[1]}; give the same columns each time."
            )
        return self._follow(columns)

    def report(self, path: str | Path, table: Any) -> Path:
        """Clean a table in memory, and write a page that shows what was replaced, and why."""
        from thresher.tasks.tables.file import CleanedFile
        from thresher.tasks.tables.report import table_report

        columns = self._columns(table)
        done = CleanedFile.of_table(columns, self.clean_columns(columns), self.time)
        return write_report(self, table_report(done, "A table"), path, "clean(table)")

    # ------------------------------------------------------------------- details

    def _columns(self, table: Any, whole: bool = True) -> SensorColumns:
        return SensorColumns.of(table, self.time, whole).without(self.no_reading)

    def _followed(self, source: Source) -> Iterator[Cleaned]:
        self._follower = Follower.new(0)
        for batch in source:
            columns = self._columns(batch, whole=False)
            if not self._follower.n_rows:
                self._follower = Follower.new(len(columns.names))
            yield self._follow(columns)

    def _follow(self, columns: SensorColumns) -> Cleaned:
        seconds = columns.seconds
        if seconds is None:
            seconds = self._follower.n_rows + np.arange(float(len(columns.X)))
        self._began_as = self._identity()
        found = self._follower.follow(columns.X, seconds, self._promises(columns))
        return _told(columns, found)

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "_follower"):
            raise NotFittedError(
                "This cleaner has not followed a stream; there is nothing to save. (With hindsight "
                "every table is learned from anew.)"
            )
        arrays = packed_follower(self._follower)
        document = {"n_rows": self._follower.n_rows, "n_learned": self._follower.n_learned}
        return arrays, {"parameters": packed_parameters(self, arrays), **document}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        cleaner: Self = unpacked_model(contents)
        follower = unpacked_follower(contents)
        if follower.n_learned:
            follower.relearn(cleaner._bounded(list(range(follower.X.shape[1]))))
        cleaner._follower, cleaner._began_as = follower, cleaner._identity()
        return cleaner

    def _check_parameters(self) -> None:
        self._validate_params()
        given = self.no_reading
        readings = list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
        if given is not None and not (readings and all(map(is_number, readings))):
            raise ValueError(f"no_reading={given!r} must be a finite number, or a list of some.")
        if isinstance(self.bounds, Mapping):
            for name, pair in self.bounds.items():
                _checked_pair(pair, f"bounds of {name!r}")
        elif self.bounds is not None:
            _checked_pair(self.bounds, "bounds")

    def _promises(self, columns: SensorColumns) -> Promises:
        """Of each column of X; stations have the bounds of their sensors."""
        promises, n_groups = self._bounded(columns.names), len(columns.groups)
        return promises._replace(
            low=np.tile(promises.low, n_groups), high=np.tile(promises.high, n_groups)
        )

    def _bounded(self, names: list[Any]) -> Promises:
        low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        if isinstance(self.bounds, Mapping):
            for name, pair in self.bounds.items():
                places = places_of(name, names)
                if not places:
                    raise ValueError(f"bounds= has {name!r}, which is no column of numbers.")
                low[places], high[places] = pair
        elif self.bounds is not None:
            low[:], high[:] = self.bounds
        return Promises(self.false_alarm_rate, self.coverage, low, high)


def _checked_pair(pair: Any, name: str) -> None:
    try:
        low, high = (float(bound) for bound in pair)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not low < high:
        raise ValueError(f"{name}={pair!r} must be two numbers, the lower first.")


def _told(columns: SensorColumns, found: Found) -> Cleaned:
    """As tables of the kind that came in; what stays empty is named."""
    _warn(columns, found.unknown)
    replaced = found.flags | np.isnan(columns.X)
    return Cleaned(
        columns.with_values(found.values, replaced),
        *(columns.frame(part) for part in (found.flags, found.scores, found.lower, found.upper)),
    )


def _check_one_row_each(columns: SensorColumns) -> None:
    if len(columns.groups) > 1:
        raise ValueError(
            f"Each time has several rows, one for each {columns.group_name!r}. Without a look "
            "ahead, give a row for each time, with a column for each sensor of each of them, such "
            "as by the method pivot of a data frame; or clean the whole table with causal=False."
        )


def _warn(columns: SensorColumns, unknown: NDArray[Any]) -> None:
    unknown = columns.back(unknown)
    of = np.flatnonzero(unknown.any(0))
    if not len(of):
        return
    told = [
        f"{columns.names[j]!r} ({'all' if unknown[:, j].all() else unknown[:, j].sum()} rows)"
        for j in of[:_NAMED]
    ]
    more = f" and {len(of) - _NAMED} more" if len(of) > _NAMED else ""
    warnings.warn(
        f"Nothing is known of some stretches, which stay empty: {', '.join(told)}{more}.",
        UserWarning,
        stacklevel=5,
    )
