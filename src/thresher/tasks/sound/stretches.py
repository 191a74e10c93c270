"""Recordings of any length taken apart, a stretch of windows at a time.

Stretches lie at the same places however the recording is cut into blocks; so what comes of a stream
is what comes of the recording as a whole. Windows of neighbouring stretches overlap, and what they
share is added up. Memory holds three stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.sound.audio import Audio
from thresher.tasks.sound.convolutive import model_of
from thresher.tasks.sound.spectrogram import Spectrogram, sizes, wiener

_WINDOWS = 128  # of a stretch, and more if parts are long; by judgement
_LENGTHS = 8  # of a part, at least, in a stretch
_MARGIN = 2  # lengths of a part that a stretch is heard before its beginning and after its end


class Stretch(NamedTuple):
    """Some windows of a recording."""

    first: int
    """The number of its first window."""
    samples: Array
    """Those that no later stretch adds to, from the beginning of its first window on."""
    mono: bool
    spectra: Any
    """Complex, (channels, windows, bins)."""
    values: Array
    """What is factorised, (windows, bins)."""


class Parts(NamedTuple):
    """What the parts of a stretch are."""

    samples: Array
    """(K, n), or (K, n, channels)."""
    codes: Array
    times: Array


def stretch_length(n_frames: int) -> int:
    """Windows of a stretch, for parts of so many windows."""
    return max(_WINDOWS, _LENGTHS * n_frames)


def stretches(
    blocks: Iterable[Audio], gram: Spectrogram, n_frames: int, power: int
) -> Iterator[Stretch]:
    """The windows of a recording, so many at a time; the last stretch has what is left."""
    wanted = stretch_length(n_frames)
    length = (wanted - 1) * gram.hop + gram.window
    held: list[Array] = []
    n_held = n_seen = first = 0
    mono = True

    def stretch(samples: Array, new: int) -> Stretch:
        spectra = gram.of(samples)
        return Stretch(first, samples[:new], mono, spectra, sizes(spectra, power))

    for block in blocks:
        mono = block.mono
        if not held:
            held, n_held = [np.zeros((gram.before, block.samples.shape[1]))], gram.before
        held.append(block.samples)
        n_held, n_seen = n_held + len(block.samples), n_seen + len(block.samples)
        if n_held < length:
            continue
        rest = np.concatenate(held)
        while len(rest) >= length:
            yield stretch(rest[:length], wanted * gram.hop)
            rest, first = rest[wanted * gram.hop :], first + wanted
        held, n_held = [rest.copy()], len(rest)
    if not held:
        raise ValueError("This recording has no samples.")
    left = gram.n_frames(n_seen) - first
    silence = (left - 1) * gram.hop + gram.window - n_held
    yield stretch(np.pad(np.concatenate(held), ((0, silence), (0, 0))), n_held)


def coded(
    pieces: Iterable[Stretch], code: Callable[[Array], Array], n_frames: int
) -> Iterator[tuple[Stretch, Array, int]]:
    """Stretches and codes of their windows, after those of so many windows before them.

    What lasts one window is coded window by window. What lasts longer reaches over the borders, so
    that a stretch is coded with some windows of its neighbours.
    """
    margin = _MARGIN * n_frames if n_frames > 1 else 0
    if not margin:
        for piece in pieces:
            yield piece, code(piece.values), 0
        return
    before: Array | None = None
    current: Stretch | None = None
    for following in chain(pieces, [None]):
        if current is not None:
            head = current.values[:0] if before is None else before
            tail = current.values[:0] if following is None else following.values[:margin]
            codes = code(np.concatenate([head, current.values, tail]))
            yield current, codes[: len(head) + len(current.values)], len(head)
            before = current.values[-margin:]
        current = following


def taken_apart(
    pieces: Iterable[tuple[Stretch, Array, int]], D: Array, gram: Spectrogram
) -> Iterator[Parts]:
    """The parts of each stretch, whose sum is the recording.

    Parameters
    ----------
    pieces : iterable
        As `coded` gives them.
    D : array of shape (K, L, F)
    gram : Spectrogram
    """
    overlap: Array = np.zeros(1)
    for piece, codes, skip in pieces:
        models = np.stack([model_of(codes[:, [k]], D[[k]])[skip:] for k in range(len(D))])
        found = gram.back(wiener(piece.spectra, models))
        found[..., : gram.before] += overlap if piece.first else 0
        done = len(codes[skip:]) * gram.hop
        overlap = found[..., done:]
        parts = np.moveaxis(found[..., : len(piece.samples)], 1, 2)
        # Rounding of the transform is shared out, so that parts add up to the last bits.
        parts = parts + (piece.samples - parts.sum(axis=0)) / len(parts)
        heard = parts[:, 0 if piece.first else gram.before :]
        times = gram.times(piece.first, len(codes) - skip)
        yield Parts(heard[..., 0] if piece.mono else heard, codes[skip:], times)
