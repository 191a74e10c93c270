"""What a pixel was like before: frames that are kept are asked where the background is wrong.

Leaves, water and curtains have no single background: a pixel shows one thing and then another. So a
pixel is compared with what it was in each of the frames that are kept, in the light of today: what
was seen there three times is no news.
"""

from __future__ import annotations

from thresher.kernels.nearest import lower_to_third_nearest
from thresher.linalg import Array

OFTEN_ENOUGH = 3  # chosen with the constants of `noise.py`


def remembered_sizes(
    sizes: Array, usual: Array, picture: Array, light: Array, memory: Array
) -> Array:
    """Sizes of residuals, smaller where the pixel has been like this before.

    Parameters
    ----------
    sizes, usual : arrays of shape (height, width)
        Against the background; only where that is more than usual is anybody asked.
    picture : array of shape (height, width, colours)
    light : array of shape (height / side, width / side, colours)
        That of its cells.
    memory : array of shape (n, height, width, colours)
        Frames that were kept, each divided by its light.
    """
    if len(memory) < OFTEN_ENOUGH:
        return sizes
    nearer = sizes.copy()
    lower_to_third_nearest(picture, light, len(picture) // len(light), memory, usual, nearer)
    return nearer
