"""Codes near the optimum of least absolute deviations, for very many features: Newton steps.

Steps along edges are slow where breakpoints are dense. The smoothed objective has curvature, and a
few Newton steps lead near the optimum, from where few edges remain.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.bundles import BreakpointBuffer
from thresher.kernels.cholesky import factorise, solve
from thresher.kernels.compiling import helper, strict_helper, strict_kernel
from thresher.kernels.floors import TINY
from thresher.kernels.lad_bounds import absolute, total_of
from thresher.kernels.products import add_gram, copy, dot, residual
from thresher.kernels.weighted_median import weighted_select


class _SmoothedWorkspace(NamedTuple):
    """What steps on a row write into."""

    e: Any  # (F), residuals
    psi: Any  # (F), ψ
    breakpoints: Any  # `BreakpointBuffer`, of the features and of the free atoms
    near: Any  # (F + 1), features that are rounded off
    left: Any  # (K, F), the free atoms at these,
    right: Any  # (K, F), and times their curvatures


@helper
def _pull(e, w, radius, psi, near, curvature):  # type: ignore[no-untyped-def]
    """``ψ = w clip(e/radius, −1, 1)``, and the features with ``|e| < radius``: how many."""
    n = np.uint64(0)
    for f in range(e.size):
        psi[f] = w[f] * min(max(e[f] / radius, -1.0), 1.0)
    for f in range(e.size):
        near[n], curvature[n] = f, w[f] / radius
        n += np.uint64(abs(e[f]) < radius)
    return np.int64(n)


@strict_helper
def _steps(x, w, D, l1, first, last, c, room):  # type: ignore[no-untyped-def]
    """Newton steps on ever less rounded breakpoints, in place on c; ψ is an approximate dual.

    Rounded are those of the ``first`` features nearest to zero, then of a third of them, and so on
    until ``last``. A start only: nothing depends on its success. Stops when the objective rises.
    """
    e, psi, breakpoints, near, left, right = room
    times, gains, marks = breakpoints
    V, K = x.size, c.size
    H, R = np.empty((K, K)), np.empty((K, K))
    free, g, d, kept = np.empty(K, np.int64), np.empty(K), np.empty(K), c.copy()
    atoms, used = np.empty(K + 1, np.int64), np.empty(K + 1)
    best, count = np.inf, first
    while True:
        residual(x, c, D, atoms, used, e)
        value = absolute(e, w) + l1 * total_of(c)
        if not value < best:
            copy(kept, c)
            residual(x, c, D, atoms, used, e)
            count = last
        final = count <= last
        best = value
        copy(c, kept)
        step = max(min(count // 64, 16), 1)
        p = np.int64(0)
        for f in range(0, V, step):
            times[p], gains[p] = abs(e[f]), 1.0
            p += 1
        radius = weighted_select(times, gains, marks, p, p * count / V, float(p))[0]
        radius = max(radius, TINY)
        m = _pull(e, w, radius, psi, near, times)
        if final:
            return
        n = np.int64(0)
        for k in range(K):
            g[k], d[k] = l1 - dot(D[k], psi), 0.0
            if c[k] > 0 or g[k] < 0:
                free[n] = k
                n += 1
        H[:n, :n] = 0
        add_gram(D, free, n, near, times, m, left, right, H)
        # The minimiser of the model, without the codes that it would make negative.
        inside = np.ones(n, np.bool_)
        while True:
            p = np.int64(0)
            for i in range(n):
                if inside[i]:
                    marks[p] = i
                    p += 1
            top = 0.0
            for i in range(p):
                pull = -g[free[marks[i]]]
                for j in range(n):
                    if not inside[j]:
                        pull -= H[marks[i], j] * d[free[j]]
                used[i] = pull
                for j in range(p):
                    R[i, j] = H[marks[i], marks[j]]
                top = max(top, R[i, i])
            for i in range(p):
                R[i, i] += 1e-9 * top + TINY
            factorise(R, p, 1e-12 * top + TINY)
            solve(R, p, used)
            dropped = False
            for i in range(p):
                k = free[marks[i]]
                d[k] = used[i]
                if c[k] + d[k] < 0:
                    d[k], inside[marks[i]], dropped = -c[k], False, True
            if not dropped:
                break
        for k in range(K):
            c[k] = max(c[k] + d[k], 0.0)
        count = max(count // 3, last)


@strict_kernel
def smoothed_rows(samples, D, l1, first, last, C):  # type: ignore[no-untyped-def]
    """`_steps` on every row, in place on its codes C."""
    X, weight = samples
    n_rows, F = X.shape
    K = D.shape[0]
    ones = np.ones(F)
    breakpoints = BreakpointBuffer(np.empty(F + 1), np.empty(F + 1), np.empty(F + K + 1, np.int64))
    near = np.empty(F + 1, np.uint32)
    room = _SmoothedWorkspace(
        np.empty(F), np.empty(F), breakpoints, near, np.empty((K, F)), np.empty((K, F))
    )
    for row in range(n_rows):
        w = weight[row] if weight.shape[0] > 0 else ones
        _steps(X[row], w, D, l1, first, last, C[row], room)
