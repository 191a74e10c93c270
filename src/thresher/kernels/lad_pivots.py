"""Exact nonnegative least absolute deviations: a long-step simplex method, row by row.

For every row x, ``min over c ≥ 0 of Σ_f w_f |x_f − (cD)_f| + q·c``. The optimum is a vertex: as
many features are interpolated as there are free codes (the basis), all other codes are zero. Its
dual is θ, with ``θ_f = w_f sign(e_f)`` outside the basis and, inside, what makes the price
``z = q − Dθ`` of every free atom zero. The vertex is optimal if ``|θ_f| ≤ w_f`` in the basis and
``z ≥ 0``. Otherwise one basic feature, or one atom, is released: the objective falls along an edge,
linearly between breakpoints, and the step passes breakpoints until the objective would rise. A
weighted median finds that one, and it enters the basis.

* A negative code has a price, not a wall: ``2 (q + Σ w|d|)`` per unit, which is more than it
  could ever gain. So every basis is a legal start, and a step may pass zeros of codes as well.
* A code may also be held at any value while it is not in the basis; it is released first. So the
  codes of any other method are a legal start, and what is known of the basis is used, no more.
* The data are moved by random numbers of relative size ``NOISE``. Then there are no ties, each
  step lowers the objective, and no basis comes twice. The duality gap that this costs is at most
  twice that size; it is mostly none at all, for the last codes are those of the true data.
* Features whose residual is large keep their sign: only those near zero are watched (the nonsmooth
  ones), the rest is a linear cost of the codes. Signs are checked in the end, and what was wrong is
  watched from then on (`lad_dense`). A sparse row is the same: its zeros are a linear cost where
  D, c ≥ 0 (`lad_sparse`).

All arithmetic is float64.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper, strict_helper
from thresher.kernels.lad_basis import (
    basic_duals,
    border,
    remove,
    replace_atom,
    replace_feature,
    times_column,
)
from thresher.kernels.products import add, combine, copy
from thresher.kernels.weighted_median import weighted_select

NOISE = 1e-10  # by judgement: far above rounding, far below the tolerances that are asked for


class PricedAtoms(NamedTuple):
    """The dictionary, and what steps need to know of its atoms."""

    Dt: Any  # (F, K), transposed
    size: Any  # (K), their lengths
    peak: Any  # (K), their largest entries, or more
    penalty: Any  # (K), the price of a negative code


class Watched(NamedTuple):
    """The features whose breakpoints limit a step, in order; their number is passed separately."""

    ids: Any  # which row of Dt each is
    w: Any  # their weights
    e: Any  # residuals
    side: Any  # signs of the residuals, 1 or −1
    slot: Any  # their slots in the basis, or −1
    dy: Any  # room for the direction of the predictions
    gathered: Any  # (K), how many entries of an atom are at hand


@helper
def _random(i):  # type: ignore[no-untyped-def]
    """A number in (½, 1) that depends on i in no simple way."""
    h = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return 0.5 + np.float64((h ^ (h >> np.uint64(32))) >> np.uint64(12)) / 2.0**53


@helper
def _feature_breakpoints(e, side, slot, w, dy, least, times, gains, marks):  # type: ignore[no-untyped-def]
    """When the residuals ``e − t·dy`` change sign, and by how much the slope rises then."""
    n = np.uint64(0)
    for f in range(e.size):
        speed = side[f] * dy[f]
        times[n], gains[n], marks[n] = e[f] * side[f] / speed, 2 * w[f] * speed, f
        n += np.uint64((speed > least) & (slot[f] < 0))
    return np.int64(n)


@helper
def _advance(e, side, slot, dy, t, flips):  # type: ignore[no-untyped-def]
    """``e −= t·dy``; the features that changed their side."""
    n = np.uint64(0)
    for f in range(e.size):
        e[f] -= t * dy[f]
    for f in range(e.size):
        flips[n] = f
        n += np.uint64((e[f] * side[f] < 0) & (slot[f] < 0))
    return np.int64(n)


@helper
def perturb(x, unit, out):  # type: ignore[no-untyped-def]
    """``out = x`` and up to `NOISE` units, so that no two breakpoints coincide."""
    for f in range(x.size):
        out[f] = x[f] + NOISE * unit * _random(f)


@strict_helper
def pivots(  # type: ignore[no-untyped-def]
    atoms, watched, m, local, radius, codes, basis, n, limits, room
):
    """Edges of descent until the vertex is optimal, or a step might turn an unwatched feature.

    The first m ``watched`` count; the residual of all other features was at least ``radius`` when
    the codes were what they are at the call, and no prediction moves by more than ``Σ |dc| peak``.
    ``local`` are the atoms at the watched features, as far as they were gathered.

    The basis has n slots, whose features are given by their places among the watched ones. Returns
    how many it has then, the number of steps, and whether it was the unwatched features that
    stopped it.
    """
    Dt, size, peak, penalty = atoms
    ids, w, e, side, slot, dy, gathered = watched
    c, cost, z, held, negative = codes
    features, free, place, inverse, theta = basis
    times, gains, marks = room
    tol, max_iter = limits
    K = c.size
    dc, u, g = np.empty(K + 1), np.empty(K), np.empty(K)
    own_cost, own_size, length = np.empty(K), np.empty(K), np.empty(K)
    e, side, slot, w, dy = e[:m], side[:m], slot[:m], w[:m], dy[:m]
    anchor = np.empty(K)
    copy(c, anchor)
    none, iteration = int(np.int64(-1)), 0
    while True:
        for i in range(n):
            own_cost[i], own_size[i] = cost[free[i]], size[free[i]]
        basic_duals(inverse, n, own_cost, own_size, theta, length)
        copy(cost, z)
        for j in range(n):
            add(z, -theta[j], Dt[ids[features[j]]])
        # The steepest edge.
        best, slope, sign = 0.0, 0.0, 1.0
        leave = enter = none
        for j in range(n):
            excess = abs(theta[j]) - w[features[j]]
            if excess > tol * w[features[j]] and excess * excess > best * length[j]:
                best, slope, leave = excess * excess / length[j], excess, j
                sign = 1.0 if theta[j] > 0 else -1.0
        for k in range(K):
            if place[k] < 0:
                excess = abs(z[k]) if held[k] else -z[k]
                if excess > tol * penalty[k] and excess * excess > best * size[k] * size[k]:
                    best, slope, enter, leave = (excess / size[k]) ** 2, excess, k, -1
                    sign = 1.0 if z[k] < 0 else -1.0
        if best == 0.0:
            return n, iteration, False
        if iteration == max_iter:
            return n, iteration, False
        iteration += 1
        # The direction of codes and predictions along it.
        n_moving = n
        if leave >= 0:
            for i in range(n):
                dc[i] = -sign * inverse[leave, i]
        else:
            if gathered[enter] < m:
                for f in range(gathered[enter], m):
                    local[enter, f] = Dt[ids[f], enter]
                gathered[enter] = m
            g[:n] = 0
            for j in range(n):
                add(g[:n], Dt[ids[features[j]], enter], inverse[j, :n])
            for i in range(n):
                dc[i] = -sign * g[i]
            free[n], dc[n] = enter, sign
            n_moving = n + 1
        combine(dc, free, n_moving, local, dy)
        largest = 0.0
        for f in range(m):
            largest = max(largest, abs(dy[f]))
        # The breakpoint that stops the descent.
        n_breakpoints = _feature_breakpoints(
            e, side, slot, w, dy, 1e-11 * largest, times, gains, marks
        )
        for i in range(n_moving):
            k = free[i]
            if (dc[i] > 0) == negative[k] and abs(dc[i]) * size[k] > 1e-11 * largest:
                times[n_breakpoints], gains[n_breakpoints] = -c[k] / dc[i], penalty[k] * abs(dc[i])
                marks[n_breakpoints] = -1 - i
                n_breakpoints += 1
        total = 0.0
        for i in range(n_breakpoints):
            total += gains[i]
        if not total >= slope:  # if all is watched: rounding, for no objective falls for ever
            return n, iteration - 1, radius < np.inf
        t, mark = weighted_select(times, gains, marks, n_breakpoints, slope, total)
        t = max(t, 0.0)
        if radius < np.inf:
            reach = 0.0
            for k in range(K):
                if place[k] < 0 and k != enter:
                    reach += abs(c[k] - anchor[k]) * peak[k]
            for i in range(n_moving):
                reach += abs(c[free[i]] + t * dc[i] - anchor[free[i]]) * peak[free[i]]
            if reach >= radius:
                return n, iteration - 1, True
        # The step.
        if leave >= 0:
            out = features[leave]
            slot[out], side[out], e[out], dy[out] = -1, sign, 0.0, -sign
            add(cost, -sign * w[out], Dt[ids[out]])
        if mark >= 0:
            slot[mark] = 0
        n_flips = _advance(e, side, slot, dy, t, marks)
        for i in range(n_flips):
            f = marks[i]
            side[f] = -side[f]
            add(cost, -2 * side[f] * w[f], Dt[ids[f]])
        for i in range(n_moving):
            k = free[i]
            c[k] += t * dc[i]
            if mark == -1 - i:
                c[k] = 0.0
            below = c[k] < 0
            if below != negative[k]:
                negative[k] = below
                cost[k] += -penalty[k] if below else penalty[k]
        # The new basis.
        if mark >= 0:
            column = Dt[ids[mark]]
            e[mark] = 0.0
            add(cost, side[mark] * w[mark], column)
            times_column(inverse, n, column, free, u)
            if leave >= 0:
                replace_feature(inverse, n, leave, u)
                features[leave], slot[mark] = mark, leave
            else:
                schur = column[enter]
                for i in range(n):
                    schur -= g[i] * column[free[i]]
                border(inverse, n, u, g, schur)
                features[n], slot[mark], place[enter], held[enter] = mark, n, n, False
                n += 1
        else:
            i = -1 - mark
            k = free[i]
            held[k], place[k] = False, -1
            if leave >= 0:
                remove(inverse, n, leave, i)
                n -= 1
                if leave < n:
                    features[leave] = features[n]
                    slot[features[leave]] = leave
                if i < n:
                    free[i] = free[n]
                    place[free[i]] = i
            elif i < n:
                replace_atom(inverse, n, i, g)
                free[i], place[enter], held[enter] = enter, i, False
