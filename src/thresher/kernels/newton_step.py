"""The step of a Newton method: an active set on the quadratic model, over codes ≥ 0 or in a set."""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.cholesky import drop, factorise, solve
from thresher.kernels.compiling import helper, kernel
from thresher.kernels.region import project

_SHIFTS = 40  # at most, of a Hessian in one step; three or four are usual


class StepWorkspace(NamedTuple):
    """Workspace of `region_step` for up to K variables."""

    H: Any  # (K, K), the Hessian of the free variables: the caller fills it
    R: Any  # (K, K)
    places: Any  # (K), whole numbers
    z: Any  # (K)
    y: Any  # (K)


@helper
def region_step(n, g, start, floor, region, workspace, d):  # type: ignore[no-untyped-def]
    """``d = argmin g·d + ½ d H dᵀ`` over ``start + d`` in the region, in the n free variables.

    A primal active set that only drops: walk to the minimiser, stop at the first bound, drop what
    blocks, go on. ``floor`` bounds the pivots of H from below.

    The minimiser is that within the budget, if there is one. Where only sums count, it lies along
    ``H⁻¹1`` from the free one. Otherwise the budget is a ball around ``−γ₁/γ₂``: with
    ``q = start + d + z + γ₁/γ₂`` the minimiser has ``‖q‖ = ρ`` and solves for z with ``H + τ``, and
    τ comes from Newton's method on ``1/‖q‖``, which is nearly linear in it.
    """
    H, R, places, z, y = workspace
    T = H.dtype.type
    zero, one = T(0), T(1)
    lower, upper, g1, g2 = region.lower, region.upper, region.gamma1, region.gamma2
    curved, limited = g2 > zero, g1 > zero or g2 > zero
    centre = g1 / g2 if curved else zero
    for i in range(n):
        places[i] = i
        d[i] = zero
    left, shifts = n, 0
    tau, square = zero, zero
    if curved:  # at the surface slope and τ(start + γ₁/γ₂) cancel, nearly
        for i in range(n):
            q = start[i] + centre
            tau -= g[i] * q
            square += q * q
        rho = T(2) / g2 + n * centre * centre
        tau = max(tau / square, zero) if square >= rho * (one - T(1e-3)) else zero
    moved, stale = False, True
    while left > 0:
        if stale:
            for i in range(left):
                row = H[places[i]]
                for j in range(i, left):
                    R[i, j] = row[places[j]]
                R[i, i] += tau
            factorise(R, left, floor)
            stale = False
        for i in range(left):
            p = places[i]
            pull = g[p] + tau * (start[p] + d[p] + centre)
            if moved:
                row = H[p]
                for j in range(n):
                    pull += row[j] * d[j]
            z[i] = -pull
        solve(R, left, z)
        if limited:
            total, square = zero, zero
            for i in range(left):
                q = start[places[i]] + d[places[i]] + z[i] + centre
                total += q
                square += q * q
                y[i] = q if curved else one
            rho = np.sqrt(T(2) / g2 + left * centre * centre) if curved else one / g1
            length = np.sqrt(square) if curved else total
            over = length - rho
            spare = region.rounding * rho
            if over > spare or region.tight or (tau > zero and over < -spare):
                solve(R, left, y)
                along = zero
                for i in range(left):
                    q = start[places[i]] + d[places[i]] + z[i] + centre
                    along += y[i] * (q if curved else one)
                if not curved:
                    for _ in range(2):  # the second time for what rounding left of the first
                        total = -rho
                        for i in range(left):
                            total += start[places[i]] + d[places[i]] + z[i]
                        for i in range(left):
                            z[i] -= y[i] * (total / along)
                elif shifts < _SHIFTS:
                    tau = max(tau + over / rho * square / along, zero)
                    shifts += 1
                    stale = True
                    continue
        length = one
        for i in range(left):
            p = places[i]
            at, step = start[p] + d[p], z[i]
            if at + length * step < lower:
                length = (lower - at) / step
            elif at + length * step > upper:
                length = (upper - at) / step
        length = max(length, zero)
        for i in range(left):
            d[places[i]] += length * z[i]
        if length >= one:
            break
        moved = moved or length > zero
        dropped = 0
        for i in range(left - 1, -1, -1):
            p = places[i]
            at, near = start[p] + d[p], T(1e-6) * length * abs(z[i])
            low = z[i] < zero and at - lower <= near
            if low or (z[i] > zero and upper - at <= near):
                d[p] = (lower if low else upper) - start[p]
                drop(R, left, i)
                left -= 1
                for j in range(i, left):
                    places[j] = places[j + 1]
                dropped += 1
        if dropped == 0:
            break


