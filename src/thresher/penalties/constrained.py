"""A penalty over a set: the regulariser of codes, dictionaries and outliers."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import Penalty
from thresher.penalties.elastic_net import ElasticNet
from thresher.penalties.form import Form
from thresher.sets import Box, ConvexSet, NonnegativeOrthant, Reals


@dataclass(frozen=True)
class Constrained:
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

    def in_unit(self, unit: float, loss_unit: float) -> "Constrained | None":
        """``φ(unit·c)/loss_unit`` on the set divided by ``unit``; None if there is no such form."""
        penalty, region = self.penalty.in_unit(unit, loss_unit), self.region.in_unit(unit)
        return None if penalty is None or region is None else Constrained(penalty, region)

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
