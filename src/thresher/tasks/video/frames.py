"""Frames as they come, from arrays, sources and iterables, checked before they are learned from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.streams import Source, is_stream, rows_per_batch

_SMALLEST = 8  # pixels on a side: a median of 5 × 5 pixels has to mean something; by judgement
NO_FRAME = "There is no frame to look at."
_SHAPES = "(n, height, width) or (n, height, width, 3)"


def checked_frames(frames: Any, shape: tuple[int, ...] | None) -> Array:
    """Frames as an array of the shape (n, height, width) or (n, height, width, 3).

    Parameters
    ----------
    frames : array-like
    shape : tuple, optional
        Of the frames that came before; others are refused.
    """
    given = np.asarray(frames)
    if given.dtype.kind not in "uif":
        raise TypeError(f"Frames are numbers, such as uint8 or float32, not {given.dtype}.")
    if given.ndim == 2 and shape is not None and given.shape[1] == np.prod(shape):
        given = given.reshape(len(given), *shape)  # flattened, as sources give them
    if given.ndim not in (3, 4) or (given.ndim == 4 and given.shape[3] != 3):
        raise ValueError(
            f"Frames come as {_SHAPES}, not {given.shape}; one frame alone is frame[np.newaxis]."
        )
    if len(given) == 0:
        raise ValueError(NO_FRAME)
    if min(given.shape[1:3]) < _SMALLEST:
        raise ValueError(
            f"Frames need at least {_SMALLEST} × {_SMALLEST} pixels, not {given.shape[1]} × "
            f"{given.shape[2]}."
        )
    if shape is not None and given.shape[1:] != shape:
        raise ValueError(
            f"These frames have the shape {given.shape[1:]}, and those before had {shape}; scale "
            "them, or call fit to start anew."
        )
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError(
            "Some pixels are NaN or infinite; fill them first, such as by the frame before."
        )
    if given.dtype.kind != "u" and given.min() < 0:
        raise ValueError("Some pixels are negative; brightness starts at zero, so add an offset.")
    return given


def comes_by_itself(frames: Any) -> bool:
    """Whether frames are read piece by piece."""
    return isinstance(frames, Source) or is_stream(frames)


def pieces_of(frames: Any, start: int = 0) -> Iterator[Any]:
    """Arrays of frames from a source or an iterable, without the first ``start`` frames."""
    if isinstance(frames, Source):
        yield from _pieces_of_source(frames, start)
        return
    left_out = start
    for given in frames() if callable(frames) else frames:
        piece = _as_frames(given)
        if len(piece) > left_out:
            yield piece[left_out:]
        left_out = max(left_out - len(piece), 0)


def _pieces_of_source(source: Source, start: int) -> Iterator[Any]:
    shape = source.sample_shape
    if shape is None:
        raise ValueError(
            f"This source has no pictures; open a video, a folder of images, or an array {_SHAPES}."
        )
    if source.window:
        raise ValueError("Frames are looked at in their order; leave shuffled() out.")
    size = source.batch_size
    # Frames come in small batches: results of a batch are held at once.
    rows = size if isinstance(size, int) else min(rows_per_batch(source.n_features), 64)
    whole, rest = divmod(start, rows)
    for number, piece in enumerate(source.in_batches(rows).pieces(skip=whole)):
        kept = piece[rest:] if number == 0 else piece
        if len(kept):
            yield kept.reshape(len(kept), *shape)


def _as_frames(given: Any) -> Array:
    """One frame, gray or in colours, or several."""
    piece = np.asarray(given)
    alone = piece.ndim == 2 or (piece.ndim == 3 and piece.shape[2] == 3)
    return piece[np.newaxis] if alone else piece


def count_of(frames: Any) -> int | None:
    """How many frames there are, if anybody knows."""
    if isinstance(frames, Source):
        return frames.n_samples
    return len(frames) if hasattr(frames, "__len__") else None


def in_cuts(frames: Array, size: int) -> Iterator[Array]:
    """An array of frames, some at a time."""
    for first in range(0, len(frames), size):
        yield frames[first : first + size]


def first_of(pieces: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """The first piece, and all of them, that included."""
    head = list(islice(pieces, 1))
    if not head:
        raise ValueError(NO_FRAME)

    def all_of_them() -> Iterator[Any]:
        yield from head
        yield from pieces

    return head[0], all_of_them()
