"""At which price to round: the slopes that spend what error each group of columns is allowed.

A number moves one nearer to zero where that saves more bits than its error is worth, at a slope
that is the same for all columns of a group, over the whole stream. The best step makes a squared
step worth some six bits, so the slope tells all. It follows from the bound: by a search for the
first batch, then batch by batch from how much of the bound is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.row_batch import Batch, CodedBatch, StreamState, coded_batch
from thresher.tasks.compression.steps import Steps

# By judgement: slopes are looked for within 2^±16 of that of even rounding, to a sixteenth of an
# octave, and if need be up to 2^64 times it.
_OCTAVES = 16.0
_FINE = 1 / 16
_SEARCHES = 9
_FINEST = 64.0
_ENOUGH = 0.97  # of the bound
_AHEAD = 2.0  # how far a slope that is not told yet may be below the one that is; by judgement
_SPEND = 0.98  # of the bound, batch by batch; the rest is for surprises
_LEAST = 1e-250  # a squared error that is as good as none: 2^64 / _LEAST is still a double
_STEPS = 2.0**40  # in the largest value, at most

At = Callable[[Numbers], CodedBatch]
"""Code rows at the slopes of groups."""


class Budget(NamedTuple):
    """Squared errors of groups, so far and at most; largest errors of columns."""

    spent: Numbers
    bound: Numbers
    limits: Numbers

    @property
    def left(self) -> Numbers:
        """What may still be spent."""
        return self.bound - self.spent


class Choice(NamedTuple):
    """The leading rows of a batch, coded."""

    batch: Batch
    coded: CodedBatch


class Spender:
    """Chooses steps batch by batch, and remembers slopes."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._slopes: Numbers | None = None
        self._used: Numbers | None = None  # for the batch before

    def choose(self, state: StreamState, batch: Batch, budget: Budget) -> Choice:
        """Code all rows, or the leading ones."""
        exact = self._bounds.exact | (self._bounds.summed(batch.nonzero) == 0)

        def at(slopes: Numbers) -> CodedBatch:
            columns = np.where(exact, np.inf, slopes)[self._bounds.groups]
            return coded_batch(state, batch, Steps.at(columns, batch.grids, budget.limits))

        if exact.all():
            choice = Choice(batch, at(np.full(len(exact), np.inf)))
        elif self._slopes is None or self._is_far(batch, exact):
            choice = self._first(at, state, batch, budget, exact)
        else:
            choice = self._next(at, state, batch, budget, exact)
        return choice

    def _is_far(self, batch: Batch, exact: Numbers) -> bool:
        """Whether rows are of another size than those that the slopes were found for."""
        largest = np.zeros(len(exact))
        np.maximum.at(largest, self._bounds.groups, np.abs(batch.Y).max(axis=0))
        assert self._slopes is not None
        far = largest > _STEPS * np.sqrt(6 / np.maximum(self._slopes, _LEAST))
        return bool((far & ~exact & np.isfinite(self._slopes)).any()) or bool(
            (np.isinf(self._slopes) & ~exact).any()
        )

    def _first(
        self, at: At, state: StreamState, batch: Batch, budget: Budget, exact: Numbers
    ) -> Choice:
        counts = np.maximum(self._bounds.summed(batch.counts), 1)
        even = 0.5 * counts / np.maximum(budget.left, _LEAST)  # squared step / 12 = left / count
        search = Search(at, self._errors, budget.left, exact, even)
        search.run(np.zeros(len(exact)))
        found, over = search.fitting(), search.over
        self._slopes = np.where(exact, np.inf, search.slopes)
        if len(exact) == 1 and over is not None:
            n_over = _rows_over(found, over, batch, float(budget.left[0]))
            if n_over:
                leading = batch.part(slice(n_over))
                return Choice(leading, coded_batch(state, leading, over.steps))
        return Choice(batch, found)

    def _next(
        self, at: At, state: StreamState, batch: Batch, budget: Budget, exact: Numbers
    ) -> Choice:
        """Code at the slopes, and move them towards those that spend the bound."""
        assert self._slopes is not None
        slopes, coded = self._slopes, at(self._slopes)
        is_told = not np.array_equal(coded.steps.told(), state.told)
        if is_told and self._used is not None and (slopes < self._used).any():
            # Larger steps are told when they save what that takes, and not where rows are alike.
            # Groups that had no values in the batch before have no slope of it.
            used = np.where(np.isinf(self._used), slopes, self._used)
            finer = np.maximum(slopes, used)
            kept = at(finer)
            if kept.n_bytes(state) <= coded.n_bytes(state) or self._is_over(coded, budget, exact):
                slopes, coded = finer, kept
        errors = self._errors(coded)
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = np.where(exact, _SPEND, (budget.spent + errors) / budget.bound)
        octaves = np.clip(4 * (np.nan_to_num(spent, nan=_SPEND, posinf=2.0) - _SPEND), -0.5, 0.5)
        # In quarters of an octave, so that steps change seldom, and need not be told.
        octaves = np.round(4 * octaves) / 4
        next_slopes = np.where(octaves < 0, self._slopes, slopes) * 2.0**octaves
        self._slopes, self._used = np.maximum(next_slopes, slopes / _AHEAD), slopes
        if not self._is_over(coded, budget, exact):
            return Choice(batch, coded)
        search = Search(at, self._errors, budget.left, exact, slopes)
        search.note(np.zeros(len(exact)), coded)
        over = np.where(exact, 1.0, np.maximum(errors, _LEAST) / np.maximum(budget.left, _LEAST))
        search.run(np.clip(np.log2(over), _FINE, _FINEST))
        return Choice(batch, search.fitting())

    def _is_over(self, coded: CodedBatch, budget: Budget, exact: Numbers) -> bool:
        return bool((self._errors(coded) > budget.left)[~exact].any())

    def _errors(self, coded: CodedBatch) -> Numbers:
        return self._bounds.summed(coded.errors)


