"""Predict the values of a row sensor by sensor, and code the residuals in steps.

At every time, for one sensor j after the other,

    x_j = ŷ_j + Σ_i B_ji z_i + Σ_k h_jk r_jk
    ŷ_j ← base + step_j q,     base = x_j rounded to the grid of the sensor, if it has one

with the innovations z of the row before and of this row up to j, their regression coefficients B
(least squares with a ridge on discounted second moments), and the last residuals r of the sensor,
whose weights h follow normalised least mean squares. A missing sensor follows its regression.

The integer q is binarised (zero? negative? larger than 1? …), and each decision has the mixed
probability of five experts (`arithmetic`): a Laplace law of two scales, slow and fast, the
neighbouring integers, the last integer of the sensor, and the sensor itself. Of integers that are
large on average, the last digits are sent as they are.

All inputs are known to both sides, and all sums are done in the order that is written. The
constants of this module are part of the format; they were chosen on half of the Kraków stations.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import uncounted_helper, uncounted_kernel
from thresher.kernels.floors import TINY
from thresher.tasks.compression.kernels.arithmetic import (
    N_LOGITS,
    Mixture,
    adapt,
    code_bit,
    code_digits,
    code_integer,
    code_length,
    laplace_levels,
    laplace_probabilities,
    learn_decision,
    mixed_probability,
    n_below,
    new_mixture,
)

_KEEP = 0.5 ** (1 / 500)  # of second moments: a half-life of 500 rows
_RIDGE = 0.05  # of the mean variance
_REFIT = 32  # rows between two fits of the regressions
_SLOW, _FAST = 0.03, 0.15  # rates of the mean absolute residuals
_TAPS = 16  # residuals of a sensor
_DESCENT = 0.005  # rate of their weights
_LONG = 6.0  # steps: integers larger on average send their last digits as they are
_FARTHEST = 2.0**53  # steps from a prediction: beyond, doubles are no integers
_ESCAPE = 24  # decisions, after which a code for any integer follows
_LOOKAHEAD, _GAIN = 0.35, 2.0  # weight of the next row's error, and its bound in squared steps.
# Heuristic: without it, files of few bits take 6 % more; at half and double, 1 to 3 % more.
_KINDS = 5  # of decisions: zero, negative, larger than 1, than 2, than any more
_EXPERTS = 5
_LAPLACE = _KINDS * N_LOGITS
_AROUND = _KINDS * 75
_SLOW_AT, _FAST_AT, _AROUND_AT = 0, _LAPLACE, 2 * _LAPLACE
_OWN_AT = _AROUND_AT + _AROUND
_SENSOR_AT = _OWN_AT + 3 * _LAPLACE
_ACTIVITY, _SIZES, _CODED, _EXPECTED = range(4)


class MaskState(NamedTuple):
    """Which sensors are missing, and how often that changes."""

    present: Any  # in the row before, (N)
    age: Any  # rows since the last change, (N)
    rate: Any  # of changes, by sensor and presence, in units of 2⁻¹⁶, (N, 2)
    probabilities: Any  # of a change, by context
    counts: Any


class RowState(NamedTuple):
    """What encoder and decoder both know."""

    level: Any  # ŷ, (N)
    innovations: Any  # z, (2N)
    moments: Any  # of z, (2N, 2N), lower half
    factor: Any  # of the moments, (2N, 2N), a workspace
    weights: Any  # B, (N, 2N)
    sizes: Any  # mean absolute residuals, slow and fast, (2, N)
    residuals: Any  # r, (N, taps)
    taps: Any  # h, (N, taps)
    row: Any  # activity; its sum and count in this row; the prediction at hand
    last: Any  # integers of the two rows before, (2, N), and of the sensor before, (1)
    n_rows: Any  # so far, (1)
    mixture: Mixture
    mask: MaskState


_AGES = np.array([1, 2, 4, 8, 16, 64])  # rows: bounds of contexts
_CHANGES = 40 << np.arange(9)  # in units of 2⁻¹⁶: bounds of contexts


def new_row_state(level: Any) -> RowState:
    """Return the state of a stream that starts at given values."""
    N = len(level)
    mixture = new_mixture(_SENSOR_AT + 3 * _KINDS * N, _KINDS, _EXPERTS)
    law, counts = laplace_probabilities(_KINDS)
    mixture.probabilities[:_LAPLACE] = law
    for start in (_FAST_AT, *(_OWN_AT + i * _LAPLACE for i in range(3))):
        mixture.probabilities[start : start + _LAPLACE] = law
    mixture.counts[:_LAPLACE] = counts
    mixture.counts[_FAST_AT:_AROUND_AT] = counts
    mixture.counts[_OWN_AT:_SENSOR_AT] = np.tile(counts, 3)
    n_masks = (len(_CHANGES) + 1) * 2 * (len(_AGES) + 1)
    return RowState(
        level=level.astype(np.float64),
        innovations=np.zeros(2 * N),
        moments=np.zeros((2 * N, 2 * N)),
        factor=np.zeros((2 * N, 2 * N)),
        weights=np.zeros((N, 2 * N)),
        sizes=np.zeros((2, N)),
        residuals=np.zeros((N, _TAPS)),
        taps=np.zeros((N, _TAPS)),
        row=np.array([1.0, 0.0, 0.0, 0.0]),
        last=np.zeros((3, N), np.int64),
        n_rows=np.zeros(1, np.int64),
        mixture=mixture,
        mask=MaskState(
            present=np.ones(N, np.bool_),
            age=np.zeros(N, np.int64),
            rate=np.full((N, 2), 2000),
            probabilities=np.full(n_masks, 600),
            counts=np.full(n_masks, 2),
        ),
    )


# -------------------------------------------------------------------------- prediction


@uncounted_helper
def _dot(A, i, b, n):  # type: ignore[no-untyped-def]
    """Return Σ A_ik b_k over the first n, as four interleaved sums, which run in parallel."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n & ~3
    for k in range(0, whole, 4):
        s0 += A[i, k] * b[k]
        s1 += A[i, k + 1] * b[k + 1]
        s2 += A[i, k + 2] * b[k + 2]
        s3 += A[i, k + 3] * b[k + 3]
    for k in range(whole, n):
        s0 += A[i, k] * b[k]
    return (s0 + s1) + (s2 + s3)


