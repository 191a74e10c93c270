"""Exact nonnegative least absolute deviations of dense and of sparse rows.

The method is in `lad_simplex`. Of dense rows with very many features, only those with small
residuals are watched; of sparse rows, the stored entries.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.bundles import BreakpointBuffer, Limits
from thresher.kernels.compiling import helper, strict_helper, strict_kernel
from thresher.kernels.lad_simplex import (
    PenalisedAtoms,
    Watched,
    absolute,
    empty_basis,
    empty_codes,
    lower_bound,
    pair,
    perturb,
    pivots,
    total_of,
    vertex,
)
from thresher.kernels.products import add, copy, dot, residual
from thresher.kernels.weighted_median import weighted_select


class _Row(NamedTuple):
    """A row, by feature."""

    x: Any  # (F), the data
    w: Any  # (F), their weights
    e: Any  # (F), residuals
    side: Any  # (F), the sides of zero that they are on, 1 or −1
    dual: Any  # (F), θ


class _DenseWorkspace(NamedTuple):
    """Workspace of a row."""

    watched: Any  # `Watched`, of up to F features
    local: Any  # (K, F), the atoms at the watched features
    breakpoints: Any  # `BreakpointBuffer`, for F + K of them
    table: Any  # (2K + 8, K), for pairing features with atoms
    atoms: Any  # (K + 1), atoms that are used,
    used: Any  # (K + 1), and their codes


@strict_helper
def _likely(theta, w, most, sizes, known):  # type: ignore[no-untyped-def]
    """The features of the smallest ``|θ| < 0.9 w``, in order, ``most`` of them; how many."""
    n = np.int64(0)
    for f in range(w.size):
        size = abs(theta[f])
        if size < 0.9 * w[f] and (n < most or (n > 0 and size < sizes[n - 1])):
            n = min(n + 1, most)
            j = n - 1
            while j > 0 and sizes[j - 1] > size:
                sizes[j], known[j] = sizes[j - 1], known[j - 1]
                j -= 1
            sizes[j], known[j] = size, f
    return n


@strict_helper
def _watch(row, D, count, basis, n, workspace):  # type: ignore[no-untyped-def]
    """Watch the basis and the ``count`` features nearest to zero; how many, and the next distance.

    The features of the basis come with places in e, and leave with places among the watched ones.
    """
    e, w, features, free = row.e, row.w, basis.features, basis.free
    ids, slot, gathered = workspace.watched.ids, workspace.watched.slot, workspace.watched.gathered
    times, gains, marks = workspace.breakpoints
    V = e.size
    radius = np.inf
    if count < V:
        for f in range(V):
            times[f], gains[f] = abs(e[f]), 1.0
        radius = weighted_select(times, gains, marks, V, float(count), float(V))[0]
    marks[:V] = -1
    for j in range(n):
        marks[features[j]] = j
    m = np.int64(0)
    for f in range(V):
        ids[m], slot[m] = f, marks[f]
        m += marks[f] >= 0 or (w[f] > 0 and abs(e[f]) <= radius)
    near_e, near_side, near_w = workspace.watched.e, workspace.watched.side, workspace.watched.w
    for p in range(m):
        f = ids[p]
        near_e[p], near_side[p], near_w[p] = e[f], row.side[f], w[f]
        if slot[p] >= 0:
            features[slot[p]], near_e[p] = p, 0.0
    if m == V:  # D serves as it is
        gathered[:] = m
        return m, radius
    gathered[:] = 0
    for i in range(n):
        near, atom = workspace.local[free[i]], D[free[i]]
        for p in range(m):
            near[p] = atom[ids[p]]
        gathered[free[i]] = m
    return m, radius


@helper
def _settle(row, D, atoms, codes, basis, n, workspace):  # type: ignore[no-untyped-def]
    """Codes and residuals afresh from the basis; the signs and costs that rounding had wrong."""
    x, w, e, side, _ = row
    c, cost, _, _, negative = codes
    features, free = basis.features, basis.free
    vertex(x, atoms.Dt, features, basis, n, codes)
    for i in range(n):
        k = free[i]
        if (c[k] < 0) != negative[k]:
            negative[k] = c[k] < 0
            cost[k] += -atoms.penalty[k] if negative[k] else atoms.penalty[k]
    residual(x, c, D, workspace.atoms, workspace.used, e)
    for j in range(n):
        e[features[j]] = 0.0
    for f in range(e.size):
        if e[f] * side[f] < 0:
            side[f] = -side[f]
            add(cost, -2 * side[f] * w[f], atoms.Dt[f])


@strict_helper
def _optimise(row, D, atoms, l1, known, count, codes, basis, limits, workspace):  # type: ignore[no-untyped-def]
    """The optimum over the features of x, from the codes that are held and features to try.

    The basis gets its features and its atoms, the row its dual; returns how many slots there are,
    and the number of steps.
    """
    x, w, e, side, dual = row
    c, cost, _, held, negative = codes
    features, free, place, _, theta = basis
    ids = workspace.watched.ids
    V, K = x.size, c.size
    n_atoms = np.int64(0)
    for k in range(K):
        place[k] = -1
        if held[k]:
            workspace.atoms[n_atoms] = k
            n_atoms += 1
    n = pair(atoms.Dt, known, workspace.atoms[:n_atoms], atoms.size, workspace.table, basis)
    for i in range(n):
        held[free[i]], place[free[i]] = False, i
    vertex(x, atoms.Dt, features, basis, n, codes)
    residual(x, c, D, workspace.atoms, workspace.used, e)
    for f in range(V):
        side[f] = -1.0 if e[f] < 0 else 1.0
        dual[f] = side[f] * w[f]
    for j in range(n):
        dual[features[j]] = 0.0
    for k in range(K):
        cost[k] = l1 - dot(D[k], dual)
        negative[k] = c[k] < 0
        if negative[k]:
            cost[k] -= atoms.penalty[k]
    iteration = 0
    while True:
        m, radius = _watch(row, D, count, basis, n, workspace)
        n, done, far = pivots(
            atoms, workspace.watched, m, D if m == V else workspace.local, radius, codes, basis, n,
            Limits(limits.tol, limits.max_iter - iteration), workspace.breakpoints,
        )  # fmt: skip
        iteration += done
        for j in range(n):
            features[j] = ids[features[j]]
        for p in range(m):
            side[ids[p]] = workspace.watched.side[p]
        if not far:
            break
        _settle(row, D, atoms, codes, basis, n, workspace)
        if done < 4:
            count *= 4
    for f in range(V):
        dual[f] = side[f] * w[f]
    for j in range(n):
        dual[features[j]] = min(max(theta[j], -w[features[j]]), w[features[j]])
    return n, iteration


@strict_kernel
def lad_rows(samples, dictionary, l1, C, theta, count, limits, outcome):  # type: ignore[no-untyped-def]
    """Exact codes C, in place, from what they are and, unless it is empty, an estimated dual θ.

    Features with ``|θ| < 0.9 w`` are tried as the basis. At first ``count`` features are watched,
    all of them if that is F or more.

    The certificate is the duality gap over ``Σ w|x|``, from a dual that is feasible: above ``tol``
    after ``max_iter`` steps, or if rounding won; NaN if the row is not finite.
    """
    X, weight = samples
    D, Dt = dictionary
    tol, max_iter = limits
    certificate, n_iter = outcome
    n_rows, F = X.shape
    K = D.shape[0]
    x, noisy, w, e = np.empty(F), np.empty(F), np.ones(F), np.empty(F)
    at_zero, at_bottom, whole = np.empty(K), np.empty(K), np.empty(K)
    known = np.empty(2 * K + 8, np.int64)
    codes, basis = empty_codes(K), empty_basis(K)
    watched = Watched(
        ids=np.empty(F + 1, np.int64), w=np.empty(F), e=np.empty(F), side=np.empty(F),
        slot=np.empty(F + 1, np.int64), dy=np.empty(F), gathered=np.empty(K, np.int64),
    )  # fmt: skip
    breakpoints = BreakpointBuffer(
        np.empty(F + K + 2), np.empty(F + K + 2), np.empty(F + K + 2, np.int64)
    )
    workspace = _DenseWorkspace(
        watched, np.empty((K, F)), breakpoints, table=np.empty((2 * K + 8, K)),
        atoms=np.empty(K + 1, np.int64), used=np.empty(K + 1),
    )  # fmt: skip
    current = _Row(noisy, w, e, side=np.empty(F), dual=np.empty(F))
    atoms = PenalisedAtoms(Dt, size=np.empty(K), peak=np.empty(K), penalty=np.empty(K))
    c, z, held = codes.c, codes.z, codes.held
    for k in range(K):
        atoms.size[k] = np.sqrt(dot(D[k], D[k]))
        whole[k], atoms.peak[k] = 0.0, 0.0
        for f in range(F):
            whole[k] += abs(D[k, f])
            atoms.peak[k] = max(atoms.peak[k], abs(D[k, f]))
    for row in range(n_rows):
        scale, total, heaviest = 0.0, 0.0, 0.0
        for f in range(F):
            x[f] = X[row, f]
            if weight.shape[0] > 0:
                w[f] = weight[row, f]
            scale += w[f] * abs(x[f])
            total += w[f]
            heaviest = max(heaviest, w[f])
        n_iter[row], certificate[row] = 0, 0.0
        if not scale > 0 or scale == np.inf:
            C[row] = 0
            if scale != 0:
                certificate[row] = np.nan
            continue
        perturb(x, scale / total, noisy)
        # The start: codes, and features that are probably interpolated.
        largest, n_held = 0.0, 0
        for k in range(K):
            atoms.penalty[k] = 2 * (l1 + heaviest * whole[k])
            largest = max(largest, C[row, k] * whole[k])
        for k in range(K):
            held[k] = C[row, k] * whole[k] > 1e-6 * largest
            c[k] = C[row, k] if held[k] else 0.0
            n_held += held[k]
        n_known = np.int64(0)
        if theta.shape[0] > 0:
            n_known = _likely(theta[row], w, 2 * n_held, breakpoints.values, known)
        for _ in range(2):
            n, done = _optimise(
                current, D, atoms, l1, known[:n_known], count, codes, basis,
                Limits(0.1 * tol, max_iter - n_iter[row]), workspace,
            )  # fmt: skip
            n_iter[row] += done
            # The codes that the basis gives with the true data, if that is no worse.
            for k in range(K):
                z[k] = l1 - dot(D[k], current.dual)
                at_zero[k] = l1
                at_bottom[k] = l1 + dot(D[k], w) if z[k] < 0 else 0.0
            low = lower_bound(x, w, current.dual, z, atoms.penalty, at_zero, at_bottom)
            best = np.inf
            for data in (x, noisy):
                vertex(data, Dt, basis.features, basis, n, codes)
                for k in range(K):
                    c[k] = max(c[k], 0.0)
                residual(x, c, D, workspace.atoms, workspace.used, e)
                high = absolute(e, w) + l1 * total_of(c)
                if high < best:
                    best = high
                    copy(c, C[row])
                if best - low <= tol * scale:
                    break
            certificate[row] = (best - low) / scale
            if certificate[row] <= tol or n_iter[row] >= max_iter:
                break
            # Once more, with a fresh inverse.
            n_known = n
            for i in range(n):
                known[i], held[basis.free[i]] = basis.features[i], True


class WordAtoms(NamedTuple):
    """A nonnegative dictionary whose atoms are read word by word."""

    Dt: Any  # (F, K), transposed
    sums: Any  # (K), of the atoms, float64
    size: Any  # (K), lengths of the atoms, float64


@helper
def _sum_rows(Dt, words, out):  # type: ignore[no-untyped-def]
    """``out = Σ_words Dt[word]``, four at a time, in float64."""
    one = np.float64(1)
    out[:] = 0
    fours = words.size - words.size % 4
    for i in range(0, fours, 4):
        d0, d1, d2, d3 = Dt[words[i]], Dt[words[i + 1]], Dt[words[i + 2]], Dt[words[i + 3]]
        for k in range(out.size):
            out[k] += (one * d0[k] + one * d1[k]) + (one * d2[k] + one * d3[k])
    for i in range(fours, words.size):
        d0 = Dt[words[i]]
        for k in range(out.size):
            out[k] += d0[k]


@strict_kernel
def lad_sparse_rows(rows, dictionary, l1, zero_weight, C, limits, outcome):  # type: ignore[no-untyped-def]
    """Exact codes C, in place, on a nonnegative D; certificate and bounds as in `lad_rows`.

    Entries that are zero weigh ``zero_weight``. There ``|0 − y| = y`` is linear, so a row is a
    problem in its own words, with ``q = l1 + zero_weight (sums − Σ_words D)``: the work grows with
    the nonzeros. C is the start, zero or not.
    """
    indptr, indices, data = rows
    Dt, sums, size = dictionary
    tol, max_iter = limits
    certificate, n_iter = outcome
    n_rows, K = indptr.size - 1, Dt.shape[1]
    longest = 0
    for row in range(n_rows):
        longest = max(longest, indptr[row + 1] - indptr[row])
    noisy, w, e = np.empty(longest), np.empty(longest), np.empty(longest)
    side, dual = np.empty(longest), np.empty(longest)
    slot, dy = np.empty(longest, np.int64), np.empty(longest)
    local, gathered = np.empty((K, longest)), np.empty(K, np.int64)
    inside, q, penalty, at_bottom = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    basic_words = np.empty(K + 1, np.int64)
    codes, basis = empty_codes(K), empty_basis(K)
    breakpoints = BreakpointBuffer(
        np.empty(longest + K + 2), np.empty(longest + K + 2), np.empty(longest + K + 2, np.int64)
    )
    atoms = PenalisedAtoms(Dt, size, size, penalty)  # no entry is larger than its atom
    c, cost, z, held, negative = codes
    for row in range(n_rows):
        words, x = indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]]
        m = x.size
        scale, total, heaviest = 0.0, 0.0, 0.0
        for f in range(m):
            w[f] = 1.0 if x[f] != 0 else zero_weight
            scale += w[f] * abs(x[f])
            total += w[f]
            heaviest = max(heaviest, w[f])
        n_iter[row], certificate[row] = 0, 0.0
        if not scale > 0 or scale == np.inf:
            C[row] = 0
            if scale != 0:
                certificate[row] = np.nan
            continue
        perturb(x, scale / total, noisy)
        _sum_rows(Dt, words, inside)
        for k in range(K):
            q[k] = l1 + zero_weight * max(sums[k] - inside[k], 0.0)
            penalty[k] = 2 * (q[k] + heaviest * inside[k])
            held[k] = C[row, k] > 0 and penalty[k] > 0
            c[k] = C[row, k] if held[k] else 0.0
        best = np.inf
        for _ in range(2):
            n = np.int64(0)
            for f in range(m):
                e[f] = noisy[f]
            for k in range(K):
                basis.place[k], negative[k], gathered[k] = -1, False, 0
                cost[k] = q[k] - inside[k]
                if held[k]:
                    for f in range(m):
                        e[f] -= c[k] * Dt[words[f], k]
            for f in range(m):
                slot[f], side[f] = -1, -1.0 if e[f] < 0 else 1.0
                if side[f] * w[f] != 1:
                    add(cost, 1 - side[f] * w[f], Dt[words[f]])
            n, done, _ = pivots(
                atoms, Watched(words, w, e, side, slot, dy, gathered), m, local, np.inf, codes,
                basis, n, Limits(0.1 * tol, max_iter - n_iter[row]), breakpoints,
            )  # fmt: skip
            n_iter[row] += done
            for k in range(K):
                z[k] = q[k] - inside[k]
                at_bottom[k] = q[k] + inside[k]
            for f in range(m):
                dual[f] = side[f] * w[f]
                if slot[f] >= 0:
                    dual[f] = min(max(basis.theta[slot[f]], -w[f]), w[f])
                if dual[f] != 1:
                    add(z, 1 - dual[f], Dt[words[f]])
                if w[f] != 1:
                    add(at_bottom, w[f] - 1, Dt[words[f]])
            low = lower_bound(x, w[:m], dual, z, penalty, q, at_bottom)
            # The codes that the basis gives with the true data, if that is no worse.
            for j in range(n):
                basic_words[j] = words[basis.features[j]]
            for values in (x, noisy):
                vertex(values, Dt, basic_words, basis, n, codes)
                high = 0.0
                for f in range(m):
                    e[f] = x[f]
                for k in range(K):
                    c[k] = max(c[k], 0.0)
                    high += q[k] * c[k]
                    if c[k] > 0:
                        for f in range(m):
                            e[f] -= c[k] * (local[k, f] if gathered[k] == m else Dt[words[f], k])
                high += absolute(e[:m], w[:m])
                if high < best:
                    best = high
                    copy(c, C[row])
                if best - low <= tol * scale:
                    break
            certificate[row] = (best - low) / scale
            if certificate[row] <= tol or n_iter[row] >= max_iter:
                break
            # Once more, with a fresh inverse.
            for k in range(K):
                c[k] = C[row, k]
                held[k] = c[k] > 0
