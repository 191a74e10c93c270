"""The leading part of a singular value decomposition, from where the last one ended."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from thresher.linalg import Array

_MOST_PASSES = 12
_SMALL_SHARE = 0.2  # of the directions: beyond, LAPACK's whole decomposition is faster
_GROWTH = 0.05  # of all directions are added where a block was too small, as published
_SPARE = 5  # directions beyond those that count, so that subspaces converge; by judgement


class Decomposition(NamedTuple):
    """``M ≈ left · diag(values) · right``."""

    left: Array
    values: Array
    right: Array

    def leading(self, count: int) -> "Decomposition":
        """The first so many."""
        return Decomposition(self.left[:, :count], self.values[:count], self.right[:count])

    @property
    def product(self) -> Array:
        """The matrix."""
        return (self.left * self.values) @ self.right


class PartialSVD:
    """All singular values of matrices above a level, with their vectors.

    Blocks of vectors are multiplied by M and Mᵀ in turns (subspace iteration), starting from those
    of the last matrix: in a method that converges, two or three passes are enough. The block grows
    if all of its values are above the level, and shrinks to those that were. Vectors above the
    level have a residual of at most ``tol``; where passes do not bring that, or a large share of
    all directions is wanted, LAPACK decomposes the whole matrix.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        self._least = min(shape)
        self._rng = np.random.default_rng(0)
        self._start = np.zeros((0, shape[1]), dtype=dtype)
        self._width = 2 * _SPARE

    def above(self, M: Array, level: float, tol: float) -> Decomposition:
        """Those with values above ``level``."""
        while self._width <= _SMALL_SHARE * self._least:
            found = self._iterated(M, level, tol)
            if found is None:
                break
            count = int(np.count_nonzero(found.values > level))
            self._start = found.right
            if count < len(found.values):
                self._width = count + _SPARE
                return found.leading(count)
            self._width += max(1, round(_GROWTH * self._least))
        whole = Decomposition(*linalg.svd(M, full_matrices=False, check_finite=False))
        count = int(np.count_nonzero(whole.values > level))
        self._width = count + _SPARE
        self._start = whole.right[: self._width]
        return whole.leading(count)

    def estimate(self, M: Array) -> float:
        """The largest singular value, to some percent."""
        start = self._rng.standard_normal((M.shape[1], min(self._width, self._least)))
        Q, _ = linalg.qr(M @ start.astype(M.dtype), mode="economic", check_finite=False)
        return float(linalg.svdvals(Q.T @ M, check_finite=False)[0])

    def _iterated(self, M: Array, level: float, tol: float) -> Decomposition | None:
        """From the last block; None where passes do not suffice."""
        known = self._start[: self._width]
        fresh = self._rng.standard_normal((self._width - len(known), M.shape[1]))
        product = M @ np.concatenate([known, fresh.astype(M.dtype)]).T
        for _ in range(_MOST_PASSES):
            Q, _ = linalg.qr(product, mode="economic", check_finite=False)
            inner, values, right = linalg.svd(Q.T @ M, full_matrices=False, check_finite=False)
            left, product = Q @ inner, M @ right.T
            missed = np.linalg.norm(product - left * values, axis=0)
            if (missed[values > level] <= tol).all():
                return Decomposition(left, values, right)
        return None
