"""Every part stated once more, in CVXPY: what tests compare the library with.

An expression in a variable is a problem that an interior-point solver finds the optimum of; the
same expression in a constant has a value, which is what the library must say of these numbers.
"""

import warnings
from functools import singledispatch
from typing import Any

import cvxpy as cp
import numpy as np

from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    ElasticDistance,
    Envelope,
    L1Distance,
    L2Distance,
    Mahalanobis,
    SmoothedL1,
    SquaredL2,
)
from thresher.penalties import ElasticNet, GroupNorm, SparseGroupLasso
from thresher.sets import (
    Box,
    CoveredBox,
    GroupBall,
    L1Ball,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NuclearBall,
    Simplex,
    SpectralBall,
)

FLOOR = 1e-8  # of the largest entry of a row, where a divergence needs positive numbers


def _missing(part: Any, what: str) -> Any:
    name = type(part).__name__
    raise NotImplementedError(f"{name} has no {what} in tests/statements.py; state it there.")


# -------------------------------------------------------------------------- sets


@singledispatch
def constraints(region: Any, M: Any) -> list[Any]:
    """Which matrices, an expression of shape (n, K), lie in a set."""
    return _missing(region, "constraints")


@constraints.register
def _(region: Box, M: Any) -> list[Any]:
    lower = [region.lower <= M] if region.lower > -np.inf else []
    return lower + ([region.upper >= M] if region.upper < np.inf else [])


@constraints.register
def _(region: NonnegativeL2Ball, M: Any) -> list[Any]:
    return [M >= 0, cp.norm2(M, axis=1) <= region.radius]


@constraints.register
def _(region: NonnegativeL1Ball, M: Any) -> list[Any]:
    return [M >= 0, cp.sum(M, axis=1) <= region.radius]


@constraints.register
def _(region: L2Ball, M: Any) -> list[Any]:
    return [cp.norm2(M, axis=1) <= region.radius]


@constraints.register
def _(region: L1Ball, M: Any) -> list[Any]:
    return [cp.norm1(M, axis=1) <= region.radius]


@constraints.register
def _(region: Simplex, M: Any) -> list[Any]:
    return [M >= 0, cp.sum(M, axis=1) == region.radius]


@constraints.register
def _(region: NonnegativeElasticNetBall, M: Any) -> list[Any]:
    if region.gamma2 == 0:
        return [M >= 0, region.gamma1 * cp.sum(M, axis=1) <= 1]
    # Completing the square leaves a cone of second order: ‖m + γ₁/γ₂‖² ≤ 2/γ₂ + K (γ₁/γ₂)².
    shift = region.gamma1 / region.gamma2
    length = np.sqrt(2 / region.gamma2 + M.shape[1] * shift**2)
    return [M >= 0, cp.norm2(M + shift, axis=1) <= length]


@constraints.register
def _(region: CoveredBox, M: Any) -> list[Any]:
    return [M >= 0, region.upper >= M, cp.sum(M, axis=0) >= region.least]


@constraints.register
def _(region: GroupBall, M: Any) -> list[Any]:
    M = M.T if region.of_rows else M
    return [M >= 0, *(cp.sum(n) <= region.radius for n in _norms(M, region.groups, region.p))]


@constraints.register
def _(region: SpectralBall, M: Any) -> list[Any]:
    return [cp.sigma_max(M) <= region.radius]


@constraints.register
def _(region: NuclearBall, M: Any) -> list[Any]:
    return [cp.normNuc(M) <= region.radius]


def outside(region: Any, V: Any) -> float:
    """How far a matrix lies outside a set: by how much its worst constraint is missed."""
    within = constraints(region, cp.Constant(np.asarray(V, dtype=np.float64)))
    return max((float(np.max(each.violation())) for each in within), default=0.0)


# --------------------------------------------------------------------- penalties


def _norms(M: Any, groups: Any, p: float) -> list[Any]:
    """``‖m[ρ]‖_p`` of every row, for every group ρ of columns."""
    labels = np.zeros(M.shape[1], dtype=int) if groups is None else np.asarray(groups)
    members = [np.flatnonzero(labels == g) for g in np.unique(labels)]
    return [cp.norm(M[:, ρ], 2 if p == 2 else "inf", axis=1) for ρ in members]


@singledispatch
def prices(penalty: Any, M: Any) -> Any:
    """What every row of a matrix costs, an expression of shape (n,)."""
    return _missing(penalty, "prices")


@prices.register
def _(penalty: ElasticNet, M: Any) -> Any:
    return penalty.l1 * cp.norm1(M, axis=1) + penalty.l2 / 2 * cp.sum(cp.square(M), axis=1)


@prices.register
def _(penalty: SparseGroupLasso, M: Any) -> Any:
    labels = np.zeros(M.shape[1], dtype=int) if penalty.groups is None else penalty.groups
    sizes = np.unique(labels, return_counts=True)[1]
    norms = _norms(M, penalty.groups, 2)
    grouped = sum(np.sqrt(size) * n for size, n in zip(sizes, norms, strict=True))
    return penalty.weight * (penalty.mix * grouped + (1 - penalty.mix) * cp.norm1(M, axis=1))


@prices.register
def _(penalty: GroupNorm, M: Any) -> Any:
    if not penalty.of_rows:
        return penalty.weight * sum(_norms(M, penalty.groups, penalty.p))
    total = cp.sum(sum(_norms(M.T, penalty.groups, penalty.p)))
    return penalty.weight * total / M.shape[0] * np.ones(M.shape[0])  # every row has a share


# ------------------------------------------------------------------------ losses


