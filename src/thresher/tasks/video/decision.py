r"""Which pixels move: those whose residual is large, and whose surroundings say so too.

The score :math:`z` of a pixel is its residual in thresholds. A pixel moves if the mean of
:math:`\min(z, 2)` over the 5 × 5 pixels around it is above one: a median filter that also hears by
how much. Things that move are larger than that, and were close by a frame ago; so it is asked
twice, the second time with a threshold :math:`1 + \beta\,(1 - 2p)`, where :math:`p` is the share
of the 11 × 11 pixels around it that move, by the first answer and by that of the frame before.
A pixel at the border of what moves, one of the four beside it does not, speaks for itself too: it
has to be above half a threshold, or the strong ones within would widen the mask by it.
"""

from __future__ import annotations

import numpy as np

from thresher.linalg import Array
from thresher.tasks.video.results import Mask
from thresher.tasks.video.windows import square_sums

# Chosen with the constants of `noise.py`.
_SQUARE = 5
_AROUND = 11
_TRUST = 0.8  # β
_AT_BORDER = 0.5  # thresholds
_MOST = 2  # thresholds: one pixel alone does not decide
_STEPS = 255 // (_MOST * _SQUARE**2)  # of a score: the sum over a square is then one byte


def moving_pixels(scores: Array, before: Mask) -> Mask:
    """Which pixels move.

    Parameters
    ----------
    scores : array of shape (height, width)
        The residual of each pixel in thresholds.
    before : array of bool of the same shape
        What moved in the frame before.
    """
    at_first = _above_one(scores)
    votes = square_sums(at_first.view(np.uint8) + before.view(np.uint8), _AROUND)  # 242 at most
    share = votes * np.float32(0.5 / _AROUND**2)
    moving = _above_one(scores / (np.float32(1 + _TRUST) - np.float32(2 * _TRUST) * share))
    return moving & (_inner(moving) | (scores > np.float32(_AT_BORDER)))


def _inner(moving: Mask) -> Mask:
    """Pixels beside which all four move; what lies outside of the picture moves with its edge."""
    padded = np.pad(moving, 1, mode="edge")
    rows = padded[:-2, 1:-1] & padded[2:, 1:-1]
    return np.asarray(rows & padded[1:-1, :-2] & padded[1:-1, 2:])


def _above_one(scores: Array) -> Mask:
    heard = np.minimum(scores, np.float32(_MOST)) * np.float32(_STEPS) + np.float32(0.5)
    return np.asarray(square_sums(heard.astype(np.uint8), _SQUARE) > _STEPS * _SQUARE**2)
