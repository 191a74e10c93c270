r"""Which parts of pictures are damaged spots: far from the model, most pixels of them.

Light multiplies, and where there is much of it a model errs by more: residuals are counted relative
to how bright a place is, by the model or by what was seen, whichever is brighter. (A face lit from
the side has a dark half that says little of the other.) A pixel lies in a spot if the median
residual of the 5 × 5 pixels around it is more than :math:`k` standard deviations of its picture,
and more than three times what is usual at its place in the photographs that were learned from
(`usual_medians`): where many of them are far from the model, as faces in shadows are, it is the
model that is wrong. And a spot has to stand out from its own surroundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from thresher.linalg import Array

PER_MEDIAN = 1.4826  # standard deviations of a normal, per median of its absolute values
_SPOT = 5  # pixels: what fills half of such a window is no point any more
# Chosen on faces of ORL, CBCL and one half of PIE's people (docs/photographs.md): damage up to a
# quarter of the photographs, at any place, does not count as usual.
_QUANTILE = 0.75
_TIMES_USUAL = 3.0
_ENOUGH = 4  # photographs, at least, to tell what is usual


def spots_in(pictures: Array, model: Array, far: float, usual: Array) -> NDArray[np.bool_]:
    """Which pixels lie in damaged spots.

    Parameters
    ----------
    pictures, model : arrays of shape (n, height, width) or (n, height, width, 3)
        What was seen, NaN where nothing was, and what a model says of it.
    far : float
        k: how many standard deviations a spot is off; those of a picture are measured on itself,
        from its median residual.
    usual : array of shape (2, height, width) or (2, height, width, 3)
        As `usual_medians` gives it.

    Returns
    -------
    array of bool of shape (n, height, width)
    """
    left, gaps = _relative(pictures, model)
    medians = _medians(left)
    below, above = np.maximum(far, _TIMES_USUAL * usual)
    near = np.where(medians < 0, below, above) * scales(left, ~gaps)
    spots = np.abs(medians) > near
    # A median cuts corners off: what is far itself, in the same window, belongs to the spot.
    around = ndimage.maximum_filter(spots, window(_SPOT, left.ndim), mode="constant")
    spots = any_colour(spots | (around & (np.abs(left) > near)))
    return spots & _stand_out(spots, any_colour(np.abs(left)), far)


def usual_medians(pictures: Array, model: Array) -> Array | None:
    """How far below and above the model medians of residuals are at each place.

    In standard deviations of their pictures: the upper quartile over pictures, smoothed as spots
    are. None if there are too few of them.
    """
    if len(pictures) < _ENOUGH:
        return None
    left, gaps = _relative(pictures, model)
    medians = _medians(left) / np.maximum(scales(left, ~gaps), np.finfo(left.dtype).tiny)
    sides = [np.maximum(side, 0) for side in (-medians, medians)]
    usual = np.stack([np.quantile(side, _QUANTILE, axis=0, method="lower") for side in sides])
    smooth: Array = ndimage.uniform_filter(usual, window(_SPOT, usual.ndim), mode="nearest")
    return smooth


def relative_to_light(left: Array, pictures: Array) -> Array:
    """Residuals per brightness of a picture, and its mean, which counts where it is dark."""
    light = np.maximum(pictures, 0)
    level = light.mean(axis=tuple(range(1, light.ndim)), keepdims=True)
    return np.asarray(left / np.maximum(light + level, np.finfo(light.dtype).tiny))


def scales(left: Array, known: NDArray[np.bool_]) -> Array:
    """The robust standard deviation of each picture, as far as it is known."""
    rows = np.where(known, np.abs(left), np.nan).reshape(len(left), -1)
    rows[np.isnan(rows).all(axis=1)] = 0
    found: Array = PER_MEDIAN * np.nanmedian(rows, axis=1)
    return found.reshape(-1, *[1] * (left.ndim - 1))


def any_colour(values: NDArray[Any]) -> NDArray[Any]:
    """The largest of the colours of each pixel, if there are any."""
    return values.max(axis=3) if values.ndim == 4 else values


def window(width: int, ndim: int) -> tuple[int, ...]:
    """A square of a picture; pictures and colours are apart."""
    return (1, width, width, 1)[:ndim]


def _relative(pictures: Array, model: Array) -> tuple[Array, NDArray[np.bool_]]:
    left = pictures - model
    gaps = np.isnan(left)
    brighter = np.fmax(np.maximum(model, 0), pictures)
    return relative_to_light(np.where(gaps, 0, left), brighter), gaps


def _medians(left: Array) -> Array:
    medians: Array = ndimage.median_filter(left, window(_SPOT, left.ndim), mode="nearest")
    return medians


def _stand_out(spots: NDArray[np.bool_], sizes: Array, times: float) -> NDArray[np.bool_]:
    """Where the median size of a connected spot is so many times the scale of its surroundings."""
    within_pictures = np.zeros((3, 3, 3), dtype=bool)
    within_pictures[1] = True
    labels, n = ndimage.label(spots, within_pictures)
    ring = ndimage.maximum_filter(labels, window(_SPOT, 3), mode="constant")
    ring[spots] = 0
    inside, outside = np.zeros(n + 1), np.zeros(n + 1)
    for medians, places in ((inside, labels), (outside, ring)):
        present = np.unique(places)[1:]
        medians[present] = ndimage.median(sizes, places, present)
    stands = inside > times * PER_MEDIAN * outside
    stands[0] = False
    return np.asarray(stands[labels])
