"""The quadratic of a batch, entry by entry: every number is what NumPy would make of it."""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_kernel


class Bends(NamedTuple):
    """How much the features of a batch bend; see `thresher.learning.surrogate.BatchSums`."""

    curvature: Any  # (F)
    usual: Any  # (F), that of inliers
    energy: Any  # what both are divided by
    bounded: Any  # whether a share is one at most
    least: Any  # of the usual


@strict_kernel
def pulled(AD, gradient, bends, B):  # type: ignore[no-untyped-def]
    """``B = A D − gradient/share``, the share of a feature being its curvature over the energy.

    A feature that nobody saw has neither a gradient nor a curvature.
    """
    curvature, usual, energy, bounded, least = bends
    shares = np.empty_like(curvature)
    for f in range(shares.size):
        low = least * usual[f]
        share = (low if curvature[f] < low else curvature[f]) / energy
        if (bounded and share > 1.0) or not share > 0.0:
            share = 1.0
        shares[f] = share
    for k in range(AD.shape[0]):
        for f in range(shares.size):
            B[k, f] = AD[k, f] - gradient[k, f] / shares[f]
