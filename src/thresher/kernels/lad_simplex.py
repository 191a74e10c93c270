"""Exact nonnegative least absolute deviations: a long-step simplex method, row by row.

For every row x, ``min over c ≥ 0 of Σ_f w_f |x_f − (cD)_f| + q·c``. The optimum is a vertex: as
many features are interpolated as there are free codes (the basis), all other codes are zero. Its
dual is θ, with ``θ_f = w_f sign(e_f)`` outside the basis and, inside, the values that make the
reduced cost ``z = q − Dθ`` of every free atom zero. The vertex is optimal if ``|θ_f| ≤ w_f`` in the
basis and ``z ≥ 0``. Otherwise one basic feature, or one atom, is released: the objective falls
along an edge, linearly between breakpoints, and the step passes breakpoints until the objective
would rise. A weighted median finds that breakpoint, and its feature enters the basis.

* A negative code is penalised by ``2 (q + Σ w|d|)`` per unit, which is more than it could ever
  gain, instead of forbidden. So every basis is a valid start, and a step may pass zeros of codes.
* A code may also have any value while it is not in the basis; it is released first. So the codes
  of any other method are a valid start.
* The data are perturbed by random numbers of relative size ``NOISE``. Then there are no ties, each
  step lowers the objective, and no basis occurs twice. The duality gap that this costs is at most
  twice that size; mostly it is zero, because the last codes are those of the data as given.
* Features with large residuals keep their sign. Only features near zero are watched (the nonsmooth
  ones), the rest is a linear cost of the codes. Signs are checked in the end, and features whose
  sign was wrong are watched from then on (`lad_codes`). Zeros of sparse rows are such a linear
  cost too, where D, c ≥ 0.

``inverse[j, i]`` belongs to basic feature j and free atom i: the change of the code of the atom
when the prediction of the feature rises by one and the others stay. It is explicit and small; to
exchange, add or remove a feature or an atom is one pass over it.

All arithmetic is float64.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper, strict_helper
from thresher.kernels.products import add, combine, copy
from thresher.kernels.weighted_median import weighted_select


class LadCodes(NamedTuple):
    """The state of every atom, in the basis or not."""

    c: Any  # (K), codes
    cost: Any  # (K), q − Σ θ_f D_f over the features outside the basis, less penalties
    z: Any  # (K), prices: the same over all features
    held: Any  # (K), whether a code outside the basis is held at its value
    negative: Any  # (K), whether a code is below zero, and pays its penalty


class LadBasis(NamedTuple):
    """Slots of interpolated features and free atoms; the number in use is passed separately."""

    features: Any  # (K + 1), the feature of each slot
    free: Any  # (K + 1), the atom of each slot
    place: Any  # (K), the slot of an atom, or −1
    inverse: Any  # (K + 1, K + 1), by slots of features and of atoms
    theta: Any  # (K), the dual θ of the feature of each slot


@helper
def empty_codes(K):  # type: ignore[no-untyped-def]
    """`LadCodes` of K atoms, still to be filled."""
    held, negative = np.empty(K, np.bool_), np.empty(K, np.bool_)
    return LadCodes(np.empty(K), np.empty(K), np.empty(K), held, negative)


@helper
def empty_basis(K):  # type: ignore[no-untyped-def]
    """A `LadBasis` of up to K slots, and one more in between."""
    features, free = np.empty(K + 1, np.int64), np.empty(K + 1, np.int64)
    place, inverse, theta = np.empty(K, np.int64), np.empty((K + 1, K + 1)), np.empty(K)
    return LadBasis(features, free, place, inverse, theta)


@helper
def pair(Dt, features, atoms, size, T, basis):  # type: ignore[no-untyped-def]
    """Pair features with atoms, in the order of the features, as far as they are independent.

    The first features get their place in the basis, each with the atom that it determines best.
    ``T`` is the derivative of predictions in codes; to exchange a feature for an atom is one
    elimination step, and the inverse is read off in the end. Returns the number of pairs.
    """
    n_features, n_atoms = features.size, atoms.size
    for a in range(n_features):
        row, column = T[a], Dt[features[a]]
        for b in range(n_atoms):
            row[b] = column[atoms[b]]
    n = 0
    rows, columns = np.empty(n_atoms, np.int64), np.empty(n_atoms, np.int64)
    taken = np.zeros(n_atoms, np.bool_)
    skipped = np.zeros(n_features, np.bool_)
    for a in range(n_features):
        if n == n_atoms:
            break
        row, column = T[a, :n_atoms], Dt[features[a]]
        best, whole, at = 0.0, 0.0, -1
        for b in range(n_atoms):
            whole = max(whole, abs(column[atoms[b]]) / size[atoms[b]])
            if not taken[b] and abs(row[b]) > best * size[atoms[b]]:
                best, at = abs(row[b]) / size[atoms[b]], b
        if not best > 1e-3 * whole:
            skipped[a] = True
            continue
        scale = 1 / row[at]
        for b in range(n_atoms):
            row[b] *= -scale
        row[at] = scale
        for p in range(n_features):
            if p != a and not skipped[p]:
                other = T[p, :n_atoms]
                factor = other[at]
                other[at] = 0
                add(other, factor, row)
        taken[at] = True
        rows[n], columns[n] = a, at
        basis.free[n], basis.features[n] = atoms[at], features[a]
        n += 1
    for j in range(n):
        for i in range(n):
            basis.inverse[j, i] = T[rows[i], columns[j]]
    return n


@helper
def vertex(x, Dt, words, basis, n, codes):  # type: ignore[no-untyped-def]
    """The free codes: those that interpolate x in the basis, besides the codes that are held.

    Basic feature j is entry ``features[j]`` of x, and row ``words[j]`` of Dt.
    """
    c, held, free = codes.c, codes.held, basis.free
    for i in range(n):
        c[free[i]] = 0.0
    for j in range(n):
        value, column = x[basis.features[j]], Dt[words[j]]
        for k in range(c.size):
            if held[k]:
                value -= c[k] * column[k]
        row = basis.inverse[j]
        for i in range(n):
            c[free[i]] += value * row[i]


@helper
def basic_duals(inverse, n, cost, size, theta, length):  # type: ignore[no-untyped-def]
    """``θ = inverse·cost``, and the squared length of the edge that releases each basic feature."""
    for j in range(n):
        row = inverse[j, :n]
        value, squares = 0.0, 0.0
        for i in range(n):
            value += row[i] * cost[i]
            squares += (row[i] * size[i]) * (row[i] * size[i])
        theta[j], length[j] = value, squares


@helper
def times_column(inverse, n, column, atoms, out):  # type: ignore[no-untyped-def]
    """``out = inverse · column[atoms]``."""
    for j in range(n):
        row, value = inverse[j, :n], 0.0
        for i in range(n):
            value += row[i] * column[atoms[i]]
        out[j] = value


@helper
def replace_feature(inverse, n, j, u):  # type: ignore[no-untyped-def]
    """A new basic feature in slot j; ``u = inverse · its column``."""
    pivot = inverse[j, :n]
    for i in range(n):
        pivot[i] /= u[j]
    for i in range(n):
        if i != j:
            add(inverse[i, :n], -u[i], pivot)


@helper
def replace_atom(inverse, n, i, g):  # type: ignore[no-untyped-def]
    """A new free atom in slot i; ``g = its row · inverse``."""
    for j in range(n):
        row = inverse[j, :n]
        own = row[i] / g[i]
        add(row, -own, g[:n])
        row[i] = own


@helper
def border(inverse, n, u, g, schur):  # type: ignore[no-untyped-def]
    """One more atom and one more feature, in slot n."""
    for j in range(n):
        add(inverse[j, :n], u[j] / schur, g[:n])
        inverse[j, n] = -u[j] / schur
        inverse[n, j] = -g[j] / schur
    inverse[n, n] = 1 / schur


@helper
def remove(inverse, n, j, i):  # type: ignore[no-untyped-def]
    """Without the feature in slot j and the atom in slot i; the last slots move there."""
    pivot = inverse[j, :n]
    for p in range(n):
        if p != j:
            add(inverse[p, :n], -inverse[p, i] / pivot[i], pivot)
    copy(inverse[n - 1, :n], inverse[j, :n])
    for p in range(n):
        inverse[p, i] = inverse[p, n - 1]


@helper
def absolute(e, w):  # type: ignore[no-untyped-def]
    """``Σ w |e|``."""
    total = 0.0
    for f in range(e.size):
        total += w[f] * abs(e[f])
    return total


@helper
def total_of(c):  # type: ignore[no-untyped-def]
    """``Σ c``."""
    total = 0.0
    for k in range(c.size):
        total += c[k]
    return total


@helper
def lower_bound(x, w, dual, z, penalty, at_zero, at_bottom):  # type: ignore[no-untyped-def]
    """``θ·x`` after θ went so far towards 0, or towards −w, that no reduced cost z is negative.

    The prices there are given; the better of the two ways is taken. Prices of less than the
    rounding of their own sum count as zero. −∞ if neither way leads to a feasible dual.
    """
    to_zero, to_bottom, value, bottom = 0.0, 0.0, 0.0, 0.0
    for k in range(z.size):
        if z[k] < -1e-14 * penalty[k]:
            to_zero = max(to_zero, z[k] / (z[k] - at_zero[k])) if at_zero[k] > 0 else np.inf
            to_bottom = max(to_bottom, z[k] / (z[k] - at_bottom[k])) if at_bottom[k] > 0 else np.inf
    for f in range(x.size):
        value += dual[f] * x[f]
        bottom -= w[f] * x[f]
    best = -np.inf
    if to_zero < np.inf:
        best = value - to_zero * value
    if to_bottom < np.inf:
        best = max(best, value - to_bottom * (value - bottom))
    return best


NOISE = 1e-10  # heuristic: far above rounding, far below the tolerances in use


class PenalisedAtoms(NamedTuple):
    """The dictionary, and what steps need to know of its atoms."""

    Dt: Any  # (F, K), transposed
    size: Any  # (K), their lengths
    peak: Any  # (K), their largest entries, or more
    penalty: Any  # (K), the penalty of a negative code


class Watched(NamedTuple):
    """The features whose breakpoints limit a step, in order; their number is passed separately."""

    ids: Any  # which row of Dt each is
    w: Any  # their weights
    e: Any  # residuals
    side: Any  # signs of the residuals, 1 or −1
    slot: Any  # their slots in the basis, or −1
    dy: Any  # workspace for the direction of the predictions
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
    atoms, watched, m, local, radius, codes, basis, n, limits, workspace
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
    times, gains, marks = workspace
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
