"""Sweeps of block coordinate descent over the atoms of a dictionary."""

import numpy as np

from thresher.kernels.compiling import helper, kernel


@helper
def _subtract_atoms(weights, D, out):  # type: ignore[no-untyped-def]
    """``out −= weights · D``, four atoms at a time, so that out is read and written less often.

    Documents share few atoms with each other, so many weights are zero.
    """
    K = D.shape[0]
    fours = K - K % 4
    for j in range(0, fours, 4):
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        if w0 == 0 and w1 == 0 and w2 == 0 and w3 == 0:
            continue
        d0, d1, d2, d3 = D[j], D[j + 1], D[j + 2], D[j + 3]
        for f in range(out.size):
            out[f] -= w0 * d0[f] + w1 * d1[f] + w2 * d2[f] + w3 * d3[f]
    for j in range(fours, K):
        w0, d0 = weights[j], D[j]
        for f in range(out.size):
            out[f] -= w0 * d0[f]


@helper
def _free_minimum(A, B, D, k, l1, l2, atom):  # type: ignore[no-untyped-def]
    """``[d_k + (B_k − A_k D − l1)/A_kk]₊ / (1 + l2/A_kk)``: the best atom k without its ball."""
    zero, one = D.dtype.type(0), D.dtype.type(1)
    a, d = A[k, k], D[k]
    atom[:] = B[k]
    _subtract_atoms(A[k], D, atom)
    shrink = one / (a + l2)
    for f in range(d.size):
        atom[f] = max((atom[f] + a * d[f] - l1) * shrink, zero)


@helper
def _sum_threshold(atom, radius):  # type: ignore[no-untyped-def]
    """The θ ≥ 0 with ``Σ [atom − θ]₊ = radius``; zero if the sum is no larger.

    Entries that do not exceed the threshold of all others drop out, until none does: every round
    raises θ towards its end from below, and each is one reading.
    """
    total = 0.0
    for f in range(atom.size):
        total += atom[f]
    theta = 0.0
    if total <= radius:
        return theta
    count = atom.size
    while True:
        theta = (total - radius) / count
        total = 0.0
        left = 0
        for f in range(atom.size):
            if atom[f] > theta:
                total += atom[f]
                left += 1
        if left >= count or left == 0:  # never more, but for rounding
            return theta
        count = left


@helper
def _sweep_ball(A, B, D, l1, l2, radius, atom):  # type: ignore[no-untyped-def]
    """One atom after the other to its minimum in the nonnegative ℓ2 ball, in place.

    The ball shortens an atom to ``radius`` (infinite for the orthant). Returns how far the atoms
    moved.
    """
    zero, one = D.dtype.type(0), D.dtype.type(1)
    moved = zero
    for k in range(D.shape[0]):
        if A[k, k] <= zero:
            continue
        _free_minimum(A, B, D, k, l1, l2, atom)
        d = D[k]
        length = zero
        for f in range(d.size):
            length += atom[f] * atom[f]
        length = np.sqrt(length)
        scale = radius / length if length > radius else one
        for f in range(d.size):
            value = atom[f] * scale
            step = value - d[f]
            moved += step * step
            d[f] = value
    return np.sqrt(moved)


@helper
def _sweep_sums(A, B, D, l1, l2, radius, atom):  # type: ignore[no-untyped-def]
    """The same in the nonnegative ℓ1 ball: entries of an atom sum to at most ``radius``."""
    zero = D.dtype.type(0)
    moved = zero
    for k in range(D.shape[0]):
        if A[k, k] <= zero:
            continue
        _free_minimum(A, B, D, k, l1, l2, atom)
        theta = D.dtype.type(_sum_threshold(atom, radius))
        d = D[k]
        for f in range(d.size):
            value = max(atom[f] - theta, zero)
            step = value - d[f]
            moved += step * step
            d[f] = value
    return np.sqrt(moved)


@kernel
def sweeps_ball(A, B, D, l1, l2, radius, least, times):  # type: ignore[no-untyped-def]
    """Sweeps over all atoms in the nonnegative ℓ2 ball, until one moves them by ``least`` at most.

    Returns how far the last one moved them.
    """
    atom, moved = np.empty_like(D[0]), least
    for _ in range(times):
        moved = _sweep_ball(A, B, D, l1, l2, radius, atom)
        if moved <= least:
            break
    return moved


@kernel
def sweeps_sums(A, B, D, l1, l2, radius, least, times):  # type: ignore[no-untyped-def]
    """The same in the nonnegative ℓ1 ball."""
    atom, moved = np.empty_like(D[0]), least
    for _ in range(times):
        moved = _sweep_sums(A, B, D, l1, l2, radius, atom)
        if moved <= least:
            break
    return moved
