"""What is known of a table: its columns' units, what they share, and how each moves in time.

Five guesses of every entry, none of which sees the entry itself:

- *alone*: from the readings of its column around it in time (kriging);
- *joint*: from the other columns of its row (factors), corrected by what they left unexplained
  of the readings around it: ``z ≈ Λ f + û``, where u is what factors leave;
- *moved*: alone, corrected by how the other columns of its row were off their own lines:
  ``z ≈ ẑ + Λ' f'``, factors of what time leaves;
- *voted*: from the other columns of its row, by many small regressions (`committee`). In a long
  gap factors meet what they never saw, and this errs less far;
- *line*: a straight line between the readings before and after it; live, the last reading. It
  knows nothing, so that it is never wrong about what it knows.

Which of them is how good depends on the column and on how long a gap is; `blending` finds out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.committee import Committee
from thresher.tasks.tables.correlation import Correlation, found_period
from thresher.tasks.tables.factors import Factors
from thresher.tasks.tables.kriging import kriged
from thresher.tasks.tables.ratios import ratio

_MOST_FACTORS = 20  # more did no better on humidity and speeds, and cost more
_MOST_MOVES = 10
_ROWS_PER_FACTOR = 10


class Guesses(NamedTuple):
    """Of every entry, in standardised columns, without a look at itself."""

    candidates: NDArray[Any]  # M × n × F: joint, moved, alone, voted, line
    beside: NDArray[Any]  # variance of what the row alone says of it
    around: NDArray[Any]  # variance of what its column says, in parts of the whole
    reach: NDArray[Any]  # steps to the nearest reading of its column
    left: NDArray[Any]  # what the row leaves of it, u, and of all rows before; 0 if not trusted


@dataclass(frozen=True)
class Model:
    """Learned from trusted readings; see above."""

    centre: NDArray[Any]
    scale: NDArray[Any]
    levels: Factors | None
    levels_left: Correlation
    alone: Correlation
    moves: Factors | None
    whole_row: NDArray[Any]  # variance of an entry of each column if its row has hardly a gap
    committee: Committee | None = None  # if gaps are to be filled

    @classmethod
    def learned(
        cls,
        X: NDArray[Any],
        trusted: NDArray[Any],
        times: NDArray[Any],
        causal: bool = False,
        before: Model | None = None,
    ) -> Model:
        """From a table, its trusted entries, and the times of its rows in steps.

        If all was learned ``before`` from the same table, only what columns share is learned anew,
        and a committee besides.
        """
        if before is not None:
            return before._again(X, trusted)
        centre, scale = units(X, trusted)
        Z = np.where(trusted, ratio(X - centre, scale), 0.0)
        K = min(_MOST_FACTORS, Z.shape[1] // 2, len(Z) // _ROWS_PER_FACTOR)
        steps = np.diff(times)
        regular = len(steps) > 0 and bool(np.all(np.abs(steps - 1) < 0.01))
        period = found_period(Z, trusted) if regular else 0
        alone = Correlation.learned(Z, trusted, times, period)
        if K < 1:
            return cls(centre, scale, None, alone, alone, None, np.ones(Z.shape[1]))
        levels = Factors.learned(Z, trusted, K)
        row = levels.without_itself(Z, trusted)
        levels_left = Correlation.learned(Z - row.mean, trusted, times, period)
        ahead = kriged(Z, trusted, times, alone, causal).mean
        moves = Factors.learned(Z - ahead, trusted, min(K, _MOST_MOVES))
        whole = np.quantile(row.variance, 0.1, axis=0)
        return cls(centre, scale, levels, levels_left, alone, moves, whole)

    def _again(self, X: NDArray[Any], trusted: NDArray[Any]) -> Model:
        """With levels that go on from here, by what is trusted now; all else stays."""
        if self.levels is None:
            return self
        K = self.levels.loadings.shape[1]
        levels = Factors.learned(self.standardised(X), trusted, K, self.levels)
        return replace(self, levels=levels).with_committee(X, trusted)

    def with_committee(self, X: NDArray[Any], trusted: NDArray[Any]) -> Model:
        """That can also fill long gaps."""
        if self.levels is None:
            return self
        Z = np.where(trusted, self.standardised(X), 0.0)
        filled = np.where(trusted, Z, self.levels.without_itself(Z, trusted).mean)
        return replace(self, committee=Committee.learned(filled, trusted, self.committee))

    def guesses(
        self,
        Z: NDArray[Any],
        trusted: NDArray[Any],
        times: NDArray[Any],
        causal: bool = False,
        first: int = 0,
        left: NDArray[Any] | None = None,
        filling: bool = True,
    ) -> Guesses:
        """The guesses of every entry of a standardised table; the last two only to fill gaps.

        If only rows from ``first`` on are asked for, what rows ``left`` before it must be known.
        """
        Z = np.where(trusted, Z, 0.0)
        alone, around, reach = kriged(Z, trusted, times, self.alone, causal, first)
        if self.levels is None or self.moves is None:
            said = [alone] * (4 if filling else 3)
            if filling:
                said.append(straight_line(Z, trusted, times, causal, first))
            return Guesses(np.stack(said), np.ones(alone.shape), around, reach, Z)
        now, there = Z[first:], trusted[first:]
        row = self.levels.without_itself(now, there)
        left_now = np.where(there, now - row.mean, 0.0)
        left = left_now if left is None else np.vstack([left[:first], left_now])
        joint = row.mean + kriged(left, trusted, times, self.levels_left, causal, first).mean
        moved = alone + self.moves.without_itself(now - alone, there).mean
        said = [joint, moved, alone]
        if filling and self.committee is not None:
            # Committees have learned from the readings that they tell of, and seem surer of these
            # than they are; they are asked where the next reading is some steps away.
            filled = _weighed(row.mean, row.variance, alone, around)
            ours = self.committee.said(np.where(there, now, filled))
            said.append(np.where(reach > 1, ours, joint))
            said.append(straight_line(Z, trusted, times, causal, first))
        return Guesses(np.stack(said), row.variance, around, reach, left)

    def most_like(self) -> NDArray[Any]:
        """The column that shares most with each one; -1 if it is not known."""
        if self.levels is None:
            return np.full(len(self.centre), -1)
        shared = np.abs(self.levels.loadings @ self.levels.loadings.T)
        np.fill_diagonal(shared, -1.0)
        return np.asarray(np.argmax(shared, axis=1))

    def standardised(self, X: NDArray[Any]) -> NDArray[Any]:
        """In units of the columns."""
        return ratio(X - self.centre, self.scale)


def _weighed(
    a: NDArray[Any], variance_a: NDArray[Any], b: NDArray[Any], variance_b: NDArray[Any]
) -> NDArray[Any]:
    """The mean of two guesses, each counting as much as it is exact."""
    return np.asarray((a * variance_b + b * variance_a) / (variance_a + variance_b + 1e-12))


def straight_line(
    Z: NDArray[Any], trusted: NDArray[Any], times: NDArray[Any], causal: bool, first: int = 0
) -> NDArray[Any]:
    """Between the readings next to each entry, or on from the only one; 0 if there is none.

    Live, the one before it. Only entries from row ``first`` on are asked for.
    """
    n, j = len(Z), np.arange(Z.shape[1])
    rows = np.where(trusted, np.arange(n)[:, None], -1)
    before = np.full(Z.shape, -1)
    before[1:] = np.maximum.accumulate(rows, axis=0)[:-1]
    before = before[first:]
    line = np.where(before >= 0, Z[before, j], 0.0)
    if causal:
        return line
    after = np.full(Z.shape, n)
    after[:-1] = np.minimum.accumulate(np.where(trusted, rows, n)[::-1], axis=0)[::-1][1:]
    after = after[first:]
    there = after < n
    after[~there] = 0
    since, span = times[first:, None] - times[before], times[after] - times[before]
    between = np.where(span > 0, since / np.where(span > 0, span, 1.0), 0.5)
    between = np.where(before < 0, 1.0, between)
    return np.asarray(np.where(there, line + between * (Z[after, j] - line), line))


def units(X: NDArray[Any], trusted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Median and standard deviation of each column's trusted readings; 0 and 1 without any."""
    F = X.shape[1]
    centre, scale = np.zeros(F), np.ones(F)
    for j in range(F):
        read = X[trusted[:, j], j]
        if not len(read):
            continue
        centre[j] = np.median(read)
        away = read - centre[j]
        largest = np.abs(away).max() or np.nanmax(np.abs(X[:, j] - centre[j]))
        if largest > 0:  # divided first: squares of tiny or huge numbers would be lost
            share = np.sqrt(np.mean((away / largest) ** 2))
            scale[j] = largest * (share if share > 0 else 1.0)
    # What varies by less than a normal double is constant.
    return centre, np.where(scale < np.finfo(np.float64).tiny, 1.0, scale)
