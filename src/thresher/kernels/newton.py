"""Exact codes under a separable envelope: an active-set Newton method, row by row.

For every row x, ``min over c in a set of Σ_f w_f env(x_f − (cD)_f) + l1 Σc + l2/2 ‖c‖²``, the set
being a box, the simplex or the nonnegative part of a ball. A step takes the codes that are free,
for ``c ≥ 0`` those with ``c > 0 or g < 0``, and the Hessian ``D diag(h) Dᵀ`` on them, walks to the
minimiser of that model in the set (`region_step`), then searches the true objective along the
result, exactly, so that it never rises. With the right free set and the right inliers one step
lands on the optimum. The projection of a Newton step would not be safe.

Nothing depends on the scale of the data or of the dictionary.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper, kernel
from thresher.kernels.envelope import inlier, outlier
from thresher.kernels.newton_step import StepWorkspace, region_step
from thresher.kernels.products import add_gram, combine
from thresher.kernels.region import project


class CurvedAtoms(NamedTuple):
    """The dictionary, and what Newton steps need to know of it."""

    D: Any  # (K, F)
    G: Any  # (K, K), D Dᵀ
    L: Any  # the largest curvature of the loss in a code, at least
    ridge: Any  # what singular Hessians get, absolute


@helper
def _inliers(e, w, outliers, psi):  # type: ignore[no-untyped-def]
    """``ψ = w (e − r)``, minus the gradient of the loss in the prediction."""
    l1, l2, lower, upper = outliers
    one = e.dtype.type(1)
    shrink = one / (one + l2)
    for f in range(e.size):
        psi[f] = w[f] * inlier(e[f], l1, l2, shrink, lower, upper)


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
        first -= inlier(moved, l1, l2, shrink, lower, upper) * weighted
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
        slope, curvature = _slope(e, q, w, t, outliers, flat)
        slope += linear + t * quadratic
        curvature += quadratic
        if slope <= 0:
            low = t
            if slope >= 0.01 * descent:
                break
        else:
            high = t
        t = e.dtype.type(t - slope / curvature) if curvature > 0 else low
        if not (t > low and t < high):
            t = (low + high) / 2 if low > zero else high / 256
            if high - low <= 1e-7 * high:
                break
    return low


@kernel
def newton_rows(samples, atoms, scale, region, outliers, C, limits, outcome):  # type: ignore[no-untyped-def]
    """Improve the codes C in place until every row's certificate is at most ``tol``.

    The certificate is ``‖c − Π(c − t·g)‖ / (t·scale)`` of every row with ``t = 1/L``, Π the
    projection on the region of the codes; ``outliers`` is the penalty of the envelope. Within a
    budget, t is larger where the step would be lost in the rounding of the codes.
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
    root = T.type(np.sqrt(np.finfo(T).eps))
    e, q, psi = np.empty(F, T), np.empty(F, T), np.empty(F, T)
    h, h_new = np.empty(F, T), np.empty(F, T)
    features, changes = np.empty(F, np.uint32), np.empty(F, T)
    left, right = np.empty((K, F), T), np.empty((K, F), T)
    H, own, R = np.empty((K, K), T), np.empty((K, K), T), np.empty((K, K), T)
    covered, place, free = np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64)
    z, a, g = np.empty(K, T), np.empty(K, T), np.empty(K, T)
    start, slope, moved, y = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    ones, workspace = np.ones(F, T), StepWorkspace(own, R, np.empty(K, np.int64), z, y)
    l1, l2, lower, upper = region.l1, region.l2, region.lower, region.upper
    limited = region.gamma1 > zero or region.gamma2 > zero
    for row in range(n_rows):
        c = C[row]
        w = weight[row] if weight.shape[0] > 0 else ones
        unit = max(scale[row], T.type(np.finfo(T).tiny))
        n = np.int64(0)
        for k in range(K):
            if G[k, k] <= zero and not region.tight:  # an empty atom
                c[k] = zero
        project(c, region)
        for k in range(K):
            if c[k] != zero:
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
            residual, length, steepness = 0.0, 0.0, 0.0
            for k in range(K):
                g[k] = l1 + l2 * c[k] - g[k]
                length += c[k] * c[k]
                steepness += g[k] * g[k]
            # A step that is zero after rounding would hide a slope, so it is lengthened.
            inverse = L
            if length * (root * root) > steepness / L / L:
                inverse = T.type(np.sqrt(steepness / length)) / root
            for k in range(K):
                moved[k] = c[k] - g[k] / inverse if g[k] != zero else c[k]
            project(moved, region)
            for k in range(K):
                part = (c[k] - moved[k]) * inverse
                if not limited:
                    part = min(max(g[k], L * (c[k] - upper)), L * (c[k] - lower))
                residual += part * part
            certificate[row] = np.sqrt(residual) / unit
            if certificate[row] <= tol or iteration == max_iter:
                break
            iteration += 1
            # The free set, and whether the Hessian at hand covers it.
            n, all_covered = np.int64(0), bool(n_covered > 0)
            for k in range(K):
                held = (c[k] <= lower and g[k] >= zero) or (c[k] >= upper and g[k] <= zero)
                if limited:
                    held = moved[k] == c[k] and c[k] <= lower
                if not held and (G[k, k] > zero or region.tight):
                    free[n], slope[n], start[n] = k, g[k], c[k]
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
            for i in range(n):
                row_of = H[place[free[i]]]
                for j in range(n):
                    own[i, j] = row_of[place[free[j]]]
                own[i, i] = max(own[i, i], zero) + ridge + l2
            region_step(n, slope, start, ridge + l2, region, workspace, a)
            descent = 0.0
            for i in range(n):
                descent += slope[i] * a[i]
            if not descent < 0:  # rounding won: a projected gradient step instead
                n, descent = np.int64(0), 0.0
                for k in range(K):
                    if not limited and G[k, k] > zero:  # every code can have a step of its own
                        moved[k] = min(max(c[k] - g[k] / G[k, k], lower), upper)
                    if moved[k] != c[k]:
                        free[n], a[n] = k, moved[k] - c[k]
                        descent += g[k] * a[n]
                        n += 1
                if not descent < 0:
                    break
            linear, quadratic = zero, zero
            for i in range(n):
                linear += a[i] * (l1 + l2 * c[free[i]])
                quadratic += l2 * a[i] * a[i]
            combine(a, free, n, D, q)
            t = _search(e, q, w, descent, linear, quadratic, outliers, flat)
            if t == zero:
                break
            for i in range(n):
                k = free[i]
                at = min(max(c[k] + t * a[i], lower), upper)
                if t == one:  # rounding could miss a bound
                    at = upper if a[i] == upper - c[k] else at
                    at = lower if a[i] == lower - c[k] else at
                c[k] = at
            if limited:  # what rounding has added
                project(c, region)
            for f in range(F):
                e[f] -= t * q[f]
        n_iter[row] = iteration
