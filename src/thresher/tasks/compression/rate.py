"""Rate–distortion optimisation: one Lagrange multiplier for each group of columns.

An integer moves one nearer to zero where that saves more bits than its error is worth. The slope,
bits per squared error, is the same for all columns of a group, and the step follows from it. It is
found by a search for the first batch, then follows from batch to batch how much of the bound is
spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.batch import Batch, CodedBatch, StreamState, code_batch
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.plain import rounding_errors
from thresher.tasks.compression.quantise import Array, Steps

PASSES = {1: 2, 2: 6, 3: 9}
"""Times that a batch is coded at most to find the slope, by effort."""
_TOLERANCE = {1: 0.75, 2: 0.95, 3: 0.97}  # share of the bound that ends the search, by effort
_OCTAVES = 16.0  # slopes are searched within 2^±16 of that of uniform rounding, and finer if needed
_FINEST = 64.0
_FINE = 1 / 16  # octaves: slopes that close are not distinguished
_STARTS = {1: (0.75,), 2: (0.0, 0.5), 3: (0.0, 0.5, 1.0)}
_NEARBY = {1: (), 2: (0.25, 0.5), 3: (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5)}
# Octaves above uniform rounding where searches start, by effort: moving towards zero costs about
# half an octave. On coarse grids bytes do not fall steadily, so that slopes nearby are tried too.
_SPEND = 0.98  # of the bound, batch by batch
_SLACK = 2.0  # how far a slope that is not sent yet may be below the one that is
_TINY = 1e-250  # a squared error that is as good as none: 2^64 / _TINY is still a double
_STEPS = 2.0**40  # in the largest value, at most

At = Callable[[Array], CodedBatch]
"""Code rows at the slopes of groups."""


class Budget(NamedTuple):
    """Squared errors of groups, so far and at most; largest errors of columns."""

    spent: Array
    bound: Array
    limits: Array

    @property
    def left(self) -> Array:
        """What may still be spent."""
        return self.bound - self.spent


class RateControl:
    """Chooses steps batch by batch, and remembers slopes."""

    def __init__(self, bounds: Bounds, effort: int) -> None:
        self._bounds = bounds
        self._effort = effort
        self._slopes: Array | None = None
        self._used: Array | None = None  # for the batch before

    def choose(self, state: StreamState, batch: Batch, budget: Budget) -> tuple[Batch, CodedBatch]:
        """Code all rows of a batch, or the leading ones."""
        exact = self._lossless(batch)

        def at(slopes: Array) -> CodedBatch:
            columns = np.where(exact, np.inf, slopes)[self._bounds.groups]
            return code_batch(state, batch, Steps.at(columns, batch.grids, budget.limits))

        if exact.all():
            return batch, at(np.full(len(exact), np.inf))
        if self._slopes is None or self._is_far(batch, exact):
            return self._first(at, state, batch, budget, exact)
        return batch, self._next(at, state, budget, exact)

    def _lossless(self, batch: Batch) -> Array:
        """Return the groups without error, or whose values are all zero."""
        nonzero = np.count_nonzero(batch.Y, axis=0)  # squares may underflow
        return self._bounds.exact | (self._bounds.summed(nonzero) == 0)

    def _is_far(self, batch: Batch, exact: Array) -> bool:
        """Return whether rows are of another size than those that the slopes were found for."""
        assert self._slopes is not None
        largest = np.zeros(len(exact))
        np.maximum.at(largest, self._bounds.groups, np.abs(batch.Y).max(axis=0))
        finite = np.isfinite(self._slopes)
        far = largest > _STEPS * np.sqrt(6 / np.maximum(self._slopes, _TINY))
        return bool((~exact & (~finite | far)).any())

    def _uniform(self, batch: Batch, left: Array) -> Array:
        """Return the slopes of uniform rounding: squared step / 12 = squared error / values."""
        return 0.5 * np.maximum(self._bounds.summed(batch.counts), 1) / np.maximum(left, _TINY)

    def _first(
        self, at: At, state: StreamState, batch: Batch, budget: Budget, exact: Array
    ) -> tuple[Batch, CodedBatch]:
        found: CodedBatch | None = None
        for start in _STARTS[self._effort]:
            trial = self._search(at, budget.left, exact, self._uniform(batch, budget.left))
            trial.run(np.full(len(exact), start))
            trial.within()
            coded = trial.improved()
            if found is None or len(coded.data) < len(found.data):
                found, search = coded, trial
        assert found is not None
        over = search.over
        self._slopes, self._used = np.where(exact, np.inf, search.slopes), None
        if len(exact) == 1 and over is not None:
            n_over = _rows_over(found, over, batch, float(budget.left[0]))
            if n_over:
                leading = batch.part(slice(n_over))
                first = code_batch(state, leading, over.steps)
                rest = code_batch(first.after(None), batch.part(slice(n_over, None)), found.steps)
                if len(first.data) + len(rest.data) < len(found.data):
                    return leading, first
        return batch, found

    def _next(self, at: At, state: StreamState, budget: Budget, exact: Array) -> CodedBatch:
        """Code at the slopes, and move them towards those that spend the bound."""
        assert self._slopes is not None
        slopes, coded = self._slopes, at(self._slopes)
        is_sent = not np.array_equal(coded.steps.sent, state.steps)
        if is_sent and self._used is not None and (slopes < self._used).any():
            # Larger steps are sent if they save what that takes.
            finer = np.maximum(slopes, np.where(np.isinf(self._used), slopes, self._used))
            kept = at(finer)
            size = len(kept.payload(state))
            if size <= len(coded.payload(state)) or self._is_over(coded, budget, exact):
                slopes, coded = finer, kept
        errors = self._errors(coded)
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = np.where(exact, _SPEND, (budget.spent + errors) / budget.bound)
        octaves = np.clip(4 * (np.nan_to_num(spent, nan=_SPEND, posinf=2.0) - _SPEND), -0.5, 0.5)
        # In quarters of an octave, so that steps change seldom and need not be sent.
        octaves = np.round(4 * octaves) / 4
        next_slopes = np.where(octaves < 0, self._slopes, slopes) * 2.0**octaves
        self._slopes, self._used = np.maximum(next_slopes, slopes / _SLACK), slopes
        if not self._is_over(coded, budget, exact):
            return coded
        search = self._search(at, budget.left, exact, slopes)
        search.note(np.zeros(len(exact)), coded)
        over = np.where(exact, 1.0, np.maximum(errors, _TINY) / np.maximum(budget.left, _TINY))
        search.run(np.clip(np.log2(over), _FINE, _FINEST))
        return search.within()

    def _search(self, at: At, left: Array, exact: Array, unit: Array) -> _Search:
        return _Search(at, self._errors, left, exact, unit, self._effort)

    def _is_over(self, coded: CodedBatch, budget: Budget, exact: Array) -> bool:
        return bool((self._errors(coded) > budget.left)[~exact].any())

    def _errors(self, coded: CodedBatch) -> Array:
        return self._bounds.summed(coded.errors)

    def plain_steps(self, batch: Batch, left: Array, limits: Array, sent: Array) -> list[Steps]:
        """Return some of the largest steps that keep plain rows within their squared errors.

        Where values come again, the error falls and rises as steps grow: larger ones than the first
        that is too large may do. Steps that were sent before are also tried.
        """
        exact = self._lossless(batch)
        uniform = self._uniform(batch, left)

        def at(octaves: Array) -> Steps:
            slopes = np.where(exact, np.inf, uniform * 2.0**octaves)[self._bounds.groups]
            return Steps.at(slopes, batch.grids, limits)

        def within(steps: Steps) -> Array:
            errors = rounding_errors(batch.Y, batch.present, steps)
            if errors is None:
                return np.zeros(len(exact), bool)
            return (self._bounds.summed(errors) <= left) | exact

        low, high = np.full(len(left), -_OCTAVES), np.full(len(left), _OCTAVES)
        for _ in range(4 + PASSES[self._effort] if not exact.all() else 0):
            octaves = (low + high) / 2
            fits = within(at(octaves))
            low, high = np.where(fits, low, octaves), np.where(fits, octaves, high)
        found, best = [at(high)], high
        n_larger = 0 if exact.all() or self._effort == 1 else 12 * (self._effort - 1)
        for i in range(1, n_larger + 1):
            octaves = high - 2 * i / n_larger  # steps up to twice as large
            fits = within(at(octaves))
            if fits.any():
                best = np.where(fits, octaves, best)
                found.append(at(best))
        candidates = found[:1] + found[1:][-4:]
        if np.array_equal(sent[0], batch.grids) and sent[1].all():
            candidates.append(found[0]._replace(heads=sent[1]))
        return [s for s in candidates if within(s).all() and (s.sizes <= 2 * limits).all()]


class _Search:
    """Searches the smallest slopes that keep each group within what is left to it.

    Slopes are in octaves from a unit. A squared error falls about as slopes rise, which gives the
    next guess, within what is known to be too low and high enough.
    """

    def __init__(
        self,
        at: At,
        errors: Callable[[CodedBatch], Array],
        left: Array,
        exact: Array,
        unit: Array,
        effort: int,
    ) -> None:
        self._at, self._errors, self._left, self._exact = at, errors, left, exact
        self._unit = np.where(exact, 1.0, unit)
        self._effort = effort
        self._low, self._high = np.full(len(unit), -_OCTAVES), np.full(len(unit), np.inf)
        self._best: CodedBatch | None = None
        self._octaves = np.zeros(len(unit))
        self.over: CodedBatch | None = None

    @property
    def slopes(self) -> Array:
        """Those of the smallest result within all bounds."""
        return self._unit * 2.0**self._octaves

    def note(self, octaves: Array, coded: CodedBatch) -> Array:
        """Record what came of some slopes; return the errors."""
        errors = self._errors(coded)
        within = (errors <= self._left) | self._exact
        self._low = np.where(within, self._low, np.maximum(self._low, octaves))
        self._high = np.where(within, np.minimum(self._high, octaves), self._high)
        if within.all():
            if self._best is None or len(coded.data) < len(self._best.data):
                self._best, self._octaves = coded, octaves
        elif len(within) == 1 and (self.over is None or errors < self._errors(self.over)):
            self.over = coded
        return errors

    def run(self, octaves: Array) -> None:
        """Narrow the slopes down."""
        for _ in range(PASSES[self._effort]):
            errors = self.note(octaves, self._at(self._unit * 2.0**octaves))
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.nan_to_num(errors / self._left, nan=1.0, posinf=2.0**_OCTAVES)
            done = self._exact | ((share >= _TOLERANCE[self._effort]) & (share <= 1))
            done |= self._high - self._low < _FINE
            if done.all():
                break
            guess = octaves + np.log2(np.maximum(share, 2.0**-_OCTAVES)) + _FINE / 2
            high = np.where(np.isinf(self._high), _OCTAVES * 2, self._high)
            margin = np.minimum(0.15 * (high - self._low), 4 * _FINE)
            octaves = np.where(done, high, np.clip(guess, self._low + margin, high - margin))
            octaves = np.minimum(octaves, _FINEST)

    def improved(self) -> CodedBatch:
        """Return the smallest result of the slopes found and of some nearby."""
        octaves = self._octaves
        for near in _NEARBY[self._effort]:
            self.note(octaves + near, self._at(self._unit * 2.0 ** (octaves + near)))
        assert self._best is not None
        return self._best

    def within(self) -> CodedBatch:
        """Return the rows within all bounds; groups that are not yet get finer steps."""
        octaves = np.where(np.isinf(self._high), self._low + _FINE, self._high)
        octaves, growth = np.where(self._exact, 0.0, octaves), 4 * _FINE
        while self._best is None or len(octaves) > 1:  # several were not tried together yet
            coded = self._at(self._unit * 2.0**octaves)
            within = (self._errors(coded) <= self._left) | self._exact
            if within.all():
                self._best, self._octaves = coded, octaves
                break
            if self._best is not None or octaves.max() > _FINEST:
                break
            octaves, growth = np.where(within, octaves, octaves + growth), 2 * growth
        if self._best is None:
            raise ValueError("error is finer than doubles can represent; set a larger one.")
        return self._best


def _rows_over(found: CodedBatch, over: CodedBatch, batch: Batch, left: float) -> int:
    """Return how many rows can go at a slope that is too low for all, until the bound is spent.

    On a coarse grid the error jumps from one multiple of the spacing to the next: then the first
    rows take one side of the jump, the rest the other.
    """
    if not np.isfinite(over.errors).all() or found.errors.sum() > 0.9 * left:
        return 0
    each = [
        np.where(batch.present, np.square(coded.values - batch.Y), 0.0).sum(axis=1)
        for coded in (over, found)
    ]
    total = np.concatenate([[0.0], np.cumsum(each[0])]) + np.concatenate(
        [np.cumsum(each[1][::-1])[::-1], [0.0]]
    )
    return int(np.flatnonzero(total <= 0.99 * left).max(initial=0))
