"""Exact nonnegative codes under a separable envelope: an active-set Newton method, row by row.

For every row x, ``min over c ≥ 0 of Σ_f w_f env(x_f − (cD)_f) + l1 Σc + l2/2 ‖c‖²``. A step takes
the free set ``{c > 0 or g < 0}`` and the Hessian ``D diag(h) Dᵀ`` on it, walks to the minimiser of
that model, leaving out each bound that blocks the way, then searches the true objective along the
result, exactly, so that it never rises. With the right free set and the right inliers one step
lands on the optimum. The projection of a Newton step would not be safe.

Nothing depends on the scale of the data or of the dictionary.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.cholesky import drop, factorise, solve
from thresher.kernels.compiling import helper, kernel
from thresher.kernels.envelope import outlier
from thresher.kernels.floors import TINY_FLOAT32
from thresher.kernels.products import add_gram, combine


class CurvedAtoms(NamedTuple):
    """The dictionary, and what Newton steps need to know of it."""

    D: Any  # (K, F)
    G: Any  # (K, K), D Dᵀ
    L: Any  # the largest curvature of the loss in a code, at least
    ridge: Any  # what singular Hessians get, absolute


class _Model(NamedTuple):
    """The quadratic model of a row, over the atoms that its Hessian covers."""

    H: Any  # (K, K), the leading part
    covered: Any  # (K), these atoms
    place: Any  # (K), where an atom stands among them, or −1
    R: Any  # (K, K), room for the factor of the free part
    z: Any  # (K), room for a step of the free atoms


@helper
def _inliers(e, w, outliers, psi):  # type: ignore[no-untyped-def]
    """``ψ = w (e − r)``, minus the gradient of the loss in the prediction."""
    l1, l2, lower, upper = outliers
    one = e.dtype.type(1)
    shrink = one / (one + l2)
    for f in range(e.size):
        psi[f] = w[f] * (e[f] - outlier(e[f], l1, shrink, lower, upper))


@helper
def _slope(e, q, w, t, outliers, flat):  # type: ignore[no-untyped-def]
    """First and second derivative of the loss along q, at ``e − t q``; sums in float64."""
    l1, l2, lower, upper = outliers
    one, zero = e.dtype.type(1), e.dtype.type(0)
    shrink = one / (one + l2)
    first, second = 0.0, 0.0
    for f in range(e.size):
        moved = e[f] - t * q[f]
        r = outlier(moved, l1, shrink, lower, upper)
        weighted = w[f] * q[f]
        first -= (moved - r) * weighted
        inside = r != zero and r > lower and r < upper
        second += weighted * q[f] * (flat if inside else one)
    return first, second


@helper
def _curvatures(e, w, outliers, flat, h):  # type: ignore[no-untyped-def]
    """``h = w`` times the slope of ψ: one for inliers and at the bounds, ``flat`` between."""
    l1, l2, lower, upper = outliers
    one, zero = e.dtype.type(1), e.dtype.type(0)
    shrink = one / (one + l2)
    for f in range(e.size):
        r = outlier(e[f], l1, shrink, lower, upper)
        inside = r != zero and r > lower and r < upper
        h[f] = w[f] * (flat if inside else one)


@helper
def _model_step(model, n_covered, free, n, g, c, ridge, d):  # type: ignore[no-untyped-def]
    """``d = argmin g·d + ½ d(H + ridge)dᵀ`` over ``c + d ≥ 0``, d zero outside ``free[:n]``.

    A primal active set that only drops: walk to the minimiser, stop at the first bound, drop what
    blocks, go on.
    """
    H, covered, place, R, z = model
    zero, one = H.dtype.type(0), H.dtype.type(1)
    for i in range(n):
        row = H[place[free[i]]]
        for j in range(n):
            R[i, j] = row[place[free[j]]]
        R[i, i] = max(R[i, i], zero) + ridge
    factorise(R, n, ridge)
    d[:] = 0
    moved = False
    while n > 0:
        for i in range(n):
            z[i] = -g[free[i]]
            if moved:
                row = H[place[free[i]]]
                pull = ridge * d[free[i]]
                for j in range(n_covered):
                    pull += row[j] * d[covered[j]]
                z[i] -= pull
        solve(R, n, z)
        step = one
        for i in range(n):
            k = free[i]
            if c[k] + d[k] + step * z[i] < zero:
                step = -(c[k] + d[k]) / z[i]
        for i in range(n):
            d[free[i]] += step * z[i]
        if step >= one:
            break
        moved = moved or step > zero
        dropped = 0
        for i in range(n - 1, -1, -1):
            k = free[i]
            if z[i] < zero and c[k] + d[k] <= -1e-6 * step * z[i]:
                d[k] = -c[k]
                drop(R, n, i)
                n -= 1
                for j in range(i, n):
                    free[j] = free[j + 1]
                dropped += 1
        if dropped == 0:
            break


@helper
def _search(e, q, w, descent, linear, quadratic, outliers, flat):  # type: ignore[no-untyped-def]
    """Length t ≤ 1 of the step along q: the largest at which the objective still falls.

    ``descent`` is the (negative) slope at 0; ``linear + t·quadratic`` is the penalty's slope.
    """
    one, zero = e.dtype.type(1), e.dtype.type(0)
    slope, _ = _slope(e, q, w, one, outliers, flat)
    slope += linear + quadratic
    if slope <= -1e-3 * descent:
        return one
    low, high = zero, one
    t = e.dtype.type(descent / (descent - slope))
    for _ in range(40):
        slope, bend = _slope(e, q, w, t, outliers, flat)
        slope += linear + t * quadratic
        bend += quadratic
        if slope <= 0:
            low = t
            if slope >= 0.01 * descent:
                break
        else:
            high = t
        t = e.dtype.type(t - slope / bend) if bend > 0 else low
        if not (t > low and t < high):
            t = (low + high) / 2 if low > zero else high / 256
            if high - low <= 1e-7 * high:
                break
    return low


@kernel
def newton_rows(samples, atoms, scale, penalty, outliers, C, limits, outcome):  # type: ignore[no-untyped-def]
    """Improve the codes C in place until every row's certificate is at most ``tol``.

    The certificate is ``L·‖c − [c − g/L]₊‖ / scale`` of every row; ``outliers`` is the penalty of
    the envelope, ``penalty`` that of the codes.
    """
    X, weight = samples
    D, G, L, ridge = atoms
    tol, max_iter = limits
    certificate, n_iter = outcome
    n_rows, F = X.shape
    K = D.shape[0]
    T = X.dtype
    one, zero = T.type(1), T.type(0)
    flat = outliers.l2 / (one + outliers.l2)
    e, q, psi = np.empty(F, T), np.empty(F, T), np.empty(F, T)
    h, h_new = np.empty(F, T), np.empty(F, T)
    features, changes = np.empty(F, np.uint32), np.empty(F, T)
    left, right = np.empty((K, F), T), np.empty((K, F), T)
    H, R = np.empty((K, K), T), np.empty((K, K), T)
    covered, place, free = np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64)
    d, z, a, g = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    ones, model = np.ones(F, T), _Model(H, covered, place, R, z)
    for row in range(n_rows):
        c = C[row]
        w = weight[row] if weight.shape[0] > 0 else ones
        unit = max(scale[row], T.type(TINY_FLOAT32))
        n = np.int64(0)
        for k in range(K):
            if G[k, k] <= zero:  # an empty atom
                c[k] = zero
            if c[k] > zero:
                free[n], a[n] = k, c[k]
                n += 1
        combine(a, free, n, D, e)
        for f in range(F):
            e[f] = X[row, f] - e[f]
        n_covered = np.int64(0)
        iteration = 0
        while True:
            _inliers(e, w, outliers, psi)
            g = np.dot(D, psi)
            residual = 0.0
            for k in range(K):
                g[k] = penalty.l1 + penalty.l2 * c[k] - g[k]
                part = c[k] - max(c[k] - g[k] / L, zero)
                residual += part * part
            certificate[row] = np.sqrt(residual) * L / unit
            if certificate[row] <= tol or iteration == max_iter:
                break
            iteration += 1
            # The free set, and whether the Hessian at hand covers it.
            n, all_covered = np.int64(0), bool(n_covered > 0)
            for k in range(K):
                if (c[k] > zero or g[k] < zero) and G[k, k] > zero:
                    free[n] = k
                    n += 1
                    if n_covered > 0 and place[k] < 0:
                        all_covered = False
            if n == 0:
                break
            _curvatures(e, w, outliers, flat, h_new)
            m = np.int64(0)
            if all_covered:  # only what changed its side
                for f in range(F):
                    if h_new[f] != h[f]:
                        features[m], changes[m] = f, h_new[f] - h[f]
                        m += 1
            else:  # from nothing, or down from the full Gram matrix, whichever is nearer
                n_covered = n
                place[:] = -1
                for j in range(n):
                    covered[j] = free[j]
                    place[free[j]] = j
                at_one, at_zero = 0, 0
                for f in range(F):
                    at_one += h_new[f] == one
                    at_zero += h_new[f] == zero
                base = one if at_one > at_zero else zero
                for f in range(F):
                    if h_new[f] != base:
                        features[m], changes[m] = f, h_new[f] - base
                        m += 1
                for i in range(n):
                    for j in range(n):
                        H[i, j] = base * G[covered[i], covered[j]]
            h[:] = h_new
            if m > 0:
                add_gram(D, covered, n_covered, features, changes, m, left, right, H)
            _model_step(model, n_covered, free, n, g, c, ridge + penalty.l2, d)
            descent = 0.0
            for k in range(K):
                descent += g[k] * d[k]
            if not descent < 0:  # rounding won: a projected, scaled gradient step instead
                descent = 0.0
                for k in range(K):
                    d[k] = -min(g[k] / G[k, k], c[k]) if G[k, k] > zero else zero
                    descent += g[k] * d[k]
                if not descent < 0:
                    break
            n, linear, quadratic = np.int64(0), zero, zero
            for k in range(K):
                if d[k] != zero:
                    free[n], a[n] = k, d[k]
                    n += 1
                    linear += d[k] * (penalty.l1 + penalty.l2 * c[k])
                    quadratic += penalty.l2 * d[k] * d[k]
            combine(a, free, n, D, q)
            t = _search(e, q, w, descent, linear, quadratic, outliers, flat)
            if t == zero:
                break
            for i in range(n):
                c[free[i]] = max(c[free[i]] + t * a[i], zero)
            for f in range(F):
                e[f] -= t * q[f]
        n_iter[row] = iteration
