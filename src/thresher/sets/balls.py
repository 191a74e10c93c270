"""Simplex and norm balls: of nonnegative rows, of signed rows, and of singular values.

Simplices and balls of rows constrain each row separately. The ℓ∞ ball is ``Box(−r, r)``.
"""

from dataclasses import dataclass, replace

import numpy as np

from thresher.linalg import Array, polar
from thresher.sets.base import ConvexSet, OracleSet, RowConstraint, check_radius


def project_rows_on_simplex(V: Array, radius: float) -> Array:
    """Project every row onto ``{v ≥ 0, Σv = radius}``.

    The projection is ``[v − θ]₊``. With the entries in falling order, entry j stays positive if
    and only if it exceeds the threshold ``(Σ_{i≤j} v_i − radius)/j`` of
    the first j entries; θ is the threshold of the last such j.

    A constant added to a row does not change its projection. So the largest entry is subtracted
    first, to avoid the cancellation of sums far larger than the radius.
    """
    V = V - V.max(axis=1, keepdims=True)
    falling = -np.sort(-V, axis=1)
    counts = np.arange(1, V.shape[1] + 1, dtype=V.dtype)
    thresholds = (np.cumsum(falling, axis=1) - radius) / counts
    last = np.count_nonzero(falling > thresholds, axis=1) - 1
    theta = np.take_along_axis(thresholds, np.maximum(last, 0)[:, None], axis=1)
    return np.maximum(V - theta, 0)


@dataclass(frozen=True)
class Simplex(OracleSet):
    """Nonnegative rows that sum to ``radius``, set C₂ of paper A, section VI-A.

    As the set of codes, it makes them fractions of one, for instance of the materials in a pixel.
    """

    radius: float = 1.0

    fully_declared = True
    nonnegative = True
    contains_zero = False  # rows sum to the radius

    def __post_init__(self) -> None:
        if not 0 < self.radius < np.inf:
            raise ValueError(
                f"The radius of a simplex must be positive and finite, got {self.radius}."
            )

    def in_unit(self, unit: float) -> "Simplex":
        """The radius divided by ``unit``."""
        return replace(self, radius=self.radius / unit)

    @property
    def row_constraint(self) -> RowConstraint:
        """An equality on sums."""
        return RowConstraint(1 / self.radius, 0.0, equality=True)

    def project(self, V: Array) -> Array:
        """Subtract the threshold at which the positive part of the row sums to the radius."""
        return project_rows_on_simplex(V, self.radius)

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """The radius at the smallest entry of G in each row."""
        S = np.zeros_like(G)
        S[np.arange(len(G)), G.argmin(axis=1)] = self.radius
        return S


@dataclass(frozen=True)
class NonnegativeL2Ball(OracleSet):
    """Nonnegative rows of Euclidean length at most ``radius``: the set C of paper A, section III.

    The projection takes the positive part, then shortens rows that are too long (22).
    """

    radius: float = 1.0

    fully_declared = True
    nonnegative = True

    def __post_init__(self) -> None:
        check_radius("an ℓ2 ball", self.radius)

    def in_unit(self, unit: float) -> "NonnegativeL2Ball":
        """The radius divided by ``unit``."""
        return replace(self, radius=self.radius / unit)

    @property
    def row_constraint(self) -> RowConstraint:
        """On squares."""
        return RowConstraint(0.0, 2 / self.radius**2)

    def project(self, V: Array) -> Array:
        """Take the positive part, then shorten rows longer than the radius."""
        P = np.maximum(V, 0)
        length = np.linalg.norm(P, axis=1, keepdims=True)
        P /= np.maximum(length / self.radius, 1)
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """The positive part of −G, scaled to the radius; zero where it is zero."""
        S = np.maximum(-G, 0)
        length = np.linalg.norm(S, axis=1, keepdims=True)
        S *= np.divide(self.radius, length, out=np.zeros_like(length), where=length > 0)
        return S


