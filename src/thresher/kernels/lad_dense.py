"""Exact nonnegative least absolute deviations of dense rows; the method is in `lad_pivots`.

Where features are very many, only those near zero are watched.
"""

import numpy as np

from thresher.kernels.compiling import helper, strict_helper, strict_kernel
from thresher.kernels.lad_basis import pair, vertex
from thresher.kernels.lad_bounds import absolute, lower_bound, total_of
from thresher.kernels.lad_pivots import perturb, pivots
from thresher.kernels.products import add, copy, dot, residual
from thresher.kernels.weighted_median import weighted_select


@strict_helper
def _likely(theta, w, most, sizes, known):  # type: ignore[no-untyped-def]
    """The features of the smallest ``|θ| < 0.9 w``, in order, ``most`` of them; how many."""
    n = 0
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
def _watch(  # type: ignore[no-untyped-def]
    e, w, side, D, count, free, basis, n, ids, slot, near_e, near_side, near_w, local, gathered,
    times, gains, marks,
):  # fmt: skip
    """Watch the basis and the ``count`` features nearest to zero; how many, and the next distance.

    ``basis`` comes with places in e, and leaves with places among the watched features.
    """
    V = e.size
    radius = np.inf
    if count < V:
        for f in range(V):
            times[f], gains[f] = abs(e[f]), 1.0
        radius = weighted_select(times, gains, marks, V, float(count), float(V))[0]
    marks[:V] = -1
    for j in range(n):
        marks[basis[j]] = j
    m = 0
    for f in range(V):
        ids[m], slot[m] = f, marks[f]
        m += marks[f] >= 0 or (w[f] > 0 and abs(e[f]) <= radius)
    for p in range(m):
        f = ids[p]
        near_e[p], near_side[p], near_w[p] = e[f], side[f], w[f]
        if slot[p] >= 0:
            basis[slot[p]], near_e[p] = p, 0.0
    if m == V:  # D serves as it is
        gathered[:] = m
        return m, radius
    gathered[:] = 0
    for i in range(n):
        row, atom = local[free[i]], D[free[i]]
        for p in range(m):
            row[p] = atom[ids[p]]
        gathered[free[i]] = m
    return m, radius


@helper
def _settle(  # type: ignore[no-untyped-def]
    x, w, D, Dt, penalty, basis, free, n, inverse, held, c, cost, negative, e, side, atoms, used
):
    """Codes and residuals afresh from the basis; the signs and costs that rounding had wrong."""
    vertex(x, basis, Dt, basis, free, n, inverse, held, c)
    for i in range(n):
        k = free[i]
        if (c[k] < 0) != negative[k]:
            negative[k] = c[k] < 0
            cost[k] += -penalty[k] if negative[k] else penalty[k]
    residual(x, c, D, atoms, used, e)
    for j in range(n):
        e[basis[j]] = 0.0
    for f in range(e.size):
        if e[f] * side[f] < 0:
            side[f] = -side[f]
            add(cost, -2 * side[f] * w[f], Dt[f])


@strict_helper
def _optimise(  # type: ignore[no-untyped-def]
    x, w, D, Dt, l1, size, peak, penalty, known, n_known, count, tol, max_iter,
    c, held, free, basis, inverse, dual, e, side, ids, slot, near_e, near_side, near_w, dy,
    times, gains, marks, local, table,
):  # fmt: skip
    """The optimum over the features of x, from the codes that are held and features to try.

    ``basis`` gets its features, ``free`` its atoms, ``dual`` θ.
    """
    V, K = x.size, c.size
    place, gathered = np.empty(K, np.int64), np.zeros(K, np.int64)
    negative = np.zeros(K, np.bool_)
    cost, z, theta = np.empty(K), np.empty(K), np.empty(K)
    atoms, used = np.empty(K + 1, np.int64), np.empty(K + 1)
    n_atoms = np.int64(0)
    for k in range(K):
        place[k] = -1
        if held[k]:
            atoms[n_atoms] = k
            n_atoms += 1
    n = pair(Dt, known, n_known, atoms, n_atoms, size, table, free, basis, inverse)
    for i in range(n):
        held[free[i]], place[free[i]] = False, i
    vertex(x, basis, Dt, basis, free, n, inverse, held, c)
    residual(x, c, D, atoms, used, e)
    for f in range(V):
        side[f] = -1.0 if e[f] < 0 else 1.0
        dual[f] = side[f] * w[f]
    for j in range(n):
        dual[basis[j]] = 0.0
    for k in range(K):
        cost[k] = l1 - dot(D[k], dual)
        negative[k] = c[k] < 0
        if negative[k]:
            cost[k] -= penalty[k]
    iteration = 0
    while True:
        m, radius = _watch(
            e, w, side, D, count, free, basis, n, ids, slot, near_e, near_side, near_w,
            local, gathered, times, gains, marks,
        )  # fmt: skip
        n, done, far = pivots(
            Dt, ids, m, near_w, size, peak, penalty, radius, tol, max_iter - iteration,
            near_e, near_side, slot, D if m == V else local, gathered, c, cost, held, negative,
            place, free, basis, n, inverse, theta, z, dy, times, gains, marks,
        )  # fmt: skip
        iteration += done
        for j in range(n):
            basis[j] = ids[basis[j]]
        for p in range(m):
            side[ids[p]] = near_side[p]
        if not far:
            break
        _settle(
            x, w, D, Dt, penalty, basis, free, n, inverse, held, c, cost, negative, e, side,
            atoms, used,
        )  # fmt: skip
        if done < 4:
            count *= 4
    for f in range(V):
        dual[f] = side[f] * w[f]
    for j in range(n):
        dual[basis[j]] = min(max(theta[j], -w[basis[j]]), w[basis[j]])
    return n, iteration


