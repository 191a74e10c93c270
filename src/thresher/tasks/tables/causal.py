"""A table cleaned row by row: nothing is said of a row that later ones could change.

The follower keeps the last rows. At fixed numbers of rows it learns from them anew; in between it
says of each row what the rows before it, and the row itself, tell. However a stream is cut into
batches, the same rows give the same results: whether a reading was trusted is found in three
passes, each of which reads what the pass before made of this row and of earlier ones.

What is learned from is not what was trusted as it came, but what is sound in hindsight. A reading
that was wrongly flagged is learned from all the same, so that no mistake feeds on itself. And how
far off a sound reading may be is told by how far off sound ones were as they came: of rows that it
has learned from, a model is surer than of rows that are new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.alarms import HALF_WINDOW, AnomalyThresholds, Tail, fewest_mistakes
from thresher.tasks.tables.blending import Blend
from thresher.tasks.tables.containers import in_steps
from thresher.tasks.tables.hindsight import judged
from thresher.tasks.tables.looking import (
    EntryPredictions,
    Found,
    Promises,
    found,
    limits,
    looked,
    proved,
    scored,
)
from thresher.tasks.tables.model import Model

MOST_ROWS = 1500  # that are learned from, and kept
_FIRST = 20  # rows, after which it learns for the first time
_GROWTH = 1.5
_PASSES = 3
_MEDIAN = 7


def _dues() -> Iterator[int]:
    """The numbers of rows after which a follower learns."""
    due = float(_FIRST)
    while True:
        yield int(due)
        due += min(due * (_GROWTH - 1), MOST_ROWS / 4)


@dataclass(frozen=True)
class CausalFit:
    """What the rows up to some point say."""

    model: Model
    blend: Blend
    tail: Tail | None
    alarm: AnomalyThresholds
    ends: tuple[NDArray[Any], NDArray[Any]]
    stretch: float  # of intervals, so that they hold for what is new
    step: float  # seconds
    known: NDArray[Any]  # columns of which enough was read to say what is odd


@dataclass
class Follower:
    """The rows that are kept, what each pass trusted in them, and what was learned."""

    X: NDArray[Any]
    seconds: NDArray[Any]
    trusted: list[NDArray[Any]]  # at the beginning, and by each pass
    came: NDArray[Any]  # 2 × n × F: suspicions and |error| / half an interval, as rows came; or NaN
    n_rows: int = 0
    n_learned: int = 0  # of the rows that are kept
    learned: CausalFit | None = field(default=None, repr=False)
    left: list[NDArray[Any] | None] = field(default_factory=list, repr=False)
    """What rows left of readings, as each pass sees them; found anew once it has learned."""

    @classmethod
    def new(cls, F: int) -> Follower:
        """Before the first row."""
        trusted = [np.zeros((0, F), dtype=bool) for _ in range(_PASSES + 1)]
        return cls(np.zeros((0, F)), np.zeros(0), trusted, np.zeros((2, 0, F)))

    def follow(self, X: NDArray[Any], seconds: NDArray[Any], promises: Promises) -> Found:
        """Clean the next rows."""
        if len(self.seconds) and len(seconds) and seconds[0] < self.seconds[-1]:
            raise ValueError(
                "These rows are earlier than those before them; a causal cleaner takes rows in the "
                "order of their times. Clean the whole table with causal=False instead."
            )
        parts, start = [], 0
        while start < len(X):
            stop = min(len(X), start + self._until_learning())
            parts.append(self._next(X[start:stop], seconds[start:stop], promises))
            if self.n_rows >= self._due():
                self._learn(promises)
            start = stop
        return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    # ------------------------------------------------------------------ learning

    def _due(self) -> int:
        """The number of rows after which it learns next: it depends on nothing but their number."""
        return next(due for due in _dues() if due > self.n_rows - (len(self.X) - self.n_learned))

    def _until_learning(self) -> int:
        return max(self._due() - self.n_rows, 1)

    def _learn(self, promises: Promises) -> None:
        keep = slice(-MOST_ROWS, None)
        self.X, self.seconds, self.came = self.X[keep], self.seconds[keep], self.came[:, keep]
        self.trusted = [trusted[keep] for trusted in self.trusted]
        self.n_learned = len(self.X)
        self.relearn(promises)

    def relearn(self, promises: Promises) -> None:
        """Learn from the rows that were there when it learned last."""
        rows = slice(0, self.n_learned)
        X, seconds = self.X[rows], self.seconds[rows]
        apart = np.diff(seconds)
        step = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
        times = in_steps(seconds)
        rng = np.random.default_rng(self.n_learned)
        verdict = judged(X, times, promises, rng)
        sound = verdict.trusted
        for trusted in self.trusted:
            trusted[rows] = sound
        model = Model.learned(X, sound, times, causal=True).with_committee(X, sound)
        gaps, coverage = np.isnan(X), promises.among_trusted
        blend = proved(model, X, gaps, sound, times, coverage, rng, causal=True)
        look = looked(model, blend, X, sound, times, causal=True)
        tail, alarm, stretch = None, AnomalyThresholds(np.inf, np.inf, 0.0), 1.0
        allowed = promises.allowed(X)
        if sound.any():
            kept = verdict.kept
            tail, alarm, stretch = self._as_it_came(look.suspicions, allowed, kept, promises)
        ends = limits(promises, model, X, sound, look)
        known = (sound.sum(0) >= _FIRST) & model.alone.weights.any(1)
        self.learned = CausalFit(model, blend, tail, alarm, ends, stretch, step, known)
        self.left = [None] * len(self.trusted)

    def _as_it_came(
        self,
        suspicions: NDArray[Any],
        allowed: NDArray[Any],
        sound: NDArray[Any],
        promises: Promises,
    ) -> tuple[Tail | None, AnomalyThresholds, float]:
        """The tail of suspicions, and how much wider intervals must be than what was learned says.

        They are told by rows that came when at least half as much was known as now; as long as
        there is none, by what was learned from.
        """
        n_rows = self.n_rows - (len(self.X) - self.n_learned)
        half = min(n_rows, MOST_ROWS) / 2
        since = next(due for due in _dues() if due >= half) - n_rows + self.n_learned
        late = np.arange(self.n_learned)[:, None] >= since
        came, ratios = self.came[:, : self.n_learned]
        seen = allowed & late & np.isfinite(came)
        if not (seen & sound).any():
            likely = fewest_mistakes(suspicions[sound], suspicions[allowed & ~sound])[0]
            return None, AnomalyThresholds(np.inf, likely, 0.0), 1.0
        good, bad = came[seen & sound], came[seen & ~sound]
        tail = Tail.learned(came[seen], good)
        alarm = AnomalyThresholds.calibrated(good, bad, promises.false_alarm_rate)
        measured = ratios[seen & sound & np.isfinite(ratios)]
        stretch = np.quantile(measured, promises.among_trusted) if len(measured) else 1.0
        return tail, alarm, float(stretch)

    # ------------------------------------------------------------------ the next rows

    def _next(self, X: NDArray[Any], seconds: NDArray[Any], promises: Promises) -> Found:
        n = len(X)
        self.X, self.seconds = np.vstack([self.X, X]), np.concatenate([self.seconds, seconds])
        self.n_rows += n
        nothing = np.full((2, n, X.shape[1]), np.nan)
        self.came = np.concatenate([self.came, nothing], axis=1)
        allowed = promises.allowed(X)
        if self.learned is None:
            self.trusted = [np.vstack([trusted, allowed]) for trusted in self.trusted]
            return self._at_first(n, allowed)
        model, tail = self.learned.model, self.learned.tail
        alarm, known = self.learned.alarm, self.learned.known
        told = allowed & model.alone.weights.any(1)  # without a unit, it tells nothing of others
        now = told & ~self._far(n, model)
        for number in range(_PASSES):
            look = self._look(number, now)
            now = told & (~known | (look.suspicions[-n:] <= alarm.likely))
        look = self._look(_PASSES, now)
        look = EntryPredictions(*(part[-n:] for part in look))
        self.came[0, -n:] = np.where(allowed & known, look.suspicions, np.nan)
        errors = np.abs(model.standardised(X) - look.mean)
        some = look.half > 0  # of constants there is no interval
        ratios = np.where(some, errors, np.nan) / np.where(some, look.half, 1.0)
        self.came[1, -n:] = np.where(allowed & known, ratios, np.nan)
        look = look._replace(half=self.learned.stretch * look.half)
        scores = scored(tail, look.suspicions)
        limits_now = alarm.limits(self.came[0, self.n_learned :])[-n:, None]
        kept = allowed & (~known | (look.suspicions <= limits_now))
        return found(X, allowed, kept, look, scores, model, self._limits(n, promises))

    def _limits(self, n: int, promises: Promises) -> tuple[NDArray[Any], NDArray[Any]]:
        """Of each of the next rows: natural limits, unless trusted readings have gone beyond."""
        assert self.learned is not None
        X, trusted = self.X[self.n_learned :], self.trusted[-1][self.n_learned :]
        low, high = self.learned.ends
        lowest = np.minimum.accumulate(np.where(trusted, X, np.inf), axis=0)[-n:]
        highest = np.maximum.accumulate(np.where(trusted, X, -np.inf), axis=0)[-n:]
        return (
            np.where(np.isfinite(promises.low), low, np.minimum(low, lowest)),
            np.where(np.isfinite(promises.high), high, np.maximum(high, highest)),
        )

    def _look(self, number: int, now: NDArray[Any]) -> EntryPredictions:
        """What is said of the next rows if these readings of them are trusted, in one pass.

        A few rows before them are looked at again, as they tell how lively columns are.
        """
        assert self.learned is not None
        trusted = self.trusted[number] = np.vstack([self.trusted[number], now])
        left = self.left[number]
        first = 0 if left is None else max(len(trusted) - len(now) - HALF_WINDOW, 0)
        times = (self.seconds - self.seconds[0]) / self.learned.step
        parts = (self.learned.model, self.learned.blend, self.X, trusted, times)
        look = looked(*parts, causal=True, first=first, left=left)
        self.left[number] = look.left
        return look

    def _far(self, n: int, model: Model) -> NDArray[Any]:
        """Readings further from the median of the seven before than the column is spread."""
        Z = model.standardised(self.X)
        far = np.zeros((n, Z.shape[1]), dtype=bool)
        first = len(Z) - n
        before = np.stack([Z[first - k : len(Z) - k] for k in range(1, _MEDIAN + 1)])
        there = np.isfinite(before).sum(0) > _MEDIAN // 2
        before[:, ~there] = 0.0
        far[there] = (np.abs(Z[first:] - np.nanmedian(before, axis=0)) > 1.0)[there]
        return far

    def _at_first(self, n: int, allowed: NDArray[Any]) -> Found:
        """Before anything was learned: the last reading stands for those that are missing."""
        X, trusted = self.X, self.trusted[-1]
        last = np.maximum.accumulate(np.where(trusted, np.arange(len(X))[:, None], -1), axis=0)
        values = np.where(last >= 0, X[np.maximum(last, 0), np.arange(X.shape[1])], np.nan)[-n:]
        nothing = np.full(values.shape, np.nan)
        flags = np.isfinite(X[-n:]) & ~allowed
        scores = np.where(flags, np.inf, np.where(allowed, 0.0, np.nan))
        return Found(values, flags, scores, nothing, nothing, np.isnan(values))
