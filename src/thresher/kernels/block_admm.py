"""The passes of the block encoder that are not matrix products.

Constants of a row are computed outside the loop over its entries, and no literal number meets a
float32, which numba would widen to float64: both halve the speed.
"""

import numpy as np
from numba import njit

from thresher.kernels.compiling import helper, kernel
from thresher.kernels.envelope import outlier


@njit(inline="always")
def _dual(e, l1, shrink, lower, upper, scale):  # type: ignore[no-untyped-def]
    """``u = z − prox(z)`` of the envelope at ``e = x − z``: ``(r − e)·t/(1 + t)``."""
    return (outlier(e, l1, shrink, lower, upper) - e) * scale


@helper
def _split(Q, V, X, weight, rho, relaxation, l1, l2, lower, upper):  # type: ignore[no-untyped-def]
    """From ``cD`` in Q: the new v in V, and ``y − u`` in Q; y and u follow from v alone.

    The step of the proximal map is ``t = weight/ρ``. ``weight`` is empty if all weigh one.
    """
    one = X.dtype.type(1)
    a, rest = relaxation, one - relaxation
    for i in range(X.shape[0]):
        q, v, x, r = Q[i], V[i], X[i], rho[i, 0]
        if weight.shape[0] == 0:
            grow = one + one / r
            threshold, shrink, scale = grow * l1, one / (one + grow * l2), one / (one + r)
            for f in range(x.size):
                u = _dual(x[f] - v[f], threshold, shrink, lower, upper, scale)
                z = a * q[f] + rest * (v[f] - u) + u
                u = _dual(x[f] - z, threshold, shrink, lower, upper, scale)
                v[f] = z
                q[f] = z - u - u
        else:
            w = weight[i]
            for f in range(x.size):
                grow, scale = one + w[f] / r, w[f] / (w[f] + r)
                threshold, shrink = grow * l1, one / (one + grow * l2)
                u = _dual(x[f] - v[f], threshold, shrink, lower, upper, scale)
                z = a * q[f] + rest * (v[f] - u) + u
                u = _dual(x[f] - z, threshold, shrink, lower, upper, scale)
                v[f] = z
                q[f] = z - u - u


@kernel
def begin(Y, X, weight, largest_rho, l1, l2, lower, upper, rho, V, Q):  # type: ignore[no-untyped-def]
    """From predictions: ρ of every row, ``v = y + u`` and ``y − u``, with u the gradient over ρ."""
    one, zero = X.dtype.type(1), X.dtype.type(0)
    shrink = one / (one + l2)
    for i in range(X.shape[0]):
        x, y, v, q = X[i], Y[i], V[i], Q[i]
        slope, size, total, seen = zero, zero, zero, zero
        for f in range(x.size):
            w = weight[i, f] if weight.shape[0] > 0 else one
            there = one if w > zero else zero
            e = x[f] - y[f]
            g = w * (outlier(e, l1, shrink, lower, upper) - e)
            v[f] = g
            slope += abs(g)
            size += there * abs(e)
            total += w
            seen += there
        r = largest_rho * (total / seen if seen > zero else one)
        if slope > zero:
            r = min(r, slope / size)
        rho[i, 0] = r
        for f in range(x.size):
            u = v[f] / r
            v[f] = y[f] + u
            q[f] = y[f] - u


@helper
def code_steps(B, H, C, room, inverse, shift, l1, l2, rho, relaxation, times):  # type: ignore[no-untyped-def]
    """ADMM steps on ``½ c G cᵀ − b·c + (l1 Σc + l2/2 ‖c‖²)/ρ`` over ``c ≥ 0``, in K dimensions.

    H is the state: p = prox(h) is feasible and ``w = h − p`` the dual. C gets the last c.
    """
    zero, one = H.dtype.type(0), H.dtype.type(1)
    a = relaxation
    plain = l1 == zero and l2 == zero
    for _ in range(times):
        for i in range(H.shape[0]):
            b, h, s, r = B[i], H[i], room[i], rho[i, 0]
            if plain:
                for k in range(h.size):
                    s[k] = b[k] + shift[k] * abs(h[k])
            else:
                for k in range(h.size):
                    step = one / (r * shift[k])
                    p = max(h[k] - l1 * step, zero) / (one + l2 * step)
                    s[k] = b[k] + shift[k] * (p + p - h[k])
        np.dot(room, inverse, C)
        for i in range(H.shape[0]):
            h, c, r = H[i], C[i], rho[i, 0]
            if plain:
                for k in range(h.size):
                    h[k] += a * (c[k] - max(h[k], zero))
            else:
                for k in range(h.size):
                    step = one / (r * shift[k])
                    h[k] += a * (c[k] - max(h[k] - l1 * step, zero) / (one + l2 * step))


@kernel
def nonnegative_codes(B, H, C, room, inverse, shift, l1, l2, rho, relaxation, times):  # type: ignore[no-untyped-def]
    """`code_steps`, for Python."""
    code_steps(B, H, C, room, inverse, shift, l1, l2, rho, relaxation, times)


@kernel
def rounds(  # type: ignore[no-untyped-def]
    X, weight, D, DT, inverse, shift, H, V, Q, rho, relaxation, code_l1, code_l2, inner,
    l1, l2, lower, upper, times,
):  # fmt: skip
    """Whole rounds of the block encoder without coming back to the interpreter."""
    B, C, room = np.empty_like(H), np.empty_like(H), np.empty_like(H)
    for _ in range(times):
        np.dot(Q, DT, B)
        code_steps(B, H, C, room, inverse, shift, code_l1, code_l2, rho, relaxation, inner)
        np.dot(C, D, Q)
        _split(Q, V, X, weight, rho, relaxation, l1, l2, lower, upper)
