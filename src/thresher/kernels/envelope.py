"""Separable outlier envelopes, entry by entry, and passes over memory that use them.

The penalty of an outlier r is ``l1·|r| + l2/2·r²`` on ``lower ≤ r ≤ upper``; at a residual e the
best one is ``r = clip(soft(e, l1)/(1 + l2))``. The gradient of the envelope is ``−(e − r)``. It is
never computed as that difference, which rounds to zero where l1 is below the rounding error of e.
"""

import numpy as np
from numba import njit

from thresher.kernels.compiling import kernel

ROUNDING = 4
"""Steps of the last digit, in a sum over atoms and the projection after it."""


@njit(inline="always")
def outlier(e, l1, shrink, lower, upper):  # type: ignore[no-untyped-def]
    """The outlier at a residual; ``shrink`` is ``1/(1 + l2)``."""
    return min(max((e - min(max(e, -l1), l1)) * shrink, lower), upper)


@njit(inline="always")
def inlier(e, l1, l2, shrink, lower, upper):  # type: ignore[no-untyped-def]
    """``e − r`` for the outlier r at a residual, without cancellation."""
    clipped = min(max(e, -l1), l1)
    r = (e - clipped) * shrink
    within = e if clipped == e else shrink * (clipped + l2 * e)
    return e - lower if r < lower else (e - upper if r > upper else within)


@njit(inline="always")
def outlier_cost(r, l1, l2):  # type: ignore[no-untyped-def]
    """``l1·|r| + l2/2·r²``."""
    return abs(r) * (l1 + l2 * abs(r) / 2)


@kernel
def value_and_gradient(X, Y, outliers, gradient, value):  # type: ignore[no-untyped-def]
    """Gradient ``r − e`` in the prediction, and the value of every row; ``e = x − y``."""
    l1, l2, lower, upper = outliers
    one = X.dtype.type(1)
    shrink = one / (one + l2)
    for i in range(X.shape[0]):
        x, y, g = X[i], Y[i], gradient[i]
        total = X.dtype.type(0)
        for f in range(x.size):
            e = x[f] - y[f]
            r = outlier(e, l1, shrink, lower, upper)
            kept = inlier(e, l1, l2, shrink, lower, upper)
            g[f] = -kept
            total += kept * kept / 2 + outlier_cost(r, l1, l2)
        value[i] = total


@kernel
def mean_curvature(X, Y, gradient, weight, energy, bound, sums):  # type: ignore[no-untyped-def]
    """Per feature, add ``n·|∇|/|x − y|`` over the rows, n being the ``energy`` of a row.

    ``|∇|/|e|`` is the curvature of the quadratic through the residual e that majorises a loss: one
    for an inlier, less for an outlier, zero where an entry is missing. Where a residual is zero it
    is ``bound`` times the weight. ``weight`` is empty if all entries weigh one.
    """
    zero = X.dtype.type(0)
    for i in range(X.shape[0]):
        x, y, g, n = X[i], Y[i], gradient[i], energy[i]
        if weight.shape[0] == 0:
            for f in range(x.size):
                e = abs(x[f] - y[f])
                sums[f] += n * (abs(g[f]) / e if e > zero else bound)
        else:
            w = weight[i]
            for f in range(x.size):
                e = abs(x[f] - y[f])
                sums[f] += n * (abs(g[f]) / e if e > zero else bound * w[f])


@kernel
def code_residuals(samples, C, atoms, penalty, outliers, L, certificate):  # type: ignore[no-untyped-def]
    """``L‖c − prox(c − ∇/L)‖`` of every row, divided by the length of the gradient at ``c = 0``.

    For codes ``c ≥ 0`` under a ``penalty``; L is multiplied by the largest weight of a row. The
    step is written without the difference, which rounds to zero for large codes. A residual that
    the rounding errors of the prediction explain counts as zero.
    """
    X, weight = samples
    l1, l2, lower, upper = outliers
    T = X.dtype.type
    one, zero = T(1), T(0)
    shrink = one / (one + l2)
    eps = T(ROUNDING * np.finfo(X.dtype).eps)
    G, slopes, slopes_at_zero = np.empty_like(X), np.empty_like(C), np.empty_like(C)
    least, most = np.empty(X.shape[1], X.dtype), np.empty(X.shape[1], X.dtype)
    weighted = weight.shape[0] > 0
    for at_zero in range(2):
        if at_zero == 0:
            np.dot(C, atoms.D, G)
        for i in range(X.shape[0]):
            for f in range(X.shape[1]):
                w = weight[i, f] if weighted else one
                e = X[i, f] if at_zero else X[i, f] - G[i, f]
                G[i, f] = -w * inlier(e, l1, l2, shrink, lower, upper) if w > zero else zero
        np.dot(G, atoms.Dt, slopes_at_zero if at_zero else slopes)
    for i in range(X.shape[0]):
        largest = zero
        for f in range(X.shape[1] if weighted else 0):
            largest = max(largest, weight[i, f])
        bound = L * largest if largest > zero else L
        grow = one + penalty.l2 / bound
        residual, length, unit = zero, zero, zero
        for k in range(C.shape[1]):
            c = C[i, k]
            part = min((slopes[i, k] + penalty.l1 + penalty.l2 * c) / grow, bound * c)
            residual += part * part
            length += c * c
            unit += slopes_at_zero[i, k] * slopes_at_zero[i, k]
        residual, rounding = np.sqrt(residual), bound * np.sqrt(length)
        if zero < residual <= eps * rounding:
            for f in range(X.shape[1]):
                y, size, w = zero, abs(X[i, f]), weight[i, f] if weighted else one
                for k in range(C.shape[1]):
                    product = C[i, k] * atoms.D[k, f]
                    y += product
                    size += abs(product)
                e = X[i, f] - y if w > zero else zero
                error = eps * size if w > zero else zero
                least[f] = -w * inlier(e + error, l1, l2, shrink, lower, upper)
                most[f] = -w * inlier(e - error, l1, l2, shrink, lower, upper)
            explained = True
            for k in range(C.shape[1]):
                low = high = penalty.l1 + penalty.l2 * C[i, k]
                for f in range(X.shape[1]):
                    d = atoms.D[k, f]
                    low += min(d * least[f], d * most[f])
                    high += max(d * least[f], d * most[f])
                explained = explained and min(low, C[i, k]) <= zero <= min(high, C[i, k])
            if explained:
                residual = zero
        certificate[i] = residual / max(np.sqrt(unit), T(np.finfo(X.dtype).tiny))
