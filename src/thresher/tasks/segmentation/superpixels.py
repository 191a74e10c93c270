"""Small patches of similar pixels: a graph of an image needs far fewer nodes than pixels."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.validation import unmasked
from thresher.linalg import Array

FEATURES = ("brightness", "colour")


class Superpixels(NamedTuple):
    """Patches of an image.

    Attributes
    ----------
    patch : array of int, shape (height, width)
        The patch of each pixel, from 0.
    features : array of shape (n, 1) or (n, 3)
        Mean brightness in [0, 1], or mean colour in CIELAB, of each patch.
    locations : array of shape (n, 2)
        Row and column of the middle of each patch.
    """

    patch: NDArray[np.int64]
    features: Array
    locations: Array


def superpixels(image: NDArray[Any], n_superpixels: int, features: str) -> Superpixels:
    """Cut an image, checked by `checked_image`, into about as many patches as asked for.

    Patches are those of SLIC, k-means on colour and place (R. Achanta et al., "SLIC superpixels
    compared to state-of-the-art superpixel methods", PAMI 34(11), 2012), except that an image with
    no more pixels than that has each pixel for itself.
    """
    height, width = image.shape[:2]
    if height * width <= n_superpixels:
        patch = np.arange(height * width).reshape(height, width)
    else:
        axis = None if image.ndim == 2 else -1
        found = _skimage("segmentation").slic(
            image, n_segments=n_superpixels, start_label=0, channel_axis=axis,
            compactness=10.0 if axis else 0.1,  # the distance of colours runs to 100, of greys to 1
        )  # fmt: skip
        patch = np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.int64)
    values = _features(image, features)
    rows, columns = np.indices((height, width))
    return Superpixels(
        patch,
        np.stack([_means(patch, values[..., k]) for k in range(values.shape[-1])], axis=1),
        np.stack([_means(patch, rows), _means(patch, columns)], axis=1),
    )


def checked_image(image: Any) -> NDArray[Any]:
    """An image in [0, 1], grey (height, width) or in colour (height, width, 3)."""
    pixels = np.asarray(unmasked(image))
    if pixels.dtype.kind not in "buif":
        raise TypeError(f"An image is an array of numbers, not of {pixels.dtype}.")
    if pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)) or pixels.size == 0:
        raise ValueError(
            "An image has the shape (height, width) or (height, width, 3), not "
            f"{pixels.shape}: drop a channel of transparency with image[..., :3], and give one "
            "image at a time."
        )
    if not np.isfinite(pixels).all():
        raise ValueError("The image has NaN or infinite pixels: fill them first.")
    if pixels.dtype.kind == "b":
        return pixels.astype(np.float64)
    if pixels.dtype.kind in "ui":
        top = 255 if pixels.max() <= 255 else np.iinfo(pixels.dtype).max
        pixels = pixels / top
    if pixels.min() < 0 or pixels.max() > 1:
        raise ValueError(
            "Pixels must be bytes, or numbers between 0 and 1; these run from "
            f"{pixels.min():g} to {pixels.max():g}. Divide them by their largest possible value."
        )
    return np.asarray(pixels, dtype=np.float64)


def _features(image: NDArray[Any], features: str) -> Array:
    if not isinstance(features, str) or features not in FEATURES:
        raise ValueError(
            f"features={features!r} is not known; use {' or '.join(map(repr, FEATURES))}."
        )
    if image.ndim == 2:
        return image[..., None]
    colours = _skimage("color")
    if features == "colour":
        return np.asarray(colours.rgb2lab(image))
    return np.asarray(colours.rgb2gray(image))[..., None]


def _means(patch: NDArray[np.int64], values: NDArray[Any]) -> Array:
    """Mean of the values in each patch."""
    sums = np.bincount(patch.ravel(), weights=values.ravel())
    return np.asarray(sums / np.bincount(patch.ravel()))


def _skimage(module: str) -> Any:
    try:
        return importlib.import_module(f"skimage.{module}")
    except ImportError as error:
        raise ImportError(
            'Superpixels and colours need scikit-image: pip install "thresher[image]".'
        ) from error
