"""How the edge codes its rows: by lattice, by dictionary, or by one that it sends first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.tasks.compression.batch import Coded, Mode, Quantiser, coded
from thresher.tasks.compression.dictionary import Rotation, rotate_dictionary
from thresher.tasks.compression.grid import grid_of
from thresher.tasks.compression.learners import Account, Learners
from thresher.tasks.compression.search import (
    Fit,
    bits_at_error,
    lattice_at,
    least_slope,
    rows_over,
    step_at,
    transform_at,
)
from thresher.tasks.compression.state import CodecState

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

# All by judgement. Where dictionaries take a tenth more bits than the lattice, none is tried for
# the next eight batches, which saves time.
_FAR = 1.1
_REST = 8
_STEPS = 2.0**40  # in the largest value, at most
_SPEND = 0.98  # of the error bound; the rest is for surprises


class Rows(NamedTuple):
    """Rows to code: values, zero where missing; which are there; the grid they lie on."""

    Y: Array
    present: Array
    grid: int

    @classmethod
    def of(cls, Y: Array) -> Rows:
        """Rows with NaN where a sensor is silent."""
        present = ~np.isnan(Y)
        return cls(np.where(present, Y, 0.0).astype(np.float64), present, grid_of(Y[present]))

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int(self.present.sum())

    @property
    def largest(self) -> float:
        """The largest of them, without its sign."""
        return float(np.abs(self.Y).max(initial=0.0))

    @property
    def squares(self) -> float:
        """Their squares, summed."""
        return float(np.square(self.Y).sum())

    def part(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(self.Y[rows], self.present[rows], self.grid)

    def after(
        self, state: CodecState, rotation: Rotation | None = None
    ) -> Callable[[Quantiser], Coded]:
        """How to code these rows from a state, after a rotation of its dictionary."""
        if rotation is not None:
            state = state.copy()
            rotate_dictionary(state, rotation)
        return partial(coded, state, self.Y, self.present)


class Choice(NamedTuple):
    """The leading rows, coded, and the dictionary to send before them."""

    rows: Rows
    coded: Coded
    rotation: Rotation | None = None


class Budget(NamedTuple):
    """Squared error of the stream: what it may be after the rows at hand, and what it is before."""

    bound: float
    spent: float


At = Callable[[float], Coded]
"""Code rows at a slope."""


class Trial(NamedTuple):
    """A `Candidate`, how to code with it, and what came of it."""

    account: Account
    rotation: Rotation
    cost: int
    at: At
    batch: Coded


class Chooser:
    """Chooses batch by batch, and remembers the slope and what dictionaries would have saved."""

    def __init__(self, codec: SensorCodec, n_sensors: int) -> None:
        self._codec = codec
        self._N = n_sensors
        self._learners = Learners(codec.half_lives(), codec.n_nonzero)
        self._slope: float | None = None
        self._rest = 0

    def learn(self, innovations: Array) -> None:
        """Learn dictionaries, unless they are far from paying."""
        if self._N > 1 and not self._rest:
            self._learners.learn(innovations)

    def choose(self, state: CodecState, rows: Rows, budget: Budget, batches_left: float) -> Choice:
        """Code all rows, or the leading ones."""
        if self._codec.n_nonzero is not None:
            choice = self._sparse(state, rows, budget)
        elif self._codec.error == 0 or not rows.squares:
            choice = self._lossless(state, rows)
        elif self._slope is None or rows.largest > _STEPS * step_at(self._slope):
            # The first rows, or rows of another size than those that the slope was found for.
            choice = self._first(state, rows, budget, batches_left)
        else:
            choice = self._next(state, rows, budget, batches_left, self._slope)
        if choice.rotation is not None:
            self._learners.settle()
        return choice

    def _lossless(self, state: CodecState, rows: Rows) -> Choice:
        return Choice(rows, lattice_at(rows.after(state), max(rows.grid, 1), np.inf))

    def _first(self, state: CodecState, rows: Rows, budget: Budget, left: float) -> Choice:
        """Find the slope that spends the bound, by lattice and by the likeliest dictionary."""
        allowed, rotation = budget.bound - budget.spent, None
        at: At = partial(lattice_at, rows.after(state), rows.grid)
        fit = _found(least_slope(at, allowed, rows.n_values))
        tried = [] if self._N < 2 else self._tried(state, rows, fit.slope)
        if tried:
            likeliest = min(tried, key=lambda t: bits_at_error(t.batch, allowed) + 8 * t.cost)
            other = least_slope(likeliest.at, allowed, rows.n_values)
            saved = 0.0 if other is None else (fit.batch.bits - other.batch.bits) * (1 + left)
            if other is not None and saved > 8 * likeliest.cost:
                fit, rotation = other, likeliest.rotation
        self._slope = fit.slope
        n_over = rows_over(fit, np.where(rows.present, rows.Y, np.nan), allowed)
        if n_over and fit.over is not None:
            leading = rows.part(slice(n_over))
            return Choice(leading, leading.after(state, rotation)(fit.over.quantiser), rotation)
        return Choice(rows, fit.batch, rotation)

    def _next(
        self, state: CodecState, rows: Rows, budget: Budget, left: float, slope: float
    ) -> Choice:
        """Code at the slope, and move it towards the one that spends the bound."""
        choice, at = self._cheapest(state, rows, slope, left)
        spent = (budget.spent + choice.coded.error) / budget.bound
        self._slope = slope * 2.0 ** float(np.clip(4 * (spent - _SPEND), -0.5, 0.5))
        allowed = budget.bound - budget.spent
        if choice.coded.error <= allowed:
            return choice
        fit = least_slope(at, allowed, rows.n_values)
        if fit is None:
            lattice = partial(lattice_at, rows.after(state), rows.grid)
            return Choice(rows, _found(least_slope(lattice, allowed, rows.n_values)).batch)
        return choice._replace(coded=fit.batch)

    def _cheapest(
        self, state: CodecState, rows: Rows, slope: float, left: float
    ) -> tuple[Choice, At]:
        """The cheapest of lattice, dictionary, and a new dictionary; and how to try it again."""
        at: At = partial(lattice_at, rows.after(state), rows.grid)
        choice = Choice(rows, at(slope))
        if self._N < 2 or self._rest:
            self._rest = max(0, self._rest - 1)
            return choice, at
        error, known = choice.coded.error, choice.coded.bits
        if not np.array_equal(state.D, np.eye(self._N)):
            with_codes = partial(transform_at, rows.after(state), rows.grid)
            found = with_codes(slope)
            if bits_at_error(found, error) < known:
                choice, at, known = Choice(rows, found), with_codes, bits_at_error(found, error)
        most, least = 0.0, np.inf
        for trial in self._tried(state, rows, slope):
            bits = bits_at_error(trial.batch, error)
            saved = (known - bits) / 8
            gain = self._learners.account(trial.account, saved) + left * saved - trial.cost
            least = min(least, bits)
            if gain > most:
                most, choice, at = gain, Choice(rows, trial.batch, trial.rotation), trial.at
        if least > _FAR * known:
            self._rest = _REST  # dictionaries are far from paying: look again later
        return choice, at

    def _tried(self, state: CodecState, rows: Rows, slope: float) -> list[Trial]:
        """The rows with every dictionary that could be sent."""
        trials = []
        for candidate in self._learners.candidates(state.D, self._codec.angle_bits):
            at = partial(transform_at, rows.after(state, candidate.rotation), rows.grid)
            trials.append(Trial(*candidate, at, at(slope)))
        return trials

    def _sparse(self, state: CodecState, rows: Rows, budget: Budget) -> Choice:
        """The largest codes only, and a dictionary when the error passes the bound."""
        allowed = max(budget.bound - budget.spent, self._codec.error**2 * rows.squares)
        step = float(np.sqrt(12 * allowed / max(rows.n_values, 1))) or 1.0
        most = min(self._codec.n_nonzero or self._N, self._N)
        quantiser = Quantiser(Mode.TRANSFORM, rows.grid, step, np.inf, most)
        choice = Choice(rows, rows.after(state)(quantiser))
        if self._N < 2 or choice.coded.error <= allowed:
            return choice
        # Of those within the bound the cheapest; if there is none, the most exact, if clearly so.
        best = (0.95 * choice.coded.error, np.inf)
        for candidate in self._learners.candidates(state.D, self._codec.angle_bits):
            found = rows.after(state, candidate.rotation)(quantiser)
            merit = (max(found.error, allowed), found.bits + 8 * candidate.cost)
            if merit < best:
                best, choice = merit, Choice(rows, found, candidate.rotation)
        return choice


def _found(fit: Fit | None) -> Fit:
    """The fit of the lattice, which always has one unless doubles are too coarse."""
    if fit is None:
        raise ValueError("The error asked is finer than doubles can tell; ask for more.")
    return fit
