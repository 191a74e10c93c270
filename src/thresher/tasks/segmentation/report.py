"""The page about the segments of a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.estimators.reports import add_history
from thresher.plotting import paint_boundaries
from thresher.report import Report
from thresher.tasks.segmentation.superpixels import checked_image

if TYPE_CHECKING:
    from thresher.tasks.segmentation.segmenter import ImageSegmenter

_WIDEST = 1200  # pixels of a picture on the page


def segment_report(model: ImageSegmenter, image: Any = None) -> Report:
    """Show the segments of a picture, and how they came about.

    Parameters
    ----------
    model : ImageSegmenter
        Fitted.
    image : array, optional
        The picture that it was fitted to; without it, segments are shown alone.
    """
    labels = model.labels_
    height, width = labels.shape
    n_patches = int(model.superpixels_.max()) + 1
    report = Report(
        f"{model.n_segments} segments",
        "Patches that look alike and lie together form a segment.",
        f"Thresher {__version__} · segmentation",
    )
    areas = np.bincount(labels.ravel(), minlength=model.n_segments) / labels.size
    report.facts(
        [
            (f"{width} × {height}", "pixels"),
            (f"{n_patches:,}", "patches, every pair of which was compared"),
            (f"{areas.max():.0%}", "of the picture is the largest segment"),
            (f"{areas.min():.0%}", "is the smallest"),
        ]
    )
    if image is not None:
        pixels = checked_image(image)
        step = -(-max(height, width) // _WIDEST)
        small = pixels[::step, ::step]
        report.heading("The segments")
        report.picture(
            _png(paint_boundaries(small, labels[::step, ::step])),
            f"The picture, with the borders of {model.n_segments} segments drawn in",
            "Borders of the segments.",
        )
    report.heading("Each in its mean colour" if image is not None else "The segments")
    report.picture(
        _png(_flat(labels, None if image is None else pixels)),
        f"{model.n_segments} areas, each of one colour",
        "Segments are numbered from 0, as they first appear: "
        + ", ".join(f"{number} has {area:.1%}" for number, area in enumerate(areas))
        + ".",
    )
    history = getattr(model.model_, "history_", None)
    if history:
        add_history(report, history, in_rounds=True)
    return report


def _flat(labels: Any, pixels: Any) -> Any:
    """A picture in which each segment has its mean colour, or a grey of its own."""
    n = int(labels.max()) + 1
    colours = np.repeat(np.linspace(0.15, 0.9, n)[:, None], 3, axis=1)
    if pixels is not None:
        three = pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
        counts = np.maximum(np.bincount(labels.ravel(), minlength=n), 1)
        sums = [np.bincount(labels.ravel(), three[..., c].ravel(), n) for c in range(3)]
        colours = np.stack(sums, axis=1) / counts[:, None]
    step = -(-max(labels.shape) // _WIDEST)
    return np.rint(255 * colours[labels[::step, ::step]]).astype(np.uint8)


def _png(pixels: Any) -> bytes:
    from PIL import Image

    target = io.BytesIO()
    Image.fromarray(pixels).save(target, format="PNG")
    return target.getvalue()
