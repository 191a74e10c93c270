"""When parts of a recording set in."""

from typing import NamedTuple

import numpy as np
from scipy.signal import find_peaks

from thresher.linalg import Array

# By judgement.
_RISE = 0.2  # of the largest rise of a part is an onset
_APART = 0.05  # seconds, at least


class Onset(NamedTuple):
    """A part begins to sound."""

    time: float
    """In seconds."""
    part: int
    rise: float
    """By how much it becomes louder, as a share of its largest rise."""


def onsets_of(loudness: Array, times: Array) -> list[Onset]:
    """Peaks of the rise of each part from one window to the next.

    Parameters
    ----------
    loudness : array of shape (frames, K)
    times : array of shape (frames,)
        In seconds.
    """
    # Before a recording there is silence, so that what sounds at once has set in.
    rises = np.maximum(np.diff(loudness, axis=0, prepend=0), 0)
    step = float(times[1] - times[0]) if len(times) > 1 else _APART
    found = []
    for part, rise in enumerate(rises.T):
        if not rise.any():
            continue
        share = rise / rise.max()
        peaks, _ = find_peaks(np.pad(share, 1), height=_RISE, distance=max(1, round(_APART / step)))
        found += [Onset(float(times[p - 1]), part, float(share[p - 1])) for p in peaks]
    return sorted(found)
