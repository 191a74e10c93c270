"""The coding problem: given a dictionary, find the codes of samples.

Samples come in blocks: dense, with the weights of their entries, or CSR where the loss allows it.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding.fit import DenseFit, SparseFit
from thresher.kernels.floors import TINY_FLOAT32
from thresher.linalg import Array
from thresher.losses import Loss, SeparableLoss
from thresher.penalties import Constrained, ElasticNet
from thresher.sets import NonnegativeOrthant


@dataclass(frozen=True)
class CodingProblem:
    """``min over c of loss(x, cD) + φ(c)``, for every row x by itself.

    Parameters
    ----------
    D : array of shape (K, F)
        The dictionary, atoms in rows.
    loss : Loss
        Loss of a sample against its prediction.
    regulariser : Constrained
        Penalty φ and set of the codes.
    """

    D: Array
    loss: Loss
    regulariser: Constrained = field(default_factory=Constrained)

    @cached_property
    def gram(self) -> Array:
        """``D Dᵀ``, shape (K, K)."""
        return self.D @ self.D.T

    @cached_property
    def transposed(self) -> Array:
        """``Dᵀ`` in memory order, for compiled products."""
        return np.ascontiguousarray(self.D.T)

    @cached_property
    def dictionary_norm(self) -> float:
        """``‖D‖₂²``; positive even for a zero dictionary, since steps are divided by it."""
        largest = float(np.linalg.eigvalsh(self.gram.astype(np.float64))[-1])
        return largest if largest > 0 else 1.0

    @cached_property
    def dictionary_bound(self) -> float:
        """Largest row sum of ``|D Dᵀ|``: a cheap upper bound of ``‖D‖₂²``, tight for parts."""
        largest = float(np.abs(self.gram).sum(axis=1).max(initial=0.0))
        return largest if largest > 0 else 1.0

    def remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What a solver computes once for all blocks: made on the first call, then kept."""
        memory: dict[Hashable, Any] = self.__dict__.setdefault("_memory", {})
        if key not in memory:
            memory[key] = make()
        return memory[key]

    def shifted_gram_inverse(self, shift: float) -> Array:
        """``(D Dᵀ + shift·I)⁻¹``, remembered."""

        def make() -> Array:
            shifted = self.gram.astype(np.float64) + shift * np.eye(len(self.gram))
            return np.linalg.inv(shifted).astype(self.D.dtype)

        inverse: Array = self.remember(shift, make)
        return inverse

    def simplified(self) -> "CodingProblem":
        """The same problem with a simpler loss, if there is one with the same codes."""
        penalty = self.regulariser.penalty
        bare = isinstance(penalty, ElasticNet) and penalty.l1 == penalty.l2 == 0
        simpler = self.loss.coded_like
        if simpler is self.loss or not bare:
            return self

        def make() -> CodingProblem:
            return replace(self, loss=simpler)

        problem: CodingProblem = self.remember("simplified", make)
        return problem

    @cached_property
    def row_sums(self) -> Array:
        """Sums of the atoms, shape (K,)."""
        sums: Array = self.D.sum(axis=1, dtype=np.float64).astype(self.D.dtype)
        return sums

    def fit(self, X: Any, C: Array, weight: Array | None = None) -> DenseFit | SparseFit:
        """What the loss says of some codes."""
        if not sparse.issparse(X):
            return DenseFit(self.loss, X, C, self.D, weight)
        assert isinstance(self.loss, SeparableLoss)
        return SparseFit(self.loss, X, C, self.D, self.transposed, self.row_sums, lambda: self.gram)

    def objective(self, X: Any, C: Array, weight: Array | None = None) -> Array:
        """``loss(x, cD) + φ(c)`` of every row."""
        return self.fit(X, C, weight).values() + self.regulariser.value(C)

    def gradient(self, X: Any, C: Array, weight: Array | None = None) -> Array:
        """Gradient of the loss in the codes, ``∇loss·Dᵀ``."""
        if not sparse.issparse(X):
            return self.loss.gradient(X, C @ self.D, weight) @ self.D.T
        positive, negative = self.fit(X, C).code_slopes()
        return positive - negative

    def gradient_scale(self, X: Any, weight: Array | None = None) -> Array:
        """Length of the gradient at zero codes: the unit in which a certificate is measured."""
        zero = np.zeros((X.shape[0], len(self.D)), dtype=self.D.dtype)
        length: Array = np.linalg.norm(self.gradient(X, zero, weight), axis=1)
        return length

    def row_curvature(self, weight: Array | None, n_rows: int) -> Array:
        """Bound on the curvature of every row's loss, shape (n, 1): the largest weight counts."""
        if weight is None:
            return np.full((n_rows, 1), self.loss.curvature, dtype=self.D.dtype)
        largest = weight.max(axis=1, keepdims=True)
        return np.where(largest > 0, largest, 1) * self.D.dtype.type(self.loss.curvature)

    def row_lipschitz(self, weight: Array | None, n_rows: int) -> Array:
        """Lipschitz constant (a bound of it) of the gradient in every row's codes, (n, 1)."""
        return self.row_curvature(weight, n_rows) * self.D.dtype.type(self.dictionary_bound)

    def certificate(self, X: Any, C: Array, weight: Array | None = None) -> Array:
        """How far every row is from optimal (from critical, if the loss is not convex).

        Free of units, and zero exactly there. For losses of bounded curvature it is the proximal
        gradient residual ``L·‖c − prox(c − ∇/L)‖``, divided by the length of the gradient at
        ``c = 0``. Others have no L and no gradient there; with the two parts ``P − N`` of the
        slope in nonnegative codes it is

            |Σ cN/Σ cP − 1| + max_k [N_k/P_k − 1]₊,

        which for KL bounds how far the loss lies above its minimum, relative to ``Σ x``: it is
        the linearised duality gap. For the ℓ1 distance, whose slopes jump, it is the duality gap
        itself, wherever `LeastAbsolute` applies; for other losses with kinks it is not known, NaN.
        """
        from thresher.encoding.least_absolute import LeastAbsolute, duality_gap  # imports this

        simpler = self.simplified()
        if simpler is not self:
            return simpler.certificate(X, C, weight)
        if LeastAbsolute.applies(self):
            return duality_gap(self, X, C, weight)
        if not self.loss.smooth:
            return np.full(len(C), np.nan, dtype=C.dtype)
        if np.isfinite(self.loss.curvature):
            residual = self.residual(C, self.gradient(X, C, weight), weight)
            with np.errstate(over="ignore"):  # codes of a row of zeros are infinitely far off
                return residual / np.maximum(self.gradient_scale(X, weight), np.finfo(C.dtype).tiny)
        positive, negative = self.fit(X, C, weight).code_slopes()
        region, penalty = self.regulariser.region, self.regulariser.penalty
        if isinstance(region, NonnegativeOrthant) and isinstance(penalty, ElasticNet):
            number = C.dtype.type
            positive = positive + number(penalty.l1) + number(penalty.l2) * C
            return _balance(C, positive, negative)
        # Any positive number serves as L; this one has the right unit and size.
        size = np.maximum(np.linalg.norm(negative, axis=1, keepdims=True), TINY_FLOAT32)
        L = size / np.maximum(np.linalg.norm(C, axis=1, keepdims=True), TINY_FLOAT32)
        moved = self.regulariser.prox(C - (positive - negative) / L, 1 / L)
        length: Array = np.linalg.norm(C - moved, axis=1) * (L / size)[:, 0]
        return length

    def residual(self, C: Array, gradient: Array, weight: Array | None = None) -> Array:
        """``L·‖c − prox(c − ∇/L)‖`` of every row, given the gradient of the loss."""
        L = self.row_lipschitz(weight, C.shape[0])
        moved = self.regulariser.prox(C - gradient / L, 1 / L)
        length: Array = L[:, 0] * np.linalg.norm(C - moved, axis=1)
        return length


def _balance(C: Array, positive: Array, negative: Array) -> Array:
    """``|Σ cN/Σ cP − 1| + max [N/P − 1]₊``; zero for a row that wants no codes and has none."""
    spent, gained = (C * positive).sum(axis=1), (C * negative).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(spent > 0, np.abs(gained / spent - 1), 0)
        wanted = np.where(positive > 0, negative / positive - 1, np.where(negative > 0, np.inf, 0))
    certificate: Array = total + np.maximum(wanted, 0).max(axis=1, initial=0)
    return certificate
