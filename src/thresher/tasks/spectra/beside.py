"""Plain NMF, beside the end members of a scene: for its page."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import NMF

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

if TYPE_CHECKING:
    from thresher.tasks.spectra.unmixer import SpectralUnmixer

_MOST_PIXELS = 4000  # that both learn from; by judgement


def tell_plain_spectra(report: Report, unmixer: SpectralUnmixer, X: Any) -> None:
    """Compare how near pixels are to mixtures, and how pure they are, under plain NMF.

    Parameters
    ----------
    report : Report
    unmixer : SpectralUnmixer
        Fitted.
    X : array of shape (..., bands)
        The pixels.
    """
    pixels = np.asarray(X, dtype=np.float64).reshape(-1, np.shape(X)[-1])
    pixels = pixels[np.isfinite(pixels).all(axis=1)]
    pixels = np.maximum(pixels[:: -(-len(pixels) // _MOST_PIXELS)] if len(pixels) else pixels, 0)
    K = len(unmixer.endmembers_)
    if len(pixels) <= K:
        return
    good = ~unmixer.bad_bands_
    again = clone(unmixer).set_params(n_components=K, verbose=0)
    simple = NMF(K, init="nndsvda", max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unfinished or not, it is what such a line gives
        shares, own_seconds = timed(lambda: np.asarray(again.fit(pixels).transform(pixels)))
        W, seconds = timed(lambda: simple.fit_transform(pixels[:, good]))
    mixed = shares @ again.endmembers_
    rows = []
    for name, told, parts, took in (
        ("SpectralUnmixer", mixed[:, good], shares, own_seconds),
        ("NMF", W @ simple.components_, W * simple.components_.max(axis=1), seconds),
    ):
        total = np.maximum(parts.sum(axis=1), np.finfo(float).tiny)
        largest = float(np.median(parts.max(axis=1) / total))
        angle = float(np.median(angles(pixels[:, good], told)))
        rows.append([name, f"{angle:.3f}", f"{largest:.0%}", f"{took:.2g}"])
    tell_beside(
        report,
        ["angle to a mixture", "largest share", "seconds of learning"],
        rows,
        f"Both with {K} spectra, learned from {len(pixels):,} pixels, medians over these. The "
        "angle, in radians, is between a pixel and the mixture that it is taken for. NMF has no "
        "reason to find pure spectra: it may describe pixels as well, as mixtures of mixtures. Its "
        "shares are by spectra divided by their maximum.",
    )


def angles(pixels: Array, told: Array) -> Array:
    """Arccos of the cosine of each pixel and what is told of it."""
    norms = np.linalg.norm(pixels, axis=1) * np.linalg.norm(told, axis=1)
    cosines = np.einsum("ij,ij->i", pixels, told) / np.maximum(norms, np.finfo(float).tiny)
    return np.arccos(np.clip(cosines, -1.0, 1.0))
