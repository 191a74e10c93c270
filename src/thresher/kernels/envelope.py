"""Separable outlier envelopes, entry by entry, and passes over memory that use them.

The penalty of an outlier r is ``l1·|r| + l2/2·r²`` on ``lower ≤ r ≤ upper``; at a residual e the
best one is ``r = clip(soft(e, l1)/(1 + l2))``. Sums may be reordered by the compiler, which makes
them fast, and always in the same way, so that bits do not change between runs. Division by zero
gives an infinity, as in NumPy: a check at every division would be slow, and statuses tell of it.
"""

from numba import njit

REORDER = {"reassoc", "contract", "nsz", "arcp"}


@njit(inline="always")
def outlier(e, l1, shrink, lower, upper):  # type: ignore[no-untyped-def]
    """The outlier at a residual; ``shrink`` is ``1/(1 + l2)``."""
    return min(max((e - min(max(e, -l1), l1)) * shrink, lower), upper)


@njit(inline="always")
def outlier_cost(r, l1, l2):  # type: ignore[no-untyped-def]
    """``l1·|r| + l2/2·r²``."""
    return abs(r) * (l1 + l2 * abs(r) / 2)


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def value_and_gradient(X, Y, l1, l2, lower, upper, gradient, value):  # type: ignore[no-untyped-def]
    """Gradient ``r − e`` in the prediction, and the value of every row; ``e = x − y``."""
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


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def mean_curvature(X, Y, gradient, energy, sums):  # type: ignore[no-untyped-def]
    """Per feature, add ``n·|∇|/|x − y|`` over the rows, n being the ``energy`` of a row.

    ``|∇|/|e|`` is the curvature of the quadratic through the residual e that majorises a loss: one
    for an inlier, less for an outlier, zero where an entry is missing.
    """
    tiny = X.dtype.type(1e-30)
    for i in range(X.shape[0]):
        x, y, g, n = X[i], Y[i], gradient[i], energy[i]
        for f in range(x.size):
            sums[f] += n * (abs(g[f]) / (abs(x[f] - y[f]) + tiny))
