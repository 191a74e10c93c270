"""What a penalty over a set comes to, in numbers: all that solvers ask of a regulariser."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from thresher.penalties.base import Penalty
from thresher.sets import Budget, ConvexSet


@dataclass(frozen=True)
class Form:
    """The numbers of a regulariser, computed from its values and never from its class.

    So ``Box(0, inf)`` has the form of the orthant, an elastic-net ball without squares that of an
    ℓ1 ball, a group lasso whose groups are single entries that of ℓ1.

    Attributes
    ----------
    lower, upper : float
        Between what entries lie.
    budget : Budget or None
        What every row may spend.
    by_numbers : bool
        Whether bounds and budget are all that the set asks; otherwise its projection knows more.
    l1, l2 : float
        The penalty is ``l1·‖c‖₁ + l2/2·‖c‖²``, if it is ``elastic``; otherwise only its own map
        knows it, and both are zero.
    elastic : bool
    by : {"entry", "row", "rows"}
        What set and penalty tie together: nothing, the entries of a row, or rows.
    """

    lower: float
    upper: float
    budget: Budget | None
    by_numbers: bool
    l1: float
    l2: float
    elastic: bool
    by: Literal["entry", "row", "rows"]

    @classmethod
    def of(cls, penalty: Penalty, region: ConvexSet) -> "Form":
        """That of a penalty over a set."""
        weights = penalty.weights
        l1, l2 = weights or (0.0, 0.0)
        alone = region.by_numbers and region.budget is None and penalty.separable
        by: Literal["entry", "row", "rows"] = "entry" if alone else "row"
        if region.couples_rows or penalty.couples_rows:
            by = "rows"
        return cls(
            *region.bounds, region.budget, region.by_numbers, l1, l2, weights is not None, by
        )

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is negative."""
        return self.lower >= 0

    @cached_property
    def is_bare(self) -> bool:
        """Whether there is no price."""
        return self.elastic and self.l1 == self.l2 == 0

    @cached_property
    def is_box(self) -> bool:
        """Whether the set bounds every entry by itself."""
        return self.by_numbers and self.budget is None

    @cached_property
    def is_orthant(self) -> bool:
        """Whether the set asks for no more than nonnegative entries."""
        return self.is_box and self.lower == 0 and self.upper == np.inf

    @cached_property
    def is_free(self) -> bool:
        """Whether members may be multiplied by any positive number, at no price."""
        return self.is_orthant and self.is_bare

    @cached_property
    def is_ball(self) -> bool:
        """Whether the set is the nonnegative part of a ball of rows, or of its surface."""
        whole = self.by_numbers and self.lower == 0 and self.upper == np.inf
        return whole and self.budget is not None

    @cached_property
    def sum_radius(self) -> float:
        """The most that entries of a row may sum to; infinite if nothing limits that alone."""
        pure = self.budget is not None and not self.budget.tight and self.budget.gamma2 == 0
        return self.budget.radius if pure and self.budget is not None else np.inf

    @cached_property
    def length_radius(self) -> float:
        """The largest length of a row; infinite if nothing limits that alone."""
        pure = self.budget is not None and not self.budget.tight and self.budget.gamma1 == 0
        return self.budget.radius if pure and self.budget is not None else np.inf

    @cached_property
    def lacks_plain_codes(self) -> str | None:
        """What is missing for codes that are nonnegative and otherwise free, under ℓ1 and ℓ2."""
        if self.is_orthant and self.elastic:
            return None
        return "codes that are nonnegative, not bounded otherwise, under an elastic net at most"

    @property
    def lacks_numbers(self) -> str | None:
        """What is missing for a set and a price that kernels know: all in numbers, and smooth."""
        smooth = self.elastic and (self.nonnegative or self.l1 == 0)
        if smooth and (self.is_box or self.is_ball):
            return None
        return (
            "codes in a box, in the simplex or in the nonnegative part of a ball, under an elastic "
            "net at most, and without ℓ1 where codes may be negative"
        )
