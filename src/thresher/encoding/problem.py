"""The coding problem: given a dictionary, find the codes of samples.

Samples come in blocks: dense, with the weights of their entries, CSR where the loss allows it, or
with only the stored entries observed.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from thresher.encoding.fit import DenseFit, Fit, ObservedFit, SparseFit
from thresher.linalg import Array, kind_of, row_lengths
from thresher.losses import Loss
from thresher.penalties import Regulariser


@dataclass(frozen=True)
class Rows:
    """What kind of rows are to be coded.

    Parameters
    ----------
    sparse : bool
        CSR rows without missing entries.
    weighted : bool
        Dense rows whose entries have weights.
    observed : bool
        CSR rows of which only the stored entries are observed.
    """

    sparse: bool = False
    weighted: bool = False
    observed: bool = False

    @classmethod
    def of(cls, X: Any, weight: Array | None) -> "Rows":
        """That of a block."""
        kind = kind_of(X)
        return cls(kind == "sparse", weight is not None, kind == "observed")


DENSE = Rows()


@dataclass(frozen=True)
class CodingProblem:
    """``min over c of loss(x, cD) + φ(c)``, for every row x by itself.

    Parameters
    ----------
    D : array of shape (K, F)
        The dictionary, atoms in rows.
    loss : Loss
        Loss of a sample against its prediction.
    regulariser : Regulariser
        Penalty φ and set of the codes.
    n_features : int, optional
        The width of whole samples, if these are some of their features (`encoding.observed`).
    """

    D: Array
    loss: Loss
    regulariser: Regulariser = field(default_factory=Regulariser)
    n_features: int | None = None

    @property
    def width(self) -> int:
        """The number of features of whole samples."""
        return self.D.shape[1] if self.n_features is None else self.n_features

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
        return largest if largest > np.finfo(self.D.dtype).tiny else 1.0

    @cached_property
    def dictionary_bound(self) -> float:
        """Largest row sum of ``|D Dᵀ|``: a cheap upper bound of ``‖D‖₂²``, tight for parts."""
        sums = np.add.reduce(np.abs(self.gram), 1)
        largest = float(np.maximum.reduce(sums, initial=0.0))
        return largest if largest > np.finfo(self.D.dtype).tiny else 1.0

    @cached_property
    def exact_gram(self) -> Array:
        """``D Dᵀ`` in float64."""
        return exact_gram(self.D)

    @cached_property
    def simplified(self) -> "CodingProblem":
        """The same problem with a simpler loss, if there is one with the same codes."""
        simpler = self.loss.canonical
        if self.regulariser.form.is_unpenalised:
            simpler = simpler.equivalent_for_codes
        return self if simpler is self.loss else replace(self, loss=simpler)

    @cached_property
    def row_sums(self) -> Array:
        """Sums of the atoms, shape (K,)."""
        sums: Array = self.D.sum(axis=1, dtype=np.float64).astype(self.D.dtype)
        return sums

    def fit(
        self,
        X: Any,
        C: Array,
        weight: Array | None = None,
        outliers: Array | None = None,
        products: Array | None = None,
    ) -> Fit:
        """Losses and gradients at some codes, with the best outliers or with given ones.

        ``products`` are ``C D`` at the nonzeros of sparse rows, if they are known.
        """
        kind = kind_of(X)
        if kind == "dense":
            return DenseFit(self.loss, X, C, self.D, weight, outliers)
        if kind == "observed":
            return ObservedFit(self.loss, X, C, self.D, self.transposed)
        loss: Any = self.loss  # one that stays sparse is a sum over entries
        given = (loss, X, C, self.D, self.transposed, self.row_sums, lambda: self.gram)
        return SparseFit(*given, products=products)

    def objective(self, X: Any, C: Array, weight: Array | None = None) -> Array:
        """``loss(x, cD) + φ(c)`` of every row."""
        return self.fit(X, C, weight).values() + self.regulariser.value(C)

    def gradient(
        self, X: Any, C: Array, weight: Array | None = None, outliers: Array | None = None
    ) -> Array:
        """Gradient of the loss in the codes, ``∇loss·Dᵀ``, at the best or at given outliers."""
        return self.fit(X, C, weight, outliers).code_gradient()

    def gradient_scale(self, X: Any, weight: Array | None = None) -> Array:
        """Length of the gradient at zero codes: the unit in which a certificate is measured."""
        zero = np.zeros((X.shape[0], len(self.D)), dtype=self.D.dtype)
        return row_lengths(self.fit(X, zero, weight).gradient_at_zero())

    def row_curvature(self, weight: Array | None, n_rows: int) -> Array:
        """Bound on the curvature of every row's loss, shape (n, 1): the largest weight counts."""
        if weight is None:
            return np.full((n_rows, 1), self.loss.curvature, dtype=self.D.dtype)
        largest = weight.max(axis=1, keepdims=True)
        return np.where(largest > 0, largest, 1) * self.D.dtype.type(self.loss.curvature)

    def row_lipschitz(self, weight: Array | None, n_rows: int) -> Array:
        """Lipschitz constant (a bound of it) of the gradient in every row's codes, (n, 1).

        Or (1, 1), as all rows have the same one, if no entry has a weight of its own.
        """
        n_rows = 1 if weight is None else n_rows
        return self.row_curvature(weight, n_rows) * self.D.dtype.type(self.dictionary_bound)

    def certificate(self, X: Any, C: Array, weight: Array | None = None) -> Array:
        """How far every row is from optimal: that of the encoder which finds such codes exactly.

        All encoders of dense rows under a smooth loss have the same.
        """
        from thresher.encoding.auto import AutoEncoder  # which needs this file
        from thresher.encoding.certificates import subgradient_certificate
        from thresher.encoding.observed import narrowed

        rows = Rows.of(X, weight)
        if rows.observed:
            certificate: Array = np.zeros(len(C), dtype=C.dtype)
            for some, narrow, x, w in narrowed(self, X):
                certificate[some] = narrow.certificate(x, C[some], w)
            return certificate
        if self.loss.smooth and not rows.sparse:
            return subgradient_certificate(self.simplified, X, C, weight)
        return AutoEncoder().certificate(self, X, C, weight)

    def residual(self, C: Array, gradient: Array, weight: Array | None = None) -> Array:
        """``‖c − prox(c − t∇)‖/t`` of every row, given the gradient of the loss, ``t = 1/L``.

        Where such a step would be lost in the rounding of the codes, t is larger: the residual is
        zero at optimal codes only, whatever t, but it would round to zero at others too.
        """
        L = self.row_lipschitz(weight, len(C))
        slope = row_lengths(gradient)[:, None] + C.dtype.type(self.regulariser.form.l1)
        length = row_lengths(C)[:, None]
        shortest = C.dtype.type(np.sqrt(np.finfo(C.dtype).eps)) * length
        lost = (slope > 0) & (slope < L * shortest)
        inverse = np.where(lost, slope / np.where(lost, shortest, 1), L)
        moved = self.regulariser.prox(C - gradient / inverse, 1 / inverse)
        residual: Array = inverse[:, 0] * row_lengths(C - moved)
        return residual


def exact_gram(D: Array) -> Array:
    """``D Dᵀ`` in float64."""
    exact = D.astype(np.float64)
    return exact @ exact.T
