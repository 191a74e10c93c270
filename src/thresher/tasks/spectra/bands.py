"""Bands that tell nothing: dead, stuck, or drowned in noise."""

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array

# Chosen on made scenes (benchmarks/spectra.py), where sound bands have at most 3 and 0.14, and
# corrupted ones at least 6 and 0.35.
_REACH = 3  # bands on each side
_FAR = 3.0  # times what is usual
_GROSS = 0.25  # of what the neighbours have
_SPIKE = 10.0  # times what is usual, for a single value; by judgement


def bad_bands(X: Array) -> NDArray[np.bool_]:
    """Bands that most pixels say are far from their neighbours.

    A spectrum is smooth: in a sound band it is near the median of the three bands on either side. A
    band is bad if in the median pixel it is off by a quarter of their value, and by three times
    what is usual for bands here. Where bands have no order, that is usual, and none is bad.

    Parameters
    ----------
    X : array of shape (n, bands)
        Without gaps.
    """
    nearby = _neighbours(X)
    off = np.median(np.abs(X - nearby), axis=0)
    level = np.median(np.abs(nearby), axis=0)
    bad: NDArray[np.bool_] = (off > _FAR * np.median(off)) & (off > _GROSS * level)
    return bad


def without_spikes(X: Array) -> Array:
    """Sound bands with single values that are far off replaced by what their neighbours say.

    Far off is ten times what is usual in the band, and a quarter of what the neighbours have there
    in the median pixel.
    """
    nearby = _neighbours(X)
    off = np.abs(X - nearby)
    level = np.median(np.abs(nearby), axis=0)
    return np.where((off > _SPIKE * np.median(off, axis=0)) & (off > _GROSS * level), nearby, X)


def _neighbours(X: Array) -> Array:
    """The median of the bands on either side, for every pixel.

    Beyond an end, at i − d, is what the line through i + d and i + 2d says: the first band, which
    is bad as often as any, has no part in what it is compared with.
    """
    n_bands = X.shape[1]
    reach = min(_REACH, n_bands // 3)
    if reach < 1:
        return X
    places = np.arange(n_bands)
    sides = []
    for shift in (*range(-reach, 0), *range(1, reach + 1)):
        there = places + shift
        beyond = (there < 0) | (there >= n_bands)
        near = np.where(beyond, places - shift, there)
        far = np.where(beyond, places - 2 * shift, there)
        sides.append(np.where(beyond, 3 * X[:, near] - 2 * X[:, far], X[:, near]))
    medians: Array = np.median(sides, axis=0)
    return medians


def bridged(spectra: Array, bad: NDArray[np.bool_]) -> Array:
    """Spectra with what their sound bands say, along a line, in place of bad ones."""
    whole = spectra.copy()
    places = np.flatnonzero(bad)
    sound = np.flatnonzero(~bad)
    for spectrum in whole:
        spectrum[places] = np.interp(places, sound, spectrum[sound])
    return whole


def without_gaps(X: Array) -> Array:
    """Pixels with NaN replaced along a line over the bands; those that are all NaN are left out."""
    gaps = np.isnan(X)
    if not gaps.any():
        return X
    X = X[~gaps.all(axis=1)].copy()
    for place in np.flatnonzero(np.isnan(X).any(axis=1)):
        spectrum = X[place]
        missing = np.isnan(spectrum)
        places = np.flatnonzero(~missing)
        spectrum[missing] = np.interp(np.flatnonzero(missing), places, spectrum[places])
    return X
