"""A `SpectralUnmixer` as arrays and a JSON document, for `thresher.save` and `thresher.load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from thresher.estimators.saving import (
    pack_features,
    packed_parameters,
    unpack_features,
    unpacked_model,
)
from thresher.persistence import Contents
from thresher.tasks.spectra.kept import MOST_KEPT, KeptPixels

if TYPE_CHECKING:
    from thresher.tasks.spectra.unmixer import SpectralUnmixer


def pack_unmixer(unmixer: SpectralUnmixer) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pixels that were kept: all else follows from them."""
    if not hasattr(unmixer, "_kept"):
        raise NotFittedError("This unmixer has not seen a pixel; there is nothing to save.")
    kept = unmixer._kept
    arrays: dict[str, Any] = {"pixels": kept.pixels, "lots": kept.lots}
    pack_features(unmixer, arrays)
    return arrays, {
        "parameters": packed_parameters(unmixer, arrays),
        "n_seen": kept.n_seen,
        "seed": kept.seed,
    }


def unpack_unmixer(contents: Contents) -> Any:
    """The unmixer again; it goes on as if it had never been a file."""
    unmixer = unpacked_model(contents)
    pixels = contents.array("pixels", (None, None), ("float32", "float64"))
    lots = contents.array("lots", (len(pixels),))
    n_seen, seed = contents.integer("n_seen"), contents.integer("seed")
    if not pixels.size or len(pixels) != min(n_seen, MOST_KEPT) or pixels.min() < 0:
        raise contents.error("it does not hold the pixels that it should")
    unpack_features(unmixer, contents, pixels.shape[1])
    return unmixer._adopt(KeptPixels(pixels, lots, n_seen, seed), None)
