"""Penalties that switch groups of entries on and off together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import Penalty
from thresher.penalties.elastic_net import ElasticNet
from thresher.sets import Box


@dataclass(frozen=True)
class SparseGroupLasso(Penalty):
    """``weight·(mix·Σ_α √ξ_α ‖c_α‖₂ + (1 − mix)·‖c‖₁)``, paper A, section VI-B.

    ``groups`` gives the group number of every entry; None makes the whole row one group. ξ_α is
    the size of group α. With ``mix=1`` this is the group lasso.
    """

    weight: float
    mix: float = 0.5
    groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError(f"The weight of a penalty must be nonnegative, got {self.weight}.")
        if not 0 <= self.mix <= 1:
            raise ValueError(f"mix must lie between 0 and 1, got {self.mix}.")
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(int(g) for g in self.groups))

    @property
    def separable(self) -> bool:
        """Always false."""
        return False

    def scaled(self, factor: float) -> "SparseGroupLasso":
        """The weight times ``factor``."""
        return replace(self, weight=self.weight * factor)

    def value(self, C: Array) -> Array:
        """Sum the weighted norms of the groups and the ℓ1 norm."""
        total: Array = self.weight * (1 - self.mix) * np.abs(C).sum(axis=1)
        for members in self._members(C.shape[1]):
            length = np.linalg.norm(C[:, members], axis=1)
            total = total + self.weight * self.mix * float(np.sqrt(len(members))) * length
        return total

    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """Apply the ℓ1 part, then shrink every group towards zero.

        The order is exact: soft-thresholding keeps signs and zeros, and so does the shrinkage.
        """
        if not box.lower <= 0 <= box.upper:
            raise ValueError(
                f"A group penalty needs a box that contains 0, got [{box.lower}, {box.upper}]; "
                "use an elastic net, or move the bounds."
            )
        half_line = Box(0.0, np.inf) if box.nonnegative else Box(-np.inf, np.inf)
        P = ElasticNet(l1=self.weight * (1 - self.mix)).prox(V, step, half_line)
        step = np.broadcast_to(np.asarray(step, dtype=V.dtype), (V.shape[0], 1))
        for members in self._members(V.shape[1]):
            threshold = step * (self.weight * self.mix * float(np.sqrt(len(members))))
            P[:, members] = _shrink_group(P[:, members], threshold, box)
        return P

    def _members(self, width: int) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
        if self.groups is None:
            return [np.arange(width)]
        if len(self.groups) != width:
            raise ValueError(
                f"groups names {len(self.groups)} entries, but a row has {width}; give one group "
                "number for every entry."
            )
        labels = np.asarray(self.groups)
        return [np.flatnonzero(labels == g) for g in np.unique(labels)]


def GroupLasso(  # noqa: N802 - reads as the name of a part
    weight: float, groups: Sequence[int] | None = None
) -> SparseGroupLasso:
    """Make the group lasso, ``weight·Σ_α √ξ_α ‖c_α‖₂``."""
    return SparseGroupLasso(weight, mix=1.0, groups=None if groups is None else tuple(groups))


def _shrink_group(E: Array, threshold: Array, box: Box) -> Array:
    """Minimise ``½‖e − r‖² + threshold·‖r‖₂`` over r in the box, for every row e.

    Without a bound, ``r = e·[1 − threshold/‖e‖]₊``. With one, ``r = clip(e·s/(s + threshold))``,
    where ``s = ‖r‖₂`` is a root in one dimension (errata A.9): dividing by s, find the s at which
    ``‖clip(e/(s + threshold), bounds/s)‖ = 1``, a function that only falls.
    """
    length = np.linalg.norm(E, axis=1, keepdims=True)
    alive = length > threshold
    R: Array = np.where(alive, E * (1 - threshold / np.where(alive, length, 1)), 0)
    beyond = ((box.upper < R) | (box.lower > R)).any(axis=1)
    if beyond.any():
        e, t = E[beyond].astype(np.float64), threshold[beyond].astype(np.float64)
        low, high = np.zeros_like(t), length[beyond] - t
        # Bisection halves the bracket until two neighbouring floats remain.
        for _ in range(80):
            s = (low + high) / 2
            too_small = np.linalg.norm(_clipped(e, s, t, box), axis=1, keepdims=True) > s
            low, high = np.where(too_small, s, low), np.where(too_small, high, s)
        R[beyond] = _clipped(e, high, t, box)
    return R


def _clipped(e: Array, s: Array, t: Array, box: Box) -> Array:
    return np.clip(e * (s / (s + t)), box.lower, box.upper)