@uncounted_helper
def _regression(state, j):  # type: ignore[no-untyped-def]
    """Return the innovation of sensor j as its regression predicts it."""
    return _dot(state.weights, j, state.innovations, state.level.size + j)


@uncounted_helper
def _from_residuals(state, j):  # type: ignore[no-untyped-def]
    """Return the correction from the last residuals of sensor j."""
    total = 0.0
    for k in range(_TAPS):
        total += state.taps[j, k] * state.residuals[j, k]
    return total


@uncounted_helper
def _shift_residuals(state, j, residual):  # type: ignore[no-untyped-def]
    for k in range(_TAPS - 1, 0, -1):
        state.residuals[j, k] = state.residuals[j, k - 1]
    state.residuals[j, 0] = residual


@uncounted_helper
def _learn_taps(state, j, error, size):  # type: ignore[no-untyped-def]
    """Move the weights of the last residuals by normalised least mean squares."""
    power = size * size
    for k in range(_TAPS):
        power += state.residuals[j, k] * state.residuals[j, k]
    rate = _DESCENT * error / power if power > 0 else 0.0
    for k in range(_TAPS):
        state.taps[j, k] += rate * state.residuals[j, k]


@uncounted_kernel
def fit_regressions(moments, caution, L, weights):  # type: ignore[no-untyped-def]
    """Regress each of the last N variables on all before it, from one Cholesky factor."""
    M = moments.shape[0]
    N = M // 2
    trace = 0.0
    for i in range(M):
        trace += moments[i, i]
    ridge = _RIDGE * caution * trace / M + TINY
    for i in range(M):
        for j in range(i):
            L[i, j] = (moments[i, j] - _dot(L, i, L[j], j)) / L[j, j]
        pivot = moments[i, i] + ridge - _dot(L, i, L[i], i)
        L[i, i] = np.sqrt(max(pivot, TINY))
    for j in range(N):
        # weights · L₁₁ = row of L, from the right.
        for k in range(N + j):
            weights[j, k] = L[N + j, k]
        for k in range(N + j - 1, -1, -1):
            weight = weights[j, k] / L[k, k]
            weights[j, k] = weight
            for i in range(k):
                weights[j, i] -= weight * L[k, i]


