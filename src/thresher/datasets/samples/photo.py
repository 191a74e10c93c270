"""A picture: a lake at evening, with hills and a low sun."""

from __future__ import annotations

import io

import numpy as np

_HEIGHT, _WIDTH = 160, 240


def photo_file() -> bytes:
    """A PNG file in colour: sky, sun, two ranges of hills, and the lake that mirrors them."""
    from PIL import Image  # comes with matplotlib

    target = io.BytesIO()
    Image.fromarray(_pixels()).save(target, format="PNG")
    return target.getvalue()


def _pixels() -> np.ndarray:
    rng = np.random.default_rng(3)
    row, column = np.mgrid[:_HEIGHT, :_WIDTH].astype(float)
    shore = 0.62 * _HEIGHT
    height = np.where(row < shore, row, 2 * shore - row)  # the lake shows the land upside down
    share = np.clip(height / shore, 0, 1)[..., None]
    picture = (1 - share) * [86, 120, 178] + share * [247, 190, 128]
    sun = np.hypot(height - 0.33 * _HEIGHT, column - 0.68 * _WIDTH)
    picture += 60 * np.exp(-((sun / 26) ** 2))[..., None]
    picture[sun < 11] = [255, 244, 205]
    far = 0.42 * _HEIGHT - 12 * np.sin(column / 31 + 1) - 6 * np.sin(column / 13)
    near = 0.52 * _HEIGHT + 9 * np.sin(column / 40) - 4 * np.sin(column / 9)
    picture[height > far] = [92, 96, 126]
    picture[height > near] = [44, 58, 52]
    lake = row >= shore
    picture[lake] = 0.72 * picture[lake] + [10, 16, 26]
    picture += rng.normal(scale=4.0, size=(_HEIGHT, _WIDTH, 1))
    return np.asarray(np.clip(np.rint(picture), 0, 255), dtype=np.uint8)
