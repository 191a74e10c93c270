"""Nonnegative codes of sparse rows under an α-divergence: expectation steps, then Newton.

The divergence of a row x from ``y = cD + floor`` is KL for ``α = 1``, twice the squared Hellinger
distance for ``α = 1/2``; on the words of the row its slope in y is ``(1 − u^α)/α`` with
``u = x/y`` and its curvature ``u^α/y``; on all other words the slope is ``1/α``. So a row is a
small problem in its own words. In masses ``z_k = s_k c_k``, where ``s_k = Σ_f D_kf + α·l1``, and
with ``B_kf = D_kf/s_k`` and ``w = u^α``,

    α · gradient_k = 1 − ρ_k + α ridge_k z_k,    ρ_k = Σ_f B_kf w_f,    ridge_k = l2/s_k²,
    α · Hessian = α (B diag(w/y) Bᵀ + diag(ridge)).

The dictionary comes transposed (F × K): a word's atoms lie side by side, and the few words of a
row are gathered into a small matrix B that stays in the nearest cache.

Certificate: with ``θ = w/m`` as dual point, ``Q = Σ y w`` and ``E = Σ floor w``, the duality gap is

    (Σz − Q + E/m)/α + Q h(m) + l2/2 ‖c‖² + Σ_k [ρ_k/m − 1]₊² / (2 α² ridge_k),

``h(m) = (m^((1−α)/α) − 1)/(1 − α)``, which is ``log m`` for KL. Without ``l2`` m is ``max ρ``, so
that the last term is zero; with it both ``max ρ`` and one are tried. It is given relative to Σx.

Sums may be reordered by the compiler, always in the same way. All numbers are of the type of the
dictionary; sums over the words and atoms of one row are short enough for that.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import kernel
from thresher.kernels.floors import FLOOR
from thresher.kernels.model_step import model_step
from thresher.kernels.power_passes import (
    duality_gap,
    expectation,
    gather,
    hessian,
    powers,
    predict,
    prune,
    scores,
    search,
)

LANES = 8  # rows of B are filled up with zeros to a multiple of this: one vector of float32


class PowerProblem(NamedTuple):
    """What all rows are coded under, in the type of the dictionary."""

    Dt: Any  # (F, K), the dictionary transposed
    s: Any  # (K), the sums of the atoms plus α·l1
    alpha: Any  # α
    l2: Any  # the weight of ½‖c‖²


@kernel
def encode_rows(rows, problem, n_rough, C, limits, outcome):  # type: ignore[no-untyped-def]
    """Codes C of every row to a relative duality gap of at most ``tol``, or ``max_iter`` steps.

    Rows of C with a positive entry are starts, the others start evenly; ``n_rough`` expectation
    steps go first, halfway and at their end without the atoms that will be zero. The rest are
    Newton steps on the free set ``{z > 0 or ρ > 1}``, with an expectation step where rounding
    spoils one. A row has converged where its certificate is at most ``tol``; it contains what
    rounding may hide, so that float32 cannot go much below 5e-7.
    """
    indptr, indices, data = rows
    Dt, s, alpha, l2 = problem
    tol, max_iter = limits
    certificate, n_iter = outcome
    T = Dt.dtype
    K = Dt.shape[1]
    n_rows = indptr.size - 1
    zero, one = T.type(0), T.type(1)
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    widest = (longest + LANES - 1) // LANES * LANES
    room, room_weighted = np.empty(K * widest, T), np.empty(K * widest, T)
    all_x, all_y, all_w = np.empty(widest, T), np.empty(widest, T), np.empty(widest, T)
    all_q, all_h = np.empty(widest, T), np.empty(widest, T)
    H, R = np.empty((K, K), T), np.empty((K, K), T)
    free, places, every = np.empty(K, np.int64), np.empty(K, np.int64), np.arange(K)
    z, rho, inverse, ridge = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    g, a, d, ahead = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    for k in range(K):
        inverse[k] = one / s[k] if s[k] > zero else zero
        ridge[k] = l2 * inverse[k] * inverse[k]
    rounding = T.type(np.finfo(T).eps)
    damping = T.type(4) * rounding
    for row in range(n_rows):
        c = C[row]
        begin, end = indptr[row], indptr[row + 1]
        n_words = end - begin
        n_iter[row] = 0
        certificate[row] = zero
        width = (n_words + LANES - 1) // LANES * LANES
        B = room[: K * width].reshape(K, width)
        weighted = room_weighted[: K * width].reshape(K, width)
        x, y, w, q, h = all_x[:width], all_y[:width], all_w[:width], all_q[:width], all_h[:width]
        total, peak = gather(indices[begin:end], data[begin:end], Dt, inverse, B, x)
        if not x.sum() > zero:  # nothing there, or nothing that an atom has
            c[:] = zero
            continue
        floor = peak * T.type(FLOOR)
        n, warm = np.int64(0), zero
        for k in range(K):
            n += inverse[k] > zero
            warm += c[k]
        for k in range(K):
            z[k] = c[k] * s[k] if warm > zero else total / T.type(n)
            if not inverse[k] > zero:
                z[k] = zero
        iteration = 0
        n = np.int64(0)
        while True:
            exact = iteration >= n_rough or (iteration == 0 and warm > zero)
            if exact or iteration == 0:
                n = np.int64(0)
                for k in range(K):
                    if z[k] > zero:
                        free[n] = k
                        n += 1
            for i in range(n):
                a[i] = z[free[i]]
            predict(a, free, n, B, floor, y)
            powers(x, y, alpha, w)
            chosen, count = (every, K) if exact else (free, n)
            scores(B, w, chosen, count, rho)
            if exact:
                gap, doubt = duality_gap(z, rho, y, w, floor, n_words, alpha, ridge, l2, rounding)
                certificate[row] = (abs(gap) + doubt) / total
                if certificate[row] <= tol or abs(gap) <= doubt or iteration >= max_iter:
                    break
            iteration += 1
            if iteration <= n_rough:
                if iteration == n_rough // 2 or iteration == n_rough:
                    for f in range(width):
                        h[f] = alpha * w[f] / y[f]
                    n = prune(B, h, rho, alpha, ridge, free, n, z)
                expectation(z, rho, alpha, ridge, l2, total, iteration < n_rough)
                continue
            # The model's minimiser on the free set.
            n = np.int64(0)
            for k in range(K):
                slope = one - rho[k] + alpha * ridge[k] * z[k]
                if z[k] > zero or slope < zero:
                    free[n], g[n], a[n] = k, slope, z[k]
                    n += 1
            for f in range(width):
                h[f] = alpha * w[f] / y[f]
            hessian(B, free, n, h, weighted, H)
            for i in range(n):
                H[i, i] += alpha * ridge[free[i]]
            model_step(H, n, g, a, damping, R, places, ahead, d)
            descent, linear, quadratic = zero, zero, zero
            for i in range(n):
                descent += g[i] * d[i]
                linear += d[i] * (one + alpha * ridge[free[i]] * a[i])
                quadratic += alpha * ridge[free[i]] * d[i] * d[i]
            t = zero
            if descent < zero:
                predict(d, free, n, B, zero, q)
                t = search(x, y, q, floor, alpha, n_words, descent, linear, quadratic)
            if t > zero:
                for i in range(n):
                    mass = a[i] + t * d[i]
                    z[free[i]] = mass if mass > T.type(1e-12) * total else zero
            else:  # rounding won
                # Never further here; a literal would compile it once more.
                expectation(z, rho, alpha, ridge, l2, total, n < 0)
        n_iter[row] = iteration
        for k in range(K):
            c[k] = z[k] * inverse[k]


@kernel
def rough_rows(rows, problem, n_steps, C, products):  # type: ignore[no-untyped-def]
    """A few expectation steps for every row, from even codes: good enough to learn from.

    All but the first and the last go half as far again. ``products`` are ``C D`` at the nonzeros,
    which sums over the block need next.
    """
    indptr, indices, data = rows
    Dt, s, alpha, l2 = problem
    T = Dt.dtype
    K = Dt.shape[1]
    n_rows = indptr.size - 1
    zero, one = T.type(0), T.type(1)
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    widest = (longest + LANES - 1) // LANES * LANES
    room = np.empty(K * widest, T)
    all_x, all_y, all_w = np.empty(widest, T), np.empty(widest, T), np.empty(widest, T)
    every = np.arange(K)
    z, rho, inverse, ridge = np.empty(K, T), np.empty(K, T), np.empty(K, T), np.empty(K, T)
    n = np.int64(0)
    for k in range(K):
        inverse[k] = one / s[k] if s[k] > zero else zero
        ridge[k] = l2 * inverse[k] * inverse[k]
        n += s[k] > zero
    for row in range(n_rows):
        c = C[row]
        begin, end = indptr[row], indptr[row + 1]
        width = (end - begin + LANES - 1) // LANES * LANES
        B = room[: K * width].reshape(K, width)
        x, y, w = all_x[:width], all_y[:width], all_w[:width]
        total, peak = gather(indices[begin:end], data[begin:end], Dt, inverse, B, x)
        if not x.sum() > zero:
            c[:] = zero
            for j in range(begin, end):
                products[j] = zero
            continue
        floor = peak * T.type(FLOOR)
        for k in range(K):
            z[k] = total / T.type(n) if inverse[k] > zero else zero
        for step in range(n_steps + 1):
            predict(z, every, K, B, floor if step < n_steps else zero, y)
            if step == n_steps:
                break
            powers(x, y, alpha, w)
            scores(B, w, every, K, rho)
            expectation(z, rho, alpha, ridge, l2, total, 0 < step < n_steps - 1)
        for j in range(begin, end):
            products[j] = y[j - begin]
        for k in range(K):
            c[k] = z[k] * inverse[k]
