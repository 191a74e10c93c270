"""Approximate codes from which the exact least absolute deviations of `lad_simplex` start.

* ADMM through the proximal map of |·|, in blocks: approximate codes and duals.
* Newton steps on the smoothed objective, for very many features. Steps along edges are slow where
  breakpoints are dense. The smoothed objective has curvature, so a few Newton steps lead near the
  optimum, and few edges remain.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.block_admm import Splitting, code_steps
from thresher.kernels.bundles import BreakpointBuffer, CodePenalty
from thresher.kernels.cholesky import factorise, solve
from thresher.kernels.compiling import helper, kernel, strict_helper, strict_kernel
from thresher.kernels.floors import TINY
from thresher.kernels.lad_simplex import absolute, total_of
from thresher.kernels.products import add_gram, copy, dot, residual
from thresher.kernels.weighted_median import weighted_select


@helper
def _split(samples, splitting, relaxation):  # type: ignore[no-untyped-def]
    """From ``cD`` in Q: the new v in V and ``y − u`` in Q, where ``u = clip(v − x, ±weight/ρ)``."""
    X, weight = samples
    V, Q, rho = splitting
    one = X.dtype.type(1)
    a, rest = relaxation, one - relaxation
    for i in range(X.shape[0]):
        q, v, x, bound = Q[i], V[i], X[i], one / rho[i, 0]
        if weight.shape[0] == 0:
            for f in range(x.size):
                u = min(max(v[f] - x[f], -bound), bound)
                z = a * q[f] + rest * (v[f] - u) + u
                u = min(max(z - x[f], -bound), bound)
                v[f] = z
                q[f] = z - u - u
        else:
            w = weight[i]
            for f in range(x.size):
                u = min(max(v[f] - x[f], -w[f] * bound), w[f] * bound)
                z = a * q[f] + rest * (v[f] - u) + u
                u = min(max(z - x[f], -w[f] * bound), w[f] * bound)
                v[f] = z
                q[f] = z - u - u


@helper
def _renew(samples, Y, splitting, H, C, first):  # type: ignore[no-untyped-def]
    """ρ of every row from the predictions Y of its codes C; the duals are kept, ``u, w ∝ 1/ρ``."""
    X, weight = samples
    V, Q, rho = splitting
    F = X.shape[1]
    zero, one = X.dtype.type(0), X.dtype.type(1)
    sizes, counts, marks = np.empty(F, X.dtype), np.empty(F, X.dtype), np.empty(F, np.int32)
    ones = np.ones(F, X.dtype)
    for i in range(X.shape[0]):
        x, y, v, q, h, c = X[i], Y[i], V[i], Q[i], H[i], C[i]
        w = weight[i] if weight.shape[0] > 0 else ones
        n, heaviest, mean = np.int64(0), zero, zero
        for f in range(F):
            heaviest = max(heaviest, w[f])
            sizes[n], counts[n] = abs(x[f] - y[f]), one
            if w[f] > zero:
                mean += sizes[n]
                n += 1
        typical = zero
        if n > 0:
            typical = weighted_select(sizes, counts, marks, n, n / 2.0, float(n))[0]
            typical = max(typical, X.dtype.type(1e-3) * mean / X.dtype.type(n))
        new = heaviest / typical if typical > zero else one
        if first:
            copy(y, v)
            copy(y, q)
        else:
            ratio = rho[i, 0] / new
            bound = one / rho[i, 0]
            for f in range(F):
                u = min(max(v[f] - x[f], -w[f] * bound), w[f] * bound)
                own = v[f] - u
                u *= ratio
                v[f] = own + u
                q[f] = own - u
            for k in range(h.size):
                h[k] = c[k] + (h[k] - c[k]) * ratio
        rho[i, 0] = new


@kernel
def lad_start(samples, atoms, solution, l1, times, warm, C, theta):  # type: ignore[no-untyped-def]
    """Codes and duals of every row after some rounds; ``inverse = (D Dᵀ + diag(shift))⁻¹``.

    ``b ← (y − u)Dᵀ``; several times ``c ← (b + s(p − w)) inverse, p ← prox(c + w)``; then
    ``y ← x − soft(x − v, weight/ρ)`` at ``v = cD + u``. ``θ = −ρu``; it is inside its bounds just
    where y interpolates x. The penalty ρ is 1 over the median residual of the row. The first codes
    are C if ``warm``, else regularised least squares.
    """
    X, weight = samples
    D, Dt = atoms
    n, F = X.shape
    number = X.dtype.type
    zero, relaxation = number(0), number(1.6)
    H, B, P, workspace = np.zeros_like(C), np.empty_like(C), np.empty_like(C), np.empty_like(C)
    V, Q, Y = np.empty_like(X), np.empty_like(X), np.empty_like(X)
    rho = np.ones((n, 1), X.dtype)
    splitting = Splitting(V, Q, rho)
    if warm:
        for i in range(n):
            copy(C[i], H[i])
    else:
        np.dot(X, Dt, B)
        code_steps(
            B, H, C, workspace, solution, CodePenalty(zero, zero), rho, relaxation, np.int64(8)
        )
    renewal = 0
    for iteration in range(times + 1):
        if iteration in (renewal, times):
            for i in range(n):
                for k in range(C.shape[1]):
                    C[i, k] = max(H[i, k] - l1 / (rho[i, 0] * solution.shift[k]), zero)
        if iteration == times:
            break
        if iteration == renewal:
            np.dot(C, D, Y)
            _renew(samples, Y, splitting, H, C, iteration == 0)
            renewal = 2 * renewal + 3
        np.dot(Q, Dt, B)
        code_steps(
            B, H, P, workspace, solution, CodePenalty(l1, zero), rho, relaxation, np.int64(4)
        )
        np.dot(P, D, Q)
        _split(samples, splitting, relaxation)
    ones = np.ones(F, X.dtype)
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else ones
        for f in range(F):
            theta[i, f] = -min(max((V[i, f] - X[i, f]) * rho[i, 0], -w[f]), w[f])


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
def _steps(x, w, D, l1, first, last, c, workspace):  # type: ignore[no-untyped-def]
    """Newton steps on ever less rounded breakpoints, in place on c; ψ is an approximate dual.

    Rounded are those of the ``first`` features nearest to zero, then of a third of them, and so on
    until ``last``. A start only: nothing depends on its success. Stops when the objective rises.
    """
    e, psi, breakpoints, near, left, right = workspace
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
    workspace = _SmoothedWorkspace(
        np.empty(F), np.empty(F), breakpoints, near, np.empty((K, F)), np.empty((K, F))
    )
    for row in range(n_rows):
        w = weight[row] if weight.shape[0] > 0 else ones
        _steps(X[row], w, D, l1, first, last, C[row], workspace)
