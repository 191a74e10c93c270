"""Small triangular factors that are updated in place, for active-set methods."""

import numpy as np

from thresher.kernels.compiling import helper


@helper
def factorise(R, n, floor):  # type: ignore[no-untyped-def]
    """Upper R with ``H = RᵀR`` in the leading n × n part, in place; pivots are at least floor.

    Panels of four rows are finished one by one, then subtracted from the rest together; every
    loop runs along rows.
    """
    for first in range(0, n, 4):
        end = min(first + 4, n)
        for k in range(first, end):
            row = R[k, k:n]
            for p in range(first, k):
                factor, above = R[p, k], R[p, k:n]
                for j in range(row.size):
                    row[j] -= factor * above[j]
            scale = R.dtype.type(1) / np.sqrt(max(row[0], floor))
            for j in range(row.size):
                row[j] *= scale
        if end - first == 4:
            for i in range(end, n):
                f0, f1, f2, f3 = R[first, i], R[first + 1, i], R[first + 2, i], R[first + 3, i]
                a0, a1, a2, a3 = (
                    R[first, i:n],
                    R[first + 1, i:n],
                    R[first + 2, i:n],
                    R[first + 3, i:n],
                )
                row = R[i, i:n]
                for j in range(row.size):
                    row[j] -= f0 * a0[j] + f1 * a1[j] + f2 * a2[j] + f3 * a3[j]


@helper
def solve(R, n, z):  # type: ignore[no-untyped-def]
    """``z ← (RᵀR)⁻¹ z``, forwards and backwards along rows."""
    for i in range(n):
        z[i] /= R[i, i]
        value, row, rest = z[i], R[i, i + 1 : n], z[i + 1 : n]
        for j in range(row.size):
            rest[j] -= value * row[j]
    for i in range(n - 1, -1, -1):
        row, rest = R[i, i + 1 : n], z[i + 1 : n]
        value = z[i]
        for j in range(row.size):
            value -= row[j] * rest[j]
        z[i] = value / R[i, i]


@helper
def drop(R, n, p):  # type: ignore[no-untyped-def]
    """Remove variable p from the factor: close the gap, restore the triangle by rotations."""
    for i in range(n):
        for j in range(max(p, i - 1), n - 1):
            R[i, j] = R[i, j + 1]
    for i in range(p, n - 1):
        a, b = R[i, i], R[i + 1, i]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        upper, lower = R[i, i : n - 1], R[i + 1, i : n - 1]
        for j in range(upper.size):
            turned = cosine * upper[j] + sine * lower[j]
            lower[j] = cosine * lower[j] - sine * upper[j]
            upper[j] = turned