@dataclass(frozen=True)
class NonnegativeL1Ball(OracleSet):
    """Nonnegative rows whose sum is at most ``radius``.

    The projection takes the positive part and, only where its sum exceeds the radius, goes on to
    the simplex (errata B.6: the order matters).
    """

    radius: float = 1.0

    fully_declared = True
    nonnegative = True

    def __post_init__(self) -> None:
        check_radius("an ℓ1 ball", self.radius)

    def in_unit(self, unit: float) -> "NonnegativeL1Ball":
        """The radius divided by ``unit``."""
        return replace(self, radius=self.radius / unit)

    @property
    def row_constraint(self) -> RowConstraint:
        """On sums."""
        return RowConstraint(1 / self.radius, 0.0)

    def project(self, V: Array) -> Array:
        """Take the positive part, then project rows whose sum exceeds the radius on the simplex."""
        P = np.maximum(V, 0)
        outside = P.sum(axis=1) > self.radius
        P[outside] = project_rows_on_simplex(P[outside], self.radius)
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """The radius at the smallest entry of G in each row, or zeros if that is positive."""
        S = np.zeros_like(G)
        rows, least = np.arange(len(G)), G.argmin(axis=1)
        S[rows, least] = np.where(G[rows, least] < 0, self.radius, 0)
        return S


@dataclass(frozen=True)
class NonnegativeElasticNetBall(ConvexSet):
    """Nonnegative rows with ``γ₁‖d‖₁ + γ₂/2 ‖d‖² ≤ 1``: set C₃ of paper A, section VI-A.

    The projection is ``[v − μγ₁]₊/(1 + μγ₂)`` with the smallest feasible ``μ ≥ 0``. If the j
    largest entries, with sums S₁ and S₂ of values and squares, stay positive, then feasibility
    with equality is a quadratic equation::

        (γ₂² + jγ₁²γ₂/2) μ² + (2γ₂ + jγ₁²) μ + 1 − γ₁S₁ − γ₂S₂/2 = 0.
    """

    gamma1: float = 1.0
    gamma2: float = 1.0

    fully_declared = True
    nonnegative = True

    def __post_init__(self) -> None:
        if self.gamma1 < 0 or self.gamma2 < 0 or self.gamma1 + self.gamma2 == 0:
            raise ValueError(
                "An elastic-net ball needs gamma1 ≥ 0 and gamma2 ≥ 0, not both zero; got "
                f"gamma1={self.gamma1} and gamma2={self.gamma2}."
            )

    def in_unit(self, unit: float) -> "NonnegativeElasticNetBall":
        """``γ₁`` has the inverse unit of the data, ``γ₂`` its square."""
        return NonnegativeElasticNetBall(self.gamma1 * unit, self.gamma2 * unit * unit)

    @property
    def row_constraint(self) -> RowConstraint:
        """On sums and squares."""
        return RowConstraint(self.gamma1, self.gamma2)

    def constraint_value(self, V: Array) -> Array:
        """``γ₁‖v‖₁ + γ₂/2 ‖v‖²`` of every row."""
        size: Array = self.gamma1 * np.abs(V).sum(axis=1) + self.gamma2 / 2 * (V * V).sum(axis=1)
        return size

    def project(self, V: Array) -> Array:
        """Shrink rows outside the ball with μ in closed form; without γ₂, use the simplex."""
        P = np.maximum(V, 0)
        outside = self.constraint_value(P) > 1
        if not outside.any():
            return P
        if self.gamma2 == 0:
            P[outside] = project_rows_on_simplex(P[outside], 1 / self.gamma1)
        else:
            mu = self._multiplier(P[outside])[:, None]
            P[outside] = np.maximum(P[outside] - mu * self.gamma1, 0) / (1 + mu * self.gamma2)
        return P

    def _multiplier(self, P: Array) -> Array:
        g1, g2 = self.gamma1, self.gamma2
        falling = -np.sort(-P.astype(np.float64), axis=1)
        S1, S2 = np.cumsum(falling, axis=1), np.cumsum(falling * falling, axis=1)
        j = np.arange(1, P.shape[1] + 1, dtype=np.float64)
        a = g2 * g2 + j * g1 * g1 * g2 / 2
        b = 2 * g2 + j * g1 * g1
        c = 1 - g1 * S1 - g2 * S2 / 2
        if g1 > 0:
            # Entry j is positive at the solution if the row is feasible, so that the quadratic is
            # positive, at the μ at which the entry becomes zero.
            zero_at = falling / g1
            positive = (a * zero_at + b) * zero_at + c > 0
            last = np.maximum(np.count_nonzero(positive, axis=1) - 1, 0)
        else:
            last = np.full(P.shape[0], P.shape[1] - 1)
        c_last = np.take_along_axis(c, last[:, None], axis=1)[:, 0]
        a_last, b_last = a[last], b[last]
        mu: Array
        mu = -2 * c_last / (b_last + np.sqrt(np.maximum(b_last**2 - 4 * a_last * c_last, 0)))
        return mu  # in double, as single precision would leave large rows outside the ball


