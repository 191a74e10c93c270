"""The form of a regulariser: properties of a penalty over a set that solvers use."""

from typing import Literal

import numpy as np

from thresher.penalties.base import Penalty
from thresher.sets import ConvexSet


class Form:
    """Properties of a regulariser, computed once from its values and never from its class.

    So ``Box(0, inf)`` has the form of the orthant, an elastic-net ball without squares that of an
    ℓ1 ball, a group lasso whose groups are single entries that of ℓ1.

    Attributes
    ----------
    lower, upper : float
        Bounds of all entries.
    row_constraint : RowConstraint or None
        The constraint on the size of every row.
    fully_declared : bool
        Whether bounds and row constraint describe the set completely.
    l1, l2 : float
        The penalty is ``l1·‖c‖₁ + l2/2·‖c‖²`` if it is ``elastic``; otherwise both are zero.
    elastic : bool
    by : {"entry", "row", "rows"}
        What set and penalty couple: nothing, the entries of a row, or rows.
    nonnegative : bool
        Whether no entry is negative.
    is_unpenalised : bool
        Whether there is no penalty.
    is_box, is_orthant, is_ball : bool
        Whether the set consists of bounds on entries, is the nonnegative orthant, or is the
        nonnegative part of a ball of rows, or of its surface.
    is_scale_invariant : bool
        Whether members may be multiplied by any positive number at no cost.
    sum_radius, length_radius : float
        The largest sum (length) of a row; infinite unless the row constraint is on sums (squares)
        alone.
    lacks_plain_codes, lacks_numbers : str or None
        What otherwise free nonnegative codes under ℓ1 and ℓ2, and compiled kernels, require of set
        and penalty; None if it is met.
    """

    by: Literal["entry", "row", "rows"]
    lacks_plain_codes: str | None = None
    lacks_numbers: str | None = None

    def __init__(self, penalty: Penalty, region: ConvexSet) -> None:
        weights, limit = penalty.weights, region.row_constraint
        self.lower, self.upper = region.bounds
        self.row_constraint, self.fully_declared = limit, region.fully_declared
        self.elastic = weights is not None
        self.l1, self.l2 = weights or (0.0, 0.0)
        self.nonnegative = self.lower >= 0
        self.is_unpenalised = self.elastic and self.l1 == self.l2 == 0
        self.is_box = self.fully_declared and limit is None
        unbounded = self.fully_declared and self.lower == 0 and self.upper == np.inf
        self.is_orthant, self.is_ball = unbounded and limit is None, unbounded and limit is not None
        self.is_scale_invariant = self.is_orthant and self.is_unpenalised
        if region.couples_rows or penalty.couples_rows:
            self.by = "rows"
        else:
            self.by = "entry" if self.is_box and self.elastic else "row"
        inequality = limit is not None and not limit.equality
        self.sum_radius = self.length_radius = np.inf
        if limit is not None and inequality and limit.gamma2 == 0:
            self.sum_radius = limit.radius
        if limit is not None and inequality and limit.gamma1 == 0:
            self.length_radius = limit.radius
        if not (self.is_orthant and self.elastic):
            self.lacks_plain_codes = (
                "codes that are nonnegative, not bounded otherwise, under an elastic net at most"
            )
        smooth = self.elastic and (self.nonnegative or self.l1 == 0)
        if not (smooth and (self.is_box or self.is_ball)):
            self.lacks_numbers = (
                "codes in a box, in the simplex or in the nonnegative part of a ball, under an "
                "elastic net at most, and without ℓ1 where codes may be negative"
            )
