r"""The smallest simplex that holds all points, for scenes without pure pixels.

If shares are spread evenly, the likelihood of end members E (K × K, on the plane of the points) is

.. math:: -\log p(E) = N \log |\det E| + \sum_p \rho\big(d(y_p, E) / \sigma_p\big) + \text{const}

with the distance d of a pixel from the cone of E. A small volume is likely, and so are pixels
inside; the noise says how to weigh one against the other, so there is no weight to choose. ρ is
Huber's function: single pixels far outside count little.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from thresher.linalg import Array
from thresher.tasks.spectra.subspace import Pixels
from thresher.tasks.spectra.vertices import cone_codes

_BEND = 2.0  # standard deviations: beyond, ρ is a line
_OUTSIDE = 3.0  # standard deviations
_MANY = 0.15  # of the pixels are outside where none is pure; chosen on made scenes
_SAMPLE = 1500  # pixels are enough to find K² numbers
_STEPS = 40


def lacks_pure_pixels(pixels: Pixels, E: Array) -> bool:
    """Whether many pixels lie outside of the simplex of the purest ones, by more than noise."""
    outside = _distances(pixels.points, E)[0] > _OUTSIDE * pixels.noise
    return bool(outside.mean() > _MANY)


def smallest_simplex(pixels: Pixels, E: Array) -> Array:
    """The likeliest end members, found from ``E``."""
    n, n_corners = pixels.points.shape
    some = np.random.default_rng(0).permutation(n)[:_SAMPLE]
    points, noise = pixels.points[some], pixels.noise[some]
    u = pixels.upright
    across = np.linalg.qr(np.column_stack([u, np.eye(n_corners)]))[0][:, 1:n_corners]

    def corners(z: Array) -> Array:
        return u + z.reshape(n_corners, -1) @ across.T

    def unlikely(z: Array) -> tuple[float, Array]:
        E = corners(z)
        lengths, C, left = _distances(points, E)
        far = lengths / noise
        rho = np.where(far < _BEND, far**2 / 2, _BEND * far - _BEND**2 / 2)
        slope = np.minimum(1, _BEND / np.maximum(far, _BEND)) / noise**2
        sign, log_volume = np.linalg.slogdet(E)
        if sign == 0:
            return np.inf, np.zeros_like(z)
        gradient = len(points) * np.linalg.inv(E).T - (C * slope[:, None]).T @ left
        return rho.sum() + len(points) * log_volume, (gradient @ across).ravel()

    start = ((E - u) @ across).ravel()
    options: Any = {"maxiter": _STEPS}
    found = minimize(unlikely, start, jac=True, method="L-BFGS-B", options=options)
    return corners(found.x)


def _distances(points: Array, E: Array) -> tuple[Array, Array, Array]:
    """How far points are from the cone of E, their codes, and what is left of them."""
    C = cone_codes(E, points)
    left = points - C @ E
    return np.linalg.norm(left, axis=1), C, left


def volume(E: Array) -> float:
    """Of the simplex, but for a constant."""
    return float(abs(np.linalg.det(E)))
