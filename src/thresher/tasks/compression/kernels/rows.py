"""Rows of sensors, each with its own step: predict, and code the whole number of steps beside it.

At every time, sensor after sensor,

    x_j = ŷ_j + Σ B_ji z_i + Σ h_jk r_jk
    ŷ_j ← base + step_j q,     base = x_j rounded to the grid of the sensor, if it has one

where z are the innovations of the row before and of this row up to j, B the regressions of
`lattice`, and r the last residuals of the sensor itself, whose weights h follow the error by
normalised steepest descent. The number q is spelled in decisions (zero? minus? more than 1? …),
whose chances several experts tell (`mixing`): Laplace laws of two scales, one that follows fast and
one slowly, and counts of what came in the like situations. Of large numbers the last digits, about
which nobody knows anything, go as they are.

Everything comes from values that both sides know, and every sum is done as written, so that edge
and cloud stay alike to the bit.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel
from thresher.tasks.compression.kernels.adaptive_bits import contexts, first_chances
from thresher.tasks.compression.kernels.lattice import on_grid, regress
from thresher.tasks.compression.kernels.mask import MaskState, changes_at, first_mask, learn_change
from thresher.tasks.compression.kernels.mixing import bits_of, first_counts, learn, mixed
from thresher.tasks.compression.kernels.range_coder import code_any, code_bit, code_digits

# Part of the format: both sides must have the same. By trial on half of the sensors of Kraków.
_KEEP = 0.5 ** (1 / 500)  # second moments: half-life of 500 rows
_REFIT = 32  # rows between two fits of the regressions
_SLOW, _FAST = 0.03, 0.15  # at which mean sizes follow
_TAPS = 16
_DESCENT = 0.005
_LONG = 6.0  # steps: the last digits of numbers that are larger on average go as they are
_MOST = 2.0**53
_ESCAPE = 24  # decisions after which the rest is a code for any number
_EXPERTS = 5
_KINDS = 5  # of decisions: zero, minus, more than 1, 2, any more
_LAPLACE = 165
_AROUND = _KINDS * 75
_ROWS, _ACTIVITY, _SIZES, _CODED, _EXPECTED, _BASE, _STAGE = range(7)


class Work(NamedTuple):
    """Contexts and logits of the decision at hand."""

    at: Any
    logits: Any
    worst: Any  # the largest number so far


class RowState(NamedTuple):
    """What both sides know."""

    level: Any  # ŷ, (N)
    seen: Any  # z, (2N)
    moments: Any  # of z, (2N, 2N), lower half
    weights: Any  # B, (N, 2N)
    sizes: Any  # mean size of what is left, slow and fast, (2, N)
    residuals: Any  # r, (N, taps)
    taps: Any  # h, (N, taps)
    row: Any  # rows so far, activity, its sum and count; x, base and the first stage at hand
    last: Any  # the numbers of the two rows before, (2, N), and of the sensor before, (1)
    counts: Any  # of all contexts
    mix: Any  # weights of the experts, by kind of decision
    mask: MaskState


def first_rows(level: Any) -> RowState:
    """The state of a stream that starts at given values."""
    N = len(level)
    counts = first_counts(2 * _LAPLACE + _AROUND + 3 * _LAPLACE + 15 * N)
    law = first_chances()
    counts[:, :_LAPLACE] = counts[:, _LAPLACE : 2 * _LAPLACE] = law
    start = 2 * _LAPLACE + _AROUND
    for i in range(3):
        counts[:, start + i * _LAPLACE : start + (i + 1) * _LAPLACE] = law
    return RowState(
        level=level.astype(np.float64),
        seen=np.zeros(2 * N),
        moments=np.zeros((2 * N, 2 * N)),
        weights=np.zeros((N, 2 * N)),
        sizes=np.zeros((2, N)),
        residuals=np.zeros((N, _TAPS)),
        taps=np.zeros((N, _TAPS)),
        row=np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        last=np.zeros((3, N), np.int64),
        counts=counts,
        mix=np.full((_KINDS, _EXPERTS), 0.3),
        mask=first_mask(N),
    )


@strict_helper
def _expected(state, j):  # type: ignore[no-untyped-def]
    """The innovation that is expected of sensor j: by regression, and in all."""
    total = 0.0
    for i in range(state.level.size + j):
        total += state.weights[j, i] * state.seen[i]
    own = 0.0
    for k in range(_TAPS):
        own += state.taps[j, k] * state.residuals[j, k]
    return total, total + own


@strict_helper
def _remember(state, j, residual, left, size):  # type: ignore[no-untyped-def]
    """Move the residuals of sensor j on; their weights follow what was left."""
    power = size * size
    for k in range(_TAPS):
        power += state.residuals[j, k] ** 2
    rate = _DESCENT * left / power if power > 0 else 0.0
    for k in range(_TAPS):
        state.taps[j, k] += rate * state.residuals[j, k]
    for k in range(_TAPS - 1, 0, -1):
        state.residuals[j, k] = state.residuals[j, k - 1]
    state.residuals[j, 0] = residual


@strict_helper
def _clipped(q, most):  # type: ignore[no-untyped-def]
    return min(max(q, -most), most)


@strict_helper
def _situation(state, j, step, base):  # type: ignore[no-untyped-def]
    """The contexts of a zero, a minus, and more, for each expert, before kinds are added."""
    slow = state.sizes[0, j] if state.sizes[0, j] > 0 else step
    fast = state.sizes[1, j] if state.sizes[1, j] > 0 else step
    lively = state.row[_SIZES] / state.row[_CODED]
    centre = (state.row[_EXPECTED] - base) / step
    at = contexts(slow * lively / step, centre)
    quick = contexts(fast * lively / step, centre)
    own, older, beside = state.last[0, j], state.last[1, j], state.last[2, 0]
    around = (_clipped(own, 2) + 2) * 15 + (_clipped(beside, 2) + 2) * 3 + _clipped(older, 1) + 1
    return at, quick, around, _clipped(own, 1) + 1


@strict_helper
def _place(at, situation, kind, j):  # type: ignore[no-untyped-def]
    """The contexts of a decision: where each expert counts."""
    slow, quick, around, own = situation
    add = 33 * max(kind - 2, 0)
    which = min(kind, 2)
    at[0] = slow[which] + add
    at[1] = _LAPLACE + quick[which] + add
    at[2] = 2 * _LAPLACE + kind * 75 + around
    at[3] = 2 * _LAPLACE + _AROUND + own * _LAPLACE + slow[which] + add
    at[4] = 5 * _LAPLACE + _AROUND + 15 * j + 3 * kind + own


@strict_kernel
def _chance(counts, mix, work, situation, kind, j):  # type: ignore[no-untyped-def]
    """The chance of a decision, in units of 2⁻¹⁶."""
    _place(work.at, situation, kind, j)
    return mixed(counts, work.at, mix[kind], work.logits)


@strict_kernel
def _decide(counts, mix, coder, work, situation, kind, j, bit):  # type: ignore[no-untyped-def]
    """Write or read a decision, and learn from it."""
    chance = _chance(counts, mix, work, situation, kind, j)
    bit = code_bit(coder, bit, chance)
    learn(counts, work.at, mix[kind], work.logits, chance, bit)
    return bit


@strict_kernel
def _code_number(counts, mix, coder, work, situation, j, q):  # type: ignore[no-untyped-def]
    """Write or read a whole number."""
    kind = np.int64(0)
    if _decide(counts, mix, coder, work, situation, kind, j, q == 0):
        return np.int64(0)
    negative = _decide(counts, mix, coder, work, situation, kind + 1, j, q < 0)
    size, wanted = np.int64(1), abs(q)
    while size < _ESCAPE:
        kind = min(1 + size, np.int64(4))
        if not _decide(counts, mix, coder, work, situation, kind, j, wanted > size):
            break
        size += 1
    if size == _ESCAPE:
        size += code_any(coder, wanted - _ESCAPE + 1) - 1
    return -size if negative else size


@strict_kernel
def _saved(counts, mix, work, situation, j, q):  # type: ignore[no-untyped-def]
    """Bits saved by a number one nearer to zero."""
    size = abs(q)
    if size >= _ESCAPE:
        return 0.0
    kind = min(size, np.int64(4))  # that of "more than size − 1?", or of "zero?"
    kind = kind if size > 1 else np.int64(0)
    chance = _chance(counts, mix, work, situation, kind, j)
    saved = bits_of(chance, size > 1) - bits_of(chance, size == 1)
    if size == 1:
        saved += bits_of(_chance(counts, mix, work, situation, np.int64(1), j), q < 0)
    kind = min(size + 1, np.int64(4))
    return saved + bits_of(_chance(counts, mix, work, situation, kind, j), False)


@strict_helper
def _cheaper(state, work, situation, j, v, step, weight, limit):  # type: ignore[no-untyped-def]
    """The whole number near v of least ``bits + weight (v − q)²``: rounded, or one nearer 0."""
    q = np.int64(np.floor(v + 0.5))
    if q == 0 or weight == np.inf:
        return q
    nearer = q - 1 if q > 0 else q + 1
    worth = weight * ((v - nearer) ** 2 - (v - q) ** 2)
    if abs(v - nearer) * step > limit:
        return q
    saved = _saved(state.counts, state.mix, work, situation, j, q)
    return nearer if saved > worth else q


@strict_helper
def _code_value(state, coder, work, j, y, grid, step, weight, limit):  # type: ignore[no-untyped-def]
    """Write a value, or read one; the value as decoded."""
    first, expected = _expected(state, j)
    x = state.level[j] + expected
    base = on_grid(x, grid)
    state.row[_EXPECTED] = x
    situation = _situation(state, j, step, base)
    digits, scale = np.int64(0), state.sizes[0, j] / step
    while scale > _LONG and digits < 60:
        scale /= 2
        digits += 1
    q = np.int64(0)
    if not coder.reads:
        v = (y - base) / step
        work.worst[0] = max(work.worst[0], abs(v))
        v = min(max(v, -_MOST), _MOST)
        q = _cheaper(state, work, situation, j, v, step, np.inf if digits else weight, limit)
    half = (np.int64(1) << digits) >> 1
    short = (q + half) >> digits
    short = _code_number(state.counts, state.mix, coder, work, situation, j, short)
    q = (short << digits) + code_digits(coder, q + half, digits) - half
    value = on_grid(base + q * step, grid)
    _settle(state, j, first, value, step, short)
    return value


@strict_helper
def _settle(state, j, first, value, step, short):  # type: ignore[no-untyped-def]
    """Learn from the decoded value of sensor j."""
    left = abs(value - state.row[_EXPECTED])
    size = state.sizes[0, j] if state.sizes[0, j] > 0 else step
    fast = state.sizes[1, j] if state.sizes[1, j] > 0 else step
    state.row[_SIZES] += min(left / size, 4.0)
    state.row[_CODED] += 1.0
    state.sizes[0, j] = max((1 - _SLOW) * size + _SLOW * left, 1e-3 * step)
    state.sizes[1, j] = max((1 - _FAST) * fast + _FAST * left, 1e-3 * step)
    _remember(
        state, j, value - state.level[j] - first, value - state.row[_EXPECTED], state.sizes[0, j]
    )
    state.seen[state.level.size + j] = value - state.level[j]
    state.level[j] = value
    state.last[1, j] = state.last[0, j]
    state.last[0, j] = short
    state.last[2, 0] = short


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
    state.last[2, 0] = 0
    state.row[_ROWS] += 1.0
    rows = int(state.row[_ROWS])
    every = max(_REFIT, N // 4)
    if rows % every == 0 or (every == _REFIT and rows in (4, 8, 16)):
        regress(state.moments, 1 + 50.0 / rows, state.weights)


@strict_helper
def _code_mask(state, coder, present):  # type: ignore[no-untyped-def]
    """Write or read which sensors are there."""
    for j in range(present.size):
        changed = code_bit(coder, present[j] != state.mask.present[j], changes_at(state.mask, j))
        here = state.mask.present[j] != changed
        learn_change(state.mask, j, changed)
        present[j] = here


@strict_kernel
def code_rows(state, coder, Y, present, whole, grids, steps, weights, limits):  # type: ignore[no-untyped-def]
    """Write rows, or read them into Y and ``present``; Y is decoded values afterwards.

    ``weights`` are what a squared error, in steps, is worth in bits: infinite rounds to the
    nearest. No error passes ``limits``. Gives the largest number; above 2⁵² they are not exact.
    """
    n, N = Y.shape
    work = Work(np.zeros(_EXPERTS, np.int64), np.zeros(_EXPERTS), np.zeros(1))
    for t in range(n):
        if not whole:
            _code_mask(state, coder, present[t])
        state.row[_SIZES], state.row[_CODED] = 6.0 * state.row[_ACTIVITY], 6.0
        for j in range(N):
            if present[t, j]:
                grid = (grids[j, 0], grids[j, 1])
                Y[t, j] = _code_value(
                    state, coder, work, j, Y[t, j], grid, steps[j], weights[j], limits[j]
                )
            else:
                _, innovation = _expected(state, j)
                state.seen[N + j] = innovation
                state.level[j] += innovation
        _end_row(state)
    return work.worst[0]
