"""Rotations of pairs of columns, one after the other, every product as it is written."""

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel


@strict_helper
def _turn(Q, i, j, c, s):  # type: ignore[no-untyped-def]
    """Turn columns i and j: ``(q_i, q_j) ← (c q_i + s q_j, c q_j − s q_i)``."""
    for k in range(Q.shape[0]):
        a, b = Q[k, i], Q[k, j]
        Q[k, i], Q[k, j] = c * a + s * b, c * b - s * a


@strict_kernel
def eliminate(Q, angles):  # type: ignore[no-untyped-def]
    """Turn an orthogonal matrix into a diagonal one, in place, and write down the angles."""
    at = 0
    for i in range(Q.shape[0] - 1):
        for j in range(i + 1, Q.shape[0]):
            angles[at] = np.arctan2(Q[i, j], Q[i, i])
            _turn(Q, i, j, np.cos(angles[at]), np.sin(angles[at]))
            at += 1


@strict_kernel
def turn_back(Q, cosines, sines):  # type: ignore[no-untyped-def]
    """Undo the first turns of `eliminate`, the last of them first."""
    N = Q.shape[0]
    i, left = 0, cosines.size
    while left > N - 1 - i:  # row i has N − 1 − i angles
        left -= N - 1 - i
        i += 1
    j = i + left
    for at in range(cosines.size - 1, -1, -1):
        _turn(Q, i, j, cosines[at], -sines[at])
        j -= 1
        if j == i:
            i, j = i - 1, N - 1