class Search:
    """Looks for the smallest slopes that keep each group within what is left to it.

    Slopes are told in octaves from given ones. A squared error falls about as slopes rise, which
    tells where to look next, within what is known to be too low and high enough.
    """

    def __init__(
        self,
        at: At,
        errors: Callable[[CodedBatch], Numbers],
        left: Numbers,
        exact: Numbers,
        unit: Numbers,
    ) -> None:
        self._at, self._errors, self._left, self._exact = at, errors, left, exact
        self._unit = np.where(exact, 1.0, unit)
        self._low, self._high = np.full(len(unit), -_OCTAVES), np.full(len(unit), np.inf)
        self._best: CodedBatch | None = None
        self.over: CodedBatch | None = None

    @property
    def slopes(self) -> Numbers:
        """Those found."""
        return self._unit * 2.0 ** np.where(np.isinf(self._high), _OCTAVES, self._high)

    def note(self, octaves: Numbers, coded: CodedBatch) -> Numbers:
        """What came of some slopes: which groups are within their bound."""
        errors = self._errors(coded)
        within = (errors <= self._left) | self._exact
        self._low = np.where(within, self._low, np.maximum(self._low, octaves))
        self._high = np.where(within, np.minimum(self._high, octaves), self._high)
        if within.all():
            self._best = coded
        elif len(within) == 1:
            self.over = coded
        return errors

    def run(self, octaves: Numbers) -> None:
        """Narrow the slopes down."""
        for _ in range(_SEARCHES):
            errors = self.note(octaves, self._at(self._unit * 2.0**octaves))
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.nan_to_num(errors / self._left, nan=1.0, posinf=2.0**_OCTAVES)
            done = self._exact | ((share >= _ENOUGH) & (share <= 1))
            done |= self._high - self._low < _FINE
            if done.all():
                break
            guess = octaves + np.log2(np.maximum(share, 2.0**-_OCTAVES)) + _FINE / 2
            high = np.where(np.isinf(self._high), _OCTAVES * 2, self._high)
            edge = 0.15 * (high - self._low)
            octaves = np.where(done, high, np.clip(guess, self._low + edge, high - edge))
            octaves = np.minimum(octaves, _FINEST)

    def fitting(self) -> CodedBatch:
        """The rows within all bounds; groups that were not yet get finer steps."""
        octaves = np.where(np.isinf(self._high), _OCTAVES, self._high)
        octaves = np.where(self._exact, 0.0, octaves)
        while self._best is None or (self._best_octaves_differ(octaves)):
            coded = self._at(self._unit * 2.0**octaves)
            within = (self._errors(coded) <= self._left) | self._exact
            if within.all():
                self._best = coded
                break
            if self._best is not None or octaves.max() > _FINEST:
                break
            octaves = np.where(within, octaves, octaves + 4)
        if self._best is None:
            raise ValueError("The error asked is finer than doubles can tell; ask for more.")
        return self._best

    def _best_octaves_differ(self, octaves: Numbers) -> bool:
        """Whether several groups were found at slopes that were not tried together yet."""
        return len(octaves) > 1


def _rows_over(found: CodedBatch, over: CodedBatch, batch: Batch, left: float) -> int:
    """How many rows can go at the slope that is too low for all, until the bound is spent.

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
