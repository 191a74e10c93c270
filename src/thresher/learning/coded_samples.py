"""Coded samples themselves, for dictionary steps that need them: the ADMM steps of paper B."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.losses import DenseFit, L1Distance, SparseFit
from thresher.penalties import Constrained


@dataclass(frozen=True)
class CodedSamples:
    """Samples P and codes C of a block or batch, one after the other, in float64.

    They stand where other learners have sums, and add up by appending: order matters.

    Attributes
    ----------
    P, C : arrays of shape (n, F) and (n, K)
    bound : array of shape (n, F)
        How much a unit of each residual costs: zero where an entry is missing.
    sample_weight : array of shape (n,)
        Two counts as two equal samples.
    """

    P: Array
    C: Array
    bound: Array
    sample_weight: Array

    @classmethod
    def of(cls, fit: DenseFit | SparseFit, sample_weight: Array | None) -> "CodedSamples":
        """Keep a coded block."""
        X: Any = fit.X
        P = X.toarray() if isinstance(fit, SparseFit) else X
        loss = fit.loss
        if not isinstance(loss, L1Distance):
            raise ValueError(
                f"The ADMM steps of paper B split off the residual of the ℓ1 distance and cannot "
                f"use {loss}; use solver='auto'."
            )
        bound = loss.bounds(P, fit.weight if isinstance(fit, DenseFit) else None)
        weights = np.ones(len(P)) if sample_weight is None else sample_weight
        parts = (P, fit.C, np.ones_like(P) if bound is None else bound, weights)
        return cls(*(part.astype(np.float64) for part in parts))

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
        return float(np.sqrt(self.sample_weight @ (self.bound**2).sum(axis=1)))

    def loss(self, D: Array) -> float:
        """``‖P − C D‖₁``."""
        return float(self.sample_weight @ (self.bound * np.abs(self.P - self.C @ D)).sum(axis=1))


def linearised_step(
    samples: CodedSamples,
    D: Array,
    dual: Array,
    beta: float,
    tau: float,
    gamma: float,
    regulariser: Constrained,
    free: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """One step of linearised ADMM for ``min over D of ‖P − C D‖₁``.

    With ``Γ̃ = P − C D`` and a copy Γ of it (paper B, (2)–(4); Algorithm 3 calls it E and takes
    ``γ = 1.89``)::

        Γ ← soft(Γ̃ + Δ/β, 1/β)                      G ← −Cᵀ(Δ/β + Γ̃ − Γ)
        D' ← Π(D − τG)                               Δ ← Δ + γβ(P − C D' − Γ)

    Γ need not be stored: ``U = clip(βΓ̃ + Δ, 1)`` is ``β(Γ̃ − Γ) + Δ``, so that

        G = −CᵀU/β                                   Δ ← Δ + γ(U − Δ − βC(D' − D)).

    Returns D', the new Δ, and ``P − C D' − Γ``, by which the constraint is violated.
    """
    P, C, bound = samples.P, samples.C, samples.bound
    U = np.clip(beta * (P - C @ D) + dual, -bound, bound)
    G = -(C * samples.sample_weight[:, None]).T @ U / beta
    # The penalty is relative to the mean loss, this is the sum.
    moved = regulariser.prox(D - tau * G, samples.weight * tau / beta)
    moved = np.where(free[:, None], moved, D)
    change = U - dual - beta * (C @ (moved - D))
    return moved, dual + gamma * change, change / beta
