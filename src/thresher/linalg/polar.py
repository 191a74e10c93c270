"""Polar factors: the orthogonal matrix nearest to a given one."""

import numpy as np

from thresher.linalg.arrays import Array

_SINGULAR = 1e-9  # of the largest singular value: zero but for rounding; heuristic
_SMALL_TURN = 0.5  # heuristic: ‖E‖₂ is then about a quarter, and has to be below 1
_MOST_STEPS = 10  # heuristic: the distance is squared in each, so that few are needed


def polar(A: Array, near: Array | None = None) -> Array:
    """``U Vᵀ`` of the singular value decomposition: of all orthogonal Q the largest ``⟨A, Q⟩``.

    It is unique only if A is regular. Of all maximisers the one nearest to ``near`` is taken
    (errata D.3): between the null spaces U₀ and V₀ of A it is ``U₀ polar(U₀ᵀ near V₀) V₀ᵀ``. Else
    the result would depend on the version of LAPACK.
    """
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    if near is not None:
        null = s <= _SINGULAR * s[0]
        if null.any():
            U0, V0t = U[:, null], Vt[null]
            U[:, null] = U0 @ polar(U0.T @ near @ V0t.T)
    Q: Array = U @ Vt
    return Q


def newton_schulz(X: Array) -> Array | None:
    """The polar factor of a matrix near the orthogonal group, by matrix products alone.

    ``X ← X − ½ X (XᵀX − I)`` squares the distance E = XᵀX − I in every step, as long as
    ``‖E‖₂ < 1``. None if it does not get there.
    """
    for _ in range(_MOST_STEPS):
        E = X.T @ X
        E.flat[:: len(E) + 1] -= 1
        far = float(np.abs(E).max())
        X = X - 0.5 * (X @ E)
        if far < 1e-8:  # then the step has just made it 1e-16
            return X
        if not far < 4:
            return None
    return None


def approach(A: Array, Q: Array) -> Array:
    """One step from an orthogonal Q towards the polar factor of A, without an SVD where it is near.

    Q is the polar factor if and only if ``P = A Qᵀ`` is symmetric and positive semidefinite. To
    first order the rotation ``I + K`` that makes it so has ``HK + KH = P − Pᵀ``, where H is the
    symmetric part; with its diagonal alone, ``K_ij = (P_ij − P_ji)/(P_ii + P_jj)``. Its fixed
    points are those of the exact factor, which is taken where the turn is large.
    """
    P = A @ Q.T
    d = np.diagonal(P)
    size = float(np.abs(P).max())
    if size > 0 and d.min() > -1e-9 * size:
        K = (P - P.T) / np.maximum(d[:, None] + d, 1e-9 * size)
        turn = 2 * float(np.linalg.norm(K)) / np.sqrt(len(K))  # about ‖K‖₂ if K is like noise
        near = newton_schulz(Q + K @ Q) if turn < _SMALL_TURN else None
        if near is not None:
            return near
    return polar(A, Q)
