"""The dictionary step for KL: a ratio of sums, in few passes over K × F numbers.

Sums are float64 whatever the dictionary is. Atoms are never stored in float64: they follow from N
and two numbers for each feature, so they are computed once to measure them and once to write them.
"""

import numpy as np

from thresher.kernels.compiling import kernel

_TILE = 256  # features at a time, so that sums over atoms and the transposed batch stay in a cache
_APART = 8  # more between two rows of a tile: at powers of two they would share a few places there


@kernel
def add_batch(past, negative, D, least, N, columns, added):  # type: ignore[no-untyped-def]
    """``N = past + D ∘ negativeᵀ`` with D at least ``least``; its sums and those of the batch.

    ``negative`` is F × K. ``columns`` and ``added`` (F,) are added to; the sums of rows are
    returned.
    """
    K, F = D.shape
    rows = np.zeros(K)
    tile = np.empty((K, _TILE + _APART))
    for start in range(0, F, _TILE):
        width = min(_TILE, F - start)
        for f in range(width):
            for k in range(K):
                tile[k, f] = negative[start + f, k]
        more, sums = added[start : start + width], columns[start : start + width]
        for k in range(K):
            step, floor = tile[k, :width], least[k]
            d, before, after = D[k, start:], past[k, start:], N[k, start:]
            for f in range(width):
                step[f] *= max(np.float64(d[f]), floor)
            for f in range(width):
                after[f] = before[f] + step[f]
            total = 0.0
            for f in range(width):
                total += after[f]
            rows[k] += total
            for f in range(width):
                more[f] += step[f]
            for f in range(width):
                sums[f] += after[f]
    return rows


@kernel
def measure_atoms(N, column, extra, share, inverse):  # type: ignore[no-untyped-def]
    """Sums and sums of squares of the atoms ``(N column + share extra) inverse``."""
    K, F = N.shape
    linear, quadratic = np.zeros(K), np.zeros(K)
    for k in range(K):
        n, part, scale = N[k], share[k], inverse[k]
        first, second = 0.0, 0.0
        for f in range(F):
            value = (n[f] * column[f] + part * extra[f]) * scale
            first += value
            second += value * value
        linear[k], quadratic[k] = first, second
    return linear, quadratic


@kernel
def write_atoms(N, column, extra, share, inverse, least, out):  # type: ignore[no-untyped-def]
    """Write these atoms, no entry below the ``least`` of its atom."""
    K, F = N.shape
    for k in range(K):
        n, atom, part, scale, floor = N[k], out[k], share[k], inverse[k], least[k]
        for f in range(F):
            atom[f] = max((n[f] * column[f] + part * extra[f]) * scale, floor)
