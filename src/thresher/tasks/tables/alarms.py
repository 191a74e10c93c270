"""How far a reading is from what was to be expected, and how often chance alone does that.

A reading z with prediction ẑ and typical error σ, all in standard deviations of its column, has the
suspicion

    s = 1.5 log(1 + (z − ẑ)² / 2σ²) + log σ,

minus the logarithm of Student's t with two degrees of freedom: heavy tails, as real errors have. A
glitch can lie anywhere in the column's range, so that this is, but for a constant, how much more
likely a glitch is than a sound reading. Where errors were large near by, σ is larger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

_WINDOW = 17  # rows around an entry that tell how lively its column is just now
_PRIOR = 8.0  # readings that count with them: the column as usual
_ROW = 8.0  # and how much the row counts, whatever its columns
_CLIP = 4.0
_BIN = 0.25  # of suspicion, to look for a valley
_TOP, _LEAST_TOP = 0.02, 50  # the share, and the number, of readings that make the tail
_STEPS = 50  # to solve for the rate


def activity(
    errors: NDArray[Any], spread: NDArray[Any], trusted: NDArray[Any], causal: bool = False
) -> NDArray[Any]:
    """How much larger errors are around each entry than usual; the entry itself does not count."""
    c = np.where(trusted, np.minimum(np.abs(errors) / spread, _CLIP) ** 2, 0.0)
    w = trusted.astype(np.float64)
    if causal:
        total, count = _before(c), _before(w)
    else:
        total = _WINDOW * uniform_filter1d(c, _WINDOW, axis=0, mode="constant") - c
        count = _WINDOW * uniform_filter1d(w, _WINDOW, axis=0, mode="constant") - w
    others = np.maximum(w.sum(1, keepdims=True) - w, 1.0)
    row = np.where(w.sum(1, keepdims=True) > w, (c.sum(1, keepdims=True) - c) / others, 1.0)
    return np.sqrt((np.maximum(total, 0) + _ROW * row + _PRIOR) / (count + _ROW + _PRIOR))


def _before(c: NDArray[Any]) -> NDArray[Any]:
    """Sums over the half window before each entry."""
    half = _WINDOW // 2
    sums = np.vstack([np.zeros((half + 1, c.shape[1])), np.cumsum(c, axis=0)])
    return np.asarray(sums[half:-1] - sums[: len(c)])


def suspicion(errors: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """s, above."""
    return np.asarray(1.5 * np.log1p(errors**2 / (2 * scale**2)) + np.log(scale))


class Tail(NamedTuple):
    """How suspicions of sound readings are spread: as seen, and an exponential beyond a point."""

    seen: NDArray[Any]  # sorted, thinned
    start: float
    share: float  # above the start
    rate: float

    @classmethod
    def learned(cls, suspicions: NDArray[Any], cut: float = np.inf) -> Tail:
        """From readings that are likely to be sound; none is above the ``cut``.

        Above their 98 % point suspicions x fall off exponentially. Of an exponential with rate r
        that is cut off at c, the mean is ``1/r − c / (exp(r c) − 1)``.
        """
        top = min(max(_TOP, _LEAST_TOP / len(suspicions)), 0.5)
        start = float(np.quantile(suspicions, 1 - top))
        above = suspicions[suspicions > start] - start
        thinned = np.sort(suspicions)[:: max(len(suspicions) // 1000, 1)]
        mean = max(float(above.mean()) if len(above) else 0.0, 1e-6)
        room, rate = cut - start, 1 / mean
        for _ in range(_STEPS if np.isfinite(room) else 0):
            rate = 1 / (mean + room / np.expm1(np.clip(rate * room, 0.1, 500.0)))
        lost = np.exp(-rate * room)  # of sound readings above the start, those above the cut
        share = top / ((1 - top) * (1 - lost) + top) if np.isfinite(room) else top
        return cls(thinned, start, share, rate)

    def limit(self, chance: float) -> float:
        """The suspicion that a sound reading exceeds with this chance."""
        if chance >= self.share:
            return float(np.quantile(self.seen, 1 - chance))
        return self.start + np.log(self.share / chance) / self.rate

    def scores(self, suspicions: NDArray[Any]) -> NDArray[Any]:
        """-log10 of how often a sound reading is as suspicious as this, or more."""
        place = np.searchsorted(self.seen, suspicions, side="left")
        inside = -np.log10(1 - (1 - self.share) * place / (len(self.seen) + 1))
        beyond = (self.rate * (suspicions - self.start) - np.log(self.share)) / np.log(10)
        return np.asarray(np.where(suspicions > self.start, beyond, inside))


def valley(suspicions: NDArray[Any], start: float) -> float:
    """Where suspicions, having become rarer and rarer, become more frequent again; else infinity.

    Those of sound readings fall off, those of glitches, which lie anywhere, grow. Where many
    glitches are, this tells them apart better than any tail.
    """
    above = suspicions[suspicions > start]
    if not len(above):
        return np.inf
    edges = np.arange(start, above.max() + 2 * _BIN, _BIN)
    counts = np.histogram(above, edges)[0].astype(np.float64)
    later = np.maximum.accumulate(counts[::-1])[::-1]
    risen = later - counts > 4 * np.sqrt(later + 1)  # by more than chance
    if not risen.any():
        return np.inf
    last = int(np.flatnonzero(risen)[-1])
    deepest = int(np.argmin(counts[: last + 1]))
    return float(edges[deepest] + _BIN / 2)
