"""Rough codes and duals for the exact method: ADMM through the proximal map of |·|, in blocks."""

import numpy as np

from thresher.kernels.block_admm import Splitting, code_steps
from thresher.kernels.bundles import CodePenalty
from thresher.kernels.compiling import helper, kernel
from thresher.kernels.products import copy
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
    H, B, P, room = np.zeros_like(C), np.empty_like(C), np.empty_like(C), np.empty_like(C)
    V, Q, Y = np.empty_like(X), np.empty_like(X), np.empty_like(X)
    rho = np.ones((n, 1), X.dtype)
    splitting = Splitting(V, Q, rho)
    if warm:
        for i in range(n):
            copy(C[i], H[i])
    else:
        np.dot(X, Dt, B)
        code_steps(B, H, C, room, solution, CodePenalty(zero, zero), rho, relaxation, np.int64(8))
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
        code_steps(B, H, P, room, solution, CodePenalty(l1, zero), rho, relaxation, np.int64(4))
        np.dot(P, D, Q)
        _split(samples, splitting, relaxation)
    ones = np.ones(F, X.dtype)
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else ones
        for f in range(F):
            theta[i, f] = -min(max((V[i, f] - X[i, f]) * rho[i, 0], -w[f]), w[f])
