"""Each entry of a column from the readings around it in time: simple kriging.

With the correlation ρ of the column, the best linear guess from neighbours at distances d_a is

    û = Σ_a w_a u(d_a),   where  Σ_b R_ab w_b = ρ(d_a)  and  R_ab = ρ(d_a − d_b),  R_aa = 1,

with the variance 1 − Σ_a w_a ρ(d_a), in parts of the column's. Entries with neighbours at the same
distances share their weights, so that few small systems are solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.correlation import Correlation
from thresher.tasks.tables.factors import Told

_SIDE = 2  # neighbours on each side
_PERIODS = 3  # how many periods away a reading is looked for
_NONE = np.inf
_JITTER = 1e-6
# Odd numbers that make one key of several codes; sums wrap, and two keys are hardly ever the same.
_MIXED = np.random.default_rng(0).integers(1 << 61, 1 << 62, 8) | 1


def kriged(
    U: NDArray[Any],
    trusted: NDArray[Any],
    times: NDArray[Any],
    correlation: Correlation,
    causal: bool = False,
) -> Told:
    """Every entry from other trusted readings of its column; from earlier ones only if causal."""
    mean, variance = np.zeros(U.shape), np.ones(U.shape)
    for j in range(U.shape[1]):
        read = np.flatnonzero(trusted[:, j])
        if not len(read) or not correlation.weights[j].any():
            continue
        places = _neighbours(read, len(U), causal)
        if correlation.period:
            found = _a_period_away(trusted[:, j], round(correlation.period), places, causal)
            places = np.hstack([places, found])
        there = places >= 0
        distances = np.where(there, times[places] - times[:, None], _NONE)
        weights, shares, geometry = _weights(distances, correlation, j)
        values = np.where(there, U[places, j], 0.0)
        mean[:, j] = np.einsum("ta,ta->t", weights[geometry], values)
        variance[:, j] = shares[geometry]
    return Told(mean, variance)


def _neighbours(read: NDArray[Any], n: int, causal: bool) -> NDArray[Any]:
    """For each row, the nearest rows that were read, itself left out; -1 where there is none."""
    rows = np.arange(n)
    after = np.searchsorted(read, rows)
    itself = read[np.minimum(after, len(read) - 1)] == rows
    columns = []
    for k in range(2 * _SIDE if causal else _SIDE):
        before = after - 1 - k
        columns.append(np.where(before >= 0, read[np.maximum(before, 0)], -1))
    for k in range(0 if causal else _SIDE):
        behind = after + itself + k
        inside = behind < len(read)
        columns.append(np.where(inside, read[np.minimum(behind, len(read) - 1)], -1))
    return np.stack(columns, axis=1)


def _a_period_away(
    trusted: NDArray[Any], period: int, places: NDArray[Any], causal: bool
) -> NDArray[Any]:
    """The reading one period (or two, or three) before and after, unless it is near anyway."""
    n = len(trusted)
    rows = np.arange(n)
    columns = []
    for side in (-1,) if causal else (-1, 1):
        found = np.full(n, -1)
        for count in range(_PERIODS, 0, -1):
            there = rows + side * count * period
            inside = (there >= 0) & (there < n)
            good = inside & trusted[np.clip(there, 0, n - 1)]
            found = np.where(good, there, found)
        columns.append(np.where((places == found[:, None]).any(1), -1, found))
    return np.stack(columns, axis=1)


def _weights(
    distances: NDArray[Any], correlation: Correlation, column: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Weights and variance for each geometry, and which entry has which geometry.

    Distances are told apart to a fiftieth; the regular ones near by are exact.
    """
    far = np.isinf(distances)
    codes = np.sign(distances) * np.round(32 * np.log2(1 + np.abs(np.where(far, 0, distances))))
    codes = np.where(far, 1023, codes).astype(np.int64) + 1024
    keys = codes @ _MIXED[: codes.shape[1]]
    _, first, geometry = np.unique(keys, return_index=True, return_inverse=True)
    weights, shares = solved(distances[first], correlation, column)
    return weights, shares, geometry.ravel()


def solved(
    distances: NDArray[Any], correlation: Correlation, column: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights and variance of geometries, in rows; an infinite distance is no neighbour."""
    none = np.isinf(distances)
    d = np.where(none, 0.0, distances)
    R = correlation.of_column(column, d[:, :, None] - d[:, None, :])
    R[none[:, :, None] | none[:, None, :]] = 0.0
    m = d.shape[1]
    R[:, range(m), range(m)] = 1.0 + _JITTER
    r = np.where(none, 0.0, correlation.of_column(column, d))
    weights = np.linalg.solve(R, r[:, :, None])[:, :, 0]
    return weights, np.clip(1 - (weights * r).sum(1), _JITTER, 1.0)
