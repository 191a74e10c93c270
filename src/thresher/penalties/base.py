"""The interface of penalties, and the separable ones: ℓ1, Tikhonov and their sum."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array
from thresher.sets import Box

LARGEST_WEIGHT = 1e30
"""Limit of a weight in the unit of the data, so that its products with float32 numbers are finite.

Heuristic. A weight of this size makes penalised entries zero, unless samples are 1e30 times larger
than typical; with a limit of 1e34, sums would overflow."""


class Penalty(ABC):
    """A convex function φ of a row, with its proximal map.

    Weights are relative to the loss of *one* sample, so they do not depend on the number of samples
    or the batch size.
    """

    @abstractmethod
    def value(self, C: Array) -> Array:
        """``φ(c)`` of every row, shape (n,)."""

    @abstractmethod
    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """``argmin over c in box of ½‖c − v‖² + step·φ(c)`` of every row.

        ``step`` is a number, one number per row (shape (n, 1)) or, for penalties that act on
        every entry by itself, one per entry.
        """

    def residual(self, V: Array, step: float | Array, box: Box) -> Array:
        """``v − prox(v)`` of every row, with the relative precision of that difference.

        Penalties whose weight may be far below the rounding error of v compute it directly.
        """
        difference: Array = V - self.prox(V, step, box)
        return difference

    @abstractmethod
    def scaled(self, factor: float) -> "Penalty":
        """``factor·φ`` as a penalty."""

    def in_unit(self, unit: float, loss_unit: float) -> "Penalty | None":
        """``φ(unit·c)/loss_unit`` as a penalty; None if it cannot be expressed."""
        return None

    @property
    def weights(self) -> tuple[float, float] | None:
        """The l1 and l2 of a penalty ``l1·‖c‖₁ + l2/2·‖c‖²``; None for other penalties."""
        return None

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """Group numbers of ``count`` rows (or columns), see `ConvexSet.coupling_groups`."""
        return None

    @property
    def couples_rows(self) -> bool:
        """Whether the penalty couples rows."""
        return False


def soft_threshold(V: Array, threshold: float | Array) -> Array:
    """``sign(v)·max(|v| − threshold, 0)``, as v minus its clipped value."""
    shrunk: Array = V - V.clip(-threshold, threshold)
    return shrunk


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``l1·‖c‖₁ + l2/2·‖c‖²``, paper A, section VI-B.

    Its proximal map is ``soft(v, step·l1)/(1 + step·l2)``, clipped to the box.
    """

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.l1 < np.inf and 0 <= self.l2 < np.inf):
            raise ValueError(
                f"The weights of a penalty must be nonnegative and finite, got l1={self.l1}, "
                f"l2={self.l2}."
            )

    @property
    def weights(self) -> tuple[float, float]:
        """``l1, l2``."""
        return self.l1, self.l2

    def scaled(self, factor: float) -> "ElasticNet":
        """Both weights times ``factor``."""
        return ElasticNet(self.l1 * factor, self.l2 * factor)

    def in_unit(self, unit: float, loss_unit: float) -> "ElasticNet":
        """``l1·unit/loss_unit`` and ``l2·unit²/loss_unit``, at most `LARGEST_WEIGHT`."""
        l1 = self.l1 * (unit / loss_unit) if self.l1 else 0.0
        l2 = self.l2 * (unit / loss_unit * unit) if self.l2 else 0.0
        return ElasticNet(min(l1, LARGEST_WEIGHT), min(l2, LARGEST_WEIGHT))

    def value(self, C: Array) -> Array:
        """``l1·‖c‖₁ + l2/2·‖c‖²`` of every row."""
        total: Array = np.zeros(C.shape[0], dtype=C.dtype)
        if self.l1:
            total += self.l1 * np.abs(C).sum(axis=1)
        if self.l2:
            total += self.l2 / 2 * np.einsum("nk,nk->n", C, C)
        return total

    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """Soft-threshold, shrink, clip."""
        if self.l1:
            # On nonnegative entries the ℓ1 norm is linear: one subtraction, then the projection.
            shifted = V - step * self.l1 if box.nonnegative else soft_threshold(V, step * self.l1)
        else:
            shifted = V
        if self.l2:
            shifted = shifted / (1 + step * self.l2)
        return box.project(shifted)

    def residual(self, V: Array, step: float | Array, box: Box) -> Array:
        """``(clip(v, ±step·l1) + step·l2·v)/(1 + step·l2)``, or the distance from the bounds."""
        clipped = V.clip(-step * self.l1, step * self.l1) if self.l1 else np.zeros_like(V)
        free = (clipped + step * self.l2 * V) / (1 + step * self.l2) if self.l2 else clipped
        if (box.lower, box.upper) == (-np.inf, np.inf):
            return free
        P = V - free
        inside = np.where(box.upper < P, V - box.upper, free)
        residual: Array = np.where(box.lower > P, V - box.lower, inside)
        return residual


def L1(weight: float) -> ElasticNet:  # noqa: N802 - a factory with the name of a penalty
    """The lasso, ``weight·‖c‖₁``."""
    return ElasticNet(l1=weight)


def Tikhonov(weight: float) -> ElasticNet:  # noqa: N802 - a factory with the name of a penalty
    """The ridge, ``weight/2·‖c‖²``; with it the codes are unique (errata A.10)."""
    return ElasticNet(l2=weight)
