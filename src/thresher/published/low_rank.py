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

_MAX_PASSES = 12
_SMALL_SHARE = 0.2  # of the directions; beyond, the full decomposition of LAPACK is faster
_WIDTH_GROWTH = 0.05  # share of all directions added if a block was too small, as published
_SPARE = 5  # additional directions, so that subspaces converge; heuristic


class Decomposition(NamedTuple):
    """``M ≈ left · diag(values) · right``."""

    left: Array
    values: Array
    right: Array

    def leading(self, count: int) -> "Decomposition":
        """Return the leading ``count`` triples."""
        return Decomposition(self.left[:, :count], self.values[:count], self.right[:count])

    @property
    def product(self) -> Array:
        """The matrix."""
        return (self.left * self.values) @ self.right


class PartialSVD:
    """Singular triples of matrices above a level, by warm-started subspace iteration.

    Blocks of vectors are multiplied by M and Mᵀ in turns, starting from those of the last matrix.
    In a converging method, two or three passes are enough. The block grows if all of its values
    are above the level, and otherwise shrinks to those above. Vectors above the level have a
    residual of at most ``tol``. If the passes do not reach it, or a large share of all directions
    is required, LAPACK decomposes the whole matrix.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        self._least = min(shape)
        self._rng = np.random.default_rng(0)
        self._start = np.zeros((0, shape[1]), dtype=dtype)
        self._width = 2 * _SPARE

    def above(self, M: Array, level: float, tol: float) -> Decomposition:
        """Return the triples with values above ``level``."""
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
        """Estimate the largest singular value, to a few per cent."""
        start = self._rng.standard_normal((M.shape[1], min(self._width, self._least)))
        Q, _ = linalg.qr(M @ start.astype(M.dtype), mode="economic", check_finite=False)
        return float(linalg.svdvals(Q.T @ M, check_finite=False)[0])

    def _iterated(self, M: Array, level: float, tol: float) -> Decomposition | None:
        """Iterate from the last block; return None if the residual stays above ``tol``."""
        known = self._start[: self._width]
        fresh = self._rng.standard_normal((self._width - len(known), M.shape[1]))
        product = M @ np.concatenate([known, fresh.astype(M.dtype)]).T
        for _ in range(_MAX_PASSES):
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
"""Ratio of the tolerances of dual and primal residual: 1e-5 and 1e-7, as published."""
_SVD_TOL = 0.1  # residual of singular vectors, as a share of the tolerance


class PursuitStep(NamedTuple):
    """The state of the pursuit after a singular value decomposition."""

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
    """Solve ``min ‖L‖_* + λ‖S‖₁`` subject to ``X = L + S``, by ADMM; yield each step.

    As published, the penalty μ grows by the same factor in every step, and the result is close to
    a good point, not the optimum. Here it grows while the primal residual is the larger one, so
    both conditions of optimality hold at the end.

    Parameters
    ----------
    X : array of shape (n, F)
        Arbitrary where not observed.
    observed : array of bool of shape (n, F) or None
        Elsewhere the sparse part has no penalty, and absorbs the residual.
    weight : float
        λ.
    tol : float
        Tolerance of the primal residual; that of the dual one is a hundred times larger.
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
        found = svd.above(X - S + Y / mu, 1 / mu, _SVD_TOL * tol * size)
        found = found._replace(values=found.values - 1 / mu)
        L = found.product
        residual = X - L - S
        Y += mu * residual
        primal, dual = length(residual) / size, mu * length(S - before) / length(Y)
        shown = S if observed is None else np.where(observed, S, 0)
        objective = float(found.values.sum()) + weight * float(np.abs(shown).sum())
        yield PursuitStep(found, shown, Y, objective, primal, dual)
        if primal <= tol and dual <= DUAL_PER_PRIMAL * tol:
            return
        if DUAL_PER_PRIMAL * primal > dual:
            mu *= _PENALTY_GROWTH


def _nothing(X: Array) -> PursuitStep:
    """The result for a matrix of zeros."""
    none = Decomposition(X[:, :0], np.zeros(0, X.dtype), X[:0])
    return PursuitStep(none, np.zeros_like(X), np.zeros_like(X), 0.0, 0.0, 0.0)


