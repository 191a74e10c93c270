"""Some moments of a video, kept for a page about it: few and small, however long it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.video.results import Mask
from thresher.tasks.video.scene import Judged

# By judgement: moments, the pixels on the longer side of their pictures, and points of a curve.
_MOMENTS = 12
_LONGEST = 480
_POINTS = 2000

Picture = NDArray[np.uint8]


class Moment(NamedTuple):
    """A frame and what was found in it, as bytes, perhaps with every second pixel only."""

    number: int
    frame: Picture
    background: Picture
    mask: Mask


@dataclass(frozen=True)
class Album:
    """Moments at equal distances, and how much of each frame moved.

    Every ``step``-th frame is kept; when there are too many, every second of them is dropped and
    the step doubles. So memory does not grow with the video.
    """

    start: int = 0
    """Frames that had been seen before; numbers are counted from there."""
    step: int = 1
    moments: tuple[Moment, ...] = ()
    spacing: int = 1
    """Frames from one share to the next."""
    shares: tuple[tuple[int, float], ...] = ()
    """Numbers of frames, and the share of the picture that moved there."""

    def with_frames(self, frames: Array, judged: list[Judged], first: int, unit: float) -> Album:
        """Look at some more frames.

        Parameters
        ----------
        frames : array of shape (n, height, width) or (n, height, width, 3)
        judged : list of Judged
            What was found in them.
        first : int
            How many frames had been seen before, ever.
        unit : float
            A level: 255 of them are shown as white.
        """
        album = self
        for number, (frame, found) in enumerate(
            zip(frames, judged, strict=True), first - self.start
        ):
            if (number + 1) % album.spacing == 0:
                album = album._with_share(number, float(found.mask.mean()))
            if (number + 1) % album.step == 0:
                album = album._with_moment(_moment(number, frame, found, unit))
        return album

    def _with_share(self, number: int, share: float) -> Album:
        shares = (*self.shares, (number, share))
        if len(shares) < _POINTS:
            return replace(self, shares=shares)
        spacing = 2 * self.spacing
        kept = tuple(each for each in shares if (each[0] + 1) % spacing == 0)
        return replace(self, shares=kept, spacing=spacing)

    def _with_moment(self, moment: Moment) -> Album:
        moments = (*self.moments, moment)
        if len(moments) < _MOMENTS:
            return replace(self, moments=moments)
        step = 2 * self.step
        kept = tuple(each for each in moments if (each.number + 1) % step == 0)
        return replace(self, moments=kept, step=step)


def _moment(number: int, frame: Array, found: Judged, unit: float) -> Moment:
    step = -(-max(frame.shape[:2]) // _LONGEST)
    background = found.background.reshape(frame.shape)[::step, ::step]
    seen = np.asarray(frame[::step, ::step], dtype=np.float32) / np.float32(unit)
    return Moment(number, _bytes(seen), _bytes(background), found.mask[::step, ::step].copy())


def _bytes(levels: Array) -> Picture:
    return np.asarray(np.rint(np.clip(levels, 0, 255)), dtype=np.uint8)
