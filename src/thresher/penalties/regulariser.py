"""A penalty over a set: the regulariser of codes, dictionaries and outliers."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import ElasticNet, Penalty
from thresher.sets import Box, ConvexSet, NonnegativeOrthant, Reals


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
    couples_rows : bool
    nonnegative : bool
        Whether no entry is negative.
    is_unpenalised : bool
        Whether there is no penalty.
    is_box, is_orthant, is_ball : bool
        Whether the set consists of bounds on entries, is the nonnegative orthant, or is the
        nonnegative part of a ball of rows, or of its surface.
    prefers_zero : bool
        Whether zero is the best value of a row that no sample uses, because any other has a cost.
    is_scale_invariant : bool
        Whether members may be multiplied by any positive number at no cost.
    sum_radius, length_radius : float
        The largest sum (length) of a row; infinite unless the row constraint is on sums (squares)
        alone.
    lacks_plain_codes, lacks_compiled_form : str or None
        What otherwise free nonnegative codes under ℓ1 and ℓ2, and compiled kernels, require of set
        and penalty; None if it is met.
    """

    by: Literal["entry", "row", "rows"]
    lacks_plain_codes: str | None = None
    lacks_compiled_form: str | None = None

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
        self.prefers_zero = not self.is_unpenalised and region.contains_zero
        self.is_scale_invariant = self.is_orthant and self.is_unpenalised
        self.couples_rows = region.couples_rows or penalty.couples_rows
        if self.couples_rows:
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
            self.lacks_compiled_form = (
                "codes in a box, in the simplex or in the nonnegative part of a ball, under an "
                "elastic net at most, and without ℓ1 where codes may be negative"
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
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        form = Form(self.penalty, self.region)
        object.__setattr__(self, "form", form)
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
    def _box(self) -> Box:
        """The set as a box."""
        region = self.region
        return region if isinstance(region, Box) else Box(self.form.lower, self.form.upper)

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
