"""How well pure spectra were found."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from .factors import _unit_rows


def spectral_angles(true: ArrayLike, found: ArrayLike) -> NDArray[np.float64]:
    r"""The angle, in radians, between each true spectrum and its partner among those found.

    .. math:: \arccos \frac{\langle e_k, \hat e_{\pi(k)} \rangle}
              {\|e_k\|_2 \, \|\hat e_{\pi(k)}\|_2}

    Partners π are one to one, and such that the sum of the angles is least. Sizes do not matter.

    Parameters
    ----------
    true : array-like of shape (K, bands)
    found : array-like of shape (at least K, bands)

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    >>> spectral_angles([[1, 0], [1, 1]], [[2, 2], [3, 0]]).round(3).tolist()
    [0.0, 0.0]
    """
    first, second = _unit_rows(true, "true"), _unit_rows(found, "found")
    if first.shape[1] != second.shape[1] or len(second) < len(first):
        raise ValueError(
            "found must have as many bands as true, and at least as many spectra; got the shapes "
            f"{second.shape} and {first.shape}."
        )
    angles = np.arccos(np.clip(first @ second.T, -1, 1))
    rows, columns = linear_sum_assignment(angles)
    partners: NDArray[np.float64] = angles[rows, columns]
    return partners
