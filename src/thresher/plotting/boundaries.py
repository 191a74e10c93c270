"""Where the segments of an image meet."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import binary_dilation

WHEAT = (192, 131, 24)
"""The colour of what the library found, as bytes."""


def paint_boundaries(
    image: ArrayLike,
    labels: ArrayLike,
    colour: tuple[int, int, int] = WHEAT,
    thickness: int = 2,
) -> NDArray[np.uint8]:
    """Draw the boundaries between segments over an image.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, 3)
        Grey or in colour; bytes, or numbers between 0 and 1.
    labels : array of shape (height, width)
        The segment of each pixel.
    colour : tuple of three bytes
    thickness : int
        Width of the lines, in pixels.

    Returns
    -------
    array of uint8, shape (height, width, 3)
        A picture: show it with ``imshow``, or put several into `frame_grid`.
    """
    picture, segment = np.asarray(image), np.asarray(labels)
    if picture.shape not in (segment.shape, (*segment.shape, 3)) or segment.ndim != 2:
        raise ValueError(
            f"labels need one entry for each pixel, but image and labels have the shapes "
            f"{picture.shape} and {segment.shape}."
        )
    if picture.dtype.kind == "f":
        picture = np.rint(255 * picture.clip(0, 1))
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, axis=2)
    painted = np.array(picture, dtype=np.uint8)
    edges = np.zeros(segment.shape, dtype=bool)
    edges[:, :-1] |= segment[:, :-1] != segment[:, 1:]
    edges[:-1] |= segment[:-1] != segment[1:]
    if thickness > 1 and edges.any():
        edges = binary_dilation(edges, np.ones((thickness, thickness), dtype=bool))
    painted[edges] = colour
    return painted
