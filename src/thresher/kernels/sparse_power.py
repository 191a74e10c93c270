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

from thresher.kernels.compiling import helper, kernel
from thresher.kernels.floors import FLOOR
from thresher.kernels.newton_step import model_step


@helper
def gather(words, values, Dt, inverse, B, x):  # type: ignore[no-untyped-def]
    """``B[k, f] = D[k, words_f]/s_k`` and the entries x; what is beyond the words is zero.

    So is the entry of a word that no atom has: it is a constant of the problem, but for ``α > 1``
    one that would drown all the rest. Returns the sum and the largest of all entries.
    """
    K, n_words, width = B.shape[0], words.size, B.shape[1]
    zero = B.dtype.type(0)
    total, peak = zero, zero
    for f in range(n_words):
        d = Dt[words[f]]
        known = zero
        for k in range(K):
            known += d[k] * inverse[k]
            B[k, f] = d[k] * inverse[k]
        x[f] = values[f] if known > zero else zero
        total += values[f]
        peak = max(peak, values[f])
    if width > n_words:
        B[:, n_words:] = zero
        x[n_words:] = zero
    return total, peak


@helper
def predict(a, atoms, n, B, start, y):  # type: ignore[no-untyped-def]
    """``y = start + Σ_k a_k B[atoms_k]`` over n atoms, four at a time."""
    y[:] = start
    fours = n - n % 4
    for k in range(0, fours, 4):
        a0, a1, a2, a3 = a[k], a[k + 1], a[k + 2], a[k + 3]
        b0, b1, b2, b3 = B[atoms[k]], B[atoms[k + 1]], B[atoms[k + 2]], B[atoms[k + 3]]
        for f in range(y.size):
            y[f] += a0 * b0[f] + a1 * b1[f] + a2 * b2[f] + a3 * b3[f]
    for k in range(fours, n):
        a0, b0 = a[k], B[atoms[k]]
        for f in range(y.size):
            y[f] += a0 * b0[f]


@helper
def powers(x, y, alpha, w):  # type: ignore[no-untyped-def]
    """``w = (x/y)^α``; one and one half without a power."""
    if alpha == 1:
        for f in range(x.size):
            w[f] = x[f] / y[f]
    elif alpha == 0.5:
        for f in range(x.size):
            w[f] = np.sqrt(x[f] / y[f])
    else:
        for f in range(x.size):
            w[f] = (x[f] / y[f]) ** alpha


@helper
def scores(B, w, atoms, n, rho):  # type: ignore[no-untyped-def]
    """``ρ_k = B_k · w`` of n atoms, four at a time."""
    fours = n - n % 4
    for i in range(0, fours, 4):
        k0, k1, k2, k3 = atoms[i], atoms[i + 1], atoms[i + 2], atoms[i + 3]
        b0, b1, b2, b3 = B[k0], B[k1], B[k2], B[k3]
        s0 = s1 = s2 = s3 = w.dtype.type(0)
        for f in range(w.size):
            s0 += b0[f] * w[f]
            s1 += b1[f] * w[f]
            s2 += b2[f] * w[f]
            s3 += b3[f] * w[f]
        rho[k0], rho[k1], rho[k2], rho[k3] = s0, s1, s2, s3
    for i in range(fours, n):
        b0 = B[atoms[i]]
        s0 = w.dtype.type(0)
        for f in range(w.size):
            s0 += b0[f] * w[f]
        rho[atoms[i]] = s0


@helper
def prune(B, h, rho, alpha, ridge, atoms, n, z):  # type: ignore[no-untyped-def]
    """Set to zero what a Newton step of its own would take there; how many of n atoms are left.

    A guess: atoms that are missed have ``ρ > 1`` later on, and come back.
    """
    zero, one = h.dtype.type(0), h.dtype.type(1)
    left = np.int64(0)
    for i in range(n):
        k = atoms[i]
        b, curvature = B[k], alpha * ridge[k]
        for f in range(h.size):
            curvature += h[f] * b[f] * b[f]
        if one - rho[k] + alpha * ridge[k] * z[k] < curvature * z[k]:
            atoms[left] = k
            left += 1
        else:
            z[k] = zero
    return left


@helper
def expectation(z, rho, alpha, ridge, l2, total, further):  # type: ignore[no-untyped-def]
    """``z ← z ρ^(1/α)``, or with a ridge ``z (ρ/(1 + α ridge z))^(1/(1 + α))``; tiny ones to 0.

    It never raises the objective; ``further`` goes half as far again, for the first, rough steps,
    keeping the sum of the masses.
    """
    T = z.dtype.type
    one, zero = T(1), T(0)
    root = one / (one + alpha)
    before, after = zero, zero
    for k in range(z.size):
        if l2 > zero:
            r = (rho[k] / (one + alpha * ridge[k] * z[k])) ** root
        elif alpha == 1:
            r = rho[k]
        elif alpha == 0.5:
            r = rho[k] * rho[k]
        else:
            r = rho[k] ** (one / alpha)
        before += z[k] * r
        if further:
            r *= np.sqrt(r)
        z[k] *= r
        after += z[k]
    scale = before / after if further and after > zero else one
    tiny = total * T(1e-12)
    for k in range(z.size):
        mass = z[k] * scale
        z[k] = mass if mass > tiny else zero


