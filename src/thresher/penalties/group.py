"""Penalties on groups of entries: group lasso, sparse group lasso, group norms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array
from thresher.penalties.base import LARGEST_WEIGHT, ElasticNet, Penalty
from thresher.sets import Box
from thresher.sets.groups import check_norm, group_members, group_numbers, largest_after


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
            object.__setattr__(self, "groups", group_numbers(self.groups))

    @property
    def weights(self) -> tuple[float, float] | None:
        """The weights of ℓ1, if all groups have one entry or no weight."""
        separable = self.mix == 0 or self.weight == 0 or _are_single(self.groups)
        return (self.weight, 0.0) if separable else None

    def scaled(self, factor: float) -> "SparseGroupLasso":
        """The weight times ``factor``."""
        return replace(self, weight=self.weight * factor)

    def in_unit(self, unit: float, loss_unit: float) -> "SparseGroupLasso":
        """The weight times ``unit/loss_unit``, as norms are homogeneous; at most its limit."""
        return replace(self, weight=min(self.weight * (unit / loss_unit), LARGEST_WEIGHT))

    def value(self, C: Array) -> Array:
        """Sum the weighted norms of the groups and the ℓ1 norm."""
        total: Array = self.weight * (1 - self.mix) * np.abs(C).sum(axis=1)
        for members in group_members(self.groups, C.shape[1]):
            length = np.linalg.norm(C[:, members], axis=1)
            total = total + self.weight * self.mix * float(np.sqrt(len(members))) * length
        return total

    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """Apply the ℓ1 term, then shrink each group.

        This is exact, because both maps keep signs and zeros.
        """
        _check_box(box)
        half_line = Box(0.0, np.inf) if box.nonnegative else Box(-np.inf, np.inf)
        P = ElasticNet(l1=self.weight * (1 - self.mix)).prox(V, step, half_line)
        step = np.broadcast_to(np.asarray(step, dtype=V.dtype), (V.shape[0], 1))
        for members in group_members(self.groups, V.shape[1]):
            threshold = step * (self.weight * self.mix * float(np.sqrt(len(members))))
            P[:, members] = _shrink_group(P[:, members], threshold, box)
        return P

    def residual(self, V: Array, step: float | Array, box: Box) -> Array:
        """The sum of what soft-thresholding and group shrinkage remove."""
        _check_box(box)
        half_line = Box(0.0, np.inf) if box.nonnegative else Box(-np.inf, np.inf)
        entries = ElasticNet(l1=self.weight * (1 - self.mix))
        R, P = entries.residual(V, step, half_line), entries.prox(V, step, half_line)
        step = np.broadcast_to(np.asarray(step, dtype=V.dtype), (V.shape[0], 1))
        for members in group_members(self.groups, V.shape[1]):
            threshold = step * (self.weight * self.mix * float(np.sqrt(len(members))))
            R[:, members] += _removed_from_group(P[:, members], threshold, box)
        return R


def GroupLasso(  # noqa: N802 - a factory with the name of a penalty
    weight: float, groups: Sequence[int] | None = None
) -> SparseGroupLasso:
    """The group lasso, ``weight·Σ_α √ξ_α ‖c_α‖₂``."""
    return SparseGroupLasso(
        weight, mix=1.0, groups=None if groups is None else group_numbers(groups)
    )


@dataclass(frozen=True)
class GroupNorm(Penalty):
    """``weight·Σ_ρ ‖c[ρ]‖_p`` over groups ρ of columns, paper C (41).

    With ``of_rows`` groups are of rows, samples for codes: ``weight·Σ_ρ Σ_k ‖C[ρ, k]‖_p``. Its
    proximal map shrinks groups (p = 2), or clips them at the level that removes the weight
    (p = ∞) (56).
    """

    weight: float
    groups: tuple[int, ...] | None = None
    p: float = 2.0
    of_rows: bool = False

    def __post_init__(self) -> None:
        check_norm(self.p)
        if not self.weight >= 0:
            raise ValueError(f"The weight of a penalty must be nonnegative, got {self.weight}.")
        if self.groups is not None:
            object.__setattr__(self, "groups", group_numbers(self.groups))

    @property
    def weights(self) -> tuple[float, float] | None:
        """The weights of ℓ1, if all groups have one entry."""
        return (self.weight, 0.0) if self.weight == 0 or _are_single(self.groups) else None

    @property
    def couples_rows(self) -> bool:
        """Whether groups are of rows, with more than one row."""
        return self.of_rows and self.weights is None

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """The groups, if they are of the requested axis."""
        if rows != self.of_rows:
            return None
        return np.zeros(count, dtype=int) if self.groups is None else np.asarray(self.groups)

    def scaled(self, factor: float) -> "GroupNorm":
        """The weight times ``factor``."""
        return replace(self, weight=self.weight * factor)

    def in_unit(self, unit: float, loss_unit: float) -> "GroupNorm":
        """The weight times ``unit/loss_unit``, as norms are homogeneous; at most its limit."""
        return replace(self, weight=min(self.weight * (unit / loss_unit), LARGEST_WEIGHT))

    def value(self, C: Array) -> Array:
        """Sum the norms of the groups; with groups of rows, divided equally between rows."""
        V = C.T if self.of_rows else C
        total: Array = np.zeros(len(V), dtype=C.dtype)
        for members in group_members(self.groups, V.shape[1]):
            total += self.weight * np.linalg.norm(V[:, members], self.p, axis=1)
        return np.full(len(C), total.sum() / len(C), dtype=C.dtype) if self.of_rows else total

    def prox(self, V: Array, step: float | Array, box: Box) -> Array:
        """Shrink or cut every group."""
        _check_box(box)
        M = V.T if self.of_rows else V
        step = np.asarray(step, dtype=V.dtype)
        if self.of_rows and step.size > 1:
            raise ValueError(f"{self} couples rows, so it needs one step for all rows.")
        threshold = np.broadcast_to(step * V.dtype.type(self.weight), (len(M), 1))
        P = np.maximum(M, 0) if box.nonnegative else M.copy()
        shrink = _shrink_group if self.p == 2 else _cut_group
        for members in group_members(self.groups, M.shape[1]):
            P[:, members] = shrink(P[:, members], threshold, box)
        return np.ascontiguousarray(P.T) if self.of_rows else P


def _are_single(groups: tuple[int, ...] | None) -> bool:
    """Whether each group has one entry, so that its norm is the absolute value."""
    return groups is not None and len(set(groups)) == len(groups)


def _check_box(box: Box) -> None:
    if not box.lower <= 0 <= box.upper:
        raise ValueError(
            f"A group penalty needs a box that contains 0, got [{box.lower}, {box.upper}]; "
            "use an elastic net, or move the bounds."
        )


def _cut_group(E: Array, threshold: Array, box: Box) -> Array:
    """Minimise ``½‖e − r‖² + threshold·‖r‖_∞`` over r in the box, for every row e.

    ``r = clip(e, ±μ)``: without bounds, μ is the level above which ``|e|`` sums to the threshold.
    An entry at its bound below μ does not contribute, so μ is the root of a scalar equation.
    """
    size = np.abs(E)
    level = largest_after(size, threshold)
    limit = np.where(E > 0, box.upper, -box.lower)
    bound = (np.minimum(size, level) > limit).any(axis=1)
    if bound.any():
        s, u, t = size[bound].astype(np.float64), limit[bound], threshold[bound]
        low, high = np.zeros_like(t, dtype=np.float64), level[bound].astype(np.float64)
        for _ in range(80):
            middle = (low + high) / 2
            excess = np.where(u > middle, np.maximum(s - middle, 0), 0).sum(axis=1, keepdims=True)
            low, high = np.where(excess > t, middle, low), np.where(excess > t, high, middle)
        level[bound] = high
    R: Array = np.clip(E, -level, level)
    return np.clip(R, box.lower, box.upper)


def _shrink_group(E: Array, threshold: Array, box: Box) -> Array:
    """Minimise ``½‖e − r‖² + threshold·‖r‖₂`` over r in the box, for every row e.

    Without a bound, ``r = e·[1 − threshold/‖e‖]₊``. With one, ``r = clip(e·s/(s + threshold))``,
    where ``s = ‖r‖₂`` is the root of a scalar equation (errata A.9): divided by s,
    ``‖clip(e/(s + threshold), bounds/s)‖ = 1``, whose left side decreases with s.
    """
    length = np.linalg.norm(E, axis=1, keepdims=True)
    alive = length > threshold
    R: Array = np.where(alive, E * (1 - threshold / np.where(alive, length, 1)), 0)
    beyond = ((box.upper < R) | (box.lower > R)).any(axis=1)
    if beyond.any():
        e, t = E[beyond].astype(np.float64), threshold[beyond].astype(np.float64)
        low, high = np.zeros_like(t), length[beyond] - t
        # Bisection, down to neighbouring floats.
        for _ in range(80):
            s = (low + high) / 2
            too_small = np.linalg.norm(_clipped(e, s, t, box), axis=1, keepdims=True) > s
            low, high = np.where(too_small, s, low), np.where(too_small, high, s)
        R[beyond] = _clipped(e, high, t, box)
    return R


def _removed_from_group(E: Array, threshold: Array, box: Box) -> Array:
    """``e − r`` for the r of `_shrink_group`, ``e·min(1, threshold/‖e‖)`` without bounds."""
    length = np.linalg.norm(E, axis=1, keepdims=True)
    share = np.where(length > threshold, threshold / np.where(length > 0, length, 1), 1)
    free: Array = E * share
    R = E - free
    beyond = ((box.upper < R) | (box.lower > R)).any(axis=1)
    if beyond.any():
        free[beyond] = E[beyond] - _shrink_group(E[beyond], threshold[beyond], box)
    return free


def _clipped(e: Array, s: Array, t: Array, box: Box) -> Array:
    return np.clip(e * (s / (s + t)), box.lower, box.upper)
