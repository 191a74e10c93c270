"""The few directions that all pixels of a scene share, how bright pixels are, and their noise.

A pixel is a mixture, lit more or less: ``x = s Σ aₖ eₖ``, with shares a that sum to one. So pixels
lie in a cone of K directions, and pixels divided by their brightness s in a simplex, whatever the
light. Dark pixels are noisy there: each has a noise of its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from thresher.linalg import Array

# By judgement, and none is critical on made scenes.
_ROUNDS = 8  # of weights, for each guess at the noise
_GUESSES = 3  # at the noise
_USUAL = 2.0  # medians of the residual: beyond, a pixel counts less
_STRANGE = 4.0  # medians of the residual: beyond, a pixel is no mixture
_SEEN = 3.0  # standard deviations: a darker pixel tells nothing
_CLASSES = 20  # of brightness, in which noise is measured
_EXACT = 1e-3  # of a pixel: no instrument is more exact
_SQUARE = 0.455  # median of the square of a standard normal


class Pixels(NamedTuple):
    """Sound pixels in the directions that they share."""

    directions: Array
    """V, of shape (bands, K), orthonormal."""
    upright: Array
    """u, of shape (K,): a pixel y has the brightness ``s = y·u``."""
    points: Array
    """Pixels divided by their brightness, (n, K): all on the plane ``p·u = 1``."""
    brightness: Array
    """s, shape (n,)."""
    noise: Array
    """Standard deviation of a coordinate of each point, shape (n,)."""
    sound: NDArray[np.bool_]
    """Which of the given pixels these are."""


def sound_pixels(X: Array, n_directions: int) -> Pixels:
    """Directions by weighted least squares, pixels by how far they are from them.

    The weight of a pixel is one over its noise squared, less if it is far from the directions.
    Noise has a part of its own and one that grows with the light, σ² = α² + β² s², measured along
    the first direction that is *not* used: what differs between pixels of one kind does so there as
    well as along the others, unlike the noise of the sensor, which is even.
    """
    lengths = np.linalg.norm(X, axis=1)
    unit = np.maximum(lengths, np.median(lengths))
    trust = np.ones(len(X))
    for _ in range(_GUESSES):
        for _ in range(_ROUNDS):
            weighted = X * (trust / unit**2)[:, None]
            basis = np.linalg.eigh(weighted.T @ X)[1][:, ::-1]
            V = basis[:, :n_directions]
            Y = X @ V
            off = np.sqrt(np.maximum(lengths**2 - (Y**2).sum(axis=1), 0)) / unit
            usual = max(float(np.median(off)), _EXACT * float(np.median(lengths / unit)))
            trust = np.minimum(1, (_USUAL * usual / np.maximum(off, usual)) ** 2)
        u = (trust / unit) @ Y
        u /= np.linalg.norm(u)
        s = Y @ u
        sound = (off <= _STRANGE * usual) & (s > 0)
        left = X[sound] @ basis[:, n_directions] if n_directions < X.shape[1] else np.zeros(1)
        unit = _noise(left, s[sound], s)
    # Where noise is all there is, the brighter half has to do.
    sound &= (s > _SEEN * unit) | (s >= np.median(s[sound]) if sound.any() else False)
    s, Y = s[sound], Y[sound]
    return Pixels(V, u, Y / s[:, None], s, unit[sound] / s, sound)


def _noise(left: Array, brightness: Array, wanted: Array) -> Array:
    """``σ = √(α² + β² s²)`` at wanted brightnesses, from residuals at others."""
    least = _EXACT * float(np.median(brightness))
    n_classes = int(np.clip(len(left) // _CLASSES, 1, _CLASSES))
    classes = np.array_split(np.argsort(brightness)[: len(left)], n_classes)
    squares = np.array([np.median(left[one] ** 2) / _SQUARE for one in classes])
    levels = np.array([np.median(brightness[one]) for one in classes])
    squares = np.maximum(squares, least**2)
    # Relative errors are alike in all classes.
    (alpha, beta), _ = nnls(np.column_stack([1 / squares, levels**2 / squares]), np.ones(n_classes))
    sigma: Array = np.sqrt(np.maximum(alpha, least**2) + beta * np.maximum(wanted, 0) ** 2)
    return sigma
