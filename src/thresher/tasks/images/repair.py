"""What is wrong in pictures, and what belongs there: the model, and what neighbours know.

A model of all pictures tells what a picture looks like, but not its finest detail; neighbours tell
that, but not what lies behind a large spot. So a pixel is a damaged point if it is far from what
the model says and its neighbours differ from that by; it lies in a damaged spot if most pixels
around it are far from the model. It is replaced by what the model says, plus what the sound pixels
around it differ by. Sound pixels stay as they are.

Light multiplies, and where there is much of it a model errs by more: residuals are counted relative
to how bright the model says a place is. And where the model is wrong all around, it is not the
photograph that is damaged: a spot has to stand out from its own surroundings.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from thresher.linalg import Array

_PER_MEDIAN = 1.4826  # standard deviations of a normal, per median of its absolute values
_POINT = 3  # pixels: the smallest window that has a middle
_SPOT = 5  # pixels: what fills half of such a window is no point any more
_NEARER = 1 / 3  # of the distance of a point is far for a spot, of which many pixels tell
_REACH = 1.0  # pixels, standard deviation of the weights of neighbours
_ALONE = 0.05  # weight of the model itself beside theirs, so that it speaks alone inside of spots


def damaged(pictures: Array, model: Array, far: float) -> NDArray[np.bool_]:
    """Which pixels are too far from what they should be.

    Parameters
    ----------
    pictures, model : arrays of shape (n, height, width) or (n, height, width, 3)
        What was seen, NaN where nothing was, and what a model says of it. Gaps are damaged.
    far : float
        How many standard deviations a point is off; those of a picture are measured on itself, from
        its median residual.

    Returns
    -------
    array of bool of shape (n, height, width)
    """
    left = pictures - model
    gaps = np.isnan(left)
    left = np.where(gaps, 0, left)
    share = 1 / _brightness(model)
    detail = (left - _medians(left, _POINT)) * share
    points = np.abs(detail) > far * _scales(detail, gaps)
    left = left * share
    near = _NEARER * far * _scales(left, gaps)
    spots = np.abs(_medians(left, _SPOT)) > near
    # A median cuts corners off: what is far itself, in the same window, belongs to the spot.
    around = ndimage.maximum_filter(spots, _window(_SPOT, left.ndim), mode="constant")
    spots = _largest(spots | (around & (np.abs(left) > near)))
    spots &= _stand_out(spots, _largest(np.abs(left)), _NEARER * far)
    return np.asarray(_largest(gaps | points) | spots)


def _largest(values: NDArray[Any]) -> NDArray[Any]:
    """Of the colours of each pixel, if there are any."""
    return values.max(axis=3) if values.ndim == 4 else values


def _brightness(model: Array) -> Array:
    """What residuals are relative to: the model, and its mean, which counts where it is dark."""
    light = np.maximum(model, 0)
    level = light.mean(axis=tuple(range(1, model.ndim)), keepdims=True)
    return np.maximum(light + level, np.finfo(model.dtype).tiny)


def _stand_out(spots: NDArray[np.bool_], sizes: Array, times: float) -> NDArray[np.bool_]:
    """Where the median size of a connected spot is so many times the scale of its surroundings."""
    within_pictures = np.zeros((3, 3, 3), dtype=bool)
    within_pictures[1] = True
    labels, n = ndimage.label(spots, within_pictures)
    ring = ndimage.maximum_filter(labels, _window(_SPOT, 3), mode="constant")
    ring[spots] = 0
    inside, outside = np.zeros(n + 1), np.zeros(n + 1)
    for medians, places in ((inside, labels), (outside, ring)):
        present = np.unique(places)[1:]
        medians[present] = ndimage.median(sizes, places, present)
    stands = inside > times * _PER_MEDIAN * outside
    stands[0] = False
    return np.asarray(stands[labels])


def _medians(left: Array, width: int) -> Array:
    """The median of a window around each pixel."""
    medians: Array = ndimage.median_filter(left, _window(width, left.ndim), mode="nearest")
    return medians


def _window(width: int, ndim: int) -> tuple[int, ...]:
    """A square of a picture; pictures and colours are apart."""
    return (1, width, width, 1)[:ndim]


def _scales(left: Array, gaps: NDArray[np.bool_]) -> Array:
    """The robust standard deviation of each picture, as far as it was seen."""
    rows = np.where(gaps, np.nan, np.abs(left)).reshape(len(left), -1)
    rows[np.isnan(rows).all(axis=1)] = 0
    scales: Array = _PER_MEDIAN * np.nanmedian(rows, axis=1)
    return scales.reshape(-1, *[1] * (left.ndim - 1))


def repaired(pictures: Array, model: Array, wrong: NDArray[np.bool_]) -> Array:
    """The pictures with damaged pixels replaced."""
    sound = ~wrong if pictures.ndim == 3 else ~wrong[..., None]
    left = np.where(sound, pictures - model, 0)
    reach = (0, _REACH, _REACH, 0)[: left.ndim]
    weight = ndimage.gaussian_filter(sound.astype(left.dtype), reach, mode="nearest")
    nearby = ndimage.gaussian_filter(left, reach, mode="nearest") / (weight + _ALONE)
    filled: Array = np.where(sound, pictures, model + nearby)
    return filled
