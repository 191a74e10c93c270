"""Factors of rows with gaps: each row has its own posterior, over the columns that were read.

`thresher.tasks.tables.factors` has the formulas. Rows with the same gaps as the row before share
what depends on the gaps only.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.cholesky import factorise, solve
from thresher.kernels.compiling import helper, kernel


class Loadings(NamedTuple):
    """Λ, by column and by factor, and ψ."""

    by_column: Any  # (F, K)
    by_factor: Any  # (K, F)
    own: Any  # (F)
    gram: Any  # (K, K), I + Λᵀ ψ⁻¹ Λ of a row without gaps


@helper
def _same(a, b):  # type: ignore[no-untyped-def]
    different = 0
    for f in range(a.size):
        different += a[f] != b[f]
    return different == 0


@helper
def _precision(read, loadings, R):  # type: ignore[no-untyped-def]
    """R with ``RᵀR = I + Λᵀ ψ⁻¹ Λ`` over what was read: of a whole row, less the gaps if few."""
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
                for i in range(k, K):
                    target[i] += factor * row[i]
    factorise(R, K, 1e-12)


@helper
def _factors(z, loadings, R, f):  # type: ignore[no-untyped-def]
    """``f = C Λᵀ ψ⁻¹ z``; z is zero in gaps."""
    K = f.size
    for k in range(K):
        row, value = loadings.by_factor[k], 0.0
        for i in range(z.size):
            value += row[i] * z[i]
        f[k] = value
    solve(R, K, f)


@kernel
def tell(Z, trusted, loadings, mean, variance):  # type: ignore[no-untyped-def]
    """Write what the other entries of its row say of each; Z is zero where nothing was read."""
    n, F = Z.shape
    K = len(loadings.gram)
    R, V, f = np.empty((K, K)), np.empty((K, F)), np.empty(K)
    spread, z, common = np.empty(F), np.empty(F), np.empty(F)
    for t in range(n):
        read = trusted[t]
        if t == 0 or not _same(read, trusted[t - 1]):
            _precision(read, loadings, R)
            spread[:] = 0.0
            for k in range(K):  # Rᵀ V = Λᵀ, so that λᵀ C λ is a sum of squares
                target = V[k]
                target[:] = loadings.by_factor[k]
                for p in range(k):
                    factor, above = R[p, k], V[p]
                    for i in range(F):
                        target[i] -= factor * above[i]
                scale = 1.0 / R[k, k]
                for i in range(F):
                    target[i] *= scale
                    spread[i] += target[i] * target[i]
        for i in range(F):
            z[i] = Z[t, i] / loadings.own[i]
        _factors(z, loadings, R, f)
        common[:] = 0.0
        for k in range(K):
            factor, row = f[k], loadings.by_factor[k]
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


@kernel
def expect(Z, trusted, loadings, codes, total, gone):  # type: ignore[no-untyped-def]
    """Write each row's factors, and add up ``E[f fᵀ]``: of all rows, and of each column's gaps."""
    n, F = Z.shape
    K = len(loadings.gram)
    R, S, C, z = np.empty((K, K)), np.zeros((K, K)), np.empty((K, K)), np.empty(F)
    for t in range(n):
        read, f = trusted[t], codes[t]
        if t == 0 or not _same(read, trusted[t - 1]):
            _precision(read, loadings, R)
            for k in range(K - 1, -1, -1):  # S = R⁻¹, from the last row up
                row = S[k]
                row[:] = 0.0
                for p in range(k + 1, K):
                    factor, below = R[k, p], S[p]
                    for i in range(p, K):
                        row[i] -= factor * below[i]
                scale = 1.0 / R[k, k]
                row[k] = 1.0
                for i in range(k, K):
                    row[i] *= scale
            for k in range(K):
                for i in range(k, K):
                    value, left, right = 0.0, S[k], S[i]
                    for p in range(i, K):
                        value += left[p] * right[p]
                    C[k, i] = value
                    C[i, k] = value
        for i in range(F):
            z[i] = Z[t, i] / loadings.own[i]
        _factors(z, loadings, R, f)
        for k in range(K):
            for i in range(K):
                total[k, i] += C[k, i] + f[k] * f[i]
        for j in range(F):
            if not read[j]:
                target = gone[j]
                for k in range(K):
                    factor, row, source = f[k], target[k], C[k]
                    for i in range(K):
                        row[i] += source[i] + factor * f[i]
