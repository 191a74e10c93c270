"""Squared loss with outliers: the Moreau envelopes of paper A.

A sample is modelled as ``x = y + r + noise`` with outliers r in a box and their penalty ``φ(r)``.
Eliminating r,

    loss(x, y) = min over r of ½‖x − y − r‖² + φ(r),

gives the Moreau envelope of φ at the residual ``e = x − y`` (errata A.1). It is convex and smooth:
its gradient in y is ``−(e − r)`` with ``r = prox_φ(e)``. So no solver handles outliers explicitly.
"""

from dataclasses import dataclass, field

import numpy as np

from thresher.kernels import envelope as kernels
from thresher.kernels.bundles import EntryPenalty, read_only
from thresher.linalg import Array
from thresher.losses.base import Loss
from thresher.penalties import L1, ElasticNet, Penalty
from thresher.sets import Box, Reals


@dataclass(frozen=True)
class Envelope(Loss):
    """The squared loss minimised over outliers r with the penalty ``φ(r)``.

    Parameters
    ----------
    penalty : Penalty
        φ, for instance ``L1(λ)`` for scattered outliers or ``GroupLasso(λ)`` for whole samples.
    region : Box
        The set of outliers: `Reals` if unbounded, ``Box(-M, M)`` if bounded, ``Box(0, M)`` if
        nonnegative.
    """

    penalty: Penalty = field(default_factory=ElasticNet)
    region: Box = field(default_factory=Reals)
    entry_constants: tuple[float, float, float, float] | None = field(
        init=False, repr=False, compare=False
    )

    curvature = 1.0  # the curvature of an envelope is at most that of the square

    def __post_init__(self) -> None:
        if not self.region.lower <= 0 <= self.region.upper:
            raise ValueError(
                f"The set of outliers must contain 0, got the box [{self.region.lower}, "
                f"{self.region.upper}]."
            )
        if self.penalty.couples_rows:
            raise ValueError(
                f"{self.penalty} couples the outliers of several samples, but samples are coded "
                "separately; use groups of features, of_rows=False."
            )
        weights = self.penalty.weights
        constants = None if weights is None else (*weights, *self.region.bounds)
        object.__setattr__(self, "entry_constants", constants)

    @property
    def degree(self) -> float | None:
        """Two, if the penalty can be expressed in another unit."""
        return None if self.penalty.in_unit(1.0, 1.0) is None else 2.0

    def in_unit(self, unit: float) -> Loss:
        """Outliers have the unit of the data, and their penalty that of the square."""
        penalty = self.penalty.in_unit(unit, unit * unit)
        assert penalty is not None
        return Envelope(penalty, self.region.in_unit(unit))

    @property
    def envelope(self) -> "Envelope":
        """Itself."""
        return self

    @property
    def exchangeable_features(self) -> bool:
        """Whether the penalty of outliers is a sum over entries."""
        return self.penalty.weights is not None

    def check_weight(self, weight: Array | None) -> None:
        """Refuse fractional weights with a group penalty, as they would change its envelope."""
        if weight is None or self.penalty.weights is not None:
            return
        if not np.all((weight == 0) | (weight == 1)):
            raise ValueError(
                "A group penalty on outliers supports entry weights of 0 (missing) and 1 only; use "
                "an ℓ1 outlier penalty for other weights."
            )

    def outliers(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``r = prox_φ(x − y)``; zero where the entry is missing."""
        return self._outliers(_residual(X, Y, weight), 1.0)

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``½‖e − r‖² + φ(r)`` of every row, at the optimal r."""
        return self.value_with(X, Y, self.outliers(X, Y, weight), weight)

    def value_with(self, X: Array, Y: Array, R: Array, weight: Array | None = None) -> Array:
        """``½‖e − r‖² + φ(r)`` of every row, at given outliers r."""
        inlier = _residual(X, Y, weight) - R
        if weight is None or self.penalty.weights is None:
            total: Array = np.einsum("nf,nf->n", inlier, inlier) / 2 + self.penalty.value(R)
            return total
        # Entry weights multiply the square and, entry by entry, an elastic net.
        l1, l2 = self.penalty.weights
        total = np.einsum("nf,nf,nf->n", weight, inlier, inlier) / 2
        if l1:
            total = total + l1 * np.einsum("nf,nf->n", weight, np.abs(R))
        if l2:
            total = total + l2 / 2 * np.einsum("nf,nf,nf->n", weight, R, R)
        return total

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``−(e − r)``, times the weights."""
        return _weighted(-self._inliers(_residual(X, Y, weight), 1.0), weight)

    def gradient_with(self, X: Array, Y: Array, R: Array, weight: Array | None = None) -> Array:
        """``−(e − r)``, times the weights, at given outliers r."""
        return _weighted(R - _residual(X, Y, weight), weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``s y`` and ``s x`` with ``s = |∇|/|e|``: a reweighted square that majorises the loss.

        Where y is negative, both are shifted to be nonnegative.
        """
        E = _residual(X, Y, weight)
        gradient = self.gradient(X, Y, weight)
        share = np.where(
            E != 0, -gradient / np.where(E != 0, E, 1), 1 if weight is None else weight
        )
        below = np.minimum(Y, 0) * share
        return share * Y - below, np.where(share > 0, share * X, 0) - below

    def value_and_gradient(
        self, X: Array, Y: Array, weight: Array | None = None
    ) -> tuple[Array, Array]:
        """Both in one compiled pass, for separable penalties without weights."""
        constants = self.entry_constants
        if weight is not None or constants is None:
            return super().value_and_gradient(X, Y, weight)
        G, value = np.empty_like(X), np.empty(X.shape[0], dtype=X.dtype)
        kernels.value_and_gradient(
            read_only(X), read_only(Y), EntryPenalty.of(X.dtype, constants), G, value
        )
        return value, G

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """Proximal map of the envelope, from that of φ.

        With ``e = x − v`` it moves e to ``e + t/(1 + t)·(prox_{(1+t)φ}(e) − e)``, t being the
        step times the weight.
        """
        E = _residual(X, V, None)
        if weight is None or self.penalty.weights is not None:
            t = step if weight is None else step * weight
            return V + self._inliers(E, 1 + t) * (t / (1 + t))
        return V + self._inliers(E * weight, 1 + step) * (step / (1 + step))

    def _outliers(self, E: Array, step: float | Array) -> Array:
        return self.penalty.prox(E, step, self.region)

    def _inliers(self, E: Array, step: float | Array) -> Array:
        """``e − r``, without the cancellation of a difference for small penalty weights."""
        return self.penalty.residual(E, step, self.region)


def _residual(X: Array, Y: Array, weight: Array | None) -> Array:
    E = X - Y
    if weight is not None:
        E[weight == 0] = 0
    return E


def _weighted(G: Array, weight: Array | None) -> Array:
    if weight is not None:
        G *= weight
    return G


def Huber(  # noqa: N802 - a factory with the name of a loss
    threshold: float, bound: float = np.inf, nonnegative: bool = False
) -> Envelope:
    """The loss of paper A, (5)–(6): outliers with the penalty ``threshold·|r|``, ``|r| ≤ bound``.

    Without a bound this is the Huber loss; with a bound it is quadratic beyond
    ``threshold + bound``.
    """
    if not 0 < threshold < np.inf:
        raise ValueError(f"The outlier weight must be positive and finite, got {threshold}.")
    if not bound > 0:
        raise ValueError(f"The bound on outliers must be positive, got {bound}.")
    lower = 0.0 if nonnegative else -bound
    return Envelope(L1(threshold), Box(lower, bound))
