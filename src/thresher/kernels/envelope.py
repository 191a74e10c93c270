"""Separable outlier envelopes in one pass over memory.

The penalty of an outlier r is ``l1·|r| + l2/2·r²`` on ``lower ≤ r ≤ upper``; at a residual e the
best one is ``r = clip(soft(e, l1)/(1 + l2))``. Sums may be reordered by the compiler (which makes
them fast), always in the same way.
"""

import numpy as np
from numba import njit


@njit(inline="always")
def _outlier(e, l1, shrink, lower, upper):  # type: ignore[no-untyped-def]
    r = e - min(max(e, -l1), l1)
    return min(max(r * shrink, lower), upper)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def value_and_gradient(X, Y, l1, l2, lower, upper, gradient, value):  # type: ignore[no-untyped-def]
    """Gradient ``r − e`` in the prediction, and the value of every row; ``e = x − y``."""
    n, F = X.shape
    shrink = np.float32(1) / (1 + l2)
    for i in range(n):
        total = X.dtype.type(0)
        for f in range(F):
            e = X[i, f] - Y[i, f]
            r = _outlier(e, l1, shrink, lower, upper)
            inlier = e - r
            gradient[i, f] = -inlier
            total += inlier * inlier / 2 + abs(r) * (l1 + l2 / 2 * abs(r))
        value[i] = total
