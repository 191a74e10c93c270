"""How many end members a scene has."""

import numpy as np

from thresher.linalg import Array
from thresher.tasks.spectra.subspace import sound_pixels

_MOST = 10
_DROP = 4.0  # chosen on made scenes: noise falls by 1.0 to 1.1, variability by up to 3 or so


def count_endmembers(X: Array) -> int:
    """The last direction after which the energy of points falls by a factor of four.

    Noise is even in all directions, so energies of further ones are alike. What differs within a
    kind, the light apart, is not: in scenes of great variability this is a guess, one or two off.
    """
    most = min(_MOST, X.shape[1] - 1, len(X) - 1)
    if most < 2:
        return 1
    pixels = sound_pixels(X, most)
    points = X[pixels.sound] / pixels.brightness[:, None]
    points /= np.maximum(pixels.noise, np.median(pixels.noise))[:, None]
    energies = np.linalg.eigvalsh(points.T @ points)[::-1][: most + 1]
    energies = np.maximum(energies, np.finfo(float).eps * energies[0])
    falls = np.flatnonzero(energies[:-1] > _DROP * energies[1:])
    return max(2, int(falls[-1]) + 1) if falls.size else 2