class GoDecStep(NamedTuple):
    """The state of GoDec after an iteration."""

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
    r"""Minimise ``‖X − L − S‖²`` over L of a rank and S of a cardinality; yield each iteration.

    It ends when the error falls by less than ``tol ‖X‖²``. With ``Z = X − S``, a bilateral
    projection of Z on a basis Q is ``A = Z Q``, ``Zᵀ A`` made orthonormal as the new Q, and
    ``L = Z Q Qᵀ``. As published, Q is random in every iteration; here only the first is random, and
    later ones start from the last. So the error never rises: with ``G = ZᵀZ`` the trace of ``QᵀGQ``
    does not fall from Q to an orthonormal basis of GQ, and the largest residuals are the best
    outliers. Entries that were not observed are imputed by L.
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
        residual = X - L if observed is None else np.where(observed, X - L, 0)
        S, cutoff = _largest(residual, cardinality)
        error = length(residual - S) ** 2
        Z = X - S if observed is None else np.where(observed, X - S, L)
        yield GoDecStep(codes, Q.T, S, cutoff, error)
        if not last - error > tol * size:
            return
        last = error


def _largest(residual: Array, count: int) -> tuple[Array, float]:
    """Return the ``count`` largest residuals, zero elsewhere, and the smallest of them."""
    if count == 0:
        return np.zeros_like(residual), np.inf
    sizes = np.abs(residual)
    count = min(count, residual.size)
    chosen = np.argpartition(sizes.ravel(), residual.size - count)[residual.size - count :]
    S = np.zeros_like(residual)
    S.flat[chosen] = residual.flat[chosen]
    return S, float(sizes.flat[chosen].min())


@dataclass(frozen=True)
class RidgeRegression:
    """``D = (A + l2 I)⁻¹ B``: the exact minimiser, to which block coordinate descent converges."""

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Solve; a shift of rounding size keeps directions without codes finite."""
        A = problem.A
        least = np.finfo(np.float64).eps * max(float(np.trace(A)), np.finfo(np.float64).tiny)
        shifted = A + (problem.regulariser.form.l2 + least) * np.eye(len(A))
        factor = linalg.cho_factor(shifted, lower=True, check_finite=False)
        solved: Array = linalg.cho_solve(factor, problem.B, check_finite=False)
        return np.ascontiguousarray(solved, dtype=D.dtype)  # C order, as after loading


class BasisLearner(QuadraticLearner):
    """A quadratic learner whose penalty on the dictionary counts once, not for every sample."""

    def update(
        self,
        past: QuadraticStatistics,
        batch: QuadraticStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, QuadraticStatistics, Array]:
        """Divide the penalty by the discounted weight of all samples."""
        weight = past.weight + batch.weight
        share = regulariser.penalty.scaled(1 / weight if weight > 0 else 0.0)
        spread = Regulariser(share, regulariser.region)
        return super().update(past, batch, D, spread, free)


@dataclass(frozen=True)
class BasisMethod(Method):
    r"""Online robust PCA: penalties ``λ₁²/2 ‖D‖²`` on the basis and ``½‖c‖²`` on each code.

    As published, both have the weight λ₁ (Feng, Xu and Yan, (6)). The result depends only on the
    product of the weights, since ``cD = (c/a)(aD)``. In this scale the penalty of codes has no
    constant, and λ₁ has the unit of the data, as λ₂ of the outliers has.

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
        """Scale initial atoms to entries near one; with short ones, zero codes are optimal."""
        D = super().first_dictionary(batch, init, n_components, dtype, seed)
        given = init is not None and not isinstance(init, str)
        return D if given else D * dtype.type(np.sqrt(batch.X.shape[1]))

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Update with λ₁, by default the current λ₂."""
        ridge = self.threshold(state) if self.ridge is None else self.ridge
        now = replace(self, dictionary_regulariser=Regulariser(Tikhonov(ridge**2), Reals()))
        return Method.update(now, state, batch, summary)

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Leave unused directions as they are: the rank of the data may be lower."""
        return state
