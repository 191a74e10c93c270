"""Rank-one residual iteration: every code in turn at the minimum of its piecewise function.

Given the residual e at the current code c of an atom d, the loss as a function of a shift s is

    Σ_f a_f |s − e_f/d_f| + (…)·s + b s²,     a = w d,

and a root of its slope is where the weights a of the breakpoints below s, plus b·s, reach half of
what is not linear. Breakpoints left of the current code are those with ``e < 0``: their weight
decides, without a division, whether the code stays and, if not, which side to search. Near the end
most codes stay.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.bundles import BreakpointBuffer
from thresher.kernels.compiling import helper, strict_helper, strict_kernel
from thresher.kernels.floors import TINY
from thresher.kernels.weighted_median import quadratic_select


class OrderedAtoms(NamedTuple):
    """The atoms whose codes move, one after the other."""

    D: Any  # (K, F)
    order: Any  # which of them, in turn
    sums: Any  # (K), Σd of each
    energies: Any  # (K), Σd² of each


class _Shape(NamedTuple):
    """The objective as a function of a shift s: breakpoints, and ``linear·s + quadratic·s²``."""

    total: Any  # Σa, the weight of all breakpoints
    linear: Any
    quadratic: Any
    density: Any  # weight of the breakpoints for each unit of s, about where s is zero


@helper
def _sides(e, a, zero):  # type: ignore[no-untyped-def]
    """Weights of the breakpoints left of the code and at it."""
    left, here = 0.0, 0.0
    for f in range(e.size):
        left += a[f] if e[f] < 0 else zero
        here += a[f] if e[f] == 0 else zero
    return left, here


@helper
def _quadratic(e, a, d):  # type: ignore[no-untyped-def]
    """Curvature ``Σ w d²`` and slope ``Σ w d e`` of the squares ``Σ w e²/2``."""
    quadratic, slope = 0.0, 0.0
    for f in range(e.size):
        quadratic += a[f] * d[f]
        slope += a[f] * e[f]
    return quadratic, slope


@helper
def _times(d, w, a):  # type: ignore[no-untyped-def]
    """``a = w d``; and its sum."""
    total = 0.0
    for f in range(d.size):
        a[f] = w[f] * d[f]
        total += a[f]
    return total


@helper
def _size(e, w):  # type: ignore[no-untyped-def]
    """Mean of ``|e|``, over the entries that weigh something."""
    total, count = 0.0, TINY
    if w.size > 0:
        for f in range(e.size):
            total += w[f] * abs(e[f])
            count += w[f]
    else:
        for f in range(e.size):
            total += abs(e[f])
        count += e.size
    return total / count


@helper
def _shift(e, s, d):  # type: ignore[no-untyped-def]
    """``e −= s d``."""
    for f in range(e.size):
        e[f] -= s * d[f]


@strict_helper
def _within(e, d, near, far, marks):  # type: ignore[no-untyped-def]
    """Collect the breakpoints from ``near`` (excluded) to ``far``; return their number."""
    n = np.uint64(0)
    if far > 0:
        for f in range(e.size):
            marks[n] = f
            n += np.uint64(e[f] > near * d[f]) & np.uint64(e[f] <= far * d[f])
    else:
        for f in range(e.size):
            marks[n] = f
            n += np.uint64(e[f] < near * d[f]) & np.uint64(e[f] >= far * d[f])
    return np.int64(n)


@strict_helper
def _step(e, a, d, shape, low, high, workspace):  # type: ignore[no-untyped-def]
    """The best shift s between ``low`` and ``high``, and the breakpoint it is at, or −1.

    Breakpoints are searched in rings around the current code, as wide as their density suggests.
    """
    total, linear, quadratic, density = shape
    times, gains, marks = workspace
    dtype = e.dtype.type
    left, here = _sides(e, a, dtype(0))
    target = (total - linear) / 2
    right = left + here < target
    if right:
        passed, limit, wanted = left + here, high, target - left - here
    else:
        passed, limit, wanted = left, low, target - left  # not positive
    if (
        total <= 0
        or limit == 0
        or (not right and (left < target or (left == target and quadratic > 0)))
    ):
        return 0.0, -1
    near, far = 0.0, 2 * wanted / (density + quadratic)
    far += 1e-3 * (1.0 if right else -1.0) * total / (density + quadratic)
    for ring in range(4):
        if ring == 3 or abs(far) > abs(limit):
            far = limit
        n = _within(e, d, dtype(near), dtype(far), marks)
        weight = 0.0
        for i in range(n):
            gains[i] = a[marks[i]]
            weight += gains[i]
        added = quadratic * far if quadratic > 0 else 0.0
        if right:
            before, passed = passed, passed + weight
            enough = passed + added >= target
        else:
            passed -= weight
            before = passed
            enough = passed + added < target
        if enough or far == limit:
            break
        near, far = far, 4 * far
    if not enough and (abs(limit) < np.inf or n == 0):
        return limit, -1
    for i in range(n):
        times[i] = e[marks[i]] / d[marks[i]]
    value, mark, before_it = np.inf, np.int64(-1), 0.0
    if n > 0:
        value, mark, before_it = quadratic_select(
            times, gains, marks, n, target - before, weight, quadratic
        )
    if quadratic > 0:
        root = (target - before - before_it) / quadratic
        if root < value:
            value, mark = root, np.int64(-1)
    return min(max(value, low), high), mark


@strict_kernel
def rank_one_rows(residuals, atoms, penalty, square, first, C, graph, coupling):  # type: ignore[no-untyped-def]
    """One sweep over the codes of some rows, in place: C from row ``first`` on, and residuals E.

    Minimises ``Σ w|e| + square/2 Σ w e² + l1 Σc + l2/2 Σc² + coupling/2 Σ_a S_a (c_a − c)²`` in
    every code by itself, over [low, high]. The graph S of all rows is CSR; ``coupling`` is empty
    without one.
    """
    E, weight = residuals
    D, order, sums, energies = atoms
    l1, l2, low, high = penalty
    indptr, indices, similarity = graph
    n_rows, F = E.shape
    workspace, dtype = np.empty(F, E.dtype), E.dtype.type
    nothing = np.empty(0, E.dtype)
    breakpoints = BreakpointBuffer(
        np.empty(F + 1, E.dtype), np.empty(F + 1, E.dtype), np.empty(F + 1, np.int64)
    )
    weighted = weight.shape[0] > 0
    for i in range(n_rows):
        e, row = E[i], first + i
        # A Laplacian of that mean has this density at zero.
        density = 0.5 / max(_size(e, weight[i] if weighted else nothing), TINY)
        for k in order:
            d, c, total, energy = D[k], np.float64(C[row, k]), sums[k], energies[k]
            a = d
            if weighted:
                a = workspace
                total = _times(d, weight[i], a)
            quadratic, linear = l2 / 2, l1 + l2 * c
            if square > 0:
                curvature, slope = _quadratic(e, a, d)
                quadratic += square * curvature / 2
                linear -= square * slope
            if coupling.shape[0] > 0:
                degree, pull = 0.0, 0.0
                for j in range(indptr[row], indptr[row + 1]):
                    if indices[j] != row:
                        degree += similarity[j]
                        pull += similarity[j] * C[indices[j], k]
                quadratic += coupling[i] * degree / 2
                linear += coupling[i] * (degree * c - pull)
            shape = _Shape(total, linear, quadratic, density * energy)
            s, mark = _step(e, a, d, shape, low - c, high - c, breakpoints)
            if s != 0:
                new = dtype(c + s)
                _shift(e, dtype(new - c), d)
                C[row, k] = new
                if mark >= 0:
                    e[mark] = 0
