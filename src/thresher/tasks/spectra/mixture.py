"""From pixels to end members, and to a model that tells the shares of a pixel."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from thresher.estimators import OnlineRobustNMF
from thresher.linalg import Array
from thresher.tasks.spectra.bands import bad_bands, bridged, without_spikes
from thresher.tasks.spectra.counting import count_endmembers
from thresher.tasks.spectra.subspace import Pixels, sound_pixels
from thresher.tasks.spectra.vertices import cone_codes, purest
from thresher.tasks.spectra.volume import lacks_pure_pixels, smallest_simplex, volume

CODE_SETS = {"lit": "nonnegative", "whole": "simplex", "shade": "l1_ball"}
"""What ``shares`` means for codes."""
_SAMPLE = 2000  # pixels, to measure bands, sizes and noise on


class SceneMixture(NamedTuple):
    """What was learned of a scene."""

    endmembers: Array
    """(K, bands), bad bands bridged."""
    bad: NDArray[np.bool_]
    """Bands that tell nothing."""
    grown: bool
    """Whether there were no pure pixels, so that the volume had to tell."""
    coder: Any
    """An `OnlineRobustNMF` on the sound bands, all atoms frozen."""


def learned(X: Array, n_components: int | None, shares: str, scale: str, grow: Any) -> SceneMixture:
    """End members of pixels without gaps; see `SpectralUnmixer`."""
    kind, X = X.dtype, X[X.any(axis=1)].astype(np.float64, copy=False)  # dead pixels are dead
    if not len(X):
        raise ValueError("These pixels are all zero; there is nothing to unmix.")
    few = _some(X)
    bad = bad_bands(few)
    sound = X[:, ~bad]
    unit = float(2 ** np.floor(np.log2(np.abs(sound).max())))
    sound = without_spikes(sound / unit)
    K = count_endmembers(sound) if n_components is None else n_components
    _check_enough(sound, K)
    if K == 1:
        spectra, grown = np.median(sound, axis=0)[None], False
    else:
        spectra, grown = _corners(sound, K, grow)
    spectra = spectra * unit if scale == "scene" else spectra / spectra.max(axis=1, keepdims=True)
    coder = _coder(spectra, few[:, ~bad].astype(kind, copy=False), shares)
    whole = np.empty((K, X.shape[1]))
    whole[:, ~bad] = spectra
    return SceneMixture(bridged(whole, bad).astype(kind), bad, grown, coder)


def _corners(X: Array, K: int, grow: Any) -> tuple[Array, bool]:
    pixels = sound_pixels(X, K)
    if len(pixels.points) < K:
        raise ValueError(
            f"Only {len(pixels.points)} of {len(X)} pixels are mixtures of a few spectra; give "
            "more pixels, or set n_components lower."
        )
    E = purest(pixels)
    grown = grow is True or (grow == "auto" and lacks_pure_pixels(pixels, E))
    if grown:
        larger = smallest_simplex(pixels, E)
        grown = grow is True or volume(larger) > volume(E)
        E = larger if grown else E
    spectra = np.maximum(E @ pixels.directions.T, 0)
    return spectra * _sizes(pixels, E)[:, None], grown


def _sizes(pixels: Pixels, E: Array) -> Array:
    """How large end members are: such that codes of most pixels sum to one.

    ``min over z ≥ 0 of ‖Cz − 1‖²``, and the size is 1/z.
    """
    some = slice(None, None, max(1, len(pixels.points) // _SAMPLE))
    C = cone_codes(E, pixels.points[some]) * pixels.brightness[some, None]
    inverse, _ = nnls(C, np.ones(len(C)))
    typical = float(np.median(pixels.brightness))
    sizes: Array = np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), typical)
    return sizes


def _coder(spectra: Array, X: Array, shares: str) -> OnlineRobustNMF:
    """A model that knows the end members; outliers are what stands out of the noise here."""
    return OnlineRobustNMF(
        len(spectra),
        init=spectra,
        frozen_atoms=list(range(len(spectra))),
        dictionary_set="nonnegative",
        code_set=CODE_SETS[shares],
        outlier_weight="mad",
        random_state=0,
        verbose=0,
    ).partial_fit(np.maximum(X, 0))


def _some(X: Array) -> Array:
    return X[:: max(1, len(X) // _SAMPLE)]


def _check_enough(X: Array, K: int) -> None:
    if min(X.shape) < K:
        what, n = ("pixels", len(X)) if len(X) < K else ("sound bands", X.shape[1])
        raise ValueError(
            f"n_components={K} needs at least {K} {what}; there are {n}. Give more, or set "
            "n_components lower."
        )
