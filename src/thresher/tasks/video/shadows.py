r"""Shadows of what moves: darker versions of the background, texture and colours kept.

Around a pixel of the mask, the background :math:`b` is scaled to the frame :math:`x`,

.. math:: a = \frac{\sum x b}{\sum b^2}, \qquad \rho^2 = \frac{1}{n} \sum (x - a b)^2,

with sums over a square of pixels and all colours, which share one :math:`a`: a shadow has no colour
of its own. It is a shadow if it is darker, :math:`a` between two bounds, and what is left over is
what the pixel usually differs by. Something dark and even before an even background looks the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.linalg import Array
from thresher.tasks.video.results import Mask
from thresher.tasks.video.windows import square_sums

# By judgement: light from the sky remains in a shadow, and what is hardly darker is none.
_DARKEST, _BRIGHTEST = 0.4, 0.95
_SQUARE = 5


def shadows(picture: Array, background: Array, usual: Array, moving: Mask) -> Mask:
    """Which of the pixels that move are shadows.

    Parameters
    ----------
    picture, background : arrays of shape (height, width, colours)
    usual : array of shape (height, width)
        What a residual may be.
    moving : array of bool of the same shape
    """
    products = [
        (one * other).sum(axis=2)
        for one, other in ((picture, background), (background, background), (picture, picture))
    ]
    dark = moving & _is_darker(products, usual, picture.shape[2])
    sums = [square_sums(product, _SQUARE) for product in products]
    core = moving & _is_darker(sums, usual, _SQUARE**2 * picture.shape[2])
    # A square at the border of a shadow holds something else too: there a pixel speaks for itself.
    near = square_sums(core.view(np.uint8), _SQUARE) > 0
    return np.asarray(core | (dark & near))


def _is_darker(products: Sequence[Array], usual: Array, n: int) -> Mask:
    """Whether the background, made darker, is what was seen, by sums of n products."""
    both, own, seen = products
    scale = both / np.maximum(own, np.finfo(np.float32).tiny)
    left = np.maximum(seen - scale * both, 0)
    return (scale > _DARKEST) & (scale < _BRIGHTEST) & (left <= n * usual**2)