@singledispatch
def losses(loss: Any, X: Any, Y: Any, W: Any) -> tuple[Any, list[Any]]:
    """Loss of every row against predictions, an expression of shape (n,), and its constraints.

    X and the weights W of the entries are numbers; entries of weight zero may be anything. A loss
    that is itself a minimum has variables of its own, and constraints on them.
    """
    return _missing(loss, "losses")


def entries(values: Any, W: Any) -> tuple[Any, list[Any]]:
    """A loss that is a sum over entries."""
    return cp.sum(cp.multiply(W, values), axis=1), []


def floors(X: Any, W: Any) -> Any:
    """What is added to entries that must be positive."""
    largest = np.where(W > 0, X, 0).max(axis=1, keepdims=True)
    return np.broadcast_to(FLOOR * np.where(largest > 0, largest, 1), X.shape)


def _weight_of_zeros(loss: Any, X: Any, W: Any) -> Any:
    return W * np.where(X == 0, loss.zero_weight, 1.0)


@losses.register
def _(loss: SquaredL2, X: Any, Y: Any, W: Any) -> Any:
    return entries(cp.square(X - Y) / 2, W)


@losses.register
def _(loss: L1Distance, X: Any, Y: Any, W: Any) -> Any:
    return entries(cp.abs(X - Y), _weight_of_zeros(loss, X, W))


@losses.register
def _(loss: ElasticDistance, X: Any, Y: Any, W: Any) -> Any:
    values = cp.abs(X - Y) + loss.square / 2 * cp.square(X - Y)
    return entries(values, _weight_of_zeros(loss, X, W))


@losses.register
def _(loss: SmoothedL1, X: Any, Y: Any, W: Any) -> Any:
    e = cp.abs(X - Y)
    # Huber's function is e² inside and 2·width·e − width² outside.
    rounded = cp.huber(X - Y, loss.width) / (2 * loss.width) + loss.width / 2
    zero = np.asarray(X == 0, dtype=float)
    values = cp.multiply(zero, e) + cp.multiply(1 - zero, rounded)
    values += loss.square / 2 * cp.square(X - Y)
    return entries(values, _weight_of_zeros(loss, X, W))


@losses.register
def _(loss: L2Distance, X: Any, Y: Any, W: Any) -> Any:
    return cp.norm2(cp.multiply(np.sqrt(W), X - Y), axis=1), []


@losses.register
def _(loss: Mahalanobis, X: Any, Y: Any, W: Any) -> Any:
    assert (W == 1).all(), "Entries do not stand alone here."
    root = np.linalg.cholesky(loss.matrix)
    return cp.sum(cp.square((X - Y) @ root), axis=1) / 2, []


@losses.register
def _(loss: AlphaDivergence, X: Any, Y: Any, W: Any) -> Any:
    α, floor = loss.alpha, floors(X, W)
    if α > 0:  # zeros cost a multiple of the prediction, and need no floor
        floor = floor * (X > 0)
    Y = Y + floor
    if α == 1:
        return entries(cp.kl_div(X, Y), W)
    x = X if α > 0 else X + floor
    safe = Y + (x == 0)  # nought times a power of nought is nought
    powers = cp.multiply(np.asarray(x, dtype=float) ** α, cp.power(safe, 1 - α))
    return entries((powers - α * x - (1 - α) * Y) / (α * (α - 1)), W)


@losses.register
def _(loss: BetaDivergence, X: Any, Y: Any, W: Any) -> Any:
    β, floor = loss.beta, floors(X, W)
    x, y = (X + floor if β <= 0 else X), (Y + floor if β < 2 else Y)
    if β == 0:
        return entries(cp.multiply(x, cp.inv_pos(y)) + cp.log(y) - np.log(x) - 1, W)
    if β == 1:
        return entries(cp.kl_div(x, y), W)
    powers = (β - 1) * cp.power(y, β) - β * cp.multiply(x, cp.power(y, β - 1))
    return entries((x**β + powers) / (β * (β - 1)), W)


@losses.register
def _(loss: Envelope, X: Any, Y: Any, W: Any) -> Any:
    return outlier_losses(1.0, loss.penalty, loss.region, X, Y, W)


def outlier_losses(weight: float, penalty: Any, box: Box, X: Any, Y: Any, W: Any) -> Any:
    """``min over r in a box of ½‖x − y − r‖² + weight·φ(r)``; a missing entry has no outlier."""
    R = cp.Variable(X.shape)
    E = cp.multiply(np.asarray(W > 0, dtype=float), X - Y)
    if isinstance(penalty, ElasticNet):  # a sum over entries, each with its own weight
        priced = penalty.l1 * cp.abs(R) + penalty.l2 / 2 * cp.square(R)
        values, _ = entries(cp.square(E - R) / 2 + weight * priced, W)
    else:
        values = cp.sum(cp.square(E - R), axis=1) / 2 + weight * prices(penalty, R)
    return values, [*constraints(box, R), cp.multiply(np.asarray(W == 0, dtype=float), R) == 0]


# ------------------------------------------------------------------------ optima


def solve(objective: Any, constraints: Any = ()) -> float:
    """Minimise with an interior-point solver, as far as it gets towards 1e-9."""
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the comparison will tell
        try:
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except cp.SolverError:  # steep powers are beyond its last digits
            problem.solve(solver=cp.SCS, eps=1e-8, max_iters=100_000)
    assert problem.status in {"optimal", "optimal_inaccurate"}, problem.status
    return float(problem.value)


def value(expression: Any, constraints: Any = ()) -> Any:
    """The numbers that an expression stands for; its own variables take their best values."""
    if expression.variables():
        solve(cp.sum(expression), constraints)
    return np.asarray(expression.value)
