"""Factor analysis of rows with missing values: each row has its own posterior.

`thresher.tasks.tables.factors` has the formulas. With the covariance ``C = (I + Λᵀ ψ⁻¹ Λ)⁻¹`` of
the factors of a complete row, and ``M = Λ C Λᵀ`` of the columns, a row with missing columns g has

    C_g = C + C Λ_gᵀ S⁻¹ Λ_g C,    M_g = M + M_·g S⁻¹ M_g·,    S = diag ψ_g − M_gg,

which is little work if few values are missing. If more are missing than there are factors, the
precision of the row is summed instead. Rows with the same missing columns as the row before share
what depends on these columns only.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.cholesky import factorise, solve
from thresher.kernels.compiling import helper, kernel


class Loadings(NamedTuple):
    """Λ, by column and by factor, ψ, and the posterior of a complete row."""

    by_column: Any  # (F, K)
    by_factor: Any  # (K, F)
    own: Any  # (F)
    gram: Any  # (K, K), I + Λᵀ ψ⁻¹ Λ
    whole: Any  # (K, K), C
    shared: Any  # (F, F), M
    moved: Any  # (F, K), Λ C


_FLOOR = 1e-12  # of pivots


@helper
def _same(a, b):  # type: ignore[no-untyped-def]
    different = 0
    for f in range(a.size):
        different += a[f] != b[f]
    return different == 0


@helper
def _gaps(read, gaps):  # type: ignore[no-untyped-def]
    """Write the missing columns, and return their number."""
    g = 0
    for f in range(read.size):
        gaps[g] = f
        g += not read[f]
    return g


@helper
def _unknown(gaps, g, loadings, R):  # type: ignore[no-untyped-def]
    """R with ``RᵀR = S``, above."""
    for a in range(g):
        row = loadings.shared[gaps[a]]
        for b in range(a, g):
            R[a, b] = -row[gaps[b]]
        R[a, a] += loadings.own[gaps[a]]
    factorise(R, g, _FLOOR)


@helper
def _precision(read, loadings, R):  # type: ignore[no-untyped-def]
    """R with ``RᵀR = I + Λᵀ ψ⁻¹ Λ`` over observed columns; fast if few are missing."""
    K = len(loadings.gram)
    n_read = 0
    for f in range(read.size):
        n_read += read[f]
    few = 2 * n_read < read.size
    for k in range(K):
        for i in range(K):
            R[k, i] = (1.0 if k == i else 0.0) if few else loadings.gram[k, i]
    sign = 1.0 if few else -1.0
    for f in range(read.size):
        if read[f] == few:
            row = loadings.by_column[f]
            for k in range(K):
                factor, target = sign * row[k] / loadings.own[f], R[k]
                for i in range(K):
                    target[i] += factor * row[i]
    factorise(R, K, _FLOOR)


@helper
def _halved(R, m, V):  # type: ignore[no-untyped-def]
    """``V ← R⁻ᵀ V``: its first m rows."""
    for k in range(m):
        target = V[k]
        for p in range(k):
            factor, above = R[p, k], V[p]
            for i in range(target.size):
                target[i] -= factor * above[i]
        scale = 1.0 / R[k, k]
        for i in range(target.size):
            target[i] *= scale


@helper
def _spread(read, gaps, g, loadings, R, V, spread):  # type: ignore[no-untyped-def]
    """The diagonal of M_g, the R that goes with it, and ``V = R⁻ᵀ M_g·``, or R⁻ᵀ Λᵀ if many."""
    m = min(g, len(R))
    if g == m:
        _unknown(gaps, g, loadings, R)
        for a in range(g):
            V[a] = loadings.shared[gaps[a]]
    else:
        _precision(read, loadings, R)
        V[:] = loadings.by_factor
    for i in range(spread.size):
        spread[i] = loadings.shared[i, i] if g == m else 0.0
    _halved(R, m, V)
    for a in range(m):
        for i in range(spread.size):
            spread[i] += V[a, i] * V[a, i]


@kernel
def predict(Z, trusted, loadings, mean, variance):  # type: ignore[no-untyped-def]
    """Predict each entry from the other entries of its row; Z is zero where values are missing."""
    n, F = Z.shape
    K = len(loadings.gram)
    R, V, f, g, few = np.empty((K, K)), np.empty((K, F)), np.empty(K), 0, True
    gaps, spread, common = np.empty(F + 1, np.int64), np.empty(F), np.empty(F)
    for t in range(n):
        read = trusted[t]
        if t == 0 or not _same(read, trusted[t - 1]):
            g = _gaps(read, gaps)
            few = g <= K
            _spread(read, gaps, g, loadings, R, V, spread)
        by = loadings.moved if few else loadings.by_column
        f[:] = 0.0
        for i in range(F):
            value, row = Z[t, i] / loadings.own[i], by[i]
            for k in range(K):
                f[k] += value * row[k]
        if not few:
            solve(R, K, f)
        common[:] = 0.0
        for k in range(K):
            factor, row = f[k], loadings.by_factor[k]
            for i in range(F):
                common[i] += factor * row[i]
        if few:
            for a in range(g):  # Rᵀ y = (Λ f)_g
                f[a] = common[gaps[a]]
                for p in range(a):
                    f[a] -= R[p, a] * f[p]
                f[a] /= R[a, a]
            for a in range(g):
                factor, row = f[a], V[a]
                for i in range(F):
                    common[i] += factor * row[i]
        for i in range(F):
            own = loadings.own[i]
            if read[i]:
                part = max(1.0 - spread[i] / own, 1e-12)  # ψ (Σ⁻¹)_ii
                mean[t, i] = Z[t, i] - (Z[t, i] - common[i]) / part
                variance[t, i] = own / part
            else:
                mean[t, i], variance[t, i] = common[i], spread[i] + own


@helper
def _covariance(read, gaps, g, loadings, R, V, C):  # type: ignore[no-untyped-def]
    """C_g, the R that goes with it, and ``V = R⁻ᵀ Λ_g C``, or R⁻ᵀ if many are missing."""
    K = len(R)
    m = min(g, K)
    if g <= K:
        _unknown(gaps, g, loadings, R)
        for a in range(g):
            V[a] = loadings.moved[gaps[a]]
        C[:] = loadings.whole.ravel()
    else:
        _precision(read, loadings, R)
        V[:] = 0.0
        for a in range(K):
            V[a, a] = 1.0
        C[:] = 0.0
    _halved(R, m, V)
    for a in range(m):
        _add_square(C, V[a])


@helper
def _add_square(A, f):  # type: ignore[no-untyped-def]
    """``A ← A + f fᵀ``, A being flat."""
    for k in range(f.size):
        factor, row = f[k], A[k * f.size : (k + 1) * f.size]
        for i in range(f.size):
            row[i] += factor * f[i]


@helper
def _add(A, B, factor):  # type: ignore[no-untyped-def]
    for i in range(A.size):
        A[i] += factor * B[i]


@kernel
def expect(trusted, loadings, codes, total, gone):  # type: ignore[no-untyped-def]
    """Write each row's factors, and sum ``E[f fᵀ]`` over all rows, and over those missing a column.

    Codes are given as those of complete rows, ``C Λᵀ ψ⁻¹ z``. Sums are flat.
    """
    n, F = trusted.shape
    K = len(loadings.gram)
    R, V, y = np.empty((K, K)), np.empty((K, K)), np.empty(K)
    C, alike = np.empty(K * K), np.empty(K * K)
    gaps, g, since = np.empty(F + 1, np.int64), 0, 0
    for t in range(n):
        f = codes[t]
        if t == 0 or not _same(trusted[t], trusted[t - 1]):
            g, since = _gaps(trusted[t], gaps), t
            _covariance(trusted[t], gaps, g, loadings, R, V, C)
            alike[:] = 0.0
        few = g <= K
        for a in range(min(g, K)):  # of Λ_g f, or of I + Λᵀ ψ⁻¹ Λ times f if gaps are many
            value, row = 0.0, loadings.by_column[gaps[a]] if few else loadings.gram[a]
            for k in range(K):
                value += row[k] * f[k]
            for p in range(a):
                value -= R[p, a] * y[p]
            y[a] = value / R[a, a]
        if not few:
            f[:] = 0.0
        for a in range(min(g, K)):
            _add(f, V[a], y[a])
        _add_square(alike, f)
        if t == n - 1 or not _same(trusted[t], trusted[t + 1]):
            _add(alike, C, t + 1 - since)
            _add(total, alike, 1.0)
            for a in range(g):
                _add(gone[gaps[a]], alike, 1.0)
