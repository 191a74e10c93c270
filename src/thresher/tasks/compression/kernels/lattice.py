"""Sensor values on a lattice: predict, code the whole number of steps beside the prediction.

At every time, sensor after sensor,

    x_j = ŷ_j + Σ B_ji z_i,    z = (innovations of the row before, those of this row up to j)
    ŷ_j ← base + step q,       base = x_j rounded to the grid of the data, if they have one

where q is coded under a Laplace law centred at x_j. B are the regressions that the discounted
second moments of z give, all at once by one Cholesky factor; the scale is the mean size of what the
regression left before, times how lively the row is. A missing sensor follows its prediction.

Everything comes from values that both sides know, and every sum is done as written, so that edge
and cloud stay alike to the bit: neither BLAS nor the processor matters.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel
from thresher.kernels.floors import TINY
from thresher.tasks.compression.kernels.adaptive_bits import (
    cheaper,
    code_length,
    contexts,
    count,
    first_chances,
    tell,
)

# Part of the format: both sides must have the same. By judgement.
_KEEP = 0.5 ** (1 / 500)  # second moments: half-life of 500 rows
_RIDGE = 0.05  # of the mean variance
RATE = 0.03  # at which mean sizes follow
_REFIT = 32  # rows between two fits of the regressions
_ROWS, _ACTIVITY, _SIZES, _CODED, _EXPECTED, _BASE = range(6)


class LatticeState(NamedTuple):
    """What both sides know."""

    level: Any  # ŷ, (N)
    seen: Any  # z, (2N)
    moments: Any  # of z, (2N, 2N), lower half
    weights: Any  # B, (N, 2N)
    size: Any  # mean size of what is left, (N)
    row: Any  # rows so far, activity, its sum and count, x and base of the sensor at hand
    chances: Any  # (2, contexts)


def first_lattice(level: Any) -> LatticeState:
    """The state of a stream that starts at given values."""
    N = len(level)
    return LatticeState(
        level=level.copy(),
        seen=np.zeros(2 * N),
        moments=np.zeros((2 * N, 2 * N)),
        weights=np.zeros((N, 2 * N)),
        size=np.zeros(N),
        row=np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        chances=first_chances(),
    )


@strict_helper
def on_grid(value, grid):  # type: ignore[no-untyped-def]
    """The nearest multiple of the grid's spacing; without a grid (0), the value."""
    numerator, denominator = grid
    if numerator > 0:
        return np.floor(value * denominator / numerator + 0.5) * numerator / denominator
    return value


@strict_helper
def _expected(state, j):  # type: ignore[no-untyped-def]
    """The innovation that is expected of sensor j."""
    total = 0.0
    for i in range(state.level.size + j):
        total += state.weights[j, i] * state.seen[i]
    return total


@strict_helper
def _begin_row(state):  # type: ignore[no-untyped-def]
    state.row[_SIZES], state.row[_CODED] = 6.0 * state.row[_ACTIVITY], 6.0


@strict_helper
def _skip(state, j):  # type: ignore[no-untyped-def]
    """A missing sensor follows its prediction."""
    innovation = _expected(state, j)
    state.seen[state.level.size + j] = innovation
    state.level[j] += innovation


@strict_helper
def _contexts_at_hand(state, j, step):  # type: ignore[no-untyped-def]
    """The contexts that fit the prediction of sensor j, the one at hand."""
    size = state.size[j] if state.size[j] > 0 else step
    scale = size * (state.row[_SIZES] / state.row[_CODED])
    return contexts(scale / step, (state.row[_EXPECTED] - state.row[_BASE]) / step)


@strict_helper
def _predict(state, j, grid, step):  # type: ignore[no-untyped-def]
    """Predict sensor j; the contexts of its number."""
    x = state.level[j] + _expected(state, j)
    state.row[_EXPECTED], state.row[_BASE] = x, on_grid(x, grid)
    return _contexts_at_hand(state, j, step)


@strict_helper
def _value(state, q, grid, step):  # type: ignore[no-untyped-def]
    """The decoded value; on a grid, the double nearest to the decimal fraction."""
    return on_grid(state.row[_BASE] + q * step, grid)


