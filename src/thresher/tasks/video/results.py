"""What comes of a video: background, foreground, masks, boxes, and what was noticed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from thresher.linalg import Array

Mask = NDArray[np.bool_]
_TOUCHING = np.ones((3, 3), dtype=bool)  # pixels that share a corner belong together


class BoundingBox(NamedTuple):
    """An upright rectangle around something that moves, in pixels; ends are not inside."""

    top: int
    left: int
    bottom: int
    right: int
    pixels: int
    """How many pixels in it are moving."""


class SceneChange(NamedTuple):
    """More than a third of the picture became another at once: the model began anew."""

    frame: int
    """Number of the frame, from 0, after which the new scene is the background."""


class VideoSeparation(NamedTuple):
    """Frames taken apart."""

    background: Array
    """The scene without what moves, in the shape and kind of the frames."""
    foreground: Array
    """The frames where something moves, and zero elsewhere."""
    mask: NDArray[Any]
    """Whether a pixel belongs to something that moves, of shape (n, height, width)."""

    @property
    def boxes(self) -> list[list[BoundingBox]]:
        """For each frame, a box around everything that moves, the largest first."""
        return [boxes(mask) for mask in self.mask]


class WatchedFrames(NamedTuple):
    """What a callback is told after each batch of a source."""

    frames: Array
    """The frames, as they came."""
    separation: VideoSeparation
    """What was found of them."""
    model: Any
    """The separator, usable as it is: it can be saved, or given another threshold."""


def boxes(mask: Mask, smallest: int = 1) -> list[BoundingBox]:
    """Boxes around the connected parts of a mask, the largest part first.

    Parameters
    ----------
    mask : array of bool, shape (height, width)
        Of one frame.
    smallest : int
        Parts of fewer pixels are left out.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((6, 8), dtype=bool)
    >>> mask[1:4, 2:7] = True
    >>> boxes(mask)
    [BoundingBox(top=1, left=2, bottom=4, right=7, pixels=15)]
    """
    if np.ndim(mask) != 2:
        raise ValueError(
            f"boxes takes the mask of one frame, (height, width), not the shape {np.shape(mask)}; "
            "go through the frames, or ask the result for its boxes."
        )
    parts, n_parts = ndimage.label(np.asarray(mask, dtype=bool), _TOUCHING)
    pixels = np.bincount(parts.ravel(), minlength=n_parts + 1)[1:]
    places = ndimage.find_objects(parts)
    found = [
        BoundingBox(rows.start, columns.start, rows.stop, columns.stop, int(n))
        for (rows, columns), n in zip(places, pixels, strict=True)
        if n >= smallest
    ]
    return sorted(found, key=lambda box: -box.pixels)
