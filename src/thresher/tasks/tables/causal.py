"""A table cleaned row by row: nothing is said of a row that later ones could change.

The follower keeps the last rows. At fixed numbers of rows it learns from them anew; in between it
says of each row what the rows before it, and the row itself, tell. However a stream is cut into
batches, the same rows give the same results: whether a reading was trusted is found in three
passes, each of which reads what the pass before made of this row and earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.tasks.tables.alarms import Tail, activity, suspicion
from thresher.tasks.tables.blending import Blend, kinds_of_gap
from thresher.tasks.tables.containers import in_steps
from thresher.tasks.tables.hindsight import Found, Promises, is_unknown, proved
from thresher.tasks.tables.model import Model

MOST_ROWS = 1500  # that are learned from, and kept
_FIRST = 20  # rows, after which it learns for the first time
_GROWTH = 1.5
_PASSES = 3
_MEDIAN = 7


@dataclass(frozen=True)
class Learned:
    """What the rows up to some point say."""

    model: Model
    blend: Blend
    tail: Tail
    low: NDArray[Any]
    high: NDArray[Any]
    step: float  # seconds


@dataclass
class Follower:
    """The rows that are kept, what each pass trusted in them, and what was learned."""

    X: NDArray[Any]
    seconds: NDArray[Any]
    trusted: list[NDArray[Any]]  # of each pass
    n_rows: int = 0
    n_learned: int = 0  # of the rows that are kept
    learned: Learned | None = field(default=None, repr=False)

    @classmethod
    def new(cls, F: int) -> Follower:
        """Before the first row."""
        trusted = [np.zeros((0, F), dtype=bool) for _ in range(_PASSES)]
        return cls(np.zeros((0, F)), np.zeros(0), trusted)

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
        due = float(_FIRST)
        while int(due) <= self.n_rows - (len(self.X) - self.n_learned):
            due += min(due * (_GROWTH - 1), MOST_ROWS / 4)
        return int(due)

    def _until_learning(self) -> int:
        return max(self._due() - self.n_rows, 1)

    def _learn(self, promises: Promises) -> None:
        keep = slice(-MOST_ROWS, None)
        self.X, self.seconds = self.X[keep], self.seconds[keep]
        self.trusted = [trusted[keep] for trusted in self.trusted]
        self.n_learned = len(self.X)
        self.relearn(promises)

    def relearn(self, promises: Promises) -> None:
        """Learn from the rows that were there when it learned last."""
        rows = slice(0, self.n_learned)
        X, trusted = self.X[rows], self.trusted[-1][rows]
        seconds = self.seconds[rows]
        apart = np.diff(seconds)
        step = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
        times = in_steps(seconds)
        rng = np.random.default_rng(self.n_learned)
        model, blend = proved(
            None, X, np.isnan(X), trusted, times, promises.coverage, rng, causal=True
        )
        s, _, _ = _looked_at(model, blend, X, trusted, times)
        known = s[trusted] if trusted.any() else np.zeros(1)
        seen = np.where(trusted, X, np.nan)
        seen[:, ~trusted.any(0)] = 0.0
        self.learned = Learned(
            model, blend, Tail.learned(known), np.nanmin(seen, 0), np.nanmax(seen, 0), step
        )

    # ------------------------------------------------------------------ the next rows

    def _next(self, X: NDArray[Any], seconds: NDArray[Any], promises: Promises) -> Found:
        n = len(X)
        self.X, self.seconds = np.vstack([self.X, X]), np.concatenate([self.seconds, seconds])
        self.n_rows += n
        allowed = np.isfinite(X) & ~(promises.low > X) & ~(promises.high < X)
        if self.learned is None:
            self.trusted = [np.vstack([trusted, allowed]) for trusted in self.trusted]
            return self._at_first(n, allowed)
        times = (self.seconds - self.seconds[0]) / self.learned.step
        model, blend, tail = self.learned.model, self.learned.blend, self.learned.tail
        limit = tail.limit(promises.false_alarm_rate)
        now = allowed & ~self._far(n, model)
        for number in range(_PASSES):
            self.trusted[number] = np.vstack([self.trusted[number], now])
            s, mean, half = _looked_at(model, blend, self.X, self.trusted[number], times)
            now = allowed & (s[-n:] <= limit)
        self.trusted[-1][-n:] = now
        s, mean, half = _looked_at(model, blend, self.X, self.trusted[-1], times)
        return self._found(n, allowed, s, mean, half, times, promises)

    def _far(self, n: int, model: Model) -> NDArray[Any]:
        """Readings further from the median of the seven before than the column is spread."""
        Z = (self.X - model.centre) / model.scale
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

    def _found(
        self,
        n: int,
        allowed: NDArray[Any],
        s: NDArray[Any],
        mean: NDArray[Any],
        half: NDArray[Any],
        times: NDArray[Any],
        promises: Promises,
    ) -> Found:
        assert self.learned is not None
        X, trusted, model = self.X[-n:], self.trusted[-1][-n:], self.learned.model
        Z = (self.X - model.centre) / model.scale
        guesses = model.guesses(Z, self.trusted[-1], times, causal=True)
        unknown = ~trusted & is_unknown(model, guesses, self.trusted[-1])[-n:]
        observed = np.isfinite(X)
        scores = np.where(observed, np.inf, np.nan)
        scores[allowed] = self.learned.tail.scores(s[-n:][allowed])
        low = np.where(np.isfinite(promises.low), promises.low, self.learned.low)
        high = np.where(np.isfinite(promises.high), promises.high, self.learned.high)
        values, half = (mean * model.scale + model.centre)[-n:], (half * model.scale)[-n:]
        replaced = ~trusted & ~unknown
        return Found(
            np.where(replaced, np.clip(values, low, high), np.where(trusted, X, np.nan)),
            observed & ~trusted,
            scores,
            np.where(replaced, np.clip(values - half, low, high), np.nan),
            np.where(replaced, np.clip(values + half, low, high), np.nan),
            unknown,
        )


def _looked_at(
    model: Model, blend: Blend, X: NDArray[Any], trusted: NDArray[Any], times: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Suspicion of each entry, what was to be expected, and half its interval, standardised."""
    Z = (X - model.centre) / model.scale
    guesses = model.guesses(Z, trusted, times, causal=True)
    kinds = kinds_of_gap(trusted, times, guesses.beside, model.whole_row, causal=True)
    mean, spread = blend.blended(guesses, kinds)
    errors = Z - mean
    scale = spread * activity(errors, spread, trusted, causal=True)
    return suspicion(errors, scale), mean, blend.quantiles[kinds] * scale
