"""One sweep of block coordinate descent over the atoms of a dictionary."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sweep_ball(A, B, D, l1, l2, radius):  # type: ignore[no-untyped-def]
    """``d_k ← Π([d_k + (B_k − A_k D − l1)/A_kk]₊ / (1 + l2/A_kk))`` for k = 0, 1, …, in place.

    Π shortens an atom to ``radius`` (infinite for the orthant). Returns how far the atoms moved.
    """
    K, F = D.shape
    moved = 0.0
    atom = np.empty(F)
    for k in range(K):
        a = A[k, k]
        if a <= 0.0:
            continue
        for f in range(F):
            atom[f] = B[k, f] - l1
        for j in range(K):
            weight = A[k, j]
            if weight != 0.0:
                for f in range(F):
                    atom[f] -= weight * D[j, f]
        shrink = 1.0 / (a + l2)
        length = 0.0
        for f in range(F):
            value = (atom[f] + a * D[k, f]) * shrink
            if value < 0.0:
                value = 0.0
            atom[f] = value
            length += value * value
        length = np.sqrt(length)
        scale = radius / length if length > radius else 1.0
        for f in range(F):
            value = atom[f] * scale
            step = value - D[k, f]
            moved += step * step
            D[k, f] = value
    return np.sqrt(moved)
