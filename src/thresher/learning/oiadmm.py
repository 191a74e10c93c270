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

Horizon = Literal["doubling", "growing"]


@dataclass(frozen=True)
class DualStatistics(Statistics):
    """What OIADMM remembers.

    Attributes
    ----------
    Delta : float64 array of shape (n, F)
        The dual, one row for each document of the largest batch so far.
    slope : float64 array of shape (K, F), or (0, F) where no regret is known
        ``Σ CᵀU`` with ``U = clip(β(P − C D) + Δ, 1)``.
    step, horizon : float
        Steps made in this epoch, and for how many its β is meant.
    tau, beta : float
        Step sizes of the last step.
    phi : float
        The Φ that β was made from.
    violation : float
        ``Σ ‖Γ − (P − C D')‖²``, over all steps: how far the constraint was missed (Theorem B.6).
    cost, value : float
        ``Σ ‖P − C D‖₁`` and ``Σ ⟨U, P⟩``.
    regret : float
        ``cost − value + max over D* in S of ⟨Σ CᵀU, D*⟩``.
    """

    AXES: ClassVar[dict[str, str]] = {"Delta": "nF", "slope": "mF"}

    Delta: Array
    slope: Array
    step: float = 0.0
    horizon: float = 1.0
    tau: float = 0.0
    beta: float = 0.0
    phi: float = 0.0
    violation: float = 0.0
    cost: float = 0.0
    value: float = 0.0
    regret: float = 0.0

    def discounted(self, factor: float) -> "DualStatistics":
        """A dual is not an average; the method forgets by itself."""
        return self

    def measures(self, D: Array) -> dict[str, float]:
        """The violation so far, and what the regret cannot exceed."""
        known = {"regret": self.regret} if len(self.slope) else {}
        return {"violation": self.violation, **known}

    def keep(self, columns: NDArray[np.intp]) -> "DualStatistics":
        """Forget all features but some; regret is counted anew, on those."""
        kept = super().keep(columns)
        return replace(kept, slope=0 * kept.slope, cost=0.0, value=0.0, regret=0.0)

    def after(
        self, samples: CodedSamples, cost: float, U: Array, regulariser: Constrained
    ) -> "DualStatistics":
        """With a step that cost ``‖P − C D‖₁`` added to the regret.

        No dictionary of S would have cost less than ``Σ⟨U, P − C D*⟩`` in all, as no entry of U
        exceeds one: so the regret against the best of them, at the same codes, is at most
        `regret`, though the best is not known. It needs a set with a linear oracle.
        """
        region = regulariser.region
        if not hasattr(region, "minimise_linear") or not regulariser.form.is_unpenalised:
            return self
        slope = samples.correlated(U)
        slope[: len(self.slope)] += self.slope  # atoms that are new had no codes
        value = self.value + float(samples.sample_weight @ np.einsum("nf,nf->n", U, samples.P))
        most = float(np.vdot(slope, region.minimise_linear(-slope)))
        total = self.cost + cost
        return replace(self, slope=slope, cost=total, value=value, regret=total - value + most)


