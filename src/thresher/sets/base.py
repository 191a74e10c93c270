"""The interface of convex sets for dictionaries and codes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array


def check_radius(name: str, radius: float) -> None:
    """Raise a ValueError unless the radius is positive and finite."""
    if not 0 < radius < np.inf:
        raise ValueError(f"The radius of {name} must be positive and finite, got {radius}.")


@dataclass(frozen=True)
class RowConstraint:
    """The constraint ``γ₁Σ|v| + γ₂/2 Σv² ≤ 1`` on every row; ``= 1`` with ``equality``."""

    gamma1: float
    gamma2: float
    equality: bool = False

    @property
    def radius(self) -> float:
        """The largest sum of a row (γ₂ = 0), or its largest length (γ₁ = 0)."""
        return float(1 / self.gamma1 if self.gamma1 else np.sqrt(2 / self.gamma2))

    def gauge(self, sums: Array, squares: Array) -> Array:
        """Factors by which rows are divided to reach the boundary, from ``Σ|v|`` and ``Σv²``."""
        linear, quadratic = self.gamma1 * sums, self.gamma2 / 2 * squares
        # 1/s is the positive root of quadratic·r² + linear·r = 1.
        size: Array = (linear + np.sqrt(linear * linear + 4 * quadratic)) / 2
        return size


class ConvexSet(ABC):
    """A closed convex set of matrices, with its Euclidean projection.

    The sets of paper A constrain each row separately; `project` takes the whole matrix, for sets
    that couple rows.

    Solvers never test the class of a set. They use the declarations below: `bounds` and
    `row_constraint`, which describe the set completely if it is `fully_declared`. Solvers that need
    only a projection support every set.
    """

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether every member has only nonnegative entries."""

    couples_rows: bool = False
    """Whether membership of a row depends on other rows."""

    rows_share_bound: bool = False
    """Whether rows share one bound, so that no row can be frozen."""

    def coupling_groups(self, rows: bool, count: int) -> Array | None:
        """Group numbers of ``count`` rows (or columns), if only those of one group are coupled.

        None without such groups.
        """
        return None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of all entries."""
        return (0.0 if self.nonnegative else -np.inf), np.inf

    @property
    def row_constraint(self) -> RowConstraint | None:
        """The constraint on the size of every row, if there is one."""
        return None

    fully_declared: bool = False
    """Whether `bounds` and `row_constraint` describe the set completely."""

    @property
    def contains_zero(self) -> bool:
        """Whether zero is a member."""
        return True

    @property
    def is_cone(self) -> bool:
        """Whether positive multiples of members are members, so that the set has no scale."""
        return self.in_unit(2.0) == self

    @abstractmethod
    def project(self, V: Array) -> Array:
        """Return the nearest member to ``V`` as a new array."""

    def in_unit(self, unit: float) -> "ConvexSet | None":
        """The set of all members divided by ``unit``; None if it cannot be expressed."""
        return None

    def gauge(self, D: Array) -> Array | None:
        """Factors by which atoms are divided to reach the boundary (Minkowski gauge), shape (K,).

        Lengths, if the set is unbounded; None if the set bounds more than the sizes of atoms.
        """
        if not self.fully_declared or self.bounds != (0, np.inf):
            return None
        if self.row_constraint is None:
            return np.asarray(np.linalg.norm(D, axis=1))
        squares = np.einsum("kf,kf->k", D, D)
        return self.row_constraint.gauge(np.abs(D).sum(axis=1), squares).astype(D.dtype)

    def contains(self, V: Array, tol: float = 1e-6) -> bool:
        """Whether ``V`` lies in the set, up to ``tol`` relative to its largest entry."""
        scale = max(1.0, float(np.max(np.abs(V), initial=0.0)))
        return bool(np.all(np.abs(V - self.project(V)) <= tol * scale))


class OracleSet(ConvexSet):
    """A bounded set with a linear minimisation oracle, for Frank–Wolfe methods."""

    @abstractmethod
    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """Return an extreme point S with the least ``⟨G, S⟩``.

        If it is not unique, some sets return the one nearest to ``near``.
        """
