r"""How much a pixel usually differs from its background: a scale of its own for every pixel.

The scale :math:`s` of a pixel is the upper quantile :math:`q` of the size :math:`e` of its own
residuals, followed by small steps as they come,

.. math:: s \leftarrow s + \eta\,(f + s)\,(q - 1[e \le s]),

and the noise :math:`f` of the whole picture is the median of the residuals of all pixels. A pixel
moves if :math:`e > k\,(c f + s)`. What was judged to move takes smaller steps: an object that
passes hardly marks the scale, and yet trees, water or a flag are not flagged for ever. The step is
that of H. Robbins and S. Monro, "A stochastic approximation method", Annals of Mathematical
Statistics 22(3), 1951.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from thresher.linalg import Array
from thresher.tasks.video.results import Mask


class NoiseSettings(NamedTuple):
    """Chosen on planted objects (`benchmarks/planted_video.py`), on clips that are not reported."""

    quantile: float = 0.8
    rate: float = 0.05
    rate_if_moving: float = 0.1
    """The share of a step that what moves takes."""
    floor: float = 0.3
    """c: how often the noise of the whole picture counts."""


SETTINGS = NoiseSettings()
_NORMAL = 1.4826  # from the median of sizes to a standard deviation, of normal noise
_SAMPLED = 5000  # pixels are enough for the median of all; by judgement
LEAST = 1.0  # of 255 levels: frames are rounded to one


@dataclass(frozen=True)
class PixelNoise:
    """The scale of every pixel, and the noise of the whole picture."""

    scale: Array
    floor: float
    n_frames: int = 0

    def with_frame(self, sizes: Array) -> PixelNoise:
        """The noise of the whole picture, with that of one more frame; scales stay."""
        step = max(1, int((sizes.size / _SAMPLED) ** 0.5))
        noise = max(_NORMAL * float(np.median(sizes[::step, ::step])), LEAST)
        share = max(1.0 / (self.n_frames + 1), SETTINGS.rate)
        floor = self.floor + share * (noise - self.floor)
        scale = self.scale
        if self.n_frames == 1:  # the first residuals: all that is known of any pixel
            scale = np.full_like(scale, floor * _upper_quantile())
        return PixelNoise(scale, floor, self.n_frames + 1)

    def usual(self) -> Array:
        """What a residual may be: :math:`c f + s`."""
        return self.scale + np.float32(SETTINGS.floor * self.floor)

    def learned(self, sizes: Array, moving: Mask) -> PixelNoise:
        """Follow the residuals of a frame."""
        q, rate = SETTINGS.quantile, max(1.0 / self.n_frames, SETTINGS.rate)
        step = np.subtract(sizes > self.scale, np.float32(1 - q), dtype=np.float32)
        step *= (self.scale + np.float32(self.floor)) * np.float32(rate)
        step[moving] *= np.float32(SETTINGS.rate_if_moving)
        scale = np.maximum(self.scale + step, np.float32(0))
        return PixelNoise(scale, self.floor, self.n_frames)


def usual_size(sizes: Array) -> Array:
    """The scale of every pixel from the residuals of some frames at once.

    The upper quantile that normal noise of their median size has: what passed in some of these
    few frames would raise the quantile itself.
    """
    return np.asarray(np.median(sizes, axis=0) * _NORMAL * _upper_quantile(), dtype=np.float32)


def _upper_quantile() -> float:
    """Of the size of normal noise of standard deviation one."""
    return float(norm.ppf((1 + SETTINGS.quantile) / 2))