@uncounted_helper
def _end_row(state):  # type: ignore[no-untyped-def]
    """Learn from a whole row; regularly, fit the regressions."""
    N = state.level.size
    state.row[_ACTIVITY] = min(max(state.row[_SIZES] / state.row[_CODED], 0.3), 3.0)
    for i in range(2 * N):
        z = (1 - _KEEP) * state.innovations[i]
        for k in range(i + 1):
            state.moments[i, k] = _KEEP * state.moments[i, k] + z * state.innovations[k]
    for i in range(N):
        state.innovations[i] = state.innovations[N + i]
    state.last[2, 0] = 0
    state.n_rows[0] += 1
    rows = state.n_rows[0]
    # A fit takes 4/3 N³ products, a row 5 N²: wide streams are fitted less often.
    every = max(_REFIT, N // 4)
    if rows % every == 0 or (every == _REFIT and (rows == 4 or rows == 8 or rows == 16)):
        fit_regressions(state.moments, 1 + 50.0 / rows, state.factor, state.weights)


# ---------------------------------------------------------------------------- integers


@uncounted_helper
def _clipped(q, largest):  # type: ignore[no-untyped-def]
    return min(max(q, -largest), largest)


@uncounted_helper
def _situation(state, j, step, base):  # type: ignore[no-untyped-def]
    """Return what the contexts of all decisions about a value depend on."""
    slow = state.sizes[0, j] if state.sizes[0, j] > 0 else step
    fast = state.sizes[1, j] if state.sizes[1, j] > 0 else step
    activity = state.row[_SIZES] / state.row[_CODED] / step
    centre = (state.row[_EXPECTED] - base) / step
    own, older, neighbour = state.last[0, j], state.last[1, j], state.last[2, 0]
    around = (_clipped(own, 2) + 2) * 15 + (_clipped(neighbour, 2) + 2) * 3 + _clipped(older, 1) + 1
    return (
        laplace_levels(slow * activity, centre),
        laplace_levels(fast * activity, centre),
        around,
        _clipped(own, 1) + 1,
    )


@uncounted_helper
def _probability(mixture, situation, kind, j):  # type: ignore[no-untyped-def]
    """Find the contexts of a decision of some kind; return its probability."""
    slow, fast, around, own = situation
    which = min(kind, 2)
    law = N_LOGITS * kind
    at = mixture.contexts
    at[0] = _SLOW_AT + law + slow[which]
    at[1] = _FAST_AT + law + fast[which]
    at[2] = _AROUND_AT + 75 * kind + around
    at[3] = _OWN_AT + own * _LAPLACE + law + slow[which]
    at[4] = _SENSOR_AT + 3 * _KINDS * j + 3 * kind + own
    return mixed_probability(mixture, kind)


@uncounted_kernel
def _code_decision(coder, mixture, situation, kind, j, bit):  # type: ignore[no-untyped-def]
    """Write or read a decision, and learn from it."""
    probability = _probability(mixture, situation, kind, j)
    bit = code_bit(coder, bit, probability)
    learn_decision(mixture, kind, probability, bit)
    return bit


@uncounted_helper
def _code_number(coder, mixture, situation, j, q):  # type: ignore[no-untyped-def]
    """Write or read an integer."""
    if _code_decision(coder, mixture, situation, np.int64(0), j, q == 0):
        return np.int64(0)
    negative = _code_decision(coder, mixture, situation, np.int64(1), j, q < 0)
    size, wanted = np.int64(1), abs(q)
    while size < _ESCAPE:
        kind = min(1 + size, np.int64(4))
        if not _code_decision(coder, mixture, situation, kind, j, wanted > size):
            break
        size += 1
    if size == _ESCAPE:
        size += code_integer(coder, wanted - _ESCAPE + 1) - 1
    return -size if negative else size


@uncounted_kernel
def _bits_saved(mixture, situation, j, q):  # type: ignore[no-untyped-def]
    """Return the bits saved by an integer one nearer to zero."""
    size = abs(q)
    if size >= _ESCAPE:
        return 0.0
    kind = min(size, np.int64(4)) if size > 1 else np.int64(0)  # "larger than size − 1?", or zero
    p = _probability(mixture, situation, kind, j)
    saved = code_length(p, size > 1) - code_length(p, size == 1)
    if size == 1:
        saved += code_length(_probability(mixture, situation, np.int64(1), j), q < 0)
    p = _probability(mixture, situation, min(size + 1, np.int64(4)), j)
    return saved + code_length(p, False)


@uncounted_helper
def _quantised(state, situation, j, v, after, step, weight, limit):  # type: ignore[no-untyped-def]
    """Return the integer near v of least ``bits + weight (v − q)²``: rounded, or one nearer 0.

    If q is zero next time, the value stays as it is: then its error from ``after``, the next value,
    counts too, in proportion to the probability of zero.
    """
    q = np.int64(np.floor(v + 0.5))
    if q == 0 or weight == np.inf:
        return q
    nearer = q - 1 if q > 0 else q + 1
    if abs(v - nearer) * step > limit:
        return q
    cost = weight * ((v - nearer) * (v - nearer) - (v - q) * (v - q))
    if nearer == 0 and not np.isnan(after):
        share = _LOOKAHEAD * _probability(state.mixture, situation, np.int64(0), j) / 65536
        gain = after * after - (after - q) * (after - q)
        cost += share * weight * min(max(gain, -_GAIN), _GAIN)
    return nearer if _bits_saved(state.mixture, situation, j, q) > cost else q


# ------------------------------------------------------------------------------- values


@uncounted_helper
def on_grid(value, numerator, denominator):  # type: ignore[no-untyped-def]
    """Return the nearest multiple of the grid's spacing; without a grid (0), the value."""
    if numerator > 0:
        return np.floor(value * denominator / numerator + 0.5) * numerator / denominator
    return value


@uncounted_helper
def _code_value(state, coder, j, y, after, grids, step, weight, limit, largest):  # type: ignore[no-untyped-def]
    """Write or read a value; return it as decoded, and the largest integer so far."""
    regression = _regression(state, j)
    expected = state.level[j] + (regression + _from_residuals(state, j))
    base = on_grid(expected, grids[j, 0], grids[j, 1])
    state.row[_EXPECTED] = expected
    situation = _situation(state, j, step, base)
    digits, scale = np.int64(0), state.sizes[0, j] / step
    while scale > _LONG and digits < 60:
        scale /= 2
        digits += 1
    q = np.int64(0)
    if not coder.reads:
        v = (y - base) / step
        largest = max(largest, abs(v))
        v = min(max(v, -_FARTHEST), _FARTHEST)
        weight = np.inf if digits else weight
        q = _quantised(state, situation, j, v, (after - base) / step, step, weight, limit)
    half = (np.int64(1) << digits) >> 1
    short = _code_number(coder, state.mixture, situation, j, (q + half) >> digits)
    q = (short << digits) + code_digits(coder, q + half, digits) - half
    value = on_grid(base + q * step, grids[j, 0], grids[j, 1])
    _learn_value(state, j, regression, value, step, short)
    return value, largest


@uncounted_helper
def _learn_value(state, j, regression, value, step, short):  # type: ignore[no-untyped-def]
    """Learn from the decoded value of sensor j."""
    error = value - state.row[_EXPECTED]
    size = state.sizes[0, j] if state.sizes[0, j] > 0 else step
    fast = state.sizes[1, j] if state.sizes[1, j] > 0 else step
    state.row[_SIZES] += min(abs(error) / size, 4.0)
    state.row[_CODED] += 1.0
    state.sizes[0, j] = max((1 - _SLOW) * size + _SLOW * abs(error), 1e-3 * step)
    state.sizes[1, j] = max((1 - _FAST) * fast + _FAST * abs(error), 1e-3 * step)
    innovation = value - state.level[j]
    _learn_taps(state, j, error, state.sizes[0, j])
    _shift_residuals(state, j, innovation - regression)
    state.innovations[state.level.size + j] = innovation
    state.level[j] = value
    state.last[1, j] = state.last[0, j]
    state.last[0, j] = short
    state.last[2, 0] = short


# -------------------------------------------------------------------- missing values


@uncounted_kernel
def _code_mask(state, coder, present, t):  # type: ignore[no-untyped-def]
    """Write or read which sensors are present: changes are rare, by sensor and by age."""
    mask = state.mask
    for j in range(mask.present.size):
        here = int(mask.present[j])
        rate = n_below(_CHANGES, mask.rate[j, here])
        context = (rate * 2 + here) * (_AGES.size + 1) + n_below(_AGES, mask.age[j] + 1)
        p = min(max(mask.probabilities[context], 16), 65520)
        changed = code_bit(coder, present[t, j] != mask.present[j], p)
        adapt(mask.probabilities, mask.counts, context, changed)
        mask.rate[j, here] += ((65535 if changed else 0) - mask.rate[j, here]) // 40
        mask.age[j] = 0 if changed else mask.age[j] + 1
        mask.present[j] = mask.present[j] != changed
        present[t, j] = mask.present[j]


@uncounted_kernel
def code_rows(  # type: ignore[no-untyped-def]
    state, coder, Y, present, whole, grids, steps, weights, limits, lookahead
):
    """Write rows, or read them into Y and ``present``; Y has the decoded values afterwards.

    ``weights`` are the bits that a squared error is worth, in squared steps: infinite rounds to the
    nearest. No error exceeds ``limits`` by dropping a step. With ``lookahead``, the choice of an
    integer takes the next row into account. Return the largest number of steps from a prediction;
    above 2⁵² values are not exact.
    """
    n, N = Y.shape
    largest = 0.0
    for t in range(n):
        if not whole:
            _code_mask(state, coder, present, t)
        state.row[_SIZES], state.row[_CODED] = 6.0 * state.row[_ACTIVITY], 6.0
        for j in range(N):
            if present[t, j]:
                after = Y[t + 1, j] if lookahead and t + 1 < n and present[t + 1, j] else np.nan
                Y[t, j], largest = _code_value(
                    state, coder, j, Y[t, j], after, grids, steps[j], weights[j], limits[j], largest
                )
            else:
                innovation = _regression(state, j)
                _shift_residuals(state, j, 0.0)
                state.innovations[N + j] = innovation
                state.level[j] += innovation
        _end_row(state)
    return largest