@helper
def model_step(H, n, g, start, damping, R, places, step_to, d):  # type: ignore[no-untyped-def]
    """``d = argmin g·d + ½ d H dᵀ`` over ``start + d ≥ 0``, in the n free variables.

    A primal active set that only drops: walk to the minimiser, stop at the first bound, drop what
    blocks, go on. ``damping``, relative to the diagonal, makes a singular H definite.
    """
    T = H.dtype.type
    zero, one = T(0), T(1)
    largest = zero
    for i in range(n):
        largest = max(largest, H[i, i])
    for i in range(n):
        for j in range(i, n):
            R[i, j] = H[i, j]
        R[i, i] += damping * (H[i, i] + damping * largest)
        places[i] = i
        d[i] = zero
    factorise(R, n, damping * damping * largest)
    left = n
    moved = False
    while left > 0:
        for i in range(left):
            p = places[i]
            pull = g[p]
            if moved:
                row = H[p]
                for j in range(n):
                    pull += row[j] * d[j]
            step_to[i] = -pull
        solve(R, left, step_to)
        length = one
        for i in range(left):
            p = places[i]
            if start[p] + d[p] + length * step_to[i] < zero:
                length = -(start[p] + d[p]) / step_to[i]
        length = max(length, zero)
        for i in range(left):
            d[places[i]] += length * step_to[i]
        if length >= one:
            break
        moved = True
        dropped = 0
        for i in range(left - 1, -1, -1):
            p = places[i]
            if step_to[i] < zero and start[p] + d[p] <= -T(1e-5) * length * step_to[i]:
                d[p] = -start[p]
                drop(R, left, i)
                left -= 1
                for j in range(i, left):
                    places[j] = places[j + 1]
                dropped += 1
        if dropped == 0:
            break


@kernel
def model_steps(H, gradient, C, damping, steps):  # type: ignore[no-untyped-def]
    """`model_step` of every row, on its free set ``{c > 0 or ∇ < 0}``; H has shape (n, K, K)."""
    n_rows, K = C.shape
    T = C.dtype
    free, places = np.empty(K, np.int64), np.empty(K, np.int64)
    own, R = np.empty((K, K), T), np.empty((K, K), T)
    g, a, d, ahead = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    zero = T.type(0)
    for row in range(n_rows):
        n = np.int64(0)
        for k in range(K):
            steps[row, k] = zero
            if C[row, k] > zero or gradient[row, k] < zero:
                free[n], g[n], a[n] = k, gradient[row, k], C[row, k]
                n += 1
        for i in range(n):
            whole = H[row, free[i]]
            for j in range(n):
                own[i, j] = whole[free[j]]
        if n > 0:
            model_step(own, n, g, a, damping, R, places, ahead, d)
        for i in range(n):
            steps[row, free[i]] = d[i]


@kernel
def model_steps_in_region(H, gradient, C, region, damping, steps):  # type: ignore[no-untyped-def]
    """`region_step` of every row from codes in the region; H has shape (n, K, K).

    Held at a bound are codes that a short projected gradient step leaves there.
    """
    n_rows, K = C.shape
    T = C.dtype
    zero, one = T.type(0), T.type(1)
    free, own = np.empty(K, np.int64), np.empty((K, K), T)
    g, start, d, moved = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    workspace = StepWorkspace(
        own, np.empty((K, K), T), np.empty(K, np.int64), np.empty(K, T), np.empty(K, T)
    )
    for row in range(n_rows):
        largest = zero
        for k in range(K):
            largest = max(largest, H[row, k, k])
        largest = largest if largest > zero else one
        for k in range(K):
            moved[k] = C[row, k] - gradient[row, k] / (T.type(K) * largest)
        project(moved, region)
        n = np.int64(0)
        for k in range(K):
            steps[row, k], c = zero, C[row, k]
            if moved[k] != c or (c > region.lower and c < region.upper):
                free[n], g[n], start[n] = k, gradient[row, k], c
                n += 1
        for i in range(n):
            whole = H[row, free[i]]
            for j in range(n):
                own[i, j] = whole[free[j]]
            own[i, i] += damping * (own[i, i] + damping * largest)
        if n > 0:
            region_step(n, g, start, damping * damping * largest, region, workspace, d)
        for i in range(n):
            steps[row, free[i]] = d[i]
