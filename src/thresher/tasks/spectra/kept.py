"""An even sample of all pixels that went by, of bounded size."""

from typing import NamedTuple, Self

import numpy as np

from thresher.linalg import Array

MOST_KEPT = 10_000
"""Pixels; by judgement. A kind of which there are few among ten thousand is not found."""


class KeptPixels(NamedTuple):
    """Each pixel draws a lot by its number; those with the lowest lots are kept."""

    pixels: Array
    """In the order in which they came."""
    lots: Array
    n_seen: int
    seed: int

    @classmethod
    def none(cls, like: Array, seed: int) -> Self:
        """Before anything was seen of pixels like these."""
        return cls(like[:0], np.empty(0), 0, seed)

    def with_more(self, X: Array) -> "KeptPixels":
        """After some more pixels; how they are cut into batches makes no difference."""
        draw = np.random.Generator(np.random.PCG64(self.seed).advance(self.n_seen))
        lots = np.concatenate([self.lots, draw.random(len(X))])
        pixels = np.concatenate([self.pixels, X.astype(self.pixels.dtype, copy=False)])
        if len(lots) > MOST_KEPT:
            lowest = np.sort(np.argpartition(lots, MOST_KEPT)[:MOST_KEPT])
            pixels, lots = pixels[lowest], lots[lowest]
        return KeptPixels(pixels, lots, self.n_seen + len(X), self.seed)
