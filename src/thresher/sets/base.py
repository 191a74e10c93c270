"""What a set of dictionaries or of codes can do."""

from abc import ABC, abstractmethod

import numpy as np

from thresher.linalg import Array


def check_radius(name: str, radius: float) -> None:
    """Refuse what is no radius."""
    if not 0 < radius < np.inf:
        raise ValueError(f"The radius of {name} must be positive and finite, got {radius}.")


class ConvexSet(ABC):
    """A closed convex set of matrices, with its Euclidean projection.

    The sets of paper A constrain every row by itself; `project` still takes the whole matrix, so
    that a set which couples rows has the same form.
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
