"""Camera shake: by how much a frame is shifted against a reference, and shifting it back.

Phase correlation: C. D. Kuglin and D. C. Hines, "The phase correlation image alignment method",
IEEE Conference on Cybernetics and Society, 1975; the peak is refined by a parabola.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from thresher.linalg import Array

NO_SHIFT = (0.0, 0.0)
Shift = tuple[float, float]
# By judgement: pixels of the pictures that are correlated; the longest shift, as a share of the
# shorter side; and the share of the residual that aligning must take away to be done.
_PIXELS = 40_000
_LONGEST = 0.15
_WORTH_IT = 0.05


class Aligner:
    """Tells by how much frames are shifted against a reference picture."""

    def __init__(self, reference: Array) -> None:
        height, width = reference.shape[:2]
        self._step = max(1, round((height * width / _PIXELS) ** 0.5))
        self._reference = self._small(reference)
        rows, columns = self._reference.shape
        self._window = np.outer(np.hanning(rows), np.hanning(columns)).astype(np.float32)
        self._spectrum = np.conj(self._spectrum_of(self._reference))
        self._reach = max(2, int(_LONGEST * min(rows, columns)))

    def shift_of(self, frame: Array) -> Shift:
        """Rows and columns by which the frame is to be read further down and right.

        None of either if aligning would not bring it nearer to the reference.
        """
        small = self._small(frame)
        cross = self._spectrum_of(small) * self._spectrum
        size = np.abs(cross)
        whitened = cross / (size + 1e-3 * size.mean() + np.finfo(np.float32).tiny)
        rows, columns = self._peak(fft.irfft2(whitened, small.shape))
        before = np.abs(small - self._reference).mean()
        after = np.abs(shifted(small, (rows, columns)) - self._reference).mean()
        if after >= (1 - _WORTH_IT) * before:
            return NO_SHIFT
        return rows * self._step, columns * self._step

    def _small(self, picture: Array) -> Array:
        height, width, colours = picture.shape
        s, rows, columns = self._step, height // self._step, width // self._step
        whole = picture[: rows * s, : columns * s].reshape(rows, s, columns * s * colours)
        return np.asarray(whole.sum(axis=1).reshape(rows, columns, s * colours).mean(axis=2) / s)

    def _spectrum_of(self, picture: Array) -> Array:
        return np.asarray(fft.rfft2((picture - picture.mean()) * self._window))

    def _peak(self, correlation: Array) -> Shift:
        """Where the correlation is largest, to a part of a pixel."""
        n = self._reach
        places = np.arange(-n, n + 1)
        near = correlation[np.ix_(places, places)]
        row, column = divmod(int(near.argmax()), 2 * n + 1)
        return (
            row - n + _vertex(near[:, column], row),
            column - n + _vertex(near[row], column),
        )


def _vertex(values: Array, at: int) -> float:
    """Where, from the largest of some values, the parabola through it and its neighbours peaks."""
    if not 0 < at < len(values) - 1:
        return 0.0
    before, middle, after = map(float, values[at - 1 : at + 2])
    bend = before - 2 * middle + after
    return 0.0 if bend >= 0 else min(max(0.5 * (before - after) / bend, -0.5), 0.5)


def shifted(picture: Array, shift: Shift) -> Array:
    """The picture read further down and right by a shift, between pixels linearly; edges repeat."""
    for axis, distance in enumerate(shift):
        if distance == 0.0:
            continue
        whole = int(np.floor(distance))
        part = np.float32(distance - whole)
        places = np.clip(np.arange(picture.shape[axis] + 1) + whole, 0, picture.shape[axis] - 1)
        longer = np.take(picture, places, axis=axis)
        first, second = (longer[:-1], longer[1:]) if axis == 0 else (longer[:, :-1], longer[:, 1:])
        picture = first + part * (second - first)
    return picture