@dataclass(frozen=True)
class OnlineInexactADMM:
    """One `linearised_step` with ``γ = 1`` for every batch, the dual carried from batch to batch.

    Row i of the dual belongs to the i-th document of a batch, so the order within batches matters.
    The theory is for batches of one size. Here a row that had no partner yet starts at zero, and
    those that a small batch does not reach wait for the next large one (errata B.4). A batch
    without any codes leaves the dictionary as it is, and moves the dual (errata B.3).

    Parameters
    ----------
    beta : float
        β of every batch, in the inverse unit of the data, where there is no ``horizon``.
    share : float
        ``τ = share/λmax(CᵀC)`` of every batch; Theorem B.5 (iv) wants 1/2 at most.
    tau : float, optional
        τ of every batch instead, for which the sums of the theorem telescope.
    horizon : int, "doubling" or "growing", optional
        T, the number of batches to come, for ``β = (Φ/‖D*‖)√(τT)`` of Theorem B.5. Nobody knows
        it of a stream. ``doubling``: τ and β are constant over an epoch of T batches, T doubles
        from epoch to epoch, and the dual starts anew; an epoch also ends when a batch has a larger
        Φ or a λmax that needs a smaller τ, which then has twice the room that it needs.
        ``growing``: T is the number of batches so far.
    best_norm, subgradient_norm : float, optional
        ‖D*‖ and Φ of the theorem; by default their bounds √K and, for every batch, √(nF).
    """

    keeps_samples: ClassVar[bool] = True

    beta: float = 5.0
    share: float = 0.5
    tau: float | None = None
    horizon: int | Horizon | None = None
    best_norm: float | None = None
    subgradient_norm: float | None = None

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """The ℓ1 distance, whose residual is split off."""
        return needs_l1(loss)

    def empty(self, n_components: int, n_features: int) -> DualStatistics:
        """No batch, no dual."""
        return DualStatistics(np.zeros((0, n_features)), np.zeros((0, n_features)))

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
        now = self._step_sizes(past, sums, len(D))
        if now.beta == 0:  # that of the theorem, which needs a τ
            return D.copy(), past, ones
        n = len(sums.P)
        Delta = now.Delta
        if len(Delta) < n:
            Delta = np.concatenate([Delta, np.zeros((n - len(Delta), D.shape[1]))])
        exact = D.astype(np.float64)
        before = sums.residual(exact)
        cost = sums.loss(before)
        moved, residual, rows, gap = linearised_step(
            sums, exact, before, Delta[:n], now.beta, now.tau, 1.0, regulariser, free
        )
        U = rows + now.beta * (before - residual)
        after = replace(
            now.after(sums, cost, U, regulariser),
            Delta=np.concatenate([rows, Delta[n:]]),
            step=now.step + 1,
            violation=now.violation
            + float(sums.sample_weight @ np.where(sums.bound > 0, gap**2, 0).sum(axis=1)),
        )
        return moved.astype(D.dtype), after, ones

    def _step_sizes(
        self, past: DualStatistics, sums: CodedSamples, n_components: int
    ) -> DualStatistics:
        """τ and β for the next step; a new epoch if the last one is over."""
        largest = sums.spectral_norm()
        tau = self.share / largest if largest > 0 else 0.0
        tau = tau if self.tau is None else self.tau
        if self.horizon is None:
            return replace(past, tau=tau, beta=self.beta)
        given = self.subgradient_norm
        phi = sums.subgradient_norm() if given is None else given
        if self.horizon == "doubling":
            return self._epoch(past, tau, phi, n_components)
        T = past.step + 1 if self.horizon == "growing" else float(self.horizon)
        beta = self._beta(phi, tau, T, n_components)
        return replace(past, tau=tau, beta=beta, phi=phi, horizon=T)

    def _epoch(
        self, past: DualStatistics, tau: float, phi: float, n_components: int
    ) -> DualStatistics:
        """The epoch that goes on, or the next one."""
        tau = tau if tau > 0 else past.tau  # of a batch without codes any will do
        used_up = past.step >= past.horizon
        if past.step > 0 and not used_up and tau >= past.tau and phi <= past.phi:
            return past
        if self.tau is None:
            tau = past.tau if 0 < past.tau <= tau else tau / 2
        phi = max(phi, past.phi)
        T = 2 * past.horizon if used_up else past.horizon
        beta = self._beta(phi, tau, T, n_components)
        nothing = np.zeros_like(past.Delta)
        return replace(past, Delta=nothing, step=0.0, horizon=T, tau=tau, beta=beta, phi=phi)

    def _beta(self, phi: float, tau: float, T: float, n_components: int) -> float:
        """``(Φ/‖D*‖)√(τT)``."""
        size = float(np.sqrt(n_components)) if self.best_norm is None else self.best_norm
        return phi / size * float(np.sqrt(tau * T))

    def cautious(self) -> "OnlineInexactADMM":
        """There is none."""
        return self

    def usage(self, statistics: DualStatistics, D: Array) -> Array:
        """Not known; all atoms count as used."""
        return np.ones(len(D))
