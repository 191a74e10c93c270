"""What is known of a table: its columns' units, what they share, and how each moves in time.

Three guesses of every entry, none of which sees the entry itself:

- *alone*: from the readings of its column around it in time (kriging);
- *joint*: from the other columns of its row (factors), corrected by what they left unexplained
  of the readings around it: ``z ≈ Λ f + û``, where u is what factors leave;
- *moved*: alone, corrected by how the other columns of its row were off their own lines:
  ``z ≈ ẑ + Λ' f'``, factors of what time leaves.

Which of them is how good depends on the column and on how long a gap is; `blending` finds out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.correlation import Correlation, found_period
from thresher.tasks.tables.factors import Factors
from thresher.tasks.tables.kriging import kriged

_MOST_FACTORS = 20  # more did no better on humidity and speeds, and cost more
_ROWS_PER_FACTOR = 10


class Guesses(NamedTuple):
    """Of every entry, in standardised columns, without a look at itself."""

    candidates: NDArray[Any]  # 3 × n × F: joint, moved, alone
    beside: NDArray[Any]  # variance of what the row alone says of it
    around: NDArray[Any]  # variance of what its column says, in parts of the whole
    left: NDArray[Any]  # what the row leaves of it, u; NaN where it is not trusted


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

        What was learned ``before`` from much the same table makes it quicker.
        """
        centre, scale = units(X, trusted)
        Z = np.where(trusted, (X - centre) / scale, 0.0)
        steps = np.diff(times)
        regular = len(steps) > 0 and bool(np.all(np.abs(steps - 1) < 0.01))
        period = found_period(Z, trusted) if regular else 0
        K = min(_MOST_FACTORS, Z.shape[1] // 2, len(Z) // _ROWS_PER_FACTOR)
        alone = Correlation.learned(Z, trusted, times, period)
        ahead = kriged(Z, trusted, times, alone, causal).mean
        if K < 1:
            return cls(centre, scale, None, alone, alone, None, np.ones(Z.shape[1]))
        levels = Factors.learned(Z, trusted, K, before.levels if before else None)
        row = levels.without_itself(Z, trusted)
        left = Z - row.mean
        levels_left = Correlation.learned(left, trusted, times, period)
        moves = Factors.learned(Z - ahead, trusted, K, before.moves if before else None)
        whole = np.quantile(row.variance, 0.1, axis=0)
        return cls(centre, scale, levels, levels_left, alone, moves, whole)

    def guesses(
        self, Z: NDArray[Any], trusted: NDArray[Any], times: NDArray[Any], causal: bool = False
    ) -> Guesses:
        """The three guesses of every entry of a standardised table."""
        Z = np.where(trusted, Z, 0.0)
        alone, around = kriged(Z, trusted, times, self.alone, causal)
        if self.levels is None or self.moves is None:
            left = np.where(trusted, Z, np.nan)
            return Guesses(np.stack([alone] * 3), np.ones(Z.shape), around, left)
        row = self.levels.without_itself(Z, trusted)
        left = Z - row.mean
        joint = row.mean + kriged(left, trusted, times, self.levels_left, causal).mean
        moved = alone + self.moves.without_itself(Z - alone, trusted).mean
        left = np.where(trusted, left, np.nan)
        return Guesses(np.stack([joint, moved, alone]), row.variance, around, left)


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
    return centre, scale
