"""One sweep of block coordinate descent over the atoms of a dictionary."""

import numpy as np

from thresher.kernels.compiling import helper, kernel


@helper
def _subtract_atoms(weights, D, out):  # type: ignore[no-untyped-def]
    """``out −= weights · D``, four atoms at a time, so that out is read and written less often."""
    K = D.shape[0]
    fours = K - K % 4
    for j in range(0, fours, 4):
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        d0, d1, d2, d3 = D[j], D[j + 1], D[j + 2], D[j + 3]
        for f in range(out.size):
            out[f] -= w0 * d0[f] + w1 * d1[f] + w2 * d2[f] + w3 * d3[f]
    for j in range(fours, K):
        w0, d0 = weights[j], D[j]
        for f in range(out.size):
            out[f] -= w0 * d0[f]


@kernel
def sweep_ball(A, B, D, l1, l2, radius):  # type: ignore[no-untyped-def]
    """``d_k ← Π([d_k + (B_k − A_k D − l1)/A_kk]₊ / (1 + l2/A_kk))`` for k = 0, 1, …, in place.

    Π shortens an atom to ``radius`` (infinite for the orthant). Returns how far the atoms moved.
    """
    zero, one = D.dtype.type(0), D.dtype.type(1)
    moved = zero
    atom = np.empty_like(D[0])
    for k in range(D.shape[0]):
        a = A[k, k]
        if a <= zero:
            continue
        atom[:] = B[k]
        _subtract_atoms(A[k], D, atom)
        shrink = one / (a + l2)
        d = D[k]
        length = zero
        for f in range(d.size):
            value = max((atom[f] + a * d[f] - l1) * shrink, zero)
            atom[f] = value
            length += value * value
        length = np.sqrt(length)
        scale = radius / length if length > radius else one
        for f in range(d.size):
            value = atom[f] * scale
            step = value - d[f]
            moved += step * step
            d[f] = value
    return np.sqrt(moved)
