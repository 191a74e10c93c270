"""The parts that tests run over, each with an independent statement in CVXPY."""

from functools import partial

import cvxpy as cp
import numpy as np

from statements import constraints, prices, solve
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

__all__ = ["GROUPS", "MATRIX_PENALTIES", "MATRIX_SETS", "PENALTIES", "SETS", "WIDTH", "solve"]


def _rows(c):
    return cp.reshape(c, (1, c.size), order="C") if c.ndim == 1 else c


def _within(region, c):
    return constraints(region, _rows(c))


def _price(penalty, c):
    return cp.sum(prices(penalty, _rows(c)))


def _stated(parts, statement):
    """Each part by its name, with the statement of what it says of a row or a matrix."""
    return {name: (part, partial(statement, part)) for name, part in parts.items()}


SETS = _stated(
    {
        "reals": Reals(),
        "orthant": NonnegativeOrthant(),
        "box": Box(-0.3, 0.5),
        "unit box": Box(0.0, 0.4),
        "l2 ball": NonnegativeL2Ball(0.8),
        "l1 ball": NonnegativeL1Ball(1.2),
        "signed l2 ball": L2Ball(0.8),
        "signed l1 ball": L1Ball(1.2),
        "simplex": Simplex(),
        "elastic-net ball": NonnegativeElasticNetBall(0.7, 1.5),
        "elastic-net ball, l1 only": NonnegativeElasticNetBall(0.7, 0.0),
        "elastic-net ball, l2 only": NonnegativeElasticNetBall(0.0, 1.5),
    },
    _within,
)

GROUPS = (0, 0, 1, 1, 1, 2)
WIDTH = len(GROUPS)

PENALTIES = _stated(
    {
        "none": ElasticNet(),
        "l1": L1(0.3),
        "tikhonov": Tikhonov(0.7),
        "elastic net": ElasticNet(0.2, 0.4),
        "group": GroupLasso(0.2, GROUPS),
        "one group": GroupLasso(0.2),
        "group norm": GroupNorm(0.3, GROUPS),
        "group maximum": GroupNorm(0.3, GROUPS, np.inf),
        "one maximum": GroupNorm(0.4, None, np.inf),
        "sparse group": SparseGroupLasso(0.3, 0.6, GROUPS),
    },
    _price,
)

# Of whole matrices, with WIDTH columns (or rows).
MATRIX_SETS = _stated(
    {
        f"group ball, p={p}, of_rows={of_rows}": GroupBall(1.3, GROUPS, p, of_rows)
        for p in (2, np.inf)
        for of_rows in (False, True)
    },
    _within,
)

MATRIX_PENALTIES = _stated(
    {f"group norm of rows, p={p}": GroupNorm(0.3, GROUPS, p, of_rows=True) for p in (2, np.inf)},
    _price,
)
