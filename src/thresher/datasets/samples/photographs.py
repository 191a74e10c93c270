"""Photographs of one kind: the same lake on sixty days, through a window with dirt on it."""

from __future__ import annotations

import io

import numpy as np

_DAYS, _HEIGHT, _WIDTH = 60, 48, 72
_DIRT = 12  # pixels along the side of a spot
_SPECKS = 0.01  # of the pixels


def photograph_files() -> dict[str, bytes]:
    """PNG files in grey: sky, hills and lake, each as bright as its day, and dirt on the window."""
    from PIL import Image  # comes with matplotlib

    rng = np.random.default_rng(4)
    pictures = np.tensordot(rng.uniform(0.3, 1.0, (_DAYS, 3)), _layers(), 1)
    files = {}
    for day, picture in enumerate(pictures, 1):
        top, left = rng.integers(_HEIGHT - _DIRT), rng.integers(_WIDTH - _DIRT)
        picture[top : top + _DIRT, left : left + _DIRT] = 0
        picture[rng.random(picture.shape) < _SPECKS] = 255
        picture += rng.normal(scale=2.0, size=picture.shape)
        target = io.BytesIO()
        pixels = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(target, format="PNG")
        files[f"day-{day:02}.png"] = target.getvalue()
    return files


def _layers() -> np.ndarray:
    """What sky, hills and lake look like by themselves, (3, height, width)."""
    row, column = np.mgrid[:_HEIGHT, :_WIDTH].astype(float)
    hills = 20 - 4 * np.sin(column / 9 + 1) - 2 * np.sin(column / 4)
    sky, lake = row < hills, row >= 30
    shades = [
        150 + 60 * np.exp(-((np.hypot(row - 10, column - 50) / 8) ** 2)) + 10 * np.sin(column / 15),
        80 + 25 * np.sin(row / 2 + column / 7),
        110 + 30 * np.sin(row) + 15 * np.sin(column / 3),
    ]
    where = [sky, ~sky & ~lake, lake]
    return np.array([shade * here for shade, here in zip(shades, where, strict=True)])
