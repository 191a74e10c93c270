"""How near an orthogonal dictionary is to the true one, and to a stationary point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def orthogonal_error(true: ArrayLike, estimated: ArrayLike) -> float:
    r"""Error (24) of paper D, zero if and only if the atoms agree up to order and sign.

    .. math:: \left| 1 - \frac{\|\hat D D^T\|_4^4}{N} \right|

    For two orthogonal matrices that differ by small angles it is about twice the mean over atoms of
    the squared angle.

    Parameters
    ----------
    true, estimated : array-like of shape (N, N)
        Orthogonal dictionaries, atoms in rows. The estimate may lie inside the spectral ball.
    """
    D, E = np.asarray(true, dtype=np.float64), np.asarray(estimated, dtype=np.float64)
    if D.ndim != 2 or D.shape != E.shape or D.shape[0] != D.shape[1] or not D.size:
        raise ValueError(
            f"true and estimated must be square and of one shape; got {D.shape} and {E.shape}."
        )
    return float(abs(1 - np.sum((E @ D.T) ** 4) / len(D)))


def frank_wolfe_gap(samples: ArrayLike, dictionary: ArrayLike, p: int = 3) -> float:
    r"""Frank–Wolfe gap of :math:`-\mathrm{mean}\|y D^T\|_p^p` over the unit spectral ball.

    .. math:: g = \|\nabla\|_* + \langle \nabla, D \rangle, \qquad
              \nabla = -p \;\mathrm{mean}\,(|c|^{p-2} \circ c)^T y

    (paper D, (10) with Lemma 3). It is nonnegative in the ball, and zero exactly at stationary
    points (Lemma 2).
    """
    Y, D = np.asarray(samples, dtype=np.float64), np.asarray(dictionary, dtype=np.float64)
    C = Y @ D.T
    gradient = -p * (np.abs(C) ** (p - 2) * C).T @ Y / len(Y)
    return float(np.linalg.norm(gradient, "nuc") + np.sum(gradient * D))
