"""What a set of dictionaries or of codes can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array


def check_radius(name: str, radius: float) -> None:
    """Refuse what is no radius."""
    if not 0 < radius < np.inf:
        raise ValueError(f"The radius of {name} must be positive and finite, got {radius}.")


@dataclass(frozen=True)
class Budget:
    """What every row may spend: ``γ₁Σ|v| + γ₂/2 Σv² ≤ 1``, exactly one where it is ``tight``."""

    gamma1: float
    gamma2: float
    tight: bool = False

    @property
    def radius(self) -> float:
        """The largest sum of a row if only sums count, its largest length if only squares do."""
        return float(1 / self.gamma1 if self.gamma1 else np.sqrt(2 / self.gamma2))

    def spent(self, sums: Array, squares: Array) -> Array:
        """By what rows have to be divided to spend all they may, from ``Σ|v|`` and ``Σv²``."""
        linear, quadratic = self.gamma1 * sums, self.gamma2 / 2 * squares
        # 1/s is the positive root of quadratic·r² + linear·r = 1.
        size: Array = (linear + np.sqrt(linear * linear + 4 * quadratic)) / 2
        return size


class ConvexSet(ABC):
    """A closed convex set of matrices, with its Euclidean projection.

    The sets of paper A constrain every row by itself; `project` still takes the whole matrix, so
    that a set which couples rows has the same form.

    Solvers never ask which set it is. They ask for the numbers below, which a set declares where
    it can (`bounds`, `budget`, and `by_numbers` if these say all); any other set is known by its
    projection, and every part of the library that needs no more takes it.
    """

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether every member has only nonnegative entries."""

    @property
    def couples_rows(self) -> bool:
        """Whether a row can be a member or not depending on the others; most sets know no such."""
        return False

    @property
    def shares(self) -> bool:
        """Whether rows live from one budget, so that none of them can be left as it is."""
        return False

    def ties(self, rows: bool, count: int) -> Array | None:
        """A number for each of ``count`` rows (or columns); others than those of one are not tied.

        None if the set does not split so.
        """
        return None

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the entries of all members lie."""
        return (0.0 if self.nonnegative else -np.inf), np.inf

    @property
    def budget(self) -> Budget | None:
        """What every row may spend, if the set limits that."""
        return None

    @property
    def by_numbers(self) -> bool:
        """Whether bounds and budget are all that the set asks of its members."""
        return False

    @property
    def has_zero(self) -> bool:
        """Whether zero is a member; most sets have it."""
        return True

    @property
    def cone(self) -> bool:
        """Whether members may be multiplied by any positive number: the set has no unit."""
        return self.in_unit(2.0) == self

    @abstractmethod
    def project(self, V: Array) -> Array:
        """Return the nearest member to ``V`` as a new array."""

    def in_unit(self, unit: float) -> "ConvexSet | None":
        """The members divided by ``unit``, as a set; None if the set does not know it."""
        return None

    def filled(self, D: Array) -> Array | None:
        """By what atoms have to be divided to fill the set, shape (K,); lengths, if it has no end.

        None if the set bounds more than the sizes of atoms.
        """
        if not self.by_numbers or self.bounds != (0, np.inf):
            return None
        if self.budget is None:
            return np.asarray(np.linalg.norm(D, axis=1))
        squares = np.einsum("kf,kf->k", D, D)
        return self.budget.spent(np.abs(D).sum(axis=1), squares).astype(D.dtype)

    def contains(self, V: Array, tol: float = 1e-6) -> bool:
        """Whether ``V`` lies in the set, up to ``tol`` relative to its largest entry."""
        scale = max(1.0, float(np.max(np.abs(V), initial=0.0)))
        return bool(np.all(np.abs(V - self.project(V)) <= tol * scale))


class OracleSet(ConvexSet):
    """A bounded set over which a linear function is minimised as easily: all Frank–Wolfe needs."""

    @abstractmethod
    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """Return a member S with the least ``⟨G, S⟩``, an extreme point; of several, any.

        Sets for which that choice matters take the one towards ``near``.
        """
