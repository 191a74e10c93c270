"""Products of a few vectors, gathered by index, and products at the nonzeros of sparse rows only.

BLAS would need copies for the former and would compute zeros for the latter.
"""

import numpy as np

from thresher.kernels.compiling import helper, kernel


@helper
def copy(a, out):  # type: ignore[no-untyped-def]
    """``out = a``. The message about shapes that ``out[:] = a`` may raise takes long to compile."""
    for k in range(a.size):
        out[k] = a[k]


@helper
def add(a, factor, b):  # type: ignore[no-untyped-def]
    """``a += factor·b``."""
    for k in range(a.size):
        a[k] += factor * b[k]


@helper
def dot(a, b):  # type: ignore[no-untyped-def]
    """``Σ a b``, without the threads of a library."""
    total = 0.0
    for f in range(a.size):
        total += a[f] * b[f]
    return total


@helper
def combine(a, atoms, n, D, out):  # type: ignore[no-untyped-def]
    """``out = Σ_k a_k D[atoms_k]``, four atoms at a time."""
    out[:] = 0
    m, fours = out.size, n - n % 4
    for k in range(0, fours, 4):
        a0, a1, a2, a3 = a[k], a[k + 1], a[k + 2], a[k + 3]
        d0, d1, d2, d3 = (
            D[atoms[k], :m],
            D[atoms[k + 1], :m],
            D[atoms[k + 2], :m],
            D[atoms[k + 3], :m],
        )
        for f in range(m):
            out[f] += a0 * d0[f] + a1 * d1[f] + a2 * d2[f] + a3 * d3[f]
    for k in range(fours, n):
        a0, d0 = a[k], D[atoms[k], :m]
        for f in range(m):
            out[f] += a0 * d0[f]


@helper
def residual(x, c, D, atoms, used, e):  # type: ignore[no-untyped-def]
    """``e = x − cD``, over as many features as e has."""
    n = np.int64(0)
    for k in range(c.size):
        if c[k] != 0:
            atoms[n], used[n] = k, c[k]
            n += 1
    combine(used, atoms, n, D, e)
    for f in range(e.size):
        e[f] = x[f] - e[f]


@helper
def add_gram(D, atoms, n, features, weights, m, left, right, H):  # type: ignore[no-untyped-def]
    """``H += Σ_i weights_i d dᵀ`` over m features, ``d = D[atoms, features_i]``, symmetric."""
    for j in range(n):
        d, a, b = D[atoms[j]], left[j, :m], right[j, :m]
        for i in range(m):
            a[i] = d[features[i]]
            b[i] = a[i] * weights[i]
    even = n - n % 2
    for i in range(0, even, 2):  # pairs of rows: each value loaded is used twice
        a0, a1 = left[i, :m], left[i + 1, :m]
        for j in range(i, even, 2):
            b0, b1 = right[j, :m], right[j + 1, :m]
            s00 = s01 = s10 = s11 = H.dtype.type(0)
            for f in range(m):
                s00 += a0[f] * b0[f]
                s01 += a0[f] * b1[f]
                s10 += a1[f] * b0[f]
                s11 += a1[f] * b1[f]
            H[i, j] += s00
            H[i, j + 1] += s01
            H[i + 1, j + 1] += s11
            if j > i:
                H[i + 1, j] += s10
    if even < n:
        b0 = right[even, :m]
        for i in range(n):
            a0 = left[i, :m]
            s00 = H.dtype.type(0)
            for f in range(m):
                s00 += a0[f] * b0[f]
            H[i, even] += s00
    for i in range(n):
        for j in range(i):
            H[i, j] = H[j, i]


@kernel
def products_at(indptr, indices, C, Dt, out):  # type: ignore[no-untyped-def]
    """``out = (C D) at the nonzeros``; ``Dt`` is Dᵀ, so that both factors are read in order."""
    for i in range(indptr.size - 1):
        c = C[i]
        for j in range(indptr[i], indptr[i + 1]):
            d = Dt[indices[j]]
            total = c.dtype.type(0)
            for k in range(c.size):
                total += c[k] * d[k]
            out[j] = total


@kernel
def floor_rows(indptr, x, y, share, out):  # type: ignore[no-untyped-def]
    """``out = max(y, 0)`` plus a share of the largest entry of the row."""
    for i in range(indptr.size - 1):
        largest = x.dtype.type(0)
        for j in range(indptr[i], indptr[i + 1]):
            largest = max(largest, x[j])
        floor = share * largest
        for j in range(indptr[i], indptr[i + 1]):
            out[j] = max(y[j], y.dtype.type(0)) + floor


@kernel
def add_rows(indptr, indices, values, C, out):  # type: ignore[no-untyped-def]
    """Add ``VᵀC`` to ``out`` (F × K), for the CSR matrix V of these values."""
    for i in range(indptr.size - 1):
        c = C[i]
        for j in range(indptr[i], indptr[i + 1]):
            row, value = out[indices[j]], values[j]
            for k in range(c.size):
                row[k] += value * c[k]
