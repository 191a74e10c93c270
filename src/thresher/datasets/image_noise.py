"""Noise as images have it: what paper C adds to faces, with levels that it leaves open.

Images are rows of pixels between 0 and 1, and stay so: noise that goes beyond is clipped. Every
function returns a new array; the same seed spoils the same pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import require_share

Images = NDArray[np.float64]


def occlude(
    images: ArrayLike, shape: tuple[int, int], size: int = 10, value: float = 0.0, seed: Any = None
) -> Images:
    """Hide a square of each image behind one grey level, at a place that is drawn for each.

    Parameters
    ----------
    images : array of shape (n, height * width)
        Pixels in [0, 1].
    shape : tuple of int
        Height and width of an image.
    size : int
        Side of the square, in pixels.
    value : float
        Grey level of the square; 0 is black, 1 is white.
    seed : int or Generator, optional
    """
    clean = _pixels(images)
    height, width = shape
    if clean.shape[1] != height * width:
        raise ValueError(
            f"shape={shape} has {height * width} pixels, but images have {clean.shape[1]}."
        )
    if not 1 <= size <= min(shape):
        raise ValueError(f"size={size} must be between 1 and the side of an image, {min(shape)}.")
    require_share("value", value)
    rng = np.random.default_rng(seed)
    spoiled = clean.reshape(-1, height, width).copy()
    tops = rng.integers(0, height - size + 1, len(spoiled))
    lefts = rng.integers(0, width - size + 1, len(spoiled))
    for image, top, left in zip(spoiled, tops, lefts, strict=True):
        image[top : top + size, left : left + size] = value
    return spoiled.reshape(clean.shape)


def add_laplace(images: ArrayLike, std: float = 0.1, seed: Any = None) -> Images:
    """Add Laplace noise of a standard deviation: heavy tails, density exp(−√2|e|/std)."""
    clean = _pixels(images)
    _require_level("std", std)
    noise = np.random.default_rng(seed).laplace(0.0, std / np.sqrt(2), clean.shape)
    return np.clip(clean + noise, 0, 1)


def add_gaussian(images: ArrayLike, std: float = 0.1, seed: Any = None) -> Images:
    """Add normal noise of a standard deviation."""
    clean = _pixels(images)
    _require_level("std", std)
    noise = std * np.random.default_rng(seed).standard_normal(clean.shape)
    return np.clip(clean + noise, 0, 1)


def salt_and_pepper(images: ArrayLike, share: float = 0.1, seed: Any = None) -> Images:
    """Make a share of the pixels white or black, each by the toss of a coin."""
    clean = _pixels(images)
    require_share("share", share)
    rng = np.random.default_rng(seed)
    hit = rng.random(clean.shape) < share
    return np.where(hit, rng.random(clean.shape) < 0.5, clean).astype(np.float64)


def poisson(images: ArrayLike, peak: float = 255.0, seed: Any = None) -> Images:
    """Replace pixels by Poisson numbers of that mean: photons, ``peak`` of them where it is white.

    The variance of a pixel x is x / peak.
    """
    clean = _pixels(images)
    _require_level("peak", peak)
    counts = np.random.default_rng(seed).poisson(peak * clean)
    return np.clip(counts / peak, 0, 1)


def image_noises(shape: tuple[int, int]) -> dict[str, Callable[[ArrayLike, Any], Images]]:
    """The five kinds of the paper for images of a shape, by name, as functions of images and seed.

    The paper does not state its levels (errata C.8). Ours: a black square of 10 × 10 (with a white
    one, errors are four times those of its Table 1), standard deviations of 0.1, a tenth of the
    pixels, 255 photons where it is white.
    """
    return {
        "occlusion": lambda images, seed: occlude(images, shape, seed=seed),
        "Laplace": lambda images, seed: add_laplace(images, seed=seed),
        "salt and pepper": lambda images, seed: salt_and_pepper(images, seed=seed),
        "Gaussian": lambda images, seed: add_gaussian(images, seed=seed),
        "Poisson": lambda images, seed: poisson(images, seed=seed),
    }


def _pixels(images: ArrayLike) -> Images:
    pixels = np.array(images, dtype=np.float64)
    if pixels.ndim != 2 or pixels.size == 0:
        raise ValueError(
            f"Images come as rows of pixels, not in the shape {pixels.shape}: use "
            "images.reshape(len(images), -1)."
        )
    if not (pixels.min() >= 0 and pixels.max() <= 1):
        raise ValueError("Pixels must be numbers between 0 and 1: divide bytes by 255.")
    return pixels


def _require_level(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be positive, not {value}.")
