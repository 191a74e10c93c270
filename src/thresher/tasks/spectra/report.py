"""The page about the end members of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.plotting import for_page, frame_grid, profile_panels
from thresher.report import Report

if TYPE_CHECKING:
    from thresher.tasks.spectra.unmixer import SpectralUnmixer

_WIDEST = 400  # pixels of a map on the page


def unmixing_report(unmixer: SpectralUnmixer, X: Any = None) -> Report:
    """Show end members, and where they are.

    Parameters
    ----------
    unmixer : SpectralUnmixer
        Fitted.
    X : array of shape (height, width, bands) or (n, bands), optional
        Pixels; of a cube, maps of the shares are shown.
    """
    spectra, bad = unmixer.endmembers_, unmixer.bad_bands_
    K = len(spectra)
    found = "pure pixels" if unmixer.has_pure_pixels_ else "the smallest simplex"
    report = Report(
        f"{K} pure spectra",
        "Every pixel is a mixture of these, in its own light.",
        f"Thresher {__version__} · spectral unmixing",
    )
    report.facts(
        [
            (f"{unmixer.n_samples_seen_:,}", "pixels"),
            (f"{spectra.shape[1]:,}", "bands"),
            (f"{int(bad.sum())}", "of them bad, and bridged"),
            (found, "told the end members"),
        ]
    )
    shares = None if X is None else np.asarray(unmixer.transform(X))
    titles = [f"end member {k}" for k in range(K)]
    if shares is not None:
        means = shares.reshape(-1, K).mean(axis=0)
        titles = [f"{title}, {mean:.0%}" for title, mean in zip(titles, means, strict=True)]
    report.heading("The spectra")
    report.picture(
        for_page(lambda: profile_panels(spectra, titles, along="band")),
        f"{K} curves along {spectra.shape[1]} bands",
        "Values of end members along the bands, each on its own scale"
        + (", with its mean share." if shares is not None else "."),
    )
    if bad.any():
        report.paragraph("Bad bands: " + ", ".join(str(band) for band in np.flatnonzero(bad)) + ".")
    if shares is not None and shares.ndim == 3:
        step = -(-max(shares.shape[:2]) // _WIDEST)
        small = shares[::step, ::step]
        maps = [small[None, ..., k] for k in range(K)]
        report.heading("Where they are")
        report.picture(
            for_page(lambda: frame_grid(maps, [str(k) for k in range(K)], [""], limits=(0, 1))),
            f"{K} maps of the shares of the end members",
            "Shares from none, black, to all, white.",
        )
    return report
