"""Each entry of a column from the readings around it in time: simple kriging.

With the correlation ρ of the column, the best linear guess from neighbours at distances d_a is

    û = Σ_a w_a u(d_a),   where  Σ_b R_ab w_b = ρ(d_a)  and  R_ab = ρ(d_a − d_b),  R_aa = 1,

with the variance 1 − Σ_a w_a ρ(d_a), in parts of the column's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.kriging import Neighbours, krige
from thresher.tasks.tables.correlation import Correlation

_SIDE = 2  # neighbours on each side
_PERIODS = 3  # how many periods away a reading is looked for
_JITTER = 1e-6


class Near(NamedTuple):
    """What the readings around it say of each entry."""

    mean: NDArray[Any]
    left: NDArray[Any]  # of its variance, in parts of the column's
    reach: NDArray[Any]  # steps to the nearest reading


def kriged(
    U: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    correlation: Correlation,
    causal: bool = False,
    first: int = 0,
) -> Near:
    """Every entry from other trusted readings of its column; from earlier ones only if causal.

    Only entries from row ``first`` on are asked for; those before it may still tell of them.
    """
    period = round(correlation.period)
    sides = (2 * _SIDE, 0) if causal else (_SIDE, _SIDE)
    around = Neighbours(*sides, period, _PERIODS, not causal)
    mean, left, reach = (np.empty(U.shape) for _ in range(3))
    krige(U, trusted, times, correlation.kernels, around, first, _JITTER, mean, left, reach)
    return Near(mean[first:], left[first:], reach[first:])
