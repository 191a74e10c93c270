"""The passes of the block encoder that are not matrix products.

Constants of a row are computed outside the loop over its entries, and no literal number meets a
float32, which numba would widen to float64: both halve the speed.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from thresher.kernels.compiling import helper, kernel
from thresher.kernels.envelope import inlier
from thresher.kernels.region import proximal


class Splitting(NamedTuple):
    """Predictions y split off from cD, and their scaled duals u."""

    V: Any  # (n, F), v = y + u
    Q: Any  # (n, F), y − u; in between cD
    rho: Any  # (n, 1), the penalty of a row


class Settings(NamedTuple):
    """How rounds are made."""

    relaxation: Any
    largest_rho: Any
    start_steps: Any  # steps to the least squares codes of a start
    inner: Any  # steps in a round
    width: Any  # features of a whole sample


class Rounds(NamedTuple):
    """What rounds carry on."""

    H: Any  # (n, K), see `code_steps`
    C: Any  # (n, K), the codes before they were made feasible
    P: Any  # (n, K), the feasible codes
    splitting: Any
    stage: Any  # (n), how far they are: one of the next three


NOTHING, CODES, GOING = 0, 1, 2


@njit(inline="always")
def _dual(e, l1, l2, shrink, lower, upper, scale):  # type: ignore[no-untyped-def]
    """``u = z − prox(z)`` of the envelope at ``e = x − z``: ``(r − e)·t/(1 + t)``."""
    return -inlier(e, l1, l2, shrink, lower, upper) * scale


@helper
def _split(samples, splitting, relaxation, outliers):  # type: ignore[no-untyped-def]
    """From ``cD`` in Q: the new v in V, and ``y − u`` in Q; y and u follow from v alone.

    The step of the proximal map is ``t = weight/ρ``.
    """
    X, weight = samples
    V, Q, rho = splitting
    l1, l2, lower, upper = outliers
    one = X.dtype.type(1)
    a, rest = relaxation, one - relaxation
    for i in range(X.shape[0]):
        q, v, x, r = Q[i], V[i], X[i], rho[i, 0]
        if weight.shape[0] == 0:
            grow = one + one / r
            threshold, square, scale = grow * l1, grow * l2, one / (one + r)
            shrink = one / (one + square)
            for f in range(x.size):
                u = _dual(x[f] - v[f], threshold, square, shrink, lower, upper, scale)
                z = a * q[f] + rest * (v[f] - u) + u
                u = _dual(x[f] - z, threshold, square, shrink, lower, upper, scale)
                v[f] = z
                q[f] = z - u - u
        else:
            w = weight[i]
            for f in range(x.size):
                grow, scale = one + w[f] / r, w[f] / (w[f] + r)
                threshold, square = grow * l1, grow * l2
                shrink = one / (one + square)
                u = _dual(x[f] - v[f], threshold, square, shrink, lower, upper, scale)
                z = a * q[f] + rest * (v[f] - u) + u
                u = _dual(x[f] - z, threshold, square, shrink, lower, upper, scale)
                v[f] = z
                q[f] = z - u - u


@helper
def _begin(samples, largest_rho, outliers, splitting):  # type: ignore[no-untyped-def]
    """From predictions in Q: ρ of every row, ``v = y + u`` and ``y − u``, u the gradient over ρ."""
    X, weight = samples
    V, Q, rho = splitting
    l1, l2, lower, upper = outliers
    one, zero = X.dtype.type(1), X.dtype.type(0)
    shrink = one / (one + l2)
    ones = np.ones(X.shape[1], X.dtype)
    for i in range(X.shape[0]):
        x, v, q = X[i], V[i], Q[i]
        w = weight[i] if weight.shape[0] > 0 else ones
        slope, size, total, seen = zero, zero, zero, zero
        for f in range(x.size):
            there = one if w[f] > zero else zero
            e = x[f] - q[f]
            g = -w[f] * inlier(e, l1, l2, shrink, lower, upper)
            v[f] = g
            slope += abs(g)
            size += there * abs(e)
            total += w[f]
            seen += there
        r = largest_rho * (total / seen if seen > zero else one)
        if slope > zero:
            r = min(r, slope / size)
        rho[i, 0] = r
        for f in range(x.size):
            y, u = q[f], v[f] / r
            v[f] = y + u
            q[f] = y - u


@kernel
def begin(samples, largest_rho, outliers, splitting):  # type: ignore[no-untyped-def]
    """`_begin`, for Python."""
    _begin(samples, largest_rho, outliers, splitting)


@helper
def code_steps(B, H, C, workspace, solution, penalty, rho, relaxation, times):  # type: ignore[no-untyped-def]
    """ADMM steps on ``½ c G cᵀ − b·c + (l1 Σc + l2/2 ‖c‖²)/ρ`` over ``c ≥ 0``, in K dimensions.

    H is the state: p = prox(h) is feasible and ``w = h − p`` the dual. C gets the last c.
    """
    inverse, shift = solution
    l1, l2 = penalty.l1, penalty.l2
    zero, one = H.dtype.type(0), H.dtype.type(1)
    a = relaxation
    plain = l1 == zero and l2 == zero
    for _ in range(times):
        for i in range(H.shape[0]):
            b, h, s, r = B[i], H[i], workspace[i], rho[i, 0]
            if plain:
                for k in range(h.size):
                    s[k] = b[k] + shift[k] * abs(h[k])
            else:
                for k in range(h.size):
                    step = one / (r * shift[k])
                    p = max(h[k] - l1 * step, zero) / (one + l2 * step)
                    s[k] = b[k] + shift[k] * (p + p - h[k])
        np.dot(workspace, inverse, C)
        for i in range(H.shape[0]):
            h, c, r = H[i], C[i], rho[i, 0]
            if plain:
                for k in range(h.size):
                    h[k] += a * (c[k] - max(h[k], zero))
            else:
                for k in range(h.size):
                    step = one / (r * shift[k])
                    h[k] += a * (c[k] - max(h[k] - l1 * step, zero) / (one + l2 * step))


@helper
def region_steps(B, H, C, workspace, solution, region, rho, relaxation, times):  # type: ignore[no-untyped-def]
    """`code_steps` in any region."""
    inverse, shift = solution
    if region.plain:
        code_steps(B, H, C, workspace, solution, region, rho, relaxation, times)
        return
    P = np.empty_like(H)
    for _ in range(times):
        for i in range(H.shape[0]):
            b, h, s, p = B[i], H[i], workspace[i], P[i]
            proximal(h, shift, rho[i, 0], region, p)
            for k in range(h.size):
                s[k] = b[k] + shift[k] * (p[k] + p[k] - h[k])
        np.dot(workspace, inverse, C)
        for i in range(H.shape[0]):
            h, c, p = H[i], C[i], P[i]
            for k in range(h.size):
                h[k] += relaxation * (c[k] - p[k])


@kernel
def codes_in_region(B, H, C, workspace, solution, region, rho, relaxation, times):  # type: ignore[no-untyped-def]
    """`region_steps`, for Python."""
    region_steps(B, H, C, workspace, solution, region, rho, relaxation, times)


@helper
def _observed(samples, width, out):  # type: ignore[no-untyped-def]
    """Zeros where entries are missing, and the others larger, so that a row keeps its size."""
    X, weight = samples
    zero = X.dtype.type(0)
    for i in range(X.shape[0]):
        x, w, o = X[i], weight[i], out[i]
        seen = 0
        for f in range(x.size):
            seen += w[f] > zero
        grow = X.dtype.type(width) / X.dtype.type(max(seen, 1))
        for f in range(x.size):
            o[f] = x[f] * grow if w[f] > zero else zero


@helper
def _feasible(H, solution, region, rho, P):  # type: ignore[no-untyped-def]
    """The codes that a state stands for: ``p = prox(h)``."""
    for i in range(H.shape[0]):
        proximal(H[i], solution.shift, rho[i, 0], region, P[i])


@kernel
def rounds(samples, atoms, solution, region, outliers, settings, state, times):  # type: ignore[no-untyped-def]
    """Iterations of the block encoder without a return to the interpreter.

    ``outliers`` is the penalty of the envelope, ``region`` has set and penalty of the codes. An
    iteration ends with its codes: the prediction from which the next one continues is computed
    only if there is a next one. P gets the feasible codes.
    """
    H, C, P, splitting, stage = state
    if stage.size == 0:
        return
    Q, rho = splitting.Q, splitting.rho
    B, workspace, a = np.empty_like(H), np.empty_like(H), settings.relaxation
    if stage[0] != GOING:
        rho[:] = H.dtype.type(1)
        if stage[0] == NOTHING:
            if samples.weight.shape[0] > 0:
                _observed(samples, settings.width, Q)
                np.dot(Q, atoms.Dt, B)
            else:
                np.dot(samples.X, atoms.Dt, B)
            region_steps(B, H, C, workspace, solution, region, rho, a, settings.start_steps)
        _feasible(H, solution, region, rho, P)
        np.dot(P, atoms.D, Q)
        _begin(samples, settings.largest_rho, outliers, splitting)
    for _ in range(times):
        if stage[0] == GOING:
            np.dot(C, atoms.D, Q)
            _split(samples, splitting, a, outliers)
        np.dot(Q, atoms.Dt, B)
        region_steps(B, H, C, workspace, solution, region, rho, a, settings.inner)
        stage[:] = GOING
    _feasible(H, solution, region, rho, P)


@kernel
def split_residual(X, Y, weight, width, square, push, U, losses):  # type: ignore[no-untyped-def]
    """Split ``x − y + u`` into outlier and dual; the target of the factors replaces Y.

    With ``p = x − y + u`` the outlier is ``e = soft(p, wt)/(1 + wtα)``, t the ``width`` and α the
    ``square``; the scaled dual becomes ``u = p − e``, and the target ``x − e + push·u``. An entry
    of weight zero is all outlier. ``losses`` get ``Σ w(|r| + α/2 r²)``, ``r = x − y``, row by row.
    """
    one = X.dtype.type(1)
    ones = np.ones(X.shape[1], X.dtype)
    for i in range(X.shape[0]):
        x, y, u = X[i], Y[i], U[i]
        v = weight[i] if weight.shape[0] > 0 else ones
        row = X.dtype.type(0)
        for f in range(x.size):
            w, r = v[f], x[f] - y[f]
            p = r + u[f]
            t = w * width
            e = (p - min(max(p, -t), t)) / (one + t * square)
            row += w * (abs(r) + square * r * r / 2)
            new = (p - e) * push
            u[f] = new
            y[f] = x[f] - e + new
        losses[i] = row
