"""The coding problem: given a dictionary, find the codes of samples.

Samples come in blocks: dense, with the weights of their entries, CSR where the loss allows it, or
with only the stored entries observed.

A certificate measures how far codes are from optimal: free of units, zero exactly at the optimum.
Losses of bounded curvature have the proximal gradient residual, other smooth losses the balance of
the two parts of their gradient. At nonsmooth points a subgradient proves nothing: NaN. Then the
certificate is that of an encoder, see `Encoder.certificate`. Codes of a loss that is not convex are
critical points, and that is what their certificate proves.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresher.encoding.fit import DenseFit, Fit, ObservedFit, SparseFit
from thresher.kernels.bundles import Atoms, CodePenalty, EntryPenalty, Samples, read_only
from thresher.kernels.envelope import ROUNDING, code_residuals
from thresher.kernels.floors import TINY_FLOAT32
from thresher.linalg import Array, kind_of, row_lengths
from thresher.losses import Loss
from thresher.penalties import Regulariser
from thresher.sets import RowConstraint


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
        The width of whole samples, if these are some of their features (`narrowed`).
    """

    D: Array
    loss: Loss
    regulariser: Regulariser = field(default_factory=Regulariser)
    n_features: int | None = None

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

        kind = kind_of(X)
        if kind == "observed":
            certificate: Array = np.zeros(len(C), dtype=C.dtype)
            for some, narrow, x, w in narrowed(self, X):
                certificate[some] = narrow.certificate(x, C[some], w)
            return certificate
        if self.loss.smooth and kind == "dense":
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


# ---------------------------------------------------------- rows of observed entries alone


class Narrow(NamedTuple):
    """Some rows, and the problem on the features that they have: see `narrowed`."""

    rows: slice
    problem: CodingProblem
    X: Array
    weight: Array


def narrowed(problem: CodingProblem, X: Any) -> Iterator[Narrow]:
    """Rows of which only stored entries are observed, as dense rows on their own features.

    A part of few rows (`linalg.ObservedBlock.parts`) is coded on the atoms at its features, with K
    more features that are missing: with ``E Eᵀ = D Dᵀ − D_S D_Sᵀ`` they stand for all the others.
    What a solver does at missing entries is linear, so only their products matter:
    it takes the same steps on ``(D_S, E)`` as on D with all other features missing. That is F
    features in the work of those that are stored.
    """
    K, F = problem.D.shape
    for part in X.parts:
        if len(part.features) + K >= F:
            yield Narrow(part.rows, problem, *X[part.rows].dense())
            continue
        nothing = np.zeros((len(part.X), K), dtype=X.dtype)
        x, weight = np.hstack([part.X, nothing]), np.hstack([part.weight, nothing])
        yield Narrow(part.rows, _on_features(problem, part.features), x, weight)


def _on_features(problem: CodingProblem, features: Any) -> CodingProblem:
    some = np.ascontiguousarray(problem.transposed[features].T)
    values, vectors = np.linalg.eigh(problem.exact_gram - exact_gram(some))
    rest = vectors * np.sqrt(np.maximum(values, 0))
    D = np.hstack([some, rest.astype(some.dtype)])
    narrow = CodingProblem(D, problem.loss, problem.regulariser, problem.D.shape[1])
    # Solvers use these of the whole dictionary.
    for known in ("gram", "dictionary_norm", "dictionary_bound", "row_sums"):
        vars(narrow)[known] = getattr(problem, known)
    return narrow


# ------------------------------------------------------------------------- certificates


def subgradient_certificate(
    problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
) -> Array:
    """Of every row, shape (n,)."""
    if not problem.loss.smooth:
        return np.full(len(C), np.nan, dtype=C.dtype)
    if np.isfinite(problem.loss.curvature):
        return proximal_residual(problem, X, C, weight)
    return balance(problem, X, C, weight)


def proximal_residual(
    problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
) -> Array:
    """``L·‖c − prox(c − ∇/L)‖``, divided by the length of the gradient at ``c = 0``.

    That is zero for a row of zeros. A residual that the rounding errors of the prediction explain
    counts as zero.
    """
    constants, form = problem.loss.entry_constants, problem.regulariser.form
    dense, dtype = kind_of(X) == "dense", C.dtype
    one_type = dense and X.dtype == dtype == problem.D.dtype
    if constants is not None and one_type and form.lacks_plain_codes is None:  # in one kernel
        certificate: Array = np.empty(len(C), dtype=dtype)
        code_residuals(
            Samples.of(np.ascontiguousarray(X), weight),
            read_only(np.ascontiguousarray(C)),
            Atoms.of(problem.D, problem.transposed),
            CodePenalty.of(dtype, form),
            EntryPenalty.of(dtype, constants),
            dtype.type(problem.loss.curvature * problem.dictionary_bound),
            certificate,
        )
        return certificate
    residual = problem.residual(C, problem.gradient(X, C, weight), weight)
    kind = np.finfo(C.dtype)
    L = problem.row_lipschitz(weight, len(C))[:, 0]
    rounding = ROUNDING * kind.eps * L * row_lengths(C)
    small = (residual > 0) & (residual <= rounding)
    if small.any() and dense:
        mask = None if weight is None else weight[small]
        small[small] = residual[small] <= _rounding_slack(problem, X[small], C[small], mask)
    residual[small] = 0
    with np.errstate(over="ignore"):  # codes of a row of zeros are infinitely far off
        return residual / np.maximum(problem.gradient_scale(X, weight), kind.tiny)


