"""Balls of whole matrices: of the spectral norm (paper D) and of its dual, the nuclear norm."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array, polar
from thresher.sets.base import OracleSet, check_radius
from thresher.sets.simplex import project_rows_on_simplex


@dataclass(frozen=True)
class SpectralBall(OracleSet):
    """Matrices whose singular values are at most ``radius``.

    The unit ball of square matrices is the convex hull of the orthogonal group (paper D, Lemma 1);
    its diameter is ``2√N``, from I to −I, not ``√(2N)`` as in (18) (errata D.2).
    """

    radius: float = 1.0

    nonnegative = False
    couples_rows = True  # singular values are those of the whole matrix

    def __post_init__(self) -> None:
        check_radius("a spectral ball", self.radius)

    def project(self, V: Array) -> Array:
        """Cut singular values at the radius."""
        U, s, Wt = np.linalg.svd(V, full_matrices=False)
        P: Array = (U * np.minimum(s, self.radius)) @ Wt
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """``polar(−G)``, where ``⟨G, S⟩ = −‖G‖_*`` (Lemma 3; the sign is errata D.2)."""
        return self.radius * polar(-G, near)


@dataclass(frozen=True)
class NuclearBall(OracleSet):
    """Matrices whose singular values sum to at most ``radius``: low rank, as in completion."""

    radius: float = 1.0

    nonnegative = False
    couples_rows = True  # singular values are those of the whole matrix

    def __post_init__(self) -> None:
        check_radius("a nuclear-norm ball", self.radius)

    def project(self, V: Array) -> Array:
        """Project the singular values on the simplex, if they sum to too much."""
        U, s, Wt = np.linalg.svd(V, full_matrices=False)
        if s.sum() > self.radius:
            s = project_rows_on_simplex(s[None], self.radius)[0]
        P: Array = (U * s) @ Wt
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """``−r u vᵀ`` with the leading singular vectors of G: rank one."""
        U, _, Wt = np.linalg.svd(G, full_matrices=False)
        S: Array = -self.radius * np.outer(U[:, 0], Wt[0])
        return S
