"""The light of a scene: a robust model of coarse frames, which says how bright each cell should be.

A frame is cut into square cells, and the estimator learns the means of the cells. Its low-rank part
follows what changes all over the picture, such as clouds, lamps and dusk, at a cost that does not
grow with the size of the frames; what a cell looks like inside is kept elsewhere (`scene.py`).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from thresher.linalg import Array

CELLS = 2048  # at most, so that a frame is coded in less than a millisecond; by judgement
LEARNS_EVERY = 16  # frames: a batch to the model; by judgement
_LEARNED_FROM = 2  # every second frame is: neighbours hardly differ; by judgement
ENOUGH = 4  # frames to learn from, at least
_WINDOW = 64  # coarse frames kept for an estimator that learns from all it has at once


def cell_side(height: int, width: int) -> int:
    """Pixels along the side of a cell."""
    return max(1, int(np.ceil((height * width / CELLS) ** 0.5)))


def cell_means(picture: Array, side: int) -> Array:
    """Means of the cells, flattened; sides of the picture are whole numbers of cells."""
    height, width, colours = picture.shape
    # Whole rows first: they lie together in memory.
    rows = picture.reshape(height // side, side, width * colours).sum(axis=1)
    cells = rows.reshape(height // side, width // side, side, colours).sum(axis=2)
    return np.asarray(cells.ravel() * np.float32(1 / side**2))


def lit(detail: Array, cells: Array, side: int) -> Array:
    """A picture of ratios times the light of its cells."""
    height, width, colours = detail.shape
    grid = cells.reshape(height // side, 1, width // side, colours)
    rows = np.repeat(grid, side, axis=2).reshape(height // side, 1, width * colours)
    picture = detail.reshape(height // side, side, width * colours) * rows
    return np.asarray(picture.reshape(detail.shape))


@dataclass(frozen=True)
class Light:
    """What is known of the light; a step gives a new one, and the old one stays as it is."""

    first: Array
    """Cells of the frame that the scene began with."""
    estimator: Any = None
    """The model of the cells, after it has learned from some."""
    waiting: tuple[Array, ...] = field(default=())
    """Cells to be learned from at the next step, or all that are kept."""

    def predicted(self, cells: Array) -> Array:
        """How bright the cells of each frame would be if nothing moved."""
        if self.estimator is not None:
            return np.asarray(self.estimator.separate(cells).low_rank, dtype=np.float32)
        # Nothing is learned yet: the first frame, as bright as this one.
        lit = np.maximum(self.first, 1.0)
        return self.first * np.median(cells / lit, axis=1, keepdims=True)

    def with_cells(self, cells: Array, number: int) -> Light:
        """Keep the cells of the frame of this number, if it is one to learn from."""
        if number % _LEARNED_FROM:
            return self
        return replace(self, waiting=(*self.waiting, cells)[-_WINDOW:])

    def learned(self, start: Any) -> Light:
        """Learn from what has waited; ``start`` is the estimator to begin with."""
        cells = np.array(self.waiting)
        if hasattr(start, "partial_fit"):
            model = clone(start) if self.estimator is None else deepcopy(self.estimator)
            return replace(self, estimator=model.partial_fit(cells), waiting=())
        return replace(self, estimator=clone(start).fit(cells))