@strict_helper
def _settle(state, j, at, q, value, step):  # type: ignore[no-untyped-def]
    """Learn from the decoded value of sensor j."""
    count(state.chances, at, q)
    left = abs(value - state.row[_EXPECTED])
    size = state.size[j] if state.size[j] > 0 else step
    state.row[_SIZES] += min(left / size, 4.0)
    state.row[_CODED] += 1.0
    state.size[j] = max((1 - RATE) * size + RATE * left, 1e-3 * step)
    state.seen[state.level.size + j] = value - state.level[j]
    state.level[j] = value


@strict_helper
def _end_row(state):  # type: ignore[no-untyped-def]
    """Learn from a whole row; now and then, fit the regressions anew."""
    N = state.level.size
    state.row[_ACTIVITY] = min(max(state.row[_SIZES] / state.row[_CODED], 0.3), 3.0)
    for i in range(2 * N):
        z = (1 - _KEEP) * state.seen[i]
        for k in range(i + 1):
            state.moments[i, k] = _KEEP * state.moments[i, k] + z * state.seen[k]
    for i in range(N):
        state.seen[i] = state.seen[N + i]
    state.row[_ROWS] += 1.0
    rows = int(state.row[_ROWS])
    # A fit takes 4/3 N³ products, a row 5 N²: wide streams are fitted less often, so that rows and
    # fits cost about the same.
    every = max(_REFIT, N // 4)
    if rows % every == 0 or (every == _REFIT and rows in (4, 8, 16)):
        regress(state.moments, 1 + 50.0 / rows, state.weights)


@strict_kernel
def regress(moments, cautious, weights):  # type: ignore[no-untyped-def]
    """Regressions of the last N variables on all before them, from a Cholesky factor."""
    M = moments.shape[0]
    N = M // 2
    trace = 0.0
    for i in range(M):
        trace += moments[i, i]
    ridge = _RIDGE * cautious * trace / M + TINY
    L = np.zeros((M, M))
    for i in range(M):
        for j in range(i + 1):
            total = moments[i, j]
            if i == j:
                total += ridge
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(max(total, TINY)) if i == j else total / L[j, j]
    for j in range(N):
        # weights · L₁₁ = row of L, from the right.
        w = weights[j]
        for k in range(N + j):
            w[k] = L[N + j, k]
        for k in range(N + j - 1, -1, -1):
            w[k] /= L[k, k]
            for i in range(k):
                w[i] -= w[k] * L[k, i]


@strict_kernel
def lattice_encode(state, Y, present, grid, step, weight):  # type: ignore[no-untyped-def]
    """Code rows: numbers, their chances, decoded values; bits and squared error.

    ``weight`` is what a squared error, in steps, is worth in bits: infinite rounds to the nearest.
    """
    n, N = Y.shape
    numbers, p = np.zeros((n, N), np.int64), np.zeros((n, N, 5), np.int32)
    values = np.full((n, N), np.nan)
    bits, error = 0.0, 0.0
    for t in range(n):
        _begin_row(state)
        for j in range(N):
            if not present[t, j]:
                _skip(state, j)
                continue
            at = _predict(state, j, grid, step)
            tell(state.chances, at, p[t, j])
            q = cheaper(p[t, j], (Y[t, j] - state.row[_BASE]) / step, weight)
            value = _value(state, q, grid, step)
            bits += code_length(p[t, j], q)
            error += (value - Y[t, j]) ** 2
            _settle(state, j, at, q, value, step)
            numbers[t, j], values[t, j] = q, value
        _end_row(state)
    return numbers, p, values, bits, error


@strict_kernel
def lattice_next(state, present, j, q, grid, step, p):  # type: ignore[no-untyped-def]
    """Take the number of sensor j (−1 begins a row), and give the next sensor and its chances.

    The cloud's half of `lattice_encode`, cut where a number has to be read. Gives N after the last.
    """
    if j < 0:
        _begin_row(state)
    else:
        at = _contexts_at_hand(state, j, step)
        _settle(state, j, at, q, _value(state, q, grid, step), step)
    N = state.level.size
    for i in range(j + 1, N):
        if present[i]:
            tell(state.chances, _predict(state, i, grid, step), p)
            return i
        _skip(state, i)
    _end_row(state)
    return N
