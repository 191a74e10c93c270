"""A scene in sixty bands: four kinds of ground, one of them nearly black, and two bad bands."""

from __future__ import annotations

import io

import numpy as np


def scene_file() -> bytes:
    """A ``.npy`` file of the shape (40, 50, 60)."""
    from thresher.datasets import make_spectral_scene

    scene = make_spectral_scene(
        40, 50, 60, 4, dark=True, illumination=0.15, variability=0.02, random_state=2
    )
    cube = scene.cube.astype(np.float32)
    cube[..., 17] = 0  # dead
    cube[..., 41] = np.random.default_rng(0).random(cube.shape[:2])  # drowned in noise
    target = io.BytesIO()
    np.save(target, np.round(cube, 4))
    return target.getvalue()
