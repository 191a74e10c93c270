r"""GoDec: a matrix as low rank, a number of outliers, and noise.

.. math:: \min_{L, S} \|X - L - S\|_F^2, \qquad \mathrm{rank}\,L \le K,\; \mathrm{card}\,S \le k

T. Zhou, D. Tao, "GoDec: randomized low-rank & sparse matrix decomposition in noisy case", ICML
2011.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from thresher.linalg import Array, length


class GoDecStep(NamedTuple):
    """Where GoDec stands after a round."""

    codes: Array
    basis: Array
    """Orthonormal rows: the low-rank part is ``codes · basis``."""
    outliers: Array
    cutoff: float
    """The least size of an outlier; infinite without outliers."""
    error: float
    """``‖X − L − S‖²`` over the entries that were observed."""


def godec(
    X: Array,
    observed: NDArray[np.bool_] | None,
    rank: int,
    cardinality: int,
    tol: float,
    rng: np.random.Generator,
) -> Iterator[GoDecStep]:
    r"""Rounds, until one takes less than ``tol ‖X‖²`` from the error.

    With ``Z = X − S``, a bilateral projection of Z on a basis Q is ``A = Z Q``, ``Zᵀ A`` made
    orthonormal as the new Q, and ``L = Z Q Qᵀ``. Published draws Q at random in every round; here
    only the first is random, and a round goes on from the last. So the error never rises: with
    ``G = ZᵀZ`` the trace of ``QᵀGQ`` does not fall from Q to an orthonormal basis of GQ, and the
    largest residuals are the best outliers. Entries that were not observed are what L says.
    """
    n, n_features = X.shape
    rank = min(rank, n, n_features)
    size = length(X if observed is None else np.where(observed, X, 0)) ** 2
    Q: Array = linalg.qr(rng.standard_normal((n_features, rank)), mode="economic")[0]
    Q = Q.astype(X.dtype)
    Z = X if observed is None else np.where(observed, X, 0)
    last = np.inf
    while True:
        Q = linalg.qr(Z.T @ (Z @ Q), mode="economic", check_finite=False)[0]
        codes = Z @ Q
        L = codes @ Q.T
        left = X - L if observed is None else np.where(observed, X - L, 0)
        S, cutoff = _largest(left, cardinality)
        error = length(left - S) ** 2
        Z = X - S if observed is None else np.where(observed, X - S, L)
        yield GoDecStep(codes, Q.T, S, cutoff, error)
        if not last - error > tol * size:
            return
        last = error


def _largest(left: Array, count: int) -> tuple[Array, float]:
    """The so many largest residuals, zero elsewhere, and the least of them."""
    if count == 0:
        return np.zeros_like(left), np.inf
    sizes = np.abs(left)
    count = min(count, left.size)
    chosen = np.argpartition(sizes.ravel(), left.size - count)[left.size - count :]
    S = np.zeros_like(left)
    S.flat[chosen] = left.flat[chosen]
    return S, float(sizes.flat[chosen].min())
