"""Coded samples themselves, for dictionary steps that need them: the ADMM steps of paper B."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.linalg import Array, thinned
from thresher.losses import Loss
from thresher.penalties import Constrained


def needs_l1(loss: Loss) -> str | None:
    """What steps need that split off the residual of the ℓ1 distance."""
    if loss.nonsmooth_points is None or loss.nonsmooth_points.square:
        return f"the ℓ1 distance, whose residual is split off, not {loss}; use solver='auto'"
    return None


@dataclass(frozen=True)
class CodedSamples:
    """Samples P and codes C of a block or batch, one after the other.

    They stand where other learners have sums, and add up by appending: order matters.

    Attributes
    ----------
    P, C : arrays of shape (n, F) and (n, K)
    bound : array of shape (n, F) or (n, 1)
        How much a unit of each residual costs: zero where an entry is missing.
    sample_weight : array of shape (n,)
        Two counts as two equal samples.
    """

    P: Array
    C: Array
    bound: Array
    sample_weight: Array

    @classmethod
    def of(cls, fit: Fit, sample_weight: Array | None) -> "CodedSamples":
        """Keep a coded block."""
        P, kinks = fit.samples(), fit.loss.nonsmooth_points
        if kinks is None:
            raise ValueError(f"The ADMM steps of paper B need {needs_l1(fit.loss)}.")
        bound = kinks.bounds(P, fit.weight)
        weights = np.ones(len(P)) if sample_weight is None else sample_weight
        if bound is None:
            bound = np.ones((len(P), 1), dtype=P.dtype)
        return cls(P, fit.C, bound, weights.astype(P.dtype))

    def __add__(self, other: "CodedSamples") -> "CodedSamples":
        """One after the other."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return CodedSamples(*map(np.concatenate, pairs))

    @property
    def weight(self) -> float:
        """Total weight of the samples."""
        return float(self.sample_weight.sum())

    def spectral_norm(self) -> float:
        """``λmax(CᵀC)``."""
        return float(np.linalg.norm((self.C * self.sample_weight[:, None]).T @ self.C, 2))

    def subgradient_norm(self) -> float:
        """Φ: no subgradient of ``‖P − C D‖₁`` in its residual is longer; √(nF) without weights."""
        bound = np.broadcast_to(self.bound, self.P.shape)
        return float(np.sqrt(self.sample_weight @ np.einsum("nf,nf->n", bound, bound)))

    def residual(self, D: Array) -> Array:
        """``P − C D``."""
        R = self.predicted(D)
        return np.subtract(self.P, R, out=R)

    def predicted(self, D: Array) -> Array:
        """``C D``."""
        return np.asarray(self._codes @ D)

    def correlated(self, U: Array) -> Array:
        """``Cᵀ W U``, W the weights of the samples."""
        return np.asarray(self._codes.T @ (U * self.sample_weight[:, None]))

    @cached_property
    def _codes(self) -> Any:
        return thinned(self.C)  # documents have few atoms each

    def loss(self, residual: Array) -> float:
        """``‖P − C D‖₁`` of a residual."""
        return float(self.sample_weight @ (self.bound * np.abs(residual)).sum(axis=1))


def linearised_step(
    samples: CodedSamples,
    D: Array,
    residual: Array,
    dual: Array,
    beta: float,
    tau: float,
    gamma: float,
    regulariser: Constrained,
    free: NDArray[np.bool_],
) -> tuple[Array, Array, Array, Array]:
    """One step of linearised ADMM for ``min over D of ‖P − C D‖₁``.

    With ``Γ̃ = P − C D`` and a copy Γ of it (paper B, (2)–(4); Algorithm 3 calls it E and takes
    ``γ = 1.89``)::

        Γ ← soft(Γ̃ + Δ/β, 1/β)                      G ← −Cᵀ(Δ/β + Γ̃ − Γ)
        D' ← Π(D − τG)                               Δ ← Δ + γβ(P − C D' − Γ)

    Γ need not be stored: ``U = clip(βΓ̃ + Δ, 1)`` is ``β(Γ̃ − Γ) + Δ``, so that

        G = −CᵀU/β                                   Δ ← Δ + γ(U − Δ − βC(D' − D)).

    Returns D', ``P − C D'``, the new Δ, and ``P − C D' − Γ``, by which the constraint is violated.
    """
    bound = samples.bound
    U = beta * residual
    U += dual
    np.clip(U, -bound, bound, out=U)
    G = -samples.correlated(U) / beta
    # The penalty is relative to the mean loss, this is the sum.
    moved = regulariser.prox(D - tau * G, samples.weight * tau / beta)
    moved = np.where(free[:, None], moved, D)
    towards = samples.predicted(moved - D)
    U -= dual
    U -= beta * towards  # β(P − C D' − Γ)
    return moved, np.subtract(residual, towards, out=towards), dual + gamma * U, U / beta
