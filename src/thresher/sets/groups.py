"""Norm bounds on groups of features or samples: paper C, section 4.3."""

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.sets.balls import project_rows_on_simplex
from thresher.sets.base import ConvexSet

_NEWTON_STEPS = 100


def group_members(groups: Sequence[int] | None, width: int) -> list[Any]:
    """The entries of every group, in order of the group numbers; None is one group of all."""
    if groups is None:
        return [np.arange(width)]
    if len(groups) != width:
        raise ValueError(
            f"groups has {len(groups)} numbers, but there are {width} entries; give one group "
            "number for each entry."
        )
    labels = np.asarray(groups)
    return [np.flatnonzero(labels == g) for g in np.unique(labels)]


def group_numbers(groups: Any) -> tuple[int, ...]:
    """Validate group numbers of entries."""
    try:
        numbers = np.asarray(list(groups), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or not (np.isfinite(numbers) & (numbers == np.rint(numbers))).all():
        raise ValueError(
            "groups must contain an integer for each entry, the number of its group, such as "
            f"(0, 0, 1, 1); got {reprlib.repr(groups)}."
        )
    return tuple(int(number) for number in numbers)


def check_norm(p: float) -> None:
    """Raise a ValueError unless p is 2 or infinite."""
    if p not in (2, np.inf):
        raise ValueError(f"p must be 2 or inf, got {p}.")


def largest_after(M: Array, removed: Any) -> Array:
    """The level μ ≥ 0 above which the entries of every row sum to ``removed``: ``Σ[m − μ]₊``.

    For a nonnegative row, ``Σ[m − μ]₊`` is the largest ``S_j − jμ``, S_j the sum of the j largest
    entries; so μ is the largest ``(S_j − removed)/j``, or zero.
    """
    sums = np.cumsum(-np.sort(-M, axis=1), axis=1)
    counts = np.arange(1, M.shape[1] + 1, dtype=M.dtype)
    level: Array = np.maximum(((sums - removed) / counts).max(axis=1, keepdims=True), 0)
    return level


@dataclass(frozen=True)
class GroupBall(ConvexSet):
    """Nonnegative matrices with ``Σ_k ‖D[k, ρ]‖_p ≤ radius`` for every group ρ of columns: (40).

    The projection takes the positive part, then projects on the ℓ1,p ball of each group (50):

    * p = 2: the lengths of the rows are projected on an ℓ1 ball, and rows are scaled to them.
    * p = ∞: rows are clipped at levels that sum to the radius. The same amount is removed from
      every row, at most its sum. It is the root of a convex piecewise linear function, found by
      finitely many Newton steps.

    Parameters
    ----------
    radius : float
        γ.
    groups : sequence of int
        The group number of every column (of every row, ``of_rows``: for codes, of every sample).
    p : {2, inf}
    of_rows : bool
        Whether groups are of rows, ``Σ_k ‖C[ρ, k]‖_p ≤ radius``.
    """

    radius: float = 1.0
    groups: tuple[int, ...] | None = None
    p: float = 2.0
    of_rows: bool = False

    nonnegative = True
    couples_rows = True  # a group has one bound for all rows
    rows_share_bound = True

    def __post_init__(self) -> None:
        check_norm(self.p)
        if not self.radius > 0:
            raise ValueError(f"The radius of a group ball must be positive, got {self.radius}.")
        if self.groups is not None:
            object.__setattr__(self, "groups", group_numbers(self.groups))

    def in_unit(self, unit: float) -> "GroupBall":
        """The radius divided by ``unit``."""
        return replace(self, radius=self.radius / unit)

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """The groups, if they are of the requested axis."""
        if rows != self.of_rows:
            return None
        return np.zeros(count, dtype=int) if self.groups is None else np.asarray(self.groups)

    def project(self, V: Array) -> Array:
        """Take the positive part, then project each group."""
        P = np.maximum(V.T if self.of_rows else V, 0)
        for members in group_members(self.groups, P.shape[1]):
            P[:, members] = self._project_group(P[:, members])
        return np.ascontiguousarray(P.T) if self.of_rows else P

    def gauge(self, D: Array) -> Array | None:
        """The largest norm of a group relative to the radius: one number for all atoms."""
        if self.of_rows:
            return None
        groups = group_members(self.groups, D.shape[1])
        norms = [np.linalg.norm(D[:, members], self.p, axis=1).sum() for members in groups]
        return np.full(len(D), max(norms) / self.radius, dtype=D.dtype)

    def _project_group(self, M: Array) -> Array:
        radius = M.dtype.type(self.radius)
        if self.p == 2:
            lengths = np.linalg.norm(M, axis=1)
            if lengths.sum() <= radius:
                return M
            kept = project_rows_on_simplex(lengths[None], self.radius)[0]
            shrunk: Array = M * (kept / np.where(lengths > 0, lengths, 1))[:, None]
            return shrunk
        if M.max(axis=1).sum() <= radius:
            return M
        exact = M.astype(np.float64)
        sums = np.cumsum(-np.sort(-exact, axis=1), axis=1)
        counts = np.arange(1, M.shape[1] + 1)
        removed = 0.0
        for _ in range(_NEWTON_STEPS):
            levels = (sums - removed) / counts
            best = levels.argmax(axis=1)
            level = levels[np.arange(len(M)), best]
            alive = level > 0
            if not alive.any():  # the radius is below the rounding error of the entries
                break
            excess = float(level[alive].sum()) - self.radius
            step = excess / float((1 / counts[best[alive]]).sum())
            removed += step
            if step <= 1e-15 * removed:
                break
        cut = largest_after(exact, removed)
        cut *= min(1.0, self.radius / max(float(cut.sum()), self.radius))  # up to rounding
        return np.minimum(M, cut.astype(M.dtype))
