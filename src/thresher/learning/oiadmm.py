"""Dictionary by online inexact ADMM, as published in paper B (OIADMM, (2)–(4))."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.coded_samples import CodedSamples, linearised_step, needs_l1
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form

Steps = Literal["theorem", "adaptive"]


@dataclass(frozen=True)
class DualStatistics(Statistics):
    """What OIADMM remembers.

    Attributes
    ----------
    Delta : float64 array of shape (n, F)
        The dual, one row for each document of the largest batch so far.
    step, horizon : float
        Steps made in this epoch, and for how many its β is meant.
    tau, beta : float
        Step sizes of the last step.
    phi : float
        The Φ that β was made from.
    violation : float
        ``Σ ‖Γ − (P − C D')‖²``, over all steps: how far the constraint was missed (Theorem B.6).
    """

    AXES: ClassVar[dict[str, str]] = {"Delta": "nF"}

    Delta: Array
    step: float = 0.0
    horizon: float = 1.0
    tau: float = 0.0
    beta: float = 0.0
    phi: float = 0.0
    violation: float = 0.0

    def discounted(self, factor: float) -> "DualStatistics":
        """A dual is not an average; the method forgets by itself."""
        return self

    def measures(self, D: Array) -> dict[str, float]:
        """The violation so far."""
        return {"violation": self.violation}


@dataclass(frozen=True)
class OnlineInexactADMM:
    """One `linearised_step` with ``γ = 1`` for every batch, the dual carried from batch to batch.

    Row i of the dual belongs to the i-th document of a batch, so the order within batches matters.
    The theory is for batches of one size. Here a row that had no partner yet starts at zero, and
    those that a small batch does not reach wait for the next large one (errata B.4). A batch
    without any codes leaves everything as it is (errata B.3).

    Parameters
    ----------
    steps : {"theorem", "adaptive"}
        ``theorem``: τ and β are constant over an epoch of T batches, ``τ = 1/(2 λmax(CᵀC))`` and
        ``β = (Φ/‖D*‖)√(τT)`` with ``‖D*‖ ≤ √K``, as Theorem B.5 wants; as nobody knows how many
        batches will come, T doubles from epoch to epoch, and the dual starts anew. An epoch also
        ends when a batch has a larger Φ or a λmax that needs a smaller τ; τ then has twice the
        room that it needs. ``adaptive``: τ of every batch, and β for the number of batches so far.
    tau, beta : float, optional
        Numbers instead: τ in units of ``1/λmax(CᵀC)`` of the batch (the theorem wants 1/2 at most),
        β in the inverse unit of the data.
    """

    steps: Steps = "theorem"
    tau: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        if self.steps not in ("theorem", "adaptive"):
            raise ValueError(f"steps={self.steps!r} is not known; use 'theorem' or 'adaptive'.")
        for name in ("tau", "beta"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value!r} must be positive, or None for the rule.")

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """The ℓ1 distance, whose residual is split off."""
        return needs_l1(loss)

    def empty(self, n_components: int, n_features: int) -> DualStatistics:
        """No batch, no dual."""
        return DualStatistics(np.zeros((0, n_features)))

    def summarise(self, fit: Fit, sample_weight: Array | None) -> CodedSamples:
        """The samples and codes themselves."""
        return CodedSamples.of(fit, sample_weight)

    def learn(
        self,
        past: DualStatistics,
        sums: CodedSamples,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, DualStatistics, Array]:
        """(2)–(4)."""
        ones = np.ones(len(D), dtype=D.dtype)
        largest = sums.spectral_norm()
        if largest == 0:
            return D.copy(), past, ones
        now = self._step_sizes(past, sums, largest, len(D))
        n = len(sums.P)
        Delta = now.Delta
        if len(Delta) < n:
            Delta = np.concatenate([Delta, np.zeros((n - len(Delta), D.shape[1]))])
        exact = D.astype(np.float64)
        moved, _, rows, gap = linearised_step(
            sums, exact, sums.residual(exact), Delta[:n], now.beta, now.tau, 1.0, regulariser, free
        )
        after = replace(
            now,
            Delta=np.concatenate([rows, Delta[n:]]),
            step=now.step + 1,
            violation=now.violation + float(sums.sample_weight @ (gap**2).sum(axis=1)),
        )
        return moved.astype(D.dtype), after, ones

    def _step_sizes(
        self, past: DualStatistics, sums: CodedSamples, largest: float, n_components: int
    ) -> DualStatistics:
        """τ and β for the next step; a new epoch if the last one is over."""
        phi, size = sums.subgradient_norm(), float(np.sqrt(n_components))
        tau = (0.5 if self.tau is None else self.tau) / largest
        if self.steps == "adaptive" or self.tau is not None or self.beta is not None:
            beta = phi / size * float(np.sqrt(tau * (past.step + 1)))
            return replace(past, tau=tau, beta=beta if self.beta is None else self.beta, phi=phi)
        used_up = past.step >= past.horizon
        if past.step > 0 and not used_up and tau >= past.tau and phi <= past.phi:
            return past
        tau = past.tau if 0 < past.tau <= tau else tau / 2
        phi = max(phi, past.phi)
        horizon = 2 * past.horizon if used_up else past.horizon
        beta = phi / size * float(np.sqrt(tau * horizon))
        nothing = np.zeros_like(past.Delta)
        return replace(past, Delta=nothing, step=0.0, horizon=horizon, tau=tau, beta=beta, phi=phi)

    def cautious(self) -> "OnlineInexactADMM":
        """There is none."""
        return self

    def usage(self, statistics: DualStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
