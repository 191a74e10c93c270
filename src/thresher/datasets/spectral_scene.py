"""A made scene for spectral unmixing, with its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from .arguments import require_positive, require_share

_Array = NDArray[np.float64]
_DARK = 0.08  # the largest value of a dark end member; water
_LARGEST_SHARE = 0.85  # where no pixel is pure


@dataclass(frozen=True, eq=False)
class SpectralScene:
    """A cube with the spectra and the shares that it is made of.

    Attributes
    ----------
    cube : ndarray of shape (height, width, n_bands)
        Nonnegative, with noise.
    endmembers : ndarray of shape (n_endmembers, n_bands)
        Pure spectra, between 0 and 1.
    abundances : ndarray of shape (height, width, n_endmembers)
        Shares, which sum to one.
    """

    cube: _Array
    endmembers: _Array
    abundances: _Array


def make_spectral_scene(
    height: int = 60,
    width: int = 60,
    n_bands: int = 120,
    n_endmembers: int = 4,
    *,
    pure: bool = True,
    dark: bool = False,
    snr: float = 30.0,
    illumination: float = 0.0,
    variability: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> SpectralScene:
    r"""Draw a scene of mixed pixels.

    .. math:: x = s \sum_k a_k (1 + v_k) e_k + \text{noise}

    Spectra are smooth, with an edge and two absorption lines each; shares are smooth over the
    scene; the light s is as well; :math:`v_k` is smooth over the bands and another in each pixel.

    Parameters
    ----------
    height, width, n_bands, n_endmembers : int
        Sizes.
    pure : bool
        Whether there are pure pixels; else no share is much above 0.85.
    dark : bool
        Whether the last end member is nearly black, as water is.
    snr : float
        Signal to noise, in decibels of energy.
    illumination, variability : float
        Standard deviations of s and of v.
    random_state : int, Generator or None

    Examples
    --------
    >>> make_spectral_scene(20, 30, random_state=0).cube.shape
    (20, 30, 120)
    """
    for name, size in (("height", height), ("width", width), ("n_endmembers", n_endmembers)):
        require_positive(name, size)
    require_positive("n_bands", n_bands)
    require_share("variability", variability)
    rng = np.random.default_rng(random_state)
    endmembers = np.array([_spectrum(rng, n_bands) for _ in range(n_endmembers)])
    if dark:
        endmembers[-1] *= _DARK / endmembers[-1].max()
    shares = _shares(rng, height, width, n_endmembers, pure)
    n = height * width
    X = shares @ endmembers
    if variability:
        X = np.zeros((n, n_bands))
        for share, spectrum in zip(shares.T, endmembers, strict=True):
            change = gaussian_filter1d(rng.normal(size=(n, n_bands)), n_bands / 8, axis=1)
            X += share[:, None] * spectrum * (1 + variability * change / change.std())
    if illumination:
        light = gaussian_filter(rng.normal(size=(height, width)), 4).reshape(-1, 1)
        X *= np.clip(1 + illumination * light / light.std(), 0.2, None)
    noise = np.sqrt(np.mean(X**2) / 10 ** (snr / 10))
    X = np.clip(X + noise * rng.normal(size=X.shape), 0, None)
    return SpectralScene(
        X.reshape(height, width, n_bands), endmembers, shares.reshape(height, width, -1)
    )


def _spectrum(rng: np.random.Generator, n_bands: int) -> _Array:
    bands = np.linspace(0, 1, n_bands)
    smooth = gaussian_filter1d(rng.normal(size=n_bands), n_bands / 12, mode="reflect")
    smooth = (smooth - smooth.min()) / max(float(np.ptp(smooth)), 1e-12)
    spectrum = 0.15 + 0.7 * smooth
    place, width = rng.uniform(0.15, 0.85), rng.uniform(0.01, 0.04)
    spectrum *= 1 - 0.8 * rng.random() / (1 + np.exp((bands - place) / width))
    for _ in range(2):
        spectrum *= 1 - 0.25 * rng.random() * np.exp(-(((bands - rng.random()) / 0.02) ** 2))
    return np.asarray(spectrum * rng.uniform(0.5, 1))


def _shares(rng: np.random.Generator, height: int, width: int, n: int, pure: bool) -> _Array:
    shape = (height, width)
    fields = [gaussian_filter(rng.normal(size=shape), height / 14) for _ in range(n)]
    levels = np.stack([field / field.std() for field in fields], axis=-1).reshape(-1, n)
    shares = np.exp((4.0 if pure else 1.2) * levels)
    shares /= shares.sum(axis=1, keepdims=True)
    if not pure and n > 1:
        shares = np.minimum(shares, _LARGEST_SHARE)
        shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares)
