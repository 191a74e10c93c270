"""A penalty over a set: the regulariser of codes, dictionaries and outliers."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import ElasticNet, Penalty
from thresher.sets import Box, ConvexSet, NonnegativeOrthant, Reals, RowConstraint


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


@dataclass(frozen=True)
class Regulariser:
    """``φ(c)`` for c in a set, infinite outside; its proximal map is exact or refused.

    Two rules cover every combination that has a closed form:

    * over a box the penalty has its own proximal map;
    * an elastic net on a set of nonnegative rows is a linear and a quadratic term there, so
      ``prox(v) = Π((v − step·l1)/(1 + step·l2))`` for any such set.
    """

    penalty: Penalty = field(default_factory=ElasticNet)
    region: ConvexSet = field(default_factory=NonnegativeOrthant)

    def __post_init__(self) -> None:
        form = self.form
        for simpler in (NonnegativeOrthant(), Reals()):  # the same set is projected on the same way
            if form.is_box and (form.lower, form.upper) == simpler.bounds:
                object.__setattr__(self, "region", simpler)
        if form.is_box:
            if not form.elastic and not form.lower <= 0 <= form.upper:
                raise ValueError(
                    f"{self.penalty} needs a box that contains 0, got {self.region}; "
                    "use an elastic net, or move the bounds."
                )
        elif not form.nonnegative:
            raise ValueError(
                f"{self.region} has negative members, which only "
                "boxes may have here; use Box with bounds of its size, or a nonnegative set."
            )
        elif not form.elastic:
            raise ValueError(
                f"{self.penalty} has no exact proximal map on {self.region}; use an elastic net "
                "there, or a box such as NonnegativeOrthant() as the set."
            )

    @cached_property
    def form(self) -> Form:
        """The properties of the regulariser, computed from its values."""
        return Form.of(self.penalty, self.region)

    @cached_property
    def _box(self) -> Box:
        """The set as a box."""
        region = self.region
        return region if isinstance(region, Box) else Box(self.form.lower, self.form.upper)

    @property
    def couples_rows(self) -> bool:
        """Whether the set or the penalty couples rows."""
        return self.form.by == "rows"

    @property
    def prefers_zero(self) -> bool:
        """Whether zero is the best value of a row that no sample uses: any other has a cost."""
        return not self.form.is_unpenalised and self.region.contains_zero

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """Group numbers of rows (or columns), if set and penalty couple only those of one group."""
        if self.form.is_box:
            return self.penalty.coupling_groups(rows, count)
        return self.region.coupling_groups(rows, count) if self.form.elastic else None

    def in_unit(self, unit: float, loss_unit: float) -> "Regulariser | None":
        """``φ(unit·c)/loss_unit`` on the set divided by ``unit``; None if there is no such form."""
        penalty, region = self.penalty.in_unit(unit, loss_unit), self.region.in_unit(unit)
        return None if penalty is None or region is None else Regulariser(penalty, region)

    def value(self, C: Array) -> Array:
        """``φ(c)`` of every row; membership of the set is not tested."""
        return self.penalty.value(C)

    def prox(self, V: Array, step: float | Array = 1.0) -> Array:
        """``argmin over c in the set of ½‖c − v‖² + step·φ(c)``, row by row."""
        form = self.form
        if form.is_box:
            return self.penalty.prox(V, step, self._box)
        P = V
        if form.l1:
            P = P - np.asarray(step, dtype=V.dtype) * form.l1
        if form.l2:
            P = P / (1 + np.asarray(step, dtype=V.dtype) * form.l2)
        return self.region.project(P)
