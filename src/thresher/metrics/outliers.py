"""How well the positions of the outliers were found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class SupportScores(NamedTuple):
    """Precision, recall and their harmonic mean, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def support_scores(
    true_mask: ArrayLike, estimate: ArrayLike, threshold: float = 0.0
) -> SupportScores:
    r"""Compare the entries with :math:`|\hat R| >` ``threshold`` with the true support.

    With TP, FP and FN the numbers of found, falsely found and missed entries,

    .. math::

        \text{precision} = \frac{TP}{TP + FP}, \quad
        \text{recall} = \frac{TP}{TP + FN}, \quad
        F_1 = \frac{2\,TP}{2\,TP + FP + FN}.

    Parameters
    ----------
    true_mask : array-like of bool
        True where there is an outlier.
    estimate : array-like of the same shape
        Estimated outliers :math:`\hat R`, or a boolean mask.
    threshold : float
        Smaller estimates count as none. It has the unit of the data.

    Returns
    -------
    SupportScores
        A score whose denominator is 0 is 0 (nothing found, or nothing to find), except that all
        are 1 if there is nothing to find and nothing was found: then the estimate is right.
    """
    mask = np.asarray(true_mask)
    values = np.asarray(estimate)
    if mask.dtype != np.bool_:
        raise ValueError("true_mask must be boolean: pass `outliers != 0`, not the outliers.")
    if values.dtype.kind not in "buif":
        raise ValueError(f"estimate must be a dense array of real numbers, not of {values.dtype}.")
    if mask.shape != values.shape:
        raise ValueError(
            "true_mask and estimate must have the same shape, "
            f"but these are {mask.shape} and {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError("estimate must not contain NaN: leave out missing entries first.")
    if not threshold >= 0:
        raise ValueError(f"threshold is compared with magnitudes: give one >= 0, not {threshold}.")

    # Both signs are compared directly: abs() would overflow on the smallest integer.
    found = (values > threshold) | (values < -threshold)
    n_true = int(np.count_nonzero(mask))
    n_found = int(np.count_nonzero(found))
    n_hits = int(np.count_nonzero(mask & found))
    if n_true == n_found == 0:
        return SupportScores(1.0, 1.0, 1.0)
    return SupportScores(
        precision=n_hits / n_found if n_found else 0.0,
        recall=n_hits / n_true if n_true else 0.0,
        f1=2 * n_hits / (n_true + n_found),
    )
