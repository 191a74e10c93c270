"""The parts that tests run over, each with an independent statement in CVXPY."""

import warnings

import cvxpy as cp
import numpy as np

from thresher.penalties import L1, ElasticNet, GroupLasso, GroupNorm, SparseGroupLasso, Tikhonov
from thresher.sets import (
    Box,
    GroupBall,
    L1Ball,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Reals,
    Simplex,
)

SETS = {
    "reals": (Reals(), lambda c: []),
    "orthant": (NonnegativeOrthant(), lambda c: [c >= 0]),
    "box": (Box(-0.3, 0.5), lambda c: [c >= -0.3, c <= 0.5]),
    "unit box": (Box(0.0, 0.4), lambda c: [c >= 0, c <= 0.4]),
    "l2 ball": (NonnegativeL2Ball(0.8), lambda c: [c >= 0, cp.norm2(c) <= 0.8]),
    "l1 ball": (NonnegativeL1Ball(1.2), lambda c: [c >= 0, cp.sum(c) <= 1.2]),
    "signed l2 ball": (L2Ball(0.8), lambda c: [cp.norm2(c) <= 0.8]),
    "signed l1 ball": (L1Ball(1.2), lambda c: [cp.norm1(c) <= 1.2]),
    "simplex": (Simplex(), lambda c: [c >= 0, cp.sum(c) == 1]),
    "elastic-net ball": (
        NonnegativeElasticNetBall(0.7, 1.5),
        lambda c: [c >= 0, 0.7 * cp.sum(c) + 0.75 * cp.sum_squares(c) <= 1],
    ),
    "elastic-net ball, l1 only": (
        NonnegativeElasticNetBall(0.7, 0.0),
        lambda c: [c >= 0, 0.7 * cp.sum(c) <= 1],
    ),
    "elastic-net ball, l2 only": (
        NonnegativeElasticNetBall(0.0, 1.5),
        lambda c: [c >= 0, 0.75 * cp.sum_squares(c) <= 1],
    ),
}

GROUPS = (0, 0, 1, 1, 1, 2)
WIDTH = len(GROUPS)


def _group_norms(c):
    labels = np.asarray(GROUPS)
    return sum(np.sqrt((labels == g).sum()) * cp.norm2(c[labels == g]) for g in range(3))


def _plain_norms(c, p):
    labels = np.asarray(GROUPS)
    return sum(cp.norm(c[labels == g], p) for g in range(3))


PENALTIES = {
    "none": (ElasticNet(), lambda c: 0),
    "l1": (L1(0.3), lambda c: 0.3 * cp.norm1(c)),
    "tikhonov": (Tikhonov(0.7), lambda c: 0.35 * cp.sum_squares(c)),
    "elastic net": (
        ElasticNet(0.2, 0.4),
        lambda c: 0.2 * cp.norm1(c) + 0.2 * cp.sum_squares(c),
    ),
    "group": (GroupLasso(0.2, GROUPS), lambda c: 0.2 * _group_norms(c)),
    "one group": (GroupLasso(0.2), lambda c: 0.2 * np.sqrt(WIDTH) * cp.norm2(c)),
    "group norm": (GroupNorm(0.3, GROUPS), lambda c: 0.3 * _plain_norms(c, 2)),
    "group maximum": (GroupNorm(0.3, GROUPS, np.inf), lambda c: 0.3 * _plain_norms(c, "inf")),
    "one maximum": (GroupNorm(0.4, None, np.inf), lambda c: 0.4 * cp.norm_inf(c)),
    "sparse group": (
        SparseGroupLasso(0.3, 0.6, GROUPS),
        lambda c: 0.18 * _group_norms(c) + 0.12 * cp.norm1(c),
    ),
}


def _sums_of_norms(M, p):
    """``Σ_k ‖M[k, ρ]‖_p`` of every group."""
    labels, norm = np.asarray(GROUPS), 2 if p == 2 else "inf"
    return [
        sum(cp.norm(M[k, np.flatnonzero(labels == g)], norm) for k in range(M.shape[0]))
        for g in range(3)
    ]


# Of whole matrices, with WIDTH columns (or rows).
MATRIX_SETS = {
    f"group ball, p={p}, of_rows={of_rows}": (
        GroupBall(1.3, GROUPS, p, of_rows),
        lambda M, p=p, of_rows=of_rows: [
            M >= 0,
            *(norm <= 1.3 for norm in _sums_of_norms(M.T if of_rows else M, p)),
        ],
    )
    for p in (2, np.inf)
    for of_rows in (False, True)
}

MATRIX_PENALTIES = {
    f"group norm of rows, p={p}": (
        GroupNorm(0.3, GROUPS, p, of_rows=True),
        lambda M, p=p: 0.3 * sum(_sums_of_norms(M.T, p)),
    )
    for p in (2, np.inf)
}


def solve(objective, constraints=()):
    """Minimise with an interior-point solver, as far as it gets towards 1e-9."""
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the comparison will tell
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status in {"optimal", "optimal_inaccurate"}
    return problem.value
