"""The objective of least absolute deviations, and how low it could be."""

import numpy as np

from thresher.kernels.compiling import helper


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
    """``θ·x`` after θ went so far towards 0, or towards −w, that no price z is negative.

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
