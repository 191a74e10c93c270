"""Sensor values through an orthogonal dictionary: code the innovations' codes, most of them zero.

    c = (y − ŷ) Dᵀ,    q = (c − r ∘ c′) / step rounded,    ŷ ← ŷ + (r ∘ c′ + step q) D

with c′ the codes of the row before, and r their regression on the ones before, atom by atom; small
predictions are taken as zero, so that a row costs as many atoms as it uses. Missing sensors take
part with what the codes of the others say about them. As in `lattice`, what the cloud has to
follow is done in the order that is written; the edge's products may be done in any.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper, strict_helper, strict_kernel
from thresher.tasks.compression.kernels.adaptive_bits import (
    cheaper,
    code_length,
    contexts,
    count,
    first_chances,
    tell,
)
from thresher.tasks.compression.kernels.lattice import RATE, on_grid

# Part of the format: both sides must have the same. By judgement.
_KEEP = 0.5 ** (1 / 1000)  # second moments of codes: half-life of 1000 rows
_FILLS = 2  # rounds in which missing sensors take what the codes say
_STEEPEST = 1e3  # growth of a code from row to row that is believed
_ACTIVITY, _SIZES, _CODED = range(3)


class TransformState(NamedTuple):
    """What both sides know, beside ŷ."""

    D: Any  # the cloud's dictionary, (N, N)
    codes: Any  # of the row before, (N)
    moments: Any  # of codes with those before, and of these, (2, N)
    size: Any  # mean size of numbers times step, (N)
    row: Any  # activity, its sum and count
    chances: Any


def first_transform(N: int) -> TransformState:
    """No dictionary yet: the identity."""
    return TransformState(
        D=np.eye(N),
        codes=np.zeros(N),
        moments=np.zeros((2, N)),
        size=np.zeros(N),
        row=np.array([1.0, 0.0, 0.0]),
        chances=first_chances(),
    )


@strict_helper
def _begin_row(state, step, predicted):  # type: ignore[no-untyped-def]
    state.row[_SIZES], state.row[_CODED] = 6.0 * state.row[_ACTIVITY], 6.0
    for k in range(predicted.size):
        c = 0.0
        if state.moments[1, k] > 0:
            # A stream that grew by many orders is not expected to go on like that.
            r = min(max(state.moments[0, k] / state.moments[1, k], -_STEEPEST), _STEEPEST)
            c = state.codes[k] * r
        predicted[k] = c if abs(c) >= 0.25 * step else 0.0


@strict_helper
def _contexts_at_hand(state, k, step):  # type: ignore[no-untyped-def]
    size = state.size[k] if state.size[k] > 0 else step
    return contexts(size * (state.row[_SIZES] / state.row[_CODED]) / step, 0.0)


@strict_helper
def _settle(state, k, at, q, step, predicted):  # type: ignore[no-untyped-def]
    """Learn from the number of atom k."""
    count(state.chances, at, q)
    size = state.size[k] if state.size[k] > 0 else step
    found = abs(q) * step
    state.row[_SIZES] += min(found / size, 4.0)
    state.row[_CODED] += 1.0
    state.size[k] = max((1 - RATE) * size + RATE * found, 0.02 * step)
    code = predicted[k] + q * step
    state.moments[0, k] = _KEEP * state.moments[0, k] + code * state.codes[k]
    state.moments[1, k] = _KEEP * state.moments[1, k] + state.codes[k] ** 2
    state.codes[k] = code


@strict_helper
def _end_row(state, level):  # type: ignore[no-untyped-def]
    """Move the values by what the codes say."""
    state.row[_ACTIVITY] = min(max(state.row[_SIZES] / state.row[_CODED], 0.3), 3.0)
    for k in range(level.size):
        if state.codes[k] != 0:
            for j in range(level.size):
                level[j] += state.codes[k] * state.D[k, j]


@helper
def _codes(D, innovation, c):  # type: ignore[no-untyped-def]
    for k in range(c.size):
        total = 0.0
        for j in range(c.size):
            total += D[k, j] * innovation[j]
        c[k] = total


@helper
def _fill(D, c, least, present, innovation):  # type: ignore[no-untyped-def]
    """Give the missing sensors what the codes beyond ``least`` say."""
    for j in range(present.size):
        if not present[j]:
            innovation[j] = 0.0
    for k in range(present.size):
        if abs(c[k]) > least:
            for j in range(present.size):
                if not present[j]:
                    innovation[j] += c[k] * D[k, j]


@helper
def _is_among(c, k, n):  # type: ignore[no-untyped-def]
    """Whether code k is one of the n largest; of equals, the first."""
    before = 0
    for i in range(c.size):
        if abs(c[i]) > abs(c[k]) or (abs(c[i]) == abs(c[k]) and i < k):
            before += 1
    return before < n


@strict_kernel
def transform_encode(  # type: ignore[no-untyped-def]
    state, level, Y, present, grid, step, weight, n_nonzero
):
    """Code rows: numbers, their chances, decoded values; bits and squared error.

    As `lattice_encode`; at most ``n_nonzero`` numbers of a row are not zero.
    """
    n, N = Y.shape
    numbers, p = np.zeros((n, N), np.int64), np.zeros((n, N, 5), np.int32)
    values = np.full((n, N), np.nan)
    innovation, c, predicted = np.zeros(N), np.zeros(N), np.zeros(N)
    bits, error = 0.0, 0.0
    for t in range(n):
        _begin_row(state, step, predicted)
        n_missing = 0
        for j in range(N):
            innovation[j] = Y[t, j] - level[j] if present[t, j] else 0.0
            n_missing += not present[t, j]
        _codes(state.D, innovation, c)
        for _ in range(_FILLS if n_missing else 0):
            _fill(state.D, c, 0.6 * step, present[t], innovation)
            _codes(state.D, innovation, c)
        for k in range(N):
            c[k] -= predicted[k]
        for k in range(N):
            at = _contexts_at_hand(state, k, step)
            tell(state.chances, at, p[t, k])
            wanted = n_nonzero >= N or _is_among(c, k, n_nonzero)
            q = cheaper(p[t, k], c[k] / step, weight) if wanted else 0
            bits += code_length(p[t, k], q)
            _settle(state, k, at, q, step, predicted)
            numbers[t, k] = q
        _end_row(state, level)
        for j in range(N):
            if present[t, j]:
                values[t, j] = on_grid(level[j], grid)
                error += (values[t, j] - Y[t, j]) ** 2
    return numbers, p, values, bits, error


@strict_kernel
def transform_next(state, level, k, q, step, predicted, p):  # type: ignore[no-untyped-def]
    """Take the number of atom k (−1 begins a row), and give the chances of the next.

    The cloud's half of `transform_encode`; after the last atom, ``level`` has the values.
    """
    if k < 0:
        _begin_row(state, step, predicted)
    else:
        _settle(state, k, _contexts_at_hand(state, k, step), q, step, predicted)
    if k + 1 < level.size:
        tell(state.chances, _contexts_at_hand(state, k + 1, step), p)
    else:
        _end_row(state, level)


@strict_kernel
def values_on_grid(level, grid):  # type: ignore[no-untyped-def]
    """`on_grid` for a row."""
    values = np.empty(level.size)
    for j in range(level.size):
        values[j] = on_grid(level[j], grid)
    return values
