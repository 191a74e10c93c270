"""Rate–distortion optimisation: one Lagrange multiplier for each group of columns.

An integer moves one nearer to zero where that saves more bits than its error is worth. The slope,
bits per squared error, is the same for all columns of a group, and the step follows from it. It is
found by a search for the first batch, then follows from batch to batch the share of the bound that
is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.batch import (
    CodedBatch,
    RowBatch,
    StreamState,
    code_batch,
    round_plain,
)
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.quantise import Steps
from thresher.tasks.compression.wire import Array

_SEARCHES: dict[int, tuple[int, list[tuple[float, bool]]]] = {
    1: (2, [(0.75, True)]),
    2: (5, [(0.5, True), (0.25, False)]),
    3: (8, [(0.0, False), (0.5, True), (0.5, False), (1.0, True)]),
}
"""By effort: times that a batch is coded in a search at most, and where searches start, in octaves
above uniform rounding, with integers chosen with lookahead or without. On coarse grids bytes do not
fall steadily, so that several are tried. Heuristic: effort 1 and 3 are about half and double."""
_ENOUGH = 0.98
"""Share of the bound to be spent. Heuristic: at half the rest, 0.99, streams take 0.4 % fewer
bytes and files a tenth more time; at double, 0.96, streams take 0.8 % more bytes."""
_WORTH = 64
"""Bytes of a batch from which on larger steps save what it takes to send them. Heuristic: at half
and double, streams take 0.1 % fewer."""
_OCTAVES = 16.0
"""Slopes are searched from 2^-16 of that of uniform rounding on, up to 2^64. Heuristic: at
half and double, the same bytes."""
_FINE = 1 / 16
"""Octaves: slopes that close are not distinguished. Heuristic: at half and double, bytes change by
up to 0.3 %."""
_TINY = 1e-250  # a squared error that is as good as none: 2^64 / _TINY is still a double


class UncodableError(ValueError):
    """Values that cannot be coded after those before within their bound."""


class Budget(NamedTuple):
    """Squared errors of groups, so far and at most; largest errors of columns."""

    spent: Array
    bound: Array
    limits: Array


class RateControl:
    """Chooses steps batch by batch, and remembers slopes."""

    def __init__(self, bounds: Bounds, effort: int) -> None:
        self._bounds, self._effort = bounds, effort
        self._slopes: Array | None = None
        self._lookahead = False

    def choose(self, state: StreamState, batch: RowBatch, budget: Budget) -> CodedBatch:
        """Code the rows of a batch in few bytes within what is left."""
        left = self._left(batch, budget)
        exact, slopes, starts, enough = np.isinf(left), self._slopes, [(0.0, self._lookahead)], 0.0
        if slopes is None or not np.isfinite(slopes[~exact]).all():
            slopes, enough = self._uniform(batch, left), _ENOUGH
            starts = [(0.0, False)] if exact.all() else _SEARCHES[self._effort][1]

        def at(octaves: Array, lookahead: bool) -> CodedBatch:
            steps = self._steps(batch, budget, slopes * 2.0**octaves, exact)
            return code_batch(state, batch, steps, lookahead=lookahead)

        found = [(*self._search(at, left, *start, enough), start[1]) for start in starts]
        coded, octaves, self._lookahead = min(found, key=lambda one: len(one[0].data))
        spent = budget.spent + self._bounds.summed(coded.errors)
        share = np.where(exact, _ENOUGH, spent / np.maximum(budget.bound, _TINY))
        # In quarters of an octave, so that steps change seldom and need not be sent.
        change = np.round(4 * np.clip(4 * (share - _ENOUGH), -0.5, 0.5)) / 4
        if len(coded.data) < _WORTH:
            change = np.maximum(change, 0.0)
        self._slopes = np.where(exact, np.inf, slopes * 2.0 ** (octaves + change))
        return coded

    def plain_steps(self, batch: RowBatch, budget: Budget) -> Steps | None:
        """Return the largest steps that keep plain rows within their squared errors, if any.

        Where values repeat, the error also falls as steps grow, so that far larger ones may do.
        """
        left = self._left(batch, budget)
        uniform, exact = self._uniform(batch, left), np.isinf(left)

        def at(octaves: Array) -> Steps:
            return self._steps(batch, budget, uniform * 2.0**octaves, exact)

        def within(steps: Steps) -> Array:
            found = round_plain(batch, steps)
            if found is None:
                return exact & False
            errors = np.where(batch.present, found[1] - batch.Y, 0.0)
            return self._bounds.summed(np.square(errors).sum(axis=0)) <= left

        best = np.full(len(left), 2.0)  # no error is larger than half a step: always within
        for octaves in () if exact.all() else np.linspace(2, -4, 16 * self._effort + 1):
            best = np.where(within(at(octaves)), octaves, best)
        steps = at(best)
        fits_all = (
            within(steps).all()
            and (steps.sizes <= 2 * budget.limits)[
                np.isfinite(budget.limits) & ~exact[self._bounds.groups]
            ].all()
        )
        return steps if fits_all else None

    def _left(self, batch: RowBatch, budget: Budget) -> Array:
        """Return what groups may still spend; infinite if lossless, or if all values are zero."""
        nonzero = np.count_nonzero(batch.Y, axis=0)  # squares may underflow
        exact = self._bounds.exact | (self._bounds.summed(nonzero) == 0)
        return np.where(exact, np.inf, budget.bound - budget.spent)

    def _uniform(self, batch: RowBatch, left: Array) -> Array:
        """Return the slopes of uniform rounding: squared step / 12 = squared error / values."""
        n_values = np.maximum(self._bounds.summed(batch.counts), 1)
        return np.where(np.isinf(left), 1.0, 0.5 * n_values / np.maximum(left, _TINY))

    def _steps(self, batch: RowBatch, budget: Budget, slopes: Array, exact: Array) -> Steps:
        columns = np.where(exact, np.inf, slopes)[self._bounds.groups]
        return Steps.at(columns, batch.grids, budget.limits)

    def _search(
        self,
        at: Callable[[Array, bool], CodedBatch],
        left: Array,
        start: float,
        lookahead: bool,
        enough: float,
    ) -> tuple[CodedBatch, Array]:
        """Return rows, and the fewest octaves that keep each group within what is left to it.

        A squared error falls about as slopes rise, which gives the next guess, within what is known
        to be too low and high enough. It ends where each group spends ``enough`` of what is left to
        it, or after some passes; then groups that are not within rise in growing moves.
        """
        n_passes, _ = _SEARCHES[self._effort]
        octaves, growth = np.full(len(left), start), 4 * _FINE
        low, high = np.full(len(left), -_OCTAVES), np.full(len(left), np.inf)
        best: tuple[CodedBatch, Array] | None = None
        while best is None or n_passes > 0:
            coded = at(octaves, lookahead)
            errors = np.where(np.isinf(left), 0.0, self._bounds.summed(coded.errors))
            within, share = errors <= left, errors / np.maximum(left, _TINY)
            if within.all() and (best is None or len(coded.data) < len(best[0].data)):
                best = coded, octaves
            low = np.where(within, low, np.maximum(low, octaves))
            high = np.where(within, np.minimum(high, octaves), high)
            done = np.isinf(left) | (within & (share >= enough)) | (high - low < _FINE)
            n_passes, enough = n_passes - 1, _ENOUGH
            if n_passes <= 0:
                octaves, growth = np.where(within, octaves, octaves + growth), 2 * growth
            elif done.all() and best is not None:
                break
            else:
                top = np.where(np.isinf(high), 2 * _OCTAVES, high)
                margin = np.minimum(0.15 * (top - low), 4 * _FINE)
                guess = octaves + np.log2(np.maximum(share, 2.0**-_OCTAVES)) + _FINE / 2
                octaves = np.where(done, top, np.clip(guess, low + margin, top - margin))
            if best is None and octaves.max() > 4 * _OCTAVES:
                raise UncodableError("error is finer than doubles represent; set a larger one.")
        return best
