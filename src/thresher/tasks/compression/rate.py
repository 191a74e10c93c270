"""Rate–distortion optimisation: one Lagrange multiplier for each group of columns.

An integer moves one nearer to zero where that saves more bits than its error is worth. The slope,
bits per squared error, is the same for all columns of a group, and the step follows from it. It is
found by a search for the first batch, then follows from batch to batch the share of the bound that
is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.batch import (
    Batch,
    CodedBatch,
    StreamState,
    code_batch,
    round_plain,
)
from thresher.tasks.compression.bounds import Bounds
from thresher.tasks.compression.quantise import Steps
from thresher.tasks.compression.wire import Array

Starts = Sequence[tuple[float | Array, bool]]
_PASSES = {1: 2, 2: 5, 3: 8}  # times that a batch is coded in a search, by effort
_STARTS: dict[int, Starts] = {
    1: [(0.75, True)],
    2: [(0.5, True), (0.25, False)],
    3: [(0.0, False), (0.5, True), (0.5, False), (1.0, True)],
}
"""Searches by effort: where they start, in octaves above uniform rounding, and whether integers are
chosen with lookahead. On coarse grids bytes do not fall steadily, so that several are tried."""
_ENOUGH = 0.97  # share of the bound that ends a search
_OCTAVES = 16.0  # slopes are searched within 2^±16 of that of uniform rounding, and finer if needed
_FINEST = 64.0
_FINE = 1 / 16  # octaves: slopes that close are not distinguished
_SPEND = 0.98  # of the bound, batch by batch
_TINY = 1e-250  # a squared error that is as good as none: 2^64 / _TINY is still a double
_STEPS = 2.0**40  # in the largest value, at most


class UncodableError(ValueError):
    """Values that cannot be coded after those before within their bound."""


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
        self._bounds, self._effort = bounds, effort
        self._slopes: Array | None = None
        self._lookahead = False

    def choose(self, state: StreamState, batch: Batch, budget: Budget) -> CodedBatch:
        """Code the rows of a batch in few bytes within what is left."""
        exact = self._lossless(batch)
        if self._slopes is None or exact.all() or self._is_far(batch, exact):
            unit = self._uniform(batch, budget.left, exact)
            starts: Starts = [(0.0, False)] if exact.all() else _STARTS[self._effort]
        else:
            coded = self._code(state, batch, budget, exact, self._slopes, self._lookahead)
            errors = self._bounds.summed(coded.errors)
            unit, is_within = self._slopes, ((errors <= budget.left) | exact).all()
            with np.errstate(divide="ignore", invalid="ignore"):
                over = np.log2(np.nan_to_num(errors / budget.left, nan=1.0, posinf=2.0, neginf=2.0))
                spent = np.where(exact, _SPEND, (budget.spent + errors) / budget.bound)
            # In quarters of an octave, so that steps change seldom and need not be sent.
            octaves = np.clip(
                4 * (np.nan_to_num(spent, nan=_SPEND, posinf=2.0) - _SPEND), -0.5, 0.5
            )
            self._slopes = unit * 2.0 ** (np.round(4 * octaves) / 4)
            if is_within:
                return coded
            starts = [
                (np.where(errors > budget.left, np.maximum(over, _FINE), 0.0), self._lookahead)
            ]
        best: tuple[CodedBatch, Array, bool] | None = None
        for start, lookahead in starts:
            found = self._search(state, batch, budget, exact, unit, start, lookahead)
            if best is None or len(found[0].data) < len(best[0].data):
                best = *found, lookahead
        assert best is not None
        coded, slopes, self._lookahead = best
        self._slopes = np.where(exact, np.inf, slopes)
        return coded

    def _code(
        self,
        state: StreamState,
        batch: Batch,
        budget: Budget,
        exact: Array,
        slopes: Array,
        lookahead: bool,
    ) -> CodedBatch:
        columns = np.where(exact, np.inf, slopes)[self._bounds.groups]
        steps = Steps.at(columns, batch.grids, budget.limits)
        return code_batch(state, batch, steps, lookahead=lookahead)

    def _lossless(self, batch: Batch) -> Array:
        """Return the groups without error, or whose values are all zero."""
        nonzero = np.count_nonzero(batch.Y, axis=0)  # squares may underflow
        return self._bounds.exact | (self._bounds.summed(nonzero) == 0)

    def _is_far(self, batch: Batch, exact: Array) -> bool:
        """Return whether rows are of another size than those that the slopes were found for."""
        assert self._slopes is not None
        largest = np.zeros(len(exact))
        np.maximum.at(largest, self._bounds.groups, batch.largest)
        far = largest > _STEPS * np.sqrt(6 / np.maximum(self._slopes, _TINY))
        return bool((~exact & (~np.isfinite(self._slopes) | far)).any())

    def _uniform(self, batch: Batch, left: Array, exact: Array) -> Array:
        """Return the slopes of uniform rounding: squared step / 12 = squared error / values."""
        n_values = np.maximum(self._bounds.summed(batch.counts), 1)
        return np.where(exact, 1.0, 0.5 * n_values / np.maximum(left, _TINY))

    def _search(
        self,
        state: StreamState,
        batch: Batch,
        budget: Budget,
        exact: Array,
        unit: Array,
        start: float | Array,
        lookahead: bool,
    ) -> tuple[CodedBatch, Array]:
        """Return rows at the smallest slopes that keep each group within what is left to it.

        A squared error falls about as slopes rise, which gives the next guess, within what is known
        to be too low and high enough.
        """
        octaves = np.zeros(len(exact)) + start
        low, high = np.full(len(exact), -_OCTAVES), np.full(len(exact), np.inf)
        best: tuple[CodedBatch, Array] | None = None
        growth, n_passes = 4 * _FINE, _PASSES[self._effort]
        while best is None or n_passes > 0:
            slopes = unit * 2.0**octaves
            coded = self._code(state, batch, budget, exact, slopes, lookahead)
            errors = np.where(exact, 0.0, self._bounds.summed(coded.errors))
            within = (errors <= budget.left) | exact
            if within.all() and (best is None or len(coded.data) < len(best[0].data)):
                best = coded, slopes
            low = np.where(within, low, np.maximum(low, octaves))
            high = np.where(within, np.minimum(high, octaves), high)
            n_passes -= 1
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.nan_to_num(errors / budget.left, nan=1.0, posinf=2.0**_OCTAVES)
            done = exact | (within & (share >= _ENOUGH)) | (high - low < _FINE)
            if done.all() and best is not None:
                break
            if n_passes > 0:
                top = np.where(np.isinf(high), 2 * _OCTAVES, high)
                margin = np.minimum(0.15 * (top - low), 4 * _FINE)
                guess = octaves + np.log2(np.maximum(share, 2.0**-_OCTAVES)) + _FINE / 2
                octaves = np.where(done, top, np.clip(guess, low + margin, top - margin))
            elif n_passes == 0:  # what was within for each group by itself
                octaves = np.where(np.isinf(high), low + growth, high)
            else:
                octaves, growth = np.where(within, octaves, octaves + growth), 2 * growth
            if best is None and octaves.max() > _FINEST:
                raise UncodableError("error is finer than doubles represent; set a larger one.")
            octaves = np.minimum(octaves, _FINEST)
        return best

    def plain_steps(self, batch: Batch, left: Array, limits: Array) -> Steps | None:
        """Return the largest steps that keep plain rows within their squared errors, if any.

        Where values repeat, the error also falls as steps grow, so that far larger ones may do.
        """
        exact = self._lossless(batch)
        uniform = self._uniform(batch, left, exact)

        def at(octaves: Array) -> Steps:
            slopes = np.where(exact, np.inf, uniform * 2.0**octaves)[self._bounds.groups]
            return Steps.at(slopes, batch.grids, limits)

        def within(steps: Steps) -> Array:
            found = round_plain(batch, steps)
            if found is None:
                return np.zeros(len(exact), bool)
            errors = np.where(batch.present, found[1] - batch.Y, 0.0)
            return (self._bounds.summed(np.square(errors).sum(axis=0)) <= left) | exact

        best = np.full(len(left), 2.0)  # no error is larger than half a step: always within
        for octaves in () if exact.all() else np.linspace(2, -4, 16 * self._effort + 1):
            best = np.where(within(at(octaves)), octaves, best)
        steps = at(best)
        fits_all = within(steps).all() and (steps.sizes <= 2 * limits).all()
        return steps if fits_all else None