@strict_kernel
def lad_rows(  # type: ignore[no-untyped-def]
    X, weight, D, Dt, l1, C, theta, tol, max_iter, watched, certificate, n_iter
):  # fmt: skip
    """Exact codes C, in place, from what they are and, unless it is empty, an estimated dual θ.

    Features with ``|θ| < 0.9 w`` are tried as the basis. At first ``watched`` features are watched,
    all of them if that is F or more. ``weight`` is empty if all entries weigh one.

    ``certificate`` is the duality gap over ``Σ w|x|``, from a dual that is feasible: above ``tol``
    after ``max_iter`` steps, or if rounding won; NaN if the row is not finite.
    """
    n_rows, F = X.shape
    K = D.shape[0]
    x, noisy, w, e = np.empty(F), np.empty(F), np.ones(F), np.empty(F)
    side, dual = np.empty(F), np.empty(F)
    near_e, near_side, near_w, dy = np.empty(F), np.empty(F), np.empty(F), np.empty(F)
    ids, slot = np.empty(F + 1, np.int64), np.empty(F + 1, np.int64)
    times, gains, marks = np.empty(F + K + 2), np.empty(F + K + 2), np.empty(F + K + 2, np.int64)
    local, inverse, table = np.empty((K, F)), np.empty((K + 1, K + 1)), np.empty((2 * K + 8, K))
    c, z, at_zero, at_bottom = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    held = np.empty(K, np.bool_)
    free, basis = np.empty(K + 1, np.int64), np.empty(K + 1, np.int64)
    known, atoms, used = np.empty(2 * K + 8, np.int64), np.empty(K + 1, np.int64), np.empty(K + 1)
    size, whole, peak, penalty = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for k in range(K):
        size[k] = np.sqrt(dot(D[k], D[k]))
        whole[k], peak[k] = 0.0, 0.0
        for f in range(F):
            whole[k] += abs(D[k, f])
            peak[k] = max(peak[k], abs(D[k, f]))
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
            penalty[k] = 2 * (l1 + heaviest * whole[k])
            largest = max(largest, C[row, k] * whole[k])
        for k in range(K):
            held[k] = C[row, k] * whole[k] > 1e-6 * largest
            c[k] = C[row, k] if held[k] else 0.0
            n_held += held[k]
        n_known = 0
        if theta.shape[0] > 0:
            n_known = _likely(theta[row], w, 2 * n_held, times, known)
        for _ in range(2):
            n, done = _optimise(
                noisy, w, D, Dt, l1, size, peak, penalty, known, n_known, watched, 0.1 * tol,
                max_iter - n_iter[row], c, held, free, basis, inverse, dual, e, side, ids, slot,
                near_e, near_side, near_w, dy, times, gains, marks, local, table,
            )  # fmt: skip
            n_iter[row] += done
            # The codes that the basis gives with the true data, if that is no worse.
            for k in range(K):
                z[k] = l1 - dot(D[k], dual)
                at_zero[k] = l1
                at_bottom[k] = l1 + dot(D[k], w) if z[k] < 0 else 0.0
            low = lower_bound(x, w, dual, z, penalty, at_zero, at_bottom)
            best = np.inf
            for data in (x, noisy):
                vertex(data, basis, Dt, basis, free, n, inverse, held, c)
                for k in range(K):
                    c[k] = max(c[k], 0.0)
                residual(x, c, D, atoms, used, e)
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
                known[i], held[free[i]] = basis[i], True
