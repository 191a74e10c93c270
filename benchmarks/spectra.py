"""End members and shares of `SpectralUnmixer` beside NMF and the plain way.

Scenes are whole, with 5 % of the bands corrupted, and with 5 % of the pixels. The plain way takes
the first K singular directions, then successive projections; scikit-learn's NMF starts from
``nndsvda``. Measured are the mean spectral angle, and the root mean square error of shares by
nonnegative least squares of the *clean* scene on end members divided by their maximum, rows
normalised, as reference data have them. What is chosen in `thresher.tasks.spectra` was chosen on
scenes made in the same way (other seeds); those here have seeds from 1000.

    THRESHER_DATA=folder python benchmarks/spectra.py
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import (
    RESULTS,
    Row,
    command_line,
    find_data_file,
    interleaved,
    machine,
    spread,
    write_json,
)
from scipy.optimize import linear_sum_assignment, nnls
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from thresher import SpectralUnmixer
from thresher.datasets import SpectralScene, make_spectral_scene
from thresher.linalg import Array
from thresher.metrics import spectral_angles

SHARE = 0.05
MADE: dict[str, dict[str, float | bool]] = {
    "three kinds": {"n_endmembers": 3},
    "dark": {"dark": True, "illumination": 0.2},
    "dark, variable": {"dark": True, "illumination": 0.2, "variability": 0.05},
    "five, noisy": {
        "n_endmembers": 5, "n_bands": 160, "illumination": 0.1, "variability": 0.05, "snr": 25.0
    },
    "no pure pixels": {"pure": False, "snr": 35.0},
    "dark, no pure pixels": {"pure": False, "dark": True, "illumination": 0.2},
    "six, dark, noisy": {
        "n_endmembers": 6, "n_bands": 160, "dark": True, "illumination": 0.15,
        "variability": 0.03, "snr": 20.0,
    },
}  # fmt: skip


def samson() -> SpectralScene:
    with np.load(find_data_file("samson.npz"), allow_pickle=False) as stored:
        return SpectralScene(
            *(stored[key].astype(float) for key in ("cube", "endmembers", "abundances"))
        )


# --------------------------------------------------------------------------------- damage


def whole(cube: Array, seed: int) -> Array:
    return cube


def noisy_bands(cube: Array, seed: int) -> Array:
    """5 % of the bands are even noise up to the largest value."""
    rng = np.random.default_rng(seed)
    bad = rng.choice(cube.shape[2], round(SHARE * cube.shape[2]), replace=False)
    damaged = cube.copy()
    damaged[..., bad] = cube.max() * rng.random((*cube.shape[:2], len(bad)))
    return damaged


def mixed_bands(cube: Array, seed: int) -> Array:
    """5 % of the bands are noise, dead, stuck at the top, or three times too bright."""
    rng = np.random.default_rng(seed)
    damaged = cube.copy()
    bad = rng.choice(cube.shape[2], round(SHARE * cube.shape[2]), replace=False)
    damages: list[Callable[[Array], Array]] = [
        lambda band: cube.max() * rng.random(band.shape),
        np.zeros_like,
        lambda band: np.full_like(band, cube.max()),
        lambda band: 3 * band,
    ]
    for number, band in enumerate(bad):
        damaged[..., band] = damages[number % 4](cube[..., band])
    return damaged


def noisy_pixels(cube: Array, seed: int) -> Array:
    """5 % of the pixels are even noise up to the largest value."""
    rng = np.random.default_rng(seed)
    bad = rng.random(cube.shape[:2]) < SHARE
    damaged = cube.copy()
    damaged[bad] = cube.max() * rng.random((int(bad.sum()), cube.shape[2]))
    return damaged


def mixed_pixels(cube: Array, seed: int) -> Array:
    """5 % of the pixels are noise, dead, glaring, saturated, or full of spikes."""
    rng = np.random.default_rng(seed)
    rows = cube.reshape(-1, cube.shape[2]).copy()
    top = cube.max()
    damages: list[Callable[[Array], Array]] = [
        lambda pixel: top * rng.random(pixel.shape),
        np.zeros_like,
        lambda pixel: pixel * rng.uniform(2, 5),
        lambda pixel: np.full_like(pixel, top),
        lambda pixel: np.where(rng.random(pixel.shape) < 0.2, 2 * top, pixel),
    ]
    for number, place in enumerate(rng.permutation(len(rows))[: round(SHARE * len(rows))]):
        rows[place] = damages[number % 5](rows[place])
    return rows.reshape(cube.shape)


DAMAGES = (whole, noisy_bands, mixed_bands, noisy_pixels, mixed_pixels)


# -------------------------------------------------------------------------------- methods


def plain_way(cube: Array, n_endmembers: int) -> Array:
    X = cube.reshape(-1, cube.shape[2])
    V = np.linalg.eigh(X.T @ X)[1][:, -n_endmembers:]
    smooth = X @ V @ V.T
    left, places = smooth.copy(), []
    for _ in range(n_endmembers):
        places.append(int(np.argmax((left**2).sum(axis=1))))
        towards = left[places[-1]] / np.linalg.norm(left[places[-1]])
        left -= np.outer(left @ towards, towards)
    return np.maximum(smooth[places], 0)


def nmf(cube: Array, n_endmembers: int) -> Array:
    model = NMF(n_endmembers, init="nndsvda", max_iter=500, random_state=0)
    return np.asarray(model.fit(cube.reshape(-1, cube.shape[2])).components_)


def unmixed(cube: Array, n_endmembers: int) -> Array:
    return SpectralUnmixer(n_endmembers, random_state=0, verbose=0).fit(cube).endmembers_


METHODS = {"SpectralUnmixer": unmixed, "plain way": plain_way, "NMF": nmf}


def share_error(scene: SpectralScene, E: Array) -> float:
    """By the convention of the reference."""
    rows = scene.cube.reshape(-1, scene.cube.shape[2])[::3]
    true = scene.abundances.reshape(-1, len(scene.endmembers))[::3] * scene.endmembers.max(axis=1)
    true /= true.sum(axis=1, keepdims=True)
    unit = E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-300)
    reference = scene.endmembers / np.linalg.norm(scene.endmembers, axis=1, keepdims=True)
    order = linear_sum_assignment(-reference @ unit.T)[1]
    D = (E / np.maximum(E.max(axis=1, keepdims=True), 1e-300))[order]
    C = np.array([nnls(D.T, row)[0] for row in rows])
    C /= np.maximum(C.sum(axis=1, keepdims=True), 1e-300)
    return float(np.sqrt(np.mean((C - true) ** 2)))


def measured(name: str, scenes: list[SpectralScene], damage: Callable[[Array, int], Array]) -> Row:
    K = len(scenes[0].endmembers)
    jobs = {key: (lambda given, work=work: work(given[1], K)) for key, work in METHODS.items()}
    rounds = [(scene, damage(scene.cube, seed)) for seed, scene in enumerate(scenes)]
    found: dict[str, list[tuple[float, float, float]]] = {key: [] for key in METHODS}
    for key, (scene, _), E, spent in interleaved(jobs, rounds):
        angle = float(spectral_angles(scene.endmembers, E).mean())
        found[key].append((angle, share_error(scene, E), spent.wall))
    row: Row = {"scene": name, "damage": damage.__name__}
    for key, values in found.items():
        angles, errors, seconds = zip(*values, strict=True)
        row[key] = {
            "angle": spread(angles, 3), "share_error": spread(errors, 3),
            "seconds": spread(seconds, 1),
        }  # fmt: skip
    return row


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scenes", nargs="*", default=["samson", *MADE])
    parser.add_argument("--output", type=Path, default=RESULTS / "spectra.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record: Row = {"machine": machine("scikit-learn", "numpy"), "rows": []}
    seeds = range(1000, 1000 + options.seeds)
    with threadpool_limits(1):
        for name in options.scenes:
            scenes = [
                samson() if name == "samson" else make_spectral_scene(**MADE[name], random_state=i)
                for i in seeds
            ]
            for damage in DAMAGES:
                row = measured(name, scenes, damage)
                record["rows"].append(row)
                shown = {key: (row[key]["angle"], row[key]["share_error"]) for key in METHODS}
                print(name, damage.__name__, shown, flush=True)
                write_json(options.output, record)


if __name__ == "__main__":
    main()