@helper
def duality_gap(z, rho, y, w, floor, n_words, alpha, ridge, l2, rounding):  # type: ignore[no-untyped-def]
    """The duality gap, and its rounding error."""
    mass, penalty, top = 0.0, 0.0, 0.0
    for k in range(z.size):
        mass += z[k]
        penalty += 0.5 * ridge[k] * z[k] * z[k]
        top = max(top, rho[k])
    fit, floored = 0.0, 0.0
    for f in range(n_words):
        fit += y[f] * w[f]
        floored += floor * w[f]
    if top < 1:
        top = max(top, (floored / fit) ** alpha)
    best = np.inf
    for trial in range(2 if l2 > 0 else 1):
        m = 1.0 if trial == 1 else top
        h = np.log(m) if alpha == 1 else (m ** ((1 - alpha) / alpha) - 1) / (1 - alpha)
        gap = (mass - fit + floored / m) / alpha + fit * h + penalty
        if trial == 1:
            for k in range(z.size):
                excess = max(rho[k] / m - 1, 0.0)
                if ridge[k] > 0:
                    gap += excess * excess / (2 * alpha * alpha * ridge[k])
        best = min(best, gap)
    return best, rounding * (mass + fit) / alpha


@helper
def hessian(B, atoms, n, h, weighted, H):  # type: ignore[no-untyped-def]
    """``H[i, j] = Σ_f h_f B[atoms_i, f] B[atoms_j, f]`` for i ≤ j < n, in pairs of rows."""
    width = h.size
    for j in range(n):
        b, out = B[atoms[j]], weighted[j]
        for f in range(width):
            out[f] = b[f] * h[f]
    even = n - n % 2
    for i in range(0, even, 2):
        a0, a1 = B[atoms[i]], B[atoms[i + 1]]
        for j in range(i, even, 2):
            b0, b1 = weighted[j], weighted[j + 1]
            s00 = s01 = s10 = s11 = H.dtype.type(0)
            for f in range(width):
                s00 += a0[f] * b0[f]
                s01 += a0[f] * b1[f]
                s10 += a1[f] * b0[f]
                s11 += a1[f] * b1[f]
            H[i, j], H[i, j + 1], H[i + 1, j + 1] = s00, s01, s11
            if j > i:
                H[i + 1, j] = s10
    if even < n:
        b0 = weighted[even]
        for i in range(n):
            a0 = B[atoms[i]]
            s00 = H.dtype.type(0)
            for f in range(width):
                s00 += a0[f] * b0[f]
            H[i, even] = s00
    for i in range(n):
        for j in range(i):
            H[i, j] = H[j, i]


@helper
def _slope(x, y, q, t, floor, alpha, n_words):  # type: ignore[no-untyped-def]
    """``Σ q w`` and ``Σ q² w/y`` at ``y + t q``."""
    T = x.dtype.type
    first, second = T(0), T(0)
    if alpha == 1:
        for f in range(n_words):
            inverse = T(1) / max(y[f] + t * q[f], floor)
            pull = q[f] * x[f] * inverse
            first += pull
            second += pull * q[f] * inverse
    else:
        for f in range(n_words):
            inverse = T(1) / max(y[f] + t * q[f], floor)
            u = x[f] * inverse
            pull = q[f] * (np.sqrt(u) if alpha == 0.5 else u**alpha)
            first += pull
            second += pull * q[f] * inverse
    return first, second


@helper
def search(x, y, q, floor, alpha, n_words, descent, linear, quadratic):  # type: ignore[no-untyped-def]
    """Length t ≤ 1 of the step along q: near the minimum of the objective, and never beyond it.

    The slope is ``linear + t·quadratic − Σ q w``; ``descent`` is its (negative) value at 0.
    """
    T = x.dtype.type
    zero, one, half = T(0), T(1), T(0.5)
    tolerance = -T(0.1) * descent
    low, high, t = zero, one, one
    for _ in range(30):
        pull, curvature = _slope(x, y, q, t, floor, alpha, n_words)
        slope = linear + t * quadratic - pull
        if slope <= tolerance and (t == one or slope >= -tolerance):
            return t
        if slope > zero:
            high = t
        else:
            low = t
        step = slope / (alpha * curvature + quadratic)
        t = t - step
        if not (t > low and t < high):
            t = low + half * (high - low) if low > zero else high * T(0.1)
    return low


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
    workspace, workspace_weighted = np.empty(K * widest, T), np.empty(K * widest, T)
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
        B = workspace[: K * width].reshape(K, width)
        weighted = workspace_weighted[: K * width].reshape(K, width)
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
    workspace = np.empty(K * widest, T)
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
        B = workspace[: K * width].reshape(K, width)
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