def _rounding_slack(problem: CodingProblem, X: Array, C: Array, weight: Array | None) -> Array:
    """By how much rounding errors of the prediction may change the gradient in the codes."""
    Y, size = C @ problem.D, np.abs(C) @ np.abs(problem.D)
    seen = X if weight is None else np.where(weight > 0, X, 0)
    error = C.dtype.type(ROUNDING * np.finfo(C.dtype).eps) * (size + np.abs(seen))
    above = problem.loss.gradient(X, Y + error, weight)
    below = problem.loss.gradient(X, Y - error, weight)
    return row_lengths(np.abs(above - below) @ np.abs(problem.D.T))


def balance(problem: CodingProblem, X: Any, C: Array, weight: Array | None = None) -> Array:
    """From the two parts ``P − N`` of the slope in the codes; there is no L, no slope at zero.

    For nonnegative codes it is ``|Σ cN/Σ cP − 1| + max_k [N_k/P_k − 1]₊``, which for KL bounds how
    far the loss lies above its minimum, relative to ``Σ x``: it is the linearised duality gap.
    Codes in a box, or whose sum is limited, have that gap too, over their set. One step length for
    all codes of a row would not do: compared with one steep slope, others would seem to vanish.
    """
    positive, negative = problem.fit(X, C, weight).code_slopes()
    form = problem.regulariser.form
    if form.elastic and form.nonnegative:
        number = C.dtype.type
        cost = number(form.l1) + number(form.l2) * C
        if form.is_orthant:
            return _balance(C, positive + cost, negative)
        if form.is_box:
            return _gap_in_box(C, positive + cost, negative, form.lower, form.upper)
        if form.is_ball and form.row_constraint is not None and form.row_constraint.gamma2 == 0:
            return _gap_of_sums(C, positive + cost, negative, form.row_constraint)
    # Any positive number serves as L; this one has the right unit and size.
    size = np.maximum(np.linalg.norm(negative, axis=1, keepdims=True), TINY_FLOAT32)
    L = size / np.maximum(np.linalg.norm(C, axis=1, keepdims=True), TINY_FLOAT32)
    moved = problem.regulariser.prox(C - (positive - negative) / L, 1 / L)
    length: Array = np.linalg.norm(C - moved, axis=1) * (L / size)[:, 0]
    return length


def _gap_in_box(C: Array, positive: Array, negative: Array, lower: float, upper: float) -> Array:
    """What can be gained at first order, of what the codes cost, ``s = Σ cP``.

    Codes whose slope is positive may fall to the lower bound; of the others, one may rise to the
    upper bound, or by what costs as much as all codes should.
    """
    number, slope = C.dtype.type, positive - negative
    spent = (C * positive).sum(axis=1)
    fall = ((C - number(lower)) * np.maximum(slope, 0)).sum(axis=1)
    reach = _reach(C, positive, negative)
    rise = np.minimum(number(upper) - C, reach) * np.maximum(-slope, 0)
    return _of_spent(fall + rise.max(axis=1, initial=0), spent, slope)


def _gap_of_sums(C: Array, positive: Array, negative: Array, constraint: RowConstraint) -> Array:
    """The same for codes whose sum is at most, or just, the radius: all of it may go to one code.

    If less than the radius is in use, one code may have as much as is, or as costs as much as all
    codes should: no more than that is in the best codes under KL, so it bounds what they gain.
    """
    slope, total = positive - negative, C.sum(axis=1, keepdims=True)
    spent = (C * positive).sum(axis=1)
    radius = C.dtype.type(constraint.radius)
    most: Array = np.minimum(radius, np.maximum(total, _reach(C, positive, negative)))
    best = (
        radius * slope.min(axis=1)
        if constraint.equality
        else (most * np.minimum(slope, 0)).min(axis=1)
    )
    gap = np.maximum((C * slope).sum(axis=1) - best, 0)
    return _of_spent(gap, spent, slope)


def _reach(C: Array, positive: Array, negative: Array) -> Array:
    """How large every code may become at the cost of all: ``max(Σ cP, Σ cN)/P_k``."""
    cost = np.maximum((C * positive).sum(axis=1), (C * negative).sum(axis=1))
    safe = np.where(positive > 0, positive, np.finfo(positive.dtype).tiny)
    with np.errstate(over="ignore"):
        reach: Array = cost[:, None] / safe
    return reach


def _of_spent(gap: Array, spent: Array, slope: Array) -> Array:
    """A gap as a share; without codes it is infinite, or zero if zero codes are optimal."""
    without = np.where((slope < 0).any(axis=1), np.inf, 0).astype(gap.dtype)
    share: Array = np.divide(gap, spent, out=without, where=spent > 0)
    return share


def _balance(C: Array, positive: Array, negative: Array) -> Array:
    """Zero for a row whose optimal codes are zero, at zero codes."""
    spent, gained = (C * positive).sum(axis=1), (C * negative).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(spent > 0, np.abs(gained / spent - 1), 0)
        wanted = np.where(positive > 0, negative / positive - 1, np.where(negative > 0, np.inf, 0))
    result: Array = total + np.maximum(wanted, 0).max(axis=1, initial=0)
    return result
