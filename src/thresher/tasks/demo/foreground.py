"""From the residual of a video to a mask of what moves, without a threshold to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter


def grey_levels(residual: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Magnitudes in whole grey levels, after a 3 × 3 median filter in each frame.

    The filter removes single noisy pixels, such as salt and pepper.

    Parameters
    ----------
    residual : array of shape (n_frames, height, width)
        Of either sign, on the scale 0–255.
    """
    levels = np.rint(np.abs(residual)).clip(0, 255).astype(np.uint8)
    smooth: NDArray[np.uint8] = median_filter(levels, size=(1, 3, 3))
    return smooth


def automatic_threshold(levels: NDArray[np.uint8]) -> int:
    r"""Grey level that parts few bright pixels from many dark ones.

    With classes of mass :math:`p_i`, first moment :math:`m_i` and hence mean
    :math:`\mu_i = m_i / p_i`, it minimises the cross entropy between the image and its two means,
    that is :math:`-m_1 \log \mu_1 - m_2 \log \mu_2`. Otsu's rule assumes classes of similar size,
    and sets the threshold too high where little moves.

    Parameters
    ----------
    levels : array of uint8

    Returns
    -------
    int
        Levels above it are the bright class.

    Notes
    -----
    C. H. Li and C. K. Lee, "Minimum cross entropy thresholding", Pattern Recognition 26(4), 1993.
    """
    counts = np.bincount(levels.ravel(), minlength=256).astype(np.float64)
    moments = counts * np.arange(256)
    gain = np.zeros(256)
    for mass, moment in (
        (np.cumsum(counts), np.cumsum(moments)),
        (counts.sum() - np.cumsum(counts), moments.sum() - np.cumsum(moments)),
    ):
        # A class that is empty or black adds nothing: 0·log 0 = 0.
        mean = np.divide(moment, mass, out=np.ones(256), where=(mass > 0) & (moment > 0))
        gain += moment * np.log(mean)
    return int(np.argmax(gain))


def best_f1(true_mask: NDArray[np.bool_], levels: NDArray[np.uint8]) -> float:
    """Largest F1 score that any threshold on the grey levels reaches."""
    everything = np.bincount(levels.ravel(), minlength=256)
    hits = np.bincount(levels[true_mask], minlength=256)
    found_above = np.cumsum(everything[::-1])
    hits_above = np.cumsum(hits[::-1])
    total = found_above + hits.sum()
    return float(np.max(2 * hits_above / np.maximum(total, 1)))
