"""The linear term of a quadratic whose curvature differs by feature, as NumPy would round it."""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_kernel


class FeatureCurvature(NamedTuple):
    """Curvatures of the features of a batch, see `thresher.learning.quadratic`."""

    curvature: Any  # (F), of the residuals
    inlier: Any  # (F), of residuals without outliers
    energy: Any  # what both are divided by
    bounded: Any  # whether a share is one at most
    lower: Any  # lower bound of the curvature, relative to that of inliers


@strict_kernel
def scaled_steps(AD, step, features, B):  # type: ignore[no-untyped-def]
    """``B = A D + step/share``, the share of a feature being its curvature over the energy.

    A feature without observed entries has neither a step nor a curvature.
    """
    curvature, inlier, energy, bounded, lower = features
    shares = np.empty_like(curvature)
    for f in range(shares.size):
        low = lower * inlier[f]
        share = (low if curvature[f] < low else curvature[f]) / energy
        if (bounded and share > 1.0) or not share > 0.0:
            share = 1.0
        shares[f] = share
    for k in range(AD.shape[0]):
        for f in range(shares.size):
            B[k, f] = AD[k, f] + step[k, f] / shares[f]
