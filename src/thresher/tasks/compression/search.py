"""Which quantiser to take, given how much error is allowed.

Rounding to the nearest point spends the error evenly. It is better spent where it buys most: a
number moves one nearer to zero where that saves more bits than its error is worth, at a slope that
is the same for the whole stream. The best step makes a squared step worth some six bits, by trial;
on a grid the step is a multiple of its spacing. So the slope tells all. It follows from the error
bound: by halving for the first batch, then batch by batch from how much of the bound is spent.
"""

from collections.abc import Callable
from math import isinf, sqrt
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.batch import Coded, Mode, Quantiser
from thresher.tasks.compression.grid import GRIDS

_WEIGHT = 6.0  # bits that a squared step is worth; by trial
# By judgement: slopes are looked for within 2^±16 of that of even rounding, to a sixteenth of an
# octave, and if need be up to 2^64 times it.
_OCTAVES = 16
_HALVINGS = 9
_FINEST = 64

Try = Callable[[Quantiser], Coded]


def step_at(slope: float) -> float:
    """The step that goes with a slope, without a grid."""
    return sqrt(_WEIGHT / slope)


def lattice_at(attempt: Try, grid: int, slope: float) -> Coded:
    """Numbers of steps beside the prediction."""
    spacing = GRIDS[grid].spacing
    if isinf(slope):
        return attempt(Quantiser(Mode.LATTICE, grid, spacing))
    step = step_at(slope)
    if grid:
        step = max(1, round(step / spacing)) * spacing
    return attempt(Quantiser(Mode.LATTICE, grid, step, slope * step**2))


def transform_at(attempt: Try, grid: int, slope: float) -> Coded:
    """Codes with the dictionary of the state that ``attempt`` starts from."""
    return attempt(Quantiser(Mode.TRANSFORM, grid, step_at(slope), _WEIGHT))


def bits_at_error(batch: Coded, error: float) -> float:
    """Bits that a batch would take at another squared error, nearly.

    At less than a bit for each value, bits fall with the root of the squared error (measured: from
    0.1 to 1 bit, powers of 0.45 to 0.5).
    """
    return batch.bits * sqrt(batch.error / error) if error > 0 else batch.bits


class Fit(NamedTuple):
    """Slopes on both sides of an error bound: one that keeps it, and one that does not, if any."""

    slope: float
    batch: Coded
    too_low: float
    over: Coded | None


def least_slope(at: Callable[[float], Coded], allowed: float, n_values: int) -> Fit | None:
    """The smallest slope whose squared error is at most ``allowed``; None if there is none.

    A dictionary is orthogonal to some nine digits only, and doubles have sixteen.
    """
    if allowed <= 0:
        return None
    middle = 0.5 * max(n_values, 1) / allowed  # rounding evenly: squared step / 12 = allowed / n
    low, high = -float(_OCTAVES), float(_OCTAVES)
    found = over = None
    for _ in range(_HALVINGS):
        octave = (low + high) / 2
        batch = at(middle * 2.0**octave)
        if batch.error <= allowed:
            high, found = octave, batch
        else:
            low, over = octave, batch
    while found is None and high < _FINEST:
        high += 4
        batch = at(middle * 2.0**high)
        found = batch if batch.error <= allowed else None
    if found is None:
        return None
    return Fit(float(middle * 2.0**high), found, float(middle * 2.0**low), over)


def rows_over(fit: Fit, Y: np.ndarray, allowed: float) -> int:
    """How many rows can go at the slope that is too low for all, until the bound is spent.

    On a coarse grid the error jumps from one multiple of the spacing to the next: then the first
    rows take one side of the jump, the rest the other.
    """
    if fit.over is None or isinf(fit.over.error) or fit.batch.error > 0.9 * allowed:
        return 0
    each = [np.nansum(np.square(b.values - Y), axis=1) for b in (fit.over, fit.batch)]
    total = np.concatenate([[0.0], np.cumsum(each[0])]) + np.concatenate(
        [np.cumsum(each[1][::-1])[::-1], [0.0]]
    )
    return int(np.flatnonzero(total <= 0.99 * allowed).max(initial=0))
