"""The smoothed Manhattan distance: section 3 of paper C."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.linalg import Array


@dataclass(frozen=True)
class SmoothedLoss:
    """The smoothed loss of some rows (15), as a function of their codes V.

        f_λ(v) = Σ_f w_f max over |u| ≤ 1 of u e_f − λ q_f u²/2,     e = vA − x,  q_f = ‖A[:, f]‖₂

    The maximiser is ``U = clip(e/(λq), 1)`` (14), the gradient ``(wU)Aᵀ``. Theorem 1:
    ``f_λ ≤ f ≤ f_λ + λ/2 Σ w q``. An entry with ``q = 0`` has no gradient; its U is the sign of e,
    or the duality gap would keep ``|x|`` (errata C.1).

    Squares (58) are smooth as they are. ``width`` is λ: one, or one for each row, shape (n, 1).
    """

    X: Array
    weight: Array | None
    A: Array
    width: float | Array
    square: float = 0.0

    @cached_property
    def q(self) -> Array:
        """Lengths of the columns of A."""
        lengths: Array = np.sqrt(np.einsum("kf,kf->f", self.A, self.A))
        return lengths

    @cached_property
    def spread(self) -> Array:
        """``Σ_f w q`` of every row: the D of the paper."""
        return weighted_lengths(self.q, self.weight, len(self.X))

    @cached_property
    def lipschitz(self) -> Array:
        """Of the gradient of every row, shape (n, 1).

        ``‖A diag(w/q) Aᵀ‖₂/λ`` with the largest weights of every column (errata C.4), or that of
        the paper, ``Σ w q/λ``, which can be smaller where these differ by row.
        """
        heaviest = self.largest_weights
        L = np.minimum(self.norm(heaviest / np.where(self.q > 0, self.q, 1)), self.spread)
        L = L[:, None] / self.width
        if self.square:
            L = L + self.square * self.norm(heaviest)
        bound: Array = np.where(L > 0, L, 1).astype(self.A.dtype)
        return bound

    @cached_property
    def largest_weights(self) -> Array:
        """The largest weight of every column."""
        return np.ones(len(self.q)) if self.weight is None else self.weight.max(axis=0)

    def norm(self, weight: Array) -> float:
        """``‖A diag(weight) Aᵀ‖₂``."""
        return float(np.linalg.eigvalsh((self.A * weight.astype(self.A.dtype)) @ self.A.T)[-1])

    @property
    def _reach(self) -> Array:
        """``λq``: the smoothed loss is quadratic up to that residual."""
        return np.asarray(self.width, dtype=self.A.dtype) * self.q

    def residual(self, V: Array) -> Array:
        """``e = vA − x``."""
        E: Array = V @ self.A - self.X
        return E

    def dual(self, E: Array) -> Array:
        """``wU``, between −w and w."""
        reach = self._reach
        U = E / np.where(reach > 0, reach, 1)
        np.clip(U, -1, 1, out=U)
        flat = reach <= 0
        if flat.any():
            U = np.where(flat, np.sign(E), U)
        return U if self.weight is None else U * self.weight

    def gradient(self, E: Array, U: Array | None = None) -> Array:
        """In the codes, given the residual and, where it is known, its dual."""
        slope = self.dual(E) if U is None else U
        if self.square:
            squares = E if self.weight is None else E * self.weight
            slope = slope + self.A.dtype.type(self.square) * squares
        product: Array = slope @ self.A.T
        return product

    def values(self, E: Array) -> Array:
        """``f_λ`` of every row."""
        reach = self._reach
        size = np.abs(E)
        inside = size * size / np.where(reach > 0, 2 * reach, 1)
        values = np.where(size < reach, inside, size - reach / 2)
        if self.square:
            values += self.A.dtype.type(self.square / 2) * E * E
        if self.weight is not None:
            values *= self.weight
        total: Array = values.sum(axis=1, dtype=np.float64)
        return total


def weighted_lengths(q: Array, weight: Array | None, n_rows: int) -> Array:
    """``Σ_f w q`` of every row."""
    if weight is None:
        return np.full(n_rows, q.sum(dtype=np.float64))
    total: Array = (weight @ q).astype(np.float64)
    return total


def box_gap(loss: SmoothedLoss, V: Array, mean_dual: Array, upper: float, l1: float = 0.0) -> Array:
    """The duality gap (25) of every row, for codes in [0, upper]: how far V is above the optimum.

    With any dual ``|μ| ≤ w`` the optimum is at least ``φ(μ) = −x·μ + upper·Σ_k min(0, μA_k + l1)``.
    """
    E = np.abs(loss.residual(V))
    above = (E if loss.weight is None else E * loss.weight).sum(axis=1) + l1 * V.sum(axis=1)
    slopes = mean_dual @ loss.A.T + l1
    below = upper * np.minimum(slopes, 0).sum(axis=1) - (loss.X * mean_dual).sum(axis=1)
    gap: Array = above - below
    return gap
