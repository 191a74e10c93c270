"""Orthogonal matrices as rotation angles."""

import numpy as np

from thresher.kernels.givens import eliminate, turn_back
from thresher.linalg.arrays import Array


def n_givens_angles(N: int, n_rows: int | None = None) -> int:
    """How many angles make the leading rows of an N × N rotation; ``N(N−1)/2`` for all."""
    R = N - 1 if n_rows is None else min(n_rows, N - 1)
    return R * (2 * N - R - 1) // 2


def givens_angles(Q: Array) -> tuple[Array, int]:
    r"""The ``N(N−1)/2`` angles and the sign of an orthogonal matrix.

    Columns i and j are turned by :math:`\theta_{ij} = \mathrm{atan2}(Q_{ij}, Q_{ii})`, for j after
    i, row after row, which makes :math:`Q_{ij}` zero and :math:`Q_{ii}` positive: what is left is
    the identity, but for its last entry, the determinant. Angles are ordered by i, then j.
    """
    Q = np.array(Q, dtype=np.float64)
    angles = np.empty(n_givens_angles(len(Q)))
    eliminate(Q, angles)
    return angles, -1 if Q[-1, -1] < 0 else 1


def from_givens(angles: Array, sign: int, N: int) -> Array:
    """The orthogonal matrix with these angles and this sign; angles missing at the end are zero."""
    Q = np.eye(N)
    Q[-1, -1] = sign
    turn_back(Q, np.cos(angles), np.sin(angles))
    return Q
