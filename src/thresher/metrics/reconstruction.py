"""How close a reconstruction is to the clean data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def psnr(clean: ArrayLike, estimate: ArrayLike, peak: float = 1.0) -> float:
    r"""Peak signal-to-noise ratio in decibels.

    .. math:: -10 \log_{10} \frac{\|X^\circ - \hat X\|_F^2}{\text{peak}^2\, n F}

    Parameters
    ----------
    clean, estimate : array-like of the same shape
        The true data :math:`X^\circ` and the reconstruction, usually ``codes @ dictionary``.
    peak : float
        Largest possible value of the data: 1 for data in [0, 1], 255 for 8-bit images.

    Returns
    -------
    float
        Infinity if the two are equal.

    Notes
    -----
    Equations (47) and (48) of Zhao and Tan, "Online nonnegative matrix factorization with
    outliers", which are for data of peak 1. Their (49) claims equality with
    :math:`-10 \log_{10}` of :func:`mean_regret`, but the two differ by the constant
    :math:`10 \log_{10}(F/2)`; this is (48).
    """
    if not 0 < peak < np.inf:
        raise ValueError(f"peak must be the largest possible data value, > 0, not {peak}.")
    difference = _difference(clean, estimate)
    mean_squared_error = float(np.mean(np.square(difference / peak)))
    return -10 * float(np.log10(mean_squared_error)) if mean_squared_error > 0 else np.inf


def relative_error(clean: ArrayLike, estimate: ArrayLike) -> float:
    r"""Frobenius norm of the error, relative to that of the clean data.

    .. math:: \|X^\circ - \hat X\|_F \,/\, \|X^\circ\|_F

    Parameters
    ----------
    clean, estimate : array-like of the same shape
        The true data :math:`X^\circ` and the reconstruction.

    Returns
    -------
    float
        If the clean data are all zero: 0 for a zero estimate, otherwise infinity.
    """
    error = float(np.linalg.norm(_difference(clean, estimate)))
    scale = float(np.linalg.norm(_numeric(clean, "clean").astype(np.float64)))
    if scale == 0:
        return 0.0 if error == 0 else np.inf
    return error / scale


def squared_relative_error(clean: ArrayLike, estimate: ArrayLike) -> float:
    r"""Energy of the error, relative to that of the clean data: the error of paper C, Table 1.

    .. math:: \|X^\circ - \hat X\|_F^2 \,/\, \|X^\circ\|_F^2

    It is the square of `relative_error`, whatever the paper's word for it (errata C.8).
    """
    return relative_error(clean, estimate) ** 2


def mean_regret(clean: ArrayLike, reconstruction: ArrayLike) -> float:
    r"""Mean over the samples of half the squared error to the clean data.

    .. math:: \hat f_t(D) = \frac1t \sum_{i=1}^t \tfrac12 \|x_i^\circ - c_i D\|_2^2

    Parameters
    ----------
    clean, reconstruction : array-like of shape (n_samples, ...)
        The clean samples seen so far and their reconstructions ``codes @ dictionary``.

    Returns
    -------
    float
        The averaged regret.

    Notes
    -----
    Equation (46) of Zhao and Tan, "Online nonnegative matrix factorization with outliers".
    """
    difference = _difference(clean, reconstruction)
    if difference.ndim < 2:
        raise ValueError(
            "clean needs one row per sample: reshape a single sample with x.reshape(1, -1)."
        )
    return float(np.sum(np.square(difference))) / (2 * len(difference))


def _difference(clean: ArrayLike, estimate: ArrayLike) -> NDArray[np.float64]:
    """``clean - estimate`` in float64 (in uint8, 1 - 2 would be 255)."""
    clean_array, estimate_array = _numeric(clean, "clean"), _numeric(estimate, "the estimate")
    if clean_array.shape != estimate_array.shape:
        raise ValueError(
            "clean data and estimate must have the same shape, "
            f"but these are {clean_array.shape} and {estimate_array.shape}."
        )
    if clean_array.size == 0:
        raise ValueError("clean data are empty: give at least one entry to compare.")
    difference: NDArray[np.float64] = np.subtract(clean_array, estimate_array, dtype=np.float64)
    if not np.isfinite(difference).all():
        raise ValueError("clean data and estimate must be finite: leave out missing entries first.")
    return difference


def _numeric(values: ArrayLike, name: str) -> NDArray[np.generic]:
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name} must be a dense array of real numbers, not of {array.dtype}.")
    return array
