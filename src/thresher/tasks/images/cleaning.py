"""Pictures taken apart by a model: what is damaged tells nothing of what belongs there.

A model that is asked for what a picture looks like bends towards damage, and says that there is
less of it. So every block of a third of the sides is hidden once, and told by the rest; the one
that is furthest from that is left out. Then damage is looked for, hidden, and looked for again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.images.points import points_in
from thresher.tasks.images.repair import repaired
from thresher.tasks.images.spots import any_colour, relative_to_light, scales, spots_in

# By judgement: a block is a third of each side, and they begin a sixth of it apart.
_PARTS = 3
_POSITIONS = 5

SaysOf = Callable[[Array], Array]
"""What a model says of pictures, of which what is NaN is hidden."""


def cleaned(
    pictures: Array, says_of: SaysOf, far: float, usual: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Pictures with what was damaged replaced, and which pixels were.

    Parameters
    ----------
    pictures : array of shape (n, height, width) or (n, height, width, 3)
        Gaps are NaN.
    says_of : callable
    far, usual
        As in `spots_in`.
    """
    model = said_of_rest(pictures, says_of, far)
    model = says_of(_without(pictures, _damaged(pictures, model, far, usual)))
    wrong = _damaged(pictures, model, far, usual)
    return repaired(pictures, model, wrong), wrong


def said_of_rest(pictures: Array, says_of: SaysOf, far: float) -> Array:
    """What the model says of pictures without the block that is furthest from the rest, if far."""
    hidden = np.zeros(pictures.shape[:3], dtype=bool)
    furthest = np.full(len(pictures), far)
    for rows in _spans(pictures.shape[1]):
        for columns in _spans(pictures.shape[2]):
            block = np.zeros(pictures.shape[1:3], dtype=bool)
            block[rows, columns] = True
            distances = _distances(pictures, block, says_of)
            more = distances > furthest
            hidden[more], furthest[more] = block, distances[more]
    return says_of(_without(pictures, hidden))


def _damaged(pictures: Array, model: Array, far: float, usual: Array) -> NDArray[np.bool_]:
    wrong = any_colour(np.isnan(pictures)) | spots_in(pictures, model, far, usual)
    return wrong | points_in(pictures, model, wrong)


def _distances(pictures: Array, block: NDArray[np.bool_], says_of: SaysOf) -> Array:
    """The median residual of a hidden block, in standard deviations of the rest of its picture."""
    rest = _without(pictures, np.broadcast_to(block, pictures.shape[:3]))
    model = says_of(rest)
    left = relative_to_light(pictures - model, model)
    inside = left[:, block].reshape(len(left), -1)
    inside[np.isnan(inside).all(axis=1)] = 0
    spread = np.maximum(scales(left, ~np.isnan(rest)).ravel(), np.finfo(left.dtype).tiny)
    return np.asarray(np.abs(np.nanmedian(inside, axis=1)) / spread)


def _spans(side: int) -> list[slice]:
    length = -(-side // _PARTS)
    starts = np.unique(np.linspace(0, side - length, _POSITIONS).round().astype(int))
    return [slice(start, start + length) for start in starts.tolist()]


def _without(pictures: Array, wrong: NDArray[np.bool_]) -> Array:
    hidden = wrong if pictures.ndim == 3 else wrong[..., None]
    return np.asarray(np.where(hidden, np.nan, pictures))
