"""How far codes are from optimal, from their subgradient: free of units, and zero exactly there.

Losses of bounded curvature have the proximal gradient residual, other smooth losses the balance of
the two parts of their gradient. Where the loss has kinks, a subgradient proves nothing: NaN. Then
the certificate is that of an encoder, see `Encoder.certificate`. Codes of a loss that is not convex
are critical points, and that is what their certificate proves.
"""

from typing import Any

import numpy as np

from thresher.encoding.problem import CodingProblem, Rows
from thresher.kernels.bundles import Atoms, CodePenalty, EntryPenalty, Samples, read_only
from thresher.kernels.envelope import ROUNDING, code_residuals
from thresher.kernels.floors import TINY_FLOAT32
from thresher.linalg import Array, row_lengths
from thresher.sets import RowConstraint


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
    constants = problem.loss.entry_constants
    dense = not Rows.of(X, weight).sparse
    one_type = dense and X.dtype == C.dtype == problem.D.dtype
    if constants is not None and one_type and problem.regulariser.form.lacks_plain_codes is None:
        return _compiled_residual(problem, X, C, weight, constants)
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


def _compiled_residual(
    problem: CodingProblem,
    X: Array,
    C: Array,
    weight: Array | None,
    constants: tuple[float, float, float, float],
) -> Array:
    """The same, where all of it is known by numbers: few samples are learned from in less time."""
    dtype = C.dtype
    certificate: Array = np.empty(len(C), dtype=dtype)
    code_residuals(
        Samples.of(np.ascontiguousarray(X), weight),
        read_only(np.ascontiguousarray(C)),
        Atoms.of(problem.D, problem.transposed),
        CodePenalty.of(dtype, problem.regulariser.form),
        EntryPenalty.of(dtype, constants),
        dtype.type(problem.loss.curvature * problem.dictionary_bound),
        certificate,
    )
    return certificate


def balance(problem: CodingProblem, X: Any, C: Array, weight: Array | None = None) -> Array:
    """From the two parts ``P − N`` of the slope in the codes; there is no L, no slope at zero.

    For nonnegative codes it is ``|Σ cN/Σ cP − 1| + max_k [N_k/P_k − 1]₊``, which for KL bounds how
    far the loss lies above its minimum, relative to ``Σ x``: it is the linearised duality gap.
    Codes in a box, or whose sum is limited, have that gap too, over their set. One step length for
    all codes of a row would not do: beside one slope that is steep, others would seem to vanish.
    """
    positive, negative = problem.fit(X, C, weight).code_slopes()
    form = problem.regulariser.form
    if form.elastic and form.nonnegative:
        number = C.dtype.type
        price = number(form.l1) + number(form.l2) * C
        if form.is_orthant:
            return _balance(C, positive + price, negative)
        if form.is_box:
            return _gap_in_box(C, positive + price, negative, form.lower, form.upper)
        if form.is_ball and form.row_constraint is not None and form.row_constraint.gamma2 == 0:
            return _gap_of_sums(C, positive + price, negative, form.row_constraint)
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
    """How large every code may become at the price of all: ``max(Σ cP, Σ cN)/P_k``."""
    price = np.maximum((C * positive).sum(axis=1), (C * negative).sum(axis=1))
    safe = np.where(positive > 0, positive, np.finfo(positive.dtype).tiny)
    with np.errstate(over="ignore"):
        reach: Array = price[:, None] / safe
    return reach


def _of_spent(gap: Array, spent: Array, slope: Array) -> Array:
    """A gap as a share; without codes it is all, or nothing if none is wanted."""
    without = np.where((slope < 0).any(axis=1), np.inf, 0).astype(gap.dtype)
    share: Array = np.divide(gap, spent, out=without, where=spent > 0)
    return share


def _balance(C: Array, positive: Array, negative: Array) -> Array:
    """Zero for a row that wants no codes and has none."""
    spent, gained = (C * positive).sum(axis=1), (C * negative).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(spent > 0, np.abs(gained / spent - 1), 0)
        wanted = np.where(positive > 0, negative / positive - 1, np.where(negative > 0, np.inf, 0))
    result: Array = total + np.maximum(wanted, 0).max(axis=1, initial=0)
    return result
