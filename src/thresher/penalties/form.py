"""The form of a regulariser: properties of a penalty over a set that solvers use."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from thresher.penalties.base import Penalty
from thresher.sets import ConvexSet, RowConstraint


@dataclass(frozen=True)
class Form:
    """Properties of a regulariser, computed from its values and never from its class.

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
    """

    lower: float
    upper: float
    row_constraint: RowConstraint | None
    fully_declared: bool
    l1: float
    l2: float
    elastic: bool
    by: Literal["entry", "row", "rows"]

    @classmethod
    def of(cls, penalty: Penalty, region: ConvexSet) -> "Form":
        """The form of a penalty over a set."""
        weights = penalty.weights
        l1, l2 = weights or (0.0, 0.0)
        alone = region.fully_declared and region.row_constraint is None and penalty.separable
        by: Literal["entry", "row", "rows"] = "entry" if alone else "row"
        if region.couples_rows or penalty.couples_rows:
            by = "rows"
        return cls(
            *region.bounds,
            region.row_constraint,
            region.fully_declared,
            l1,
            l2,
            weights is not None,
            by,
        )

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is negative."""
        return self.lower >= 0

    @cached_property
    def is_unpenalised(self) -> bool:
        """Whether there is no penalty."""
        return self.elastic and self.l1 == self.l2 == 0

    @cached_property
    def is_box(self) -> bool:
        """Whether the set consists of bounds on entries."""
        return self.fully_declared and self.row_constraint is None

    @cached_property
    def is_orthant(self) -> bool:
        """Whether the set is the nonnegative orthant."""
        return self.is_box and self.lower == 0 and self.upper == np.inf

    @cached_property
    def is_scale_invariant(self) -> bool:
        """Whether members may be multiplied by any positive number at no cost."""
        return self.is_orthant and self.is_unpenalised

    @cached_property
    def is_ball(self) -> bool:
        """Whether the set is the nonnegative part of a ball of rows, or of its surface."""
        whole = self.fully_declared and self.lower == 0 and self.upper == np.inf
        return whole and self.row_constraint is not None

    @cached_property
    def sum_radius(self) -> float:
        """The largest sum of a row; infinite unless the row constraint is on sums alone."""
        limit = self.row_constraint
        if limit is None or limit.equality or limit.gamma2 != 0:
            return np.inf
        return limit.radius

    @cached_property
    def length_radius(self) -> float:
        """The largest length of a row; infinite unless the row constraint is on squares alone."""
        limit = self.row_constraint
        if limit is None or limit.equality or limit.gamma1 != 0:
            return np.inf
        return limit.radius

    @cached_property
    def lacks_plain_codes(self) -> str | None:
        """The requirement of otherwise free nonnegative codes under ℓ1 and ℓ2; None if met."""
        if self.is_orthant and self.elastic:
            return None
        return "codes that are nonnegative, not bounded otherwise, under an elastic net at most"

    @property
    def lacks_numbers(self) -> str | None:
        """The requirement of compiled kernels on set and penalty; None if it is met."""
        smooth = self.elastic and (self.nonnegative or self.l1 == 0)
        if smooth and (self.is_box or self.is_ball):
            return None
        return (
            "codes in a box, in the simplex or in the nonnegative part of a ball, under an elastic "
            "net at most, and without ℓ1 where codes may be negative"
        )
