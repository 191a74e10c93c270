"""A penalty over a set: what regularises codes, dictionaries and outliers alike."""

from dataclasses import dataclass, field

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import Penalty
from thresher.penalties.elastic_net import ElasticNet
from thresher.sets import Box, ConvexSet, NonnegativeOrthant, Reals


@dataclass(frozen=True)
class Constrained:
    """``φ(c)`` for c in a set, infinite outside; its proximal map is exact or refused.

    Two rules cover every combination that has a closed form:

    * over a box the penalty knows its own map;
    * an elastic net on a set of nonnegative rows is a linear and a quadratic term there, so
      ``prox(v) = Π((v − step·l1)/(1 + step·l2))`` for any such set.
    """

    penalty: Penalty = field(default_factory=ElasticNet)
    region: ConvexSet = field(default_factory=NonnegativeOrthant)

    def __post_init__(self) -> None:
        for simpler in (NonnegativeOrthant(), Reals()):  # the same set is treated the same
            if isinstance(self.region, Box) and self.region.bounds == simpler.bounds:
                object.__setattr__(self, "region", simpler)
        if isinstance(self.region, Box):
            if not self.penalty.separable and not self.region.lower <= 0 <= self.region.upper:
                raise ValueError(
                    f"{self.penalty} needs a box that contains 0, got {self.region}; "
                    "use an elastic net, or move the bounds."
                )
        elif not (self.region.nonnegative and isinstance(self.penalty, ElasticNet)):
            raise ValueError(
                f"{self.penalty} has no exact proximal map on {self.region}; use an elastic net "
                "there, or a box such as NonnegativeOrthant() as the set."
            )

    @property
    def couples_rows(self) -> bool:
        """Whether the set or the penalty ties rows together."""
        return self.region.couples_rows or self.penalty.couples_rows

    def in_unit(self, unit: float, worth: float) -> "Constrained | None":
        """``φ(unit·c)/worth`` on the set divided by ``unit``; None if one of both knows no such."""
        penalty, region = self.penalty.in_unit(unit, worth), self.region.in_unit(unit)
        return None if penalty is None or region is None else Constrained(penalty, region)

    def value(self, C: Array) -> Array:
        """``φ(c)`` of every row; membership of the set is not tested."""
        return self.penalty.value(C)

    def prox(self, V: Array, step: float | Array = 1.0) -> Array:
        """``argmin over c in the set of ½‖c − v‖² + step·φ(c)``, row by row."""
        if isinstance(self.region, Box):
            return self.penalty.prox(V, step, self.region)
        assert isinstance(self.penalty, ElasticNet)  # checked on construction
        P = V
        if self.penalty.l1:
            P = P - np.asarray(step, dtype=V.dtype) * self.penalty.l1
        if self.penalty.l2:
            P = P / (1 + np.asarray(step, dtype=V.dtype) * self.penalty.l2)
        return self.region.project(P)
