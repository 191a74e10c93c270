"""Kriging: each entry of a column from the readings around it in time, by small linear systems.

`thresher.tasks.tables.kriging` has the formula. Entries whose neighbours are equally far away have
equal weights, so a small table keeps the latest solutions, and few systems are solved twice.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper, kernel

MOST = 8  # readings that predict one entry
_KEPT = 256  # places of the table


class Kernels(NamedTuple):
    """A correlation ρ for each column, as a mixture of kernels."""

    near: Any  # (F, L), ρ at the distances 0, 1, ..., L - 1
    weights: Any  # (F, kinds × ranges)
    ranges: Any
    waves: Any  # radians of a step for each kind: 0 for the first two, which are no waves


class Neighbours(NamedTuple):
    """The readings that predict an entry."""

    before: int
    after: int
    period: int  # in rows; 0 if there is none
    periods: int  # how many of them away a reading is looked for
    ahead: bool  # whether also in later ones


@helper
def _correlation(h, column, kernels):  # type: ignore[no-untyped-def]
    """ρ of one column at one distance."""
    h = abs(h)
    place = int(h) if h < kernels.near.shape[1] else -1
    if place == h:
        return kernels.near[column, place]
    weights, n_ranges = kernels.weights[column], kernels.ranges.size
    total = 0.0
    for number in range(weights.size):
        if weights[number] > 0:
            kind = number // n_ranges
            x = h / kernels.ranges[number - kind * n_ranges]
            fade = weights[number] * np.exp(-x)
            if kind == 1:
                fade *= 1 + x
            elif kind > 1:
                fade *= np.cos(kernels.waves[kind] * h)
            total += fade
    return total


@helper
def _solve(d, m, column, kernels, jitter, R, r, w):  # type: ignore[no-untyped-def]
    """Weights of m readings at the distances d, and the share of the variance that is left."""
    for a in range(m):
        r[a] = _correlation(d[a], column, kernels)
        for b in range(a):
            value = _correlation(d[a] - d[b], column, kernels)
            for c in range(b):
                value -= R[a, c] * R[b, c]
            R[a, b] = value / R[b, b]
        value = 1.0 + jitter
        for c in range(a):
            value -= R[a, c] * R[a, c]
        R[a, a] = np.sqrt(max(value, jitter))
    for a in range(m):
        value = r[a]
        for c in range(a):
            value -= R[a, c] * w[c]
        w[a] = value / R[a, a]
    left = 1.0
    for a in range(m):
        left -= w[a] * w[a]
    for a in range(m - 1, -1, -1):
        value = w[a]
        for c in range(a + 1, m):
            value -= R[c, a] * w[c]
        w[a] = value / R[a, a]
    return min(max(left, jitter), 1.0)


@helper
def _readings(t, good, read, p, around, places):  # type: ignore[no-untyped-def]
    """The rows that predict row t; p of those that were read are before it."""
    m = 0
    for k in range(min(around.before, p)):
        places[m] = read[p - 1 - k]
        m += 1
    start = p + 1 if p < read.size and read[p] == t else p
    for k in range(min(around.after, read.size - start)):
        places[m] = read[start + k]
        m += 1
    if around.period == 0:
        return m
    n_near = m
    for side in range(2 if around.ahead else 1):
        stride = around.period if side else -around.period
        for count in range(1, around.periods + 1):
            place = t + count * stride
            if place < 0 or place >= good.size:
                break
            if good[place]:
                new = True
                for k in range(n_near):
                    new = new and places[k] != place
                if new:
                    places[m] = place
                    m += 1
                break
    return m


@helper
def _nearest(t, read, p, around, times):  # type: ignore[no-untyped-def]
    """How far the nearest of the readings that may predict row t is; p of them are before it."""
    nearest = times[t] - times[read[p - 1]] if p > 0 else np.inf
    if around.ahead:
        start = p + 1 if p < read.size and read[p] == t else p
        if start < read.size:
            nearest = min(nearest, times[read[start]] - times[t])
    return nearest


@helper
def _distances(t, places, m, times, d):  # type: ignore[no-untyped-def]
    """Write how far m readings are from row t, and return where their weights are kept."""
    place = m
    for k in range(m):
        d[k] = times[places[k]] - times[t]
        place = 7 * place + places[k] - t
    return place & (_KEPT - 1)


@helper
def _regular(times):  # type: ignore[no-untyped-def]
    """Whether all rows are one step apart."""
    different = 0
    for t in range(1, times.size):
        different += times[t] - times[t - 1] != 1.0
    return different == 0


@helper
def _complete(good, around, offsets, complete):  # type: ignore[no-untyped-def]
    """Flag the rows whose neighbours were all observed, and return how many neighbours predict one.

    These have the same offsets: those next to it, and, with a period, one of each side.
    """
    m = 0
    for k in range(around.before):
        offsets[m] = -1 - k
        m += 1
    for k in range(around.after):
        offsets[m] = 1 + k
        m += 1
    if around.period > max(around.before, around.after):
        offsets[m] = -around.period
        m += 1
        if around.ahead:
            offsets[m] = around.period
            m += 1
    first, last = 0, good.size
    for k in range(m):
        first, last = max(first, -offsets[k]), min(last, good.size - offsets[k])
    # A period may be among the rows next to it: seldom, and not worth a rule.
    if first < last and (around.period == 0 or m > around.before + around.after):
        complete[first:last] = True
        for k in range(m):
            marks, there = complete[first:last], good[first + offsets[k] : last + offsets[k]]
            for i in range(marks.size):
                marks[i] &= there[i]
    return m


@kernel
def krige(U, trusted, times, kernels, around, first, jitter, mean, left, reach):  # type: ignore[no-untyped-def]
    """Write mean, share of variance left, and distance to the nearest reading, from row first on.

    An entry never predicts itself. Where it has no neighbours, they are 0, 1 and infinite.
    """
    n = len(times)
    places, counts = np.empty(MOST, np.int64), np.empty(_KEPT, np.int64)
    d, r, R = np.empty(MOST), np.empty(MOST), np.empty((MOST, MOST))
    away, weights, shares = np.empty((_KEPT, MOST)), np.empty((_KEPT, MOST)), np.empty(_KEPT)
    complete, offsets, complete_weights = (
        np.zeros(n, np.bool_),
        np.empty(MOST, np.int64),
        np.empty(MOST),
    )
    complete_share, regular = 1.0, _regular(times)
    for j in range(U.shape[1]):
        u, good = U[:, j].copy(), trusted[:, j].copy()
        read = np.flatnonzero(good)
        correlated = kernels.weights[j].max() > 0
        p = np.searchsorted(read, first)
        counts[:] = -1
        complete[:] = False
        if regular and correlated:
            m = _complete(good, around, offsets, complete)
            for k in range(m):
                d[k] = offsets[k]
            complete_share = _solve(d, m, j, kernels, jitter, R, r, complete_weights)
        for t in range(first, n):
            if complete[t]:
                value = 0.0
                for k in range(m):
                    value += complete_weights[k] * u[t + offsets[k]]
                mean[t, j], left[t, j], reach[t, j] = value, complete_share, 1.0
                continue
            while p < read.size and read[p] < t:
                p += 1
            reach[t, j] = _nearest(t, read, p, around, times)
            mean[t, j], left[t, j] = 0.0, 1.0
            if not correlated or read.size == 0:
                continue
            n_told = _readings(t, good, read, p, around, places)
            place = _distances(t, places, n_told, times, d)
            same, w = n_told == counts[place], weights[place]
            for k in range(n_told):
                same = same and d[k] == away[place, k]
            if not same:
                shares[place] = _solve(d, n_told, j, kernels, jitter, R, r, w)
                counts[place] = n_told
                away[place] = d
            value = 0.0
            for k in range(n_told):
                value += w[k] * u[places[k]]
            mean[t, j], left[t, j] = value, shares[place]
