"""End members as the purest pixels: corners of the simplex in which points lie.

Points are pixels divided by their brightness (`subspace.py`), each with a noise of its own.
"""

import numpy as np

from thresher.encoding import AutoEncoder, CodingProblem
from thresher.linalg import Array
from thresher.losses import SquaredL2
from thresher.penalties import Regulariser
from thresher.tasks.spectra.subspace import Pixels

# Chosen on made scenes (benchmarks/spectra.py); twice or half as much changes little.
_SURELY = 3.0  # standard deviations
_PUREST = 0.005  # of all pixels are looked at for a corner, and
_FEWEST = 3  # at least so many
_PURE = 0.9  # is a share from which on a pixel is pure, at first


def cone_codes(E: Array, Y: Array) -> Array:
    """``min over c ≥ 0 of ‖y − cE‖²``, for every row y."""
    problem = CodingProblem(np.ascontiguousarray(E), SquaredL2(), Regulariser())
    codes: Array = AutoEncoder(1e-6, 200).encode(problem, np.ascontiguousarray(Y), None).codes
    return codes


def purest(pixels: Pixels) -> Array:
    """Corners of the simplex, of shape (K, K), on the plane of the points.

    Corners are found one by one, as in successive projections, but a point counts as far as it is
    surely away; a corner is the median of the furthest half percent. Then it is the median of all
    pixels that are nearly pure, and last of those that differ from it by no more than noise: what
    pure pixels have in common rather than how the most extreme one differs.
    """
    return _settled(pixels, _averaged(pixels, _furthest(pixels)))


def _furthest(pixels: Pixels) -> Array:
    points, noise = pixels.points, pixels.noise
    n, n_corners = points.shape
    count = min(max(_FEWEST, int(_PUREST * n)), n)
    left, corners, taken = points.copy(), [], np.zeros((n_corners, n_corners))
    for k in range(n_corners):
        away = np.linalg.norm(left, axis=1)
        first = int(np.argmax(away - _SURELY * noise))
        if away[first] <= 1e-9 * np.linalg.norm(points[first]):
            raise ValueError(
                f"These pixels are mixtures of {k} spectra, not of {n_corners}; set n_components="
                f"{k} or less."
            )
        towards = left[first] / away[first]
        top = np.argsort(_SURELY * noise - left @ towards)[:count]
        corner = np.median(points[top], axis=0)
        if np.linalg.norm(_across(corner, taken)) <= 1e-9 * np.linalg.norm(corner):
            corner = points[first]  # so few that the median is that of the last corner
        corners.append(corner)
        taken[k] = _across(corner, taken)
        taken[k] /= np.linalg.norm(taken[k])
        left -= np.outer(left @ taken[k], taken[k])
    return on_plane(np.array(corners), pixels)


def _across(point: Array, taken: Array) -> Array:
    """What is left of a point without some orthonormal directions."""
    left: Array = point - (point @ taken.T) @ taken
    return left


def _averaged(pixels: Pixels, E: Array) -> Array:
    """The median of the pixels that have nearly all of one end member."""
    C = cone_codes(E, pixels.points)
    shares = C / np.maximum(C.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    pure = [shares[:, k] >= _PURE for k in range(len(E))]
    return on_plane(_medians(pixels, E, pure, _FEWEST), pixels)


def _settled(pixels: Pixels, E: Array) -> Array:
    """The median of the pixels that are a corner, as far as noise lets tell."""
    away = np.linalg.norm(pixels.points[:, None] - E, axis=2) / pixels.noise[:, None]
    alike = [away[:, k] <= _SURELY for k in range(len(E))]
    return on_plane(_medians(pixels, E, alike, max(_FEWEST, int(_PUREST * len(away)))), pixels)


def _medians(pixels: Pixels, E: Array, members: list[Array], fewest: int) -> Array:
    """Where there are too few pixels, a corner stays."""
    return np.array(
        [
            np.median(pixels.points[pure], axis=0) if np.count_nonzero(pure) >= fewest else corner
            for corner, pure in zip(E, members, strict=True)
        ]
    )


def on_plane(E: Array, pixels: Pixels) -> Array:
    """Directions, as long as reaches the plane of the points."""
    scaled: Array = E / (E @ pixels.upright)[:, None]
    return scaled
