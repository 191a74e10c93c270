"""Separable outlier envelopes, entry by entry, and passes over memory that use them.

The penalty of an outlier r is ``l1·|r| + l2/2·r²`` on ``lower ≤ r ≤ upper``; at a residual e the
best one is ``r = clip(soft(e, l1)/(1 + l2))``.
"""

from numba import njit

from thresher.kernels.compiling import kernel


@njit(inline="always")
def outlier(e, l1, shrink, lower, upper):  # type: ignore[no-untyped-def]
    """The outlier at a residual; ``shrink`` is ``1/(1 + l2)``."""
    return min(max((e - min(max(e, -l1), l1)) * shrink, lower), upper)


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
            inlier = e - r
            g[f] = -inlier
            total += inlier * inlier / 2 + outlier_cost(r, l1, l2)
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
