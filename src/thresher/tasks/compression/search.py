"""Which quantiser needs fewest bits, given how much error is allowed.

Rounding to the nearest point of a lattice spends the error evenly. It is better spent where it buys
most: a number moves one nearer to zero where that saves more bits than its error is worth,
``weight`` bits for a squared step. So lattices finer than the allowed error are tried too, with the
smallest weight that keeps to it.
"""

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np

from thresher.tasks.compression.batch import Coded, Mode, Quantiser
from thresher.tasks.compression.grid import GRIDS

_WEIGHTS = (2.0, 64.0)
_WEIGHT = 6.0
_HALVINGS = 4

Try = Callable[[Quantiser], Coded]


def best_lattice(attempt: Try, grid: int, allowed: float, n_values: int) -> Coded:
    """The cheapest lattice whose squared error is at most ``allowed``."""
    coarsest = sqrt(12 * max(allowed, 0) / max(n_values, 1))
    if grid:
        spacing = GRIDS[grid].spacing
        m = max(1, int(sqrt((coarsest / spacing) ** 2 + 1)))
        steps = [k * spacing for k in sorted({m + 1, m, ceil(0.7 * m)}, reverse=True)]
        if allowed <= 0:
            steps = steps[-1:]
    else:
        steps = [coarsest, 0.7 * coarsest]
    best: Coded | None = None
    for step in steps:
        found = _least_weight(attempt, Quantiser(Mode.LATTICE, grid, step), allowed)
        if found is not None and (best is None or found.bits < best.bits):
            best = found
    while best is None:  # without a grid the rule for the step is not exact
        steps[-1] *= 0.9
        best = _least_weight(attempt, Quantiser(Mode.LATTICE, grid, steps[-1]), allowed)
    return best


def _least_weight(attempt: Try, quantiser: Quantiser, allowed: float) -> Coded | None:
    """The cheapest way to round to a given lattice."""
    best = attempt(quantiser)
    if best.error > allowed:
        return None
    if allowed <= 0:
        return best
    low, high = np.log2(_WEIGHTS)
    for weight in [low] + [None] * _HALVINGS:
        w = (low + high) / 2 if weight is None else weight
        found = attempt(quantiser._replace(weight=2.0**w))
        if found.error <= allowed:
            high = w
            best = found if found.bits < best.bits else best
            if weight is not None:
                break
        else:
            low = w
    return best


def best_transform(attempt: Try, grid: int, allowed: float, n_values: int) -> Coded | None:
    """The coarsest step, at the usual weight, whose squared error is at most ``allowed``."""
    if allowed <= 0 or not n_values:
        return None
    middle = np.log2(sqrt(12 * allowed / n_values))
    low, high, best = middle - 2, middle + 2, None
    for _ in range(_HALVINGS + 2):
        at = (low + high) / 2
        found = attempt(Quantiser(Mode.TRANSFORM, grid, 2.0**at, _WEIGHT))
        if found.error <= allowed:
            low, best = at, found
        else:
            high = at
    return best
