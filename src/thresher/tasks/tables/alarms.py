"""How far a reading is from what was to be expected, and how often chance alone does that.

A reading z with prediction ẑ and typical error σ, all in standard deviations of its column, has the
suspicion

    s = 1.5 log(1 + (z − ẑ)² / 2σ²) + log σ − log(1 + σ²) / 2,

minus the logarithm of Student's t with two degrees of freedom: heavy tails, as real errors have. A
glitch can lie anywhere in the column's range, and no nearer to ẑ than sound readings do, so that
this is, but for a constant, how much more likely a glitch is than a sound reading. Where errors
were large near by, σ is larger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from thresher.tasks.tables.ratios import clipped, ratio

_WINDOW = 17  # rows around an entry that tell how lively its column is just now
HALF_WINDOW = _WINDOW // 2
_SPARED = 2  # of the readings before, which may be near although the column has changed
_PRIOR = 8.0  # readings that count with them: the column as usual
_ROW = 8.0  # and how much the row counts, whatever its columns
_CLIP = 4.0
_USUAL_MIDDLE = 0.6745  # the median of |errors| that are normal, in standard deviations
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of bins of suspicion, to look for a valley
_WIDEST = 100.0
_TOP, _LEAST_TOP = 0.05, 50  # the share, and the number, of readings that make the tail
_FAR = 0.002  # the share of sound readings beyond which there may be glitches
# Tails of noise end; those of humidity, speeds and dust fall off a little slower than an
# exponential, and glitches among them look like tails that are slower still.
_SHAPES = np.array([-0.3, -0.25, -0.2, -0.15, -0.1, -0.05, 1e-6, 0.05])
_USUAL_FALL, _USUAL = 0.8, 5.0  # how their tails fall, and how much that counts where few are
_FALLS = np.geomspace(_USUAL_FALL / 10, 10 * _USUAL_FALL, 97)
_EDGE = 1e-3
_FALSE = 0.05  # of what is flagged may be sound, where glitches are many; by judgement
_FALSE_LIVE = 0.1  # and live, where nobody knows yet how it goes on
_BINS = 40
_RANGE = np.log(6) - np.log(8) / 2
_LIFT = 1.5 * np.log(
    100.0
)  # of the limit by a row that is flagged as a whole: errors may be tenfold
_STEPS = 60  # of chances that are tried


def activity(
    errors: NDArray[Any], spread: NDArray[Any], trusted: NDArray[Any], causal: bool = False
) -> NDArray[Any]:
    """How much larger errors are around each entry than usual; the entry itself does not count.

    If surely more than half of a row is further off than usual, whether trusted or not, something
    has happened, and its errors are large by as much. Live, so it is with most of what its column
    has just read: nobody knows yet whether it will be trusted in hindsight.
    """
    ratios = ratio(np.abs(errors), spread)
    c = np.where(trusted, np.minimum(ratios, _CLIP) ** 2, 0.0)
    w = trusted.astype(np.float64)
    if causal:
        total, count = _before(c), _before(w)
    else:
        total = _WINDOW * uniform_filter1d(c, _WINDOW, axis=0, mode="constant") - c
        count = _WINDOW * uniform_filter1d(w, _WINDOW, axis=0, mode="constant") - w
    others = np.maximum(w.sum(1, keepdims=True) - w, 1.0)
    row = np.where(w.sum(1, keepdims=True) > w, (c.sum(1, keepdims=True) - c) / others, 1.0)
    near = np.sqrt((np.maximum(total, 0) + _ROW * row + _PRIOR) / (count + _ROW + _PRIOR))
    large = np.maximum(_middle(ratios), _lately(ratios) if causal else 0.0)
    return np.asarray(np.maximum(near, large / _USUAL_MIDDLE))


def _middle(ratios: NDArray[Any]) -> NDArray[Any]:
    """What the median of each row exceeds but by chance: two standard errors; 0 of short rows."""
    n_read = np.isfinite(ratios).sum(1)
    place = np.floor(n_read / 2 - np.sqrt(n_read)).astype(int)
    ordered = np.sort(ratios, axis=1)  # NaN last
    lower = np.take_along_axis(ordered, np.maximum(place, 0)[:, None], axis=1)
    return np.where(place[:, None] >= 0, np.nan_to_num(lower), 0.0)


def _lately(ratios: NDArray[Any]) -> NDArray[Any]:
    """What all but two of the readings just before exceed, each in its column; 0 without them.

    Even where a fifth of all readings are glitches, hardly ever six of eight are.
    """
    before = np.full((HALF_WINDOW, *ratios.shape), np.nan)
    for k in range(1, HALF_WINDOW + 1):
        before[k - 1, k:] = ratios[:-k]
    return np.nan_to_num(np.partition(before, _SPARED, axis=0)[_SPARED])


def _before(c: NDArray[Any]) -> NDArray[Any]:
    """Sums over the half window before each entry; to the bit the same wherever rows begin."""
    total = np.zeros(c.shape)
    for k in range(1, HALF_WINDOW + 1):
        total[k:] += c[:-k]
    return total


def suspicion(errors: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """s, above."""
    s = 1.5 * np.log1p(clipped(errors, scale) ** 2 / (2 * scale**2)) + np.log(scale)
    return np.asarray(s - np.log1p(scale**2) / 2)


class Tail(NamedTuple):
    """How suspicions of sound readings are spread: as seen, and a generalised Pareto tail.

    Above the start, a sound reading exceeds s with the chance

        p(s) = share · (1 + ξ (s − start) / fall)^(−1/ξ).

    Far out, where p has become a thousandth of the share, it goes on as an exponential.
    """

    seen: NDArray[Any]  # up to the start: sorted, thinned
    above: NDArray[Any]  # beyond it, sorted; of sound readings and glitches
    start: float
    share: float  # of sound readings above the start
    fall: float
    shape: float  # ξ
    n_sound: float
    valley: float  # beyond which glitches stand apart; infinite if they do not
    rather: float  # beyond which a reading is rather a glitch; infinite if there are too few

    @classmethod
    def learned(cls, suspicions: NDArray[Any], sound: NDArray[Any]) -> Tail:
        """From the suspicions of all readings, and of those that are sound for all that is known.

        Where the tail begins is told by the sound ones. How it falls off, by all: glitches among
        them lie far out, so that only suspicions up to a cut are looked at.
        """
        top = min(max(_TOP, _LEAST_TOP / len(sound)), 0.5)
        start = float(np.quantile(sound, 1 - top))
        all_of = np.sort(suspicions)
        place = int(np.searchsorted(all_of, start, side="right"))
        below, above = all_of[:place], all_of[place:]
        deepest = valley(above, start)
        cut = min(deepest, float(np.quantile(sound, 1 - _FAR)))
        if cut <= start:
            cut = start + 1.0
        edges = np.linspace(start, cut, _BINS + 1)
        counts = np.histogram(above, edges)[0]
        falls, shapes = (part.ravel()[:, None] for part in np.meshgrid(_FALLS, _SHAPES))
        survival = np.maximum(1 + shapes * (edges - start) / falls, 1e-12) ** (-1 / shapes)
        chances = 1e-12 - np.diff(survival, axis=1)
        inside = chances.sum(1)
        likely = np.log(chances / inside[:, None]) @ counts
        likely -= _USUAL * np.log(falls[:, 0] / _USUAL_FALL) ** 2
        best = int(np.argmax(likely))
        n_above = max(counts.sum(), 0.5) / inside[best]
        n_sound = len(below) + n_above
        thinned = below[:: max(len(below) // 1000, 1)]
        fall, shape = float(falls[best, 0]), float(shapes[best, 0])
        likelier = rather_glitches(all_of)
        tail = (start, n_above / n_sound, fall, shape, n_sound)
        return cls(thinned, above, *tail, deepest, likelier)

    def level(self, chance: float) -> float:
        """The suspicion that a sound reading exceeds with this chance."""
        if chance >= self.share:
            outside = min(max((chance - self.share) / (1 - self.share), 0.0), 1.0)
            return float(np.quantile(self.seen, 1 - outside)) if len(self.seen) else self.start
        part = max(chance / self.share, _EDGE)
        away = self.fall / self.shape * (part**-self.shape - 1)
        return self.start + away + self._slowest * np.log(part * self.share / chance)

    def limit(self, rate: float) -> float:
        """The suspicion above which a reading is a glitch, given the share of false alarms.

        Where glitches stand apart, it is in the valley in front of them, or, if they are few, in
        the gap. If the valley is lower than what was asked for, as long as one in twenty of all
        that is flagged, at most, is sound. Where so many do not stand apart that they make the tail
        themselves, it is where a reading is rather one of them.
        """
        limit = self.level(rate)
        if np.isinf(self.valley):
            n_rather = len(self.above) - np.searchsorted(self.above, self.rather)
            make_the_tail = n_rather > _TOP * self.n_sound
            return min(limit, self.rather) if make_the_tail else self._gap(limit, rate)
        if self.valley >= limit:
            return self.valley
        for chance in np.geomspace(self.share, rate, _STEPS):
            lower = self.level(chance)
            flagged = len(self.above) - np.searchsorted(self.above, lower)
            if self.n_sound * chance <= _FALSE * flagged:
                limit = min(limit, lower)
                break
        return max(self.valley, min(limit, self.rather))

    def _gap(self, limit: float, rate: float) -> float:
        """The middle of the widest gap above the limit, if it is none by chance; else the limit.

        With e = −log p(s) of the m readings above it, (m − i)(e_(i+1) − e_(i)) of sound ones are
        standard exponentials, and larger than log(m / rate) in but ``rate`` of all tables. Below
        the gap may be no more readings than are to be expected of sound ones.
        """
        above = np.concatenate([[limit], self.above[self.above > limit]])
        m, expected = len(above) - 1, self.n_sound * rate
        e = np.log(10) * self.scores(above)
        i = np.arange(m)
        gaps = np.where(i <= expected + 3 * np.sqrt(expected), (m - i) * np.diff(e), 0.0)
        widest = int(np.argmax(gaps)) if m else 0
        apart = m > 0 and gaps[widest] > np.log(m / rate)
        return float(above[widest : widest + 2].mean()) if apart else limit

    def scores(self, suspicions: NDArray[Any]) -> NDArray[Any]:
        """-log10 of how often a sound reading is as suspicious as this, or more."""
        place = np.searchsorted(self.seen, suspicions, side="left")
        inside = -np.log10(1 - (1 - self.share) * place / (len(self.seen) + 1))
        away = np.maximum(suspicions - self.start, 0.0)
        edge = self.fall / self.shape * (_EDGE**-self.shape - 1)
        within = np.log1p(self.shape * np.minimum(away, edge) / self.fall) / self.shape
        beyond = within + np.maximum(away - edge, 0.0) / self._slowest - np.log(self.share)
        return np.asarray(np.where(suspicions > self.start, beyond / np.log(10), inside))

    @property
    def _slowest(self) -> float:
        """How fast the exponential beyond the edge falls off: as the tail does there."""
        return float(self.fall * _EDGE**-self.shape)


def valley(suspicions: NDArray[Any], start: float) -> float:
    """Where suspicions, having become rarer and rarer, become more frequent again; else infinity.

    Those of sound readings fall off, those of glitches, which lie anywhere, grow. Where many
    glitches are, this tells them apart better than any tail. Where they are few, only counts in
    wider bins rise by more than chance. It is in the middle of the bins in which fewest are.
    """
    above = suspicions[suspicions > start]
    for width in _WIDTHS:
        edges = np.arange(start, min(above.max(initial=start), start + _WIDEST) + 2 * width, width)
        counts = np.histogram(above, edges)[0].astype(np.float64)
        fewest = np.minimum.accumulate(counts)
        risen = np.flatnonzero(counts - fewest > 4 * np.sqrt(counts + 1))  # by more than chance
        if len(risen):
            emptiest = np.flatnonzero(counts[: risen[0]] == fewest[risen[0]])
            return float(edges[emptiest].mean() + width / 2)
    return np.inf


def rather_glitches(suspicions: NDArray[Any]) -> float:
    """The suspicion s above which a glitch is likelier than a sound reading; infinite without any.

    If glitches lie anywhere in a range of six standard deviations, one is exp(s − c) times as
    likely as a sound reading, with c = log 6 − log √8. If a share p of all readings are glitches,
    those above c + log((1 − p) / p) rather are. And p is the share above: the largest for which
    that is so, which is nothing where sound readings have the tails of Student's t.
    """
    ordered, limit = np.sort(suspicions), _RANGE
    while True:
        n_above = len(ordered) - np.searchsorted(ordered, limit, side="right")
        if not n_above:
            return np.inf
        lifted = _RANGE + np.log(max((len(ordered) - n_above) / n_above, 1.0))
        if lifted <= limit:
            return float(limit)
        limit = lifted


class AnomalyThresholds(NamedTuple):
    """When a live cleaner calls a reading a glitch, by what was sound in hindsight."""

    limit: float  # suspicion, above which it does
    likely: float  # and above which a reading tells nothing of others: rather a glitch than not
    share: float  # of all readings that are to be expected above the limit

    @classmethod
    def calibrated(
        cls, sound: NDArray[Any], glitches: NDArray[Any], rate: float
    ) -> AnomalyThresholds:
        """From suspicions of both, as they came.

        Of sound ones not more than asked for are above the limit, by what was seen. Where glitches
        are many, one in ten of all above it may be sound; where they stand apart, it is in between.
        """
        seen = min((1 - rate) * (1 + 1 / len(sound)), 1.0)
        limit = min(float(np.quantile(sound, seen)), told_apart(sound, glitches))
        lowest, middle = fewest_mistakes(sound, glitches)
        likely = min(limit, lowest)
        if len(glitches) > rate * len(sound):
            limit = max(limit, middle)
        above = np.sum(sound > limit) + np.sum(glitches > limit)
        share = max(above / (len(sound) + len(glitches)), rate)
        return cls(limit, likely, share)

    def limits(self, suspicions: NDArray[Any]) -> NDArray[Any]:
        """The limit of each row that came since, in turn.

        A row of which more is flagged than is to be expected lifts it for the next one, others let
        it down again: so that in the long run no more than expected is flagged, whatever comes.
        """
        limits, lifted = np.empty(len(suspicions)), 0.0
        n_read = np.isfinite(suspicions).sum(1)
        for t, row in enumerate(suspicions):
            limits[t] = self.limit + lifted
            share = np.count_nonzero(row > limits[t]) / (n_read[t] + _PRIOR)
            lifted = max(lifted + _LIFT * (share - self.share), 0.0)
        return limits


def told_apart(sound: NDArray[Any], glitches: NDArray[Any]) -> float:
    """The lowest suspicion above which hardly any reading is sound, where both are known."""
    levels = np.sort(glitches)
    flagged = np.arange(len(levels), 0, -1)
    false = len(sound) - np.searchsorted(np.sort(sound), levels)
    enough = np.flatnonzero(false <= _FALSE_LIVE * (false + flagged))
    return float(levels[enough[0]]) if len(enough) else np.inf


def fewest_mistakes(sound: NDArray[Any], glitches: NDArray[Any]) -> tuple[float, float]:
    """Between which suspicions both are parted with the fewest mistakes: the lower end, the middle.

    Both are infinite if it is best to call nothing a glitch.
    """
    places = np.sort(np.concatenate([sound, glitches]))
    missed = np.searchsorted(np.sort(glitches), places, side="right")
    false = len(sound) - np.searchsorted(np.sort(sound), places, side="right")
    best = int(np.argmin(missed + false)) if len(places) else 0
    if best + 1 >= len(places):
        return np.inf, np.inf
    return float(places[best]), float(places[best] + places[best + 1]) / 2
