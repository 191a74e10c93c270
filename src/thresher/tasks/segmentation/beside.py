"""Colours in clusters, beside the segments of a picture: for its page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.cluster import KMeans

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

_MOST_PIXELS = 20_000  # that it learns from; by judgement


def tell_clusters(
    report: Report, pixels: Array, labels: NDArray[np.int64], history_seconds: float
) -> None:
    """Compare segments with k-means of colours.

    Parameters
    ----------
    report : Report
    pixels : array of shape (height, width) or (height, width, 3)
        Between 0 and 1.
    labels : array of shape (height, width)
        The segment of each pixel.
    history_seconds : float
        That learning took; NaN if that is not known.
    """
    colours = pixels.reshape(labels.size, -1)
    some = colours[:: -(-len(colours) // _MOST_PIXELS)]
    n_segments = int(labels.max()) + 1
    if len(np.unique(some, axis=0)) < n_segments or n_segments < 2:
        return
    simple = KMeans(n_segments, n_init=1, random_state=0)
    found, seconds = timed(lambda: simple.fit(some).predict(colours).reshape(labels.shape))
    took = f"{history_seconds:.2g}" if np.isfinite(history_seconds) else "–"
    tell_beside(
        report,
        ["pieces", "variance of colour inside", "seconds of learning"],
        [
            ["ImageSegmenter", f"{_pieces(labels):,}", f"{_inside(colours, labels):.0%}", took],
            ["k-means of colours", f"{_pieces(found):,}", f"{_inside(colours, found):.0%}",
             f"{seconds:.2g}"],
        ],
        f"Pieces are areas that hang together: of {n_segments} segments, {n_segments} if each is "
        "one. Variance is what is left of that of the whole picture inside of segments: k-means "
        "of colours minimises it, wherever pixels lie. A segment should have little of both. "
        "Seconds are without reading, and those of ImageSegmenter without its patches.",
    )  # fmt: skip


def _pieces(labels: NDArray[np.int64]) -> int:
    return sum(int(ndimage.label(labels == number)[1]) for number in np.unique(labels))


def _inside(colours: Array, labels: NDArray[np.int64]) -> float:
    """Variance inside of segments, over all of it."""
    flat = labels.ravel()
    counts = np.maximum(np.bincount(flat), 1)
    means = [np.bincount(flat, column) / counts for column in colours.T]
    left = sum(float(np.square(c - m[flat]).sum()) for c, m in zip(colours.T, means, strict=True))
    whole = float(np.square(colours - colours.mean(axis=0)).sum())
    return left / whole if whole > 0 else 0.0
