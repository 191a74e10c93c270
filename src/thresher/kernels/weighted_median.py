"""Weighted medians and quantiles in linear time, by selection.

A quickselect that branches at every comparison is mispredicted half of the time, which costs more
than all else. So a pass first sums up the weights below the pivot, in vectors, then keeps only the
side that matters, without branches; pivots come from a sample, at the rank where the target is
expected, so that the first pass leaves only a small part.
"""

import numpy as np

from thresher.kernels.compiling import helper, strict_helper

_SAMPLE = 16  # values that a pivot is chosen from; by judgement
_FEW = 2 * _SAMPLE


@strict_helper
def _sort(values, weights, marks, n):  # type: ignore[no-untyped-def]
    """Insertion sort of few entries by value."""
    for i in range(1, n):
        value, weight, mark = values[i], weights[i], marks[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j], weights[j], marks[j] = values[j - 1], weights[j - 1], marks[j - 1]
            j -= 1
        values[j], weights[j], marks[j] = value, weight, mark


@strict_helper
def _pivot(values, n, share, sample):  # type: ignore[no-untyped-def]
    """The value a little beyond a share of an evenly spread sample."""
    step = n // _SAMPLE
    for i in range(_SAMPLE):
        value = values[i * step + step // 2]
        j = i
        while j > 0 and sample[j - 1] > value:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = value
    return sample[min(int(share * _SAMPLE + 1), _SAMPLE - 1)]


@helper
def _weights_around(values, weights, pivot):  # type: ignore[no-untyped-def]
    """Sums of the weights of what is below the pivot, and of what equals it."""
    below, equal, zero = 0.0, 0.0, weights.dtype.type(0)
    for i in range(values.size):
        below += weights[i] if values[i] < pivot else zero
        equal += weights[i] if values[i] == pivot else zero
    return below, equal


@strict_helper
def _keep(values, weights, marks, n, pivot, sign):  # type: ignore[no-untyped-def]
    """Close up the entries with ``sign·value < sign·pivot``; how many there are."""
    kept, pivot = np.uint64(0), sign * pivot
    for i in range(n):
        value = values[i]
        values[kept], weights[kept], marks[kept] = value, weights[i], marks[i]
        kept += np.uint64(sign * value < pivot)
    return np.int64(kept)


@strict_helper
def quadratic_select(values, weights, marks, n, target, total, curvature):  # type: ignore[no-untyped-def]
    """The first entry in order of size at which weights plus ``curvature·value`` reach the target.

    Gives its value, its mark, and the weight of the entries before it. If there is none, which a
    curvature allows, the value is infinite and the weight that of all entries left of the root.

    ``total`` is the sum of the leading n weights, none negative. Overwrites the arrays. Linear
    time on average, with ties too.
    """
    sample = np.empty(_SAMPLE, values.dtype)
    one = values.dtype.type(1)
    before = 0.0
    while n > _FEW:
        share = 0.5 if curvature > 0 else (target - before) / total
        pivot = _pivot(values, n, share, sample)
        below, equal = _weights_around(values[:n], weights[:n], pivot)
        wanted = target - before
        if curvature > 0:
            wanted -= curvature * pivot
        if below >= wanted:
            n, total = _keep(values, weights, marks, n, pivot, one), below
        elif below + equal >= wanted:
            for i in range(n):
                if values[i] == pivot and weights[i] > 0:
                    return pivot, marks[i], before + below
        else:
            n = _keep(values, weights, marks, n, pivot, -one)
            before += below + equal
            total -= below + equal
    _sort(values, weights, marks, n)
    for i in range(n):
        reached = before + weights[i]
        if curvature > 0:
            reached += curvature * values[i]
        if reached >= target:
            return values[i], marks[i], before
        before += weights[i]
    if curvature > 0:
        return values.dtype.type(np.inf), marks[0], before
    return values[n - 1], marks[n - 1], before  # rounding of the sums


@strict_helper
def weighted_select(values, weights, marks, n, target, total):  # type: ignore[no-untyped-def]
    """Value and mark of the first entry, in order of size, at which the weights reach ``target``.

    The target is at most ``total``; the rest is as for `quadratic_select`.
    """
    value, mark, _ = quadratic_select(values, weights, marks, n, target, total, 0.0)
    return value, mark