@dataclass(frozen=True)
class L2Ball(OracleSet):
    """Rows of Euclidean length at most ``radius``."""

    radius: float = 1.0

    nonnegative = False

    def __post_init__(self) -> None:
        check_radius("an ℓ2 ball", self.radius)

    def project(self, V: Array) -> Array:
        """Shorten rows that are too long."""
        length = np.linalg.norm(V, axis=1, keepdims=True)
        P: Array = V / np.maximum(length / self.radius, 1).astype(V.dtype)
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """``−r g/‖g‖`` in every row."""
        length = np.linalg.norm(G, axis=1, keepdims=True)
        S: Array = -self.radius * np.divide(G, length, out=np.zeros_like(G), where=length > 0)
        return S


@dataclass(frozen=True)
class L1Ball(OracleSet):
    """Rows whose absolute values sum to at most ``radius``."""

    radius: float = 1.0

    nonnegative = False

    def __post_init__(self) -> None:
        check_radius("an ℓ1 ball", self.radius)

    def project(self, V: Array) -> Array:
        """Project the absolute values of rows outside the ball on the simplex; keep signs."""
        P = V.copy()
        outside = np.abs(V).sum(axis=1) > self.radius
        shrunk = project_rows_on_simplex(np.abs(V[outside]), self.radius)
        P[outside] = np.copysign(shrunk, V[outside])
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """The radius where ``|g|`` is largest in each row, with the opposite sign."""
        S = np.zeros_like(G)
        rows, largest = np.arange(len(G)), np.abs(G).argmax(axis=1)
        S[rows, largest] = -self.radius * np.sign(G[rows, largest])
        return S


@dataclass(frozen=True)
class SpectralBall(OracleSet):
    """Matrices whose singular values are at most ``radius``.

    The unit ball of square matrices is the convex hull of the orthogonal group (paper D, Lemma 1);
    its diameter is ``2√N``, from I to −I, instead of ``√(2N)`` in (18) (errata D.2).
    """

    radius: float = 1.0

    nonnegative = False
    couples_rows = True  # singular values are those of the whole matrix

    def __post_init__(self) -> None:
        check_radius("a spectral ball", self.radius)

    def project(self, V: Array) -> Array:
        """Limit singular values to the radius."""
        U, s, Wt = np.linalg.svd(V, full_matrices=False)
        P: Array = (U * np.minimum(s, self.radius)) @ Wt
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """``polar(−G)``, where ``⟨G, S⟩ = −‖G‖_*`` (Lemma 3; the sign is errata D.2)."""
        return self.radius * polar(-G, near)


@dataclass(frozen=True)
class NuclearBall(OracleSet):
    """Matrices whose singular values sum to at most ``radius``: for low rank."""

    radius: float = 1.0

    nonnegative = False
    couples_rows = True  # singular values are those of the whole matrix

    def __post_init__(self) -> None:
        check_radius("a nuclear-norm ball", self.radius)

    def project(self, V: Array) -> Array:
        """Project the singular values on the simplex, if their sum exceeds the radius."""
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
