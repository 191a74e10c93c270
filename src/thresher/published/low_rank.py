"""Low rank plus sparse: principal component pursuit, GoDec and online robust PCA."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from thresher.engine import Method, StreamState, Summary
from thresher.learning import (
    DictionaryProblem,
    QuadraticLearner,
    QuadraticStatistics,
)
from thresher.linalg import Array, length
from thresher.penalties import Regulariser, Tikhonov
from thresher.penalties.base import soft_threshold
from thresher.sets import Reals
from thresher.streams import Batch

_MOST_PASSES = 12
_SMALL_SHARE = 0.2  # of the directions: beyond, LAPACK's whole decomposition is faster
_WIDTH_GROWTH = 0.05  # of all directions are added where a block was too small, as published
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
            self._width += max(1, round(_WIDTH_GROWTH * self._least))
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


_FIRST_PENALTY = 1.25  # μ₀‖X‖₂, and
_PENALTY_GROWTH = 1.5  # ρ, as in the code of Lin, Chen and Ma
DUAL_PER_PRIMAL = 100.0
"""The dual residual may be so many times the primal one: 1e-5 and 1e-7, as published."""
_EXACT = 0.1  # singular vectors are found to this share of the tolerance


class PursuitStep(NamedTuple):
    """Where the pursuit stands after a singular value decomposition."""

    low_rank: Decomposition
    outliers: Array
    dual: Array
    """Y: at the optimum a subgradient of both norms."""
    objective: float
    primal_residual: float
    """``‖X − L − S‖/‖X‖``."""
    dual_residual: float
    """``μ‖S − S_before‖/‖Y‖``."""


def default_weight(shape: tuple[int, ...], observed: float = 1.0) -> float:
    """``λ = 1/√max(n, F)``; of a share of the entries, ``1/√(share·max(n, F))`` (Theorem 1.2)."""
    return float(1 / np.sqrt(observed * max(shape)))


def pursue(
    X: Array, observed: NDArray[np.bool_] | None, weight: float, tol: float
) -> Iterator[PursuitStep]:
    """Steps of the pursuit, until both residuals are small.

    Published is a penalty μ that grows by the same factor in every step; it ends near a good point,
    not at the optimum. Here it grows where ``X = L + S`` is further off than the subgradients are,
    so that both conditions of optimality are met in the end.

    Parameters
    ----------
    X : array of shape (n, F)
        Anything where it was not observed.
    observed : array of bool of shape (n, F) or None
        Elsewhere the sparse part is free of charge, and takes what is left.
    weight : float
        λ.
    tol : float
        Of the primal residual; the dual one may be a hundred times that.
    """
    if observed is not None:
        X = np.where(observed, X, 0)
    size, svd = length(X), PartialSVD(X.shape, X.dtype)
    spectral = float(svd.estimate(X))
    if size == 0:
        yield _nothing(X)
        return
    Y = X / max(spectral, float(np.abs(X).max()) / weight)
    mu = _FIRST_PENALTY / spectral
    L, S = np.zeros_like(X), np.zeros_like(X)
    while True:
        target = X - L + Y / mu
        free = soft_threshold(target, weight / mu)
        S, before = free if observed is None else np.where(observed, free, target), S
        found = svd.above(X - S + Y / mu, 1 / mu, _EXACT * tol * size)
        found = found._replace(values=found.values - 1 / mu)
        L = found.product
        left = X - L - S
        Y += mu * left
        primal, dual = length(left) / size, mu * length(S - before) / length(Y)
        shown = S if observed is None else np.where(observed, S, 0)
        objective = float(found.values.sum()) + weight * float(np.abs(shown).sum())
        yield PursuitStep(found, shown, Y, objective, primal, dual)
        if primal <= tol and dual <= DUAL_PER_PRIMAL * tol:
            return
        if DUAL_PER_PRIMAL * primal > dual:
            mu *= _PENALTY_GROWTH


def _nothing(X: Array) -> PursuitStep:
    """What zeros come to."""
    none = Decomposition(X[:, :0], np.zeros(0, X.dtype), X[:0])
    return PursuitStep(none, np.zeros_like(X), np.zeros_like(X), 0.0, 0.0, 0.0)


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


@dataclass(frozen=True)
class RidgeRegression:
    """``D = (A + l2 I)⁻¹ B``: where block coordinate descent would end, in one product."""

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Solve; what rounding left of directions without codes is not divided by."""
        A = problem.A
        least = np.finfo(np.float64).eps * max(float(np.trace(A)), np.finfo(np.float64).tiny)
        shifted = A + (problem.regulariser.form.l2 + least) * np.eye(len(A))
        factor = linalg.cho_factor(shifted, lower=True, check_finite=False)
        solved: Array = linalg.cho_solve(factor, problem.B, check_finite=False)
        return np.ascontiguousarray(solved, dtype=D.dtype)  # as a file would give it back


class BasisLearner(QuadraticLearner):
    """The same, where the penalty of the dictionary counts once, not for every sample."""

    def update(
        self,
        past: QuadraticStatistics,
        batch: QuadraticStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, QuadraticStatistics, Array]:
        """Spread the penalty over the samples, as far as they are remembered."""
        weight = past.weight + batch.weight
        share = regulariser.penalty.scaled(1 / weight if weight > 0 else 0.0)
        spread = Regulariser(share, regulariser.region)
        return super().update(past, batch, D, spread, free)


@dataclass(frozen=True)
class BasisMethod(Method):
    r"""The basis costs ``λ₁²/2 ‖D‖²``, once for all samples, where codes cost ``½‖c‖²`` each.

    Published are λ₁ for both (Feng, Xu and Yan, (6)). What is learned depends on the product of the
    two weights only, since ``cD = (c/a)(aD)``; in this scale codes know no constant, and λ₁ has the
    unit of the data, as the outliers' λ₂ has.

    Parameters
    ----------
    ridge : float or None
        λ₁; None is λ₂, as published.
    """

    ridge: float | None = None

    def in_unit(self, unit: float) -> "BasisMethod | None":
        """λ₁ has the unit of the data."""
        there = super().in_unit(unit)
        if there is None or self.ridge is None:
            return there
        return replace(there, ridge=self.ridge / unit)

    def first_dictionary(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> Array:
        """Atoms with entries near one: codes of short atoms would cost more than they explain."""
        D = super().first_dictionary(batch, init, n_components, dtype, seed)
        given = init is not None and not isinstance(init, str)
        return D if given else D * dtype.type(np.sqrt(batch.X.shape[1]))

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """The step of the method, with the λ₁ that λ₂ gives now."""
        ridge = self.threshold(state) if self.ridge is None else self.ridge
        now = replace(self, dictionary_regulariser=Regulariser(Tikhonov(ridge**2), Reals()))
        return Method.update(now, state, batch, summary)

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Leave unused directions as they are: the data do not need them."""
        return state
