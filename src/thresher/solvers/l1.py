"""Solvers of ℓ1 dictionaries (paper B)."""

from dataclasses import dataclass
from typing import get_args

from thresher.encoding import AutoEncoder, BlockEncoder, Encoder, LinearisedADMM, Settled
from thresher.learning import Horizon, L1DictionaryADMM, OnlineInexactADMM
from thresher.solvers.constants import BELOW_1, COUNT, POSITIVE, Rule, check_constants, one_of
from thresher.solvers.divergences import DivergenceSolver
from thresher.solvers.names import Published

_NAMES = one_of(*get_args(Horizon))
_HORIZON = Rule(
    f"{COUNT.words}, {_NAMES.words}", lambda value: COUNT.holds(value) or _NAMES.holds(value)
)


@dataclass(frozen=True)
class LinearisedConstants:
    """Constants of Algorithms 2 and 3 of paper B.

    Parameters
    ----------
    phi, gamma : float
        φ and γ of both, in the unit of the data: 5 and 1.89 for documents that sum to one.
    kappa : float
        κ in units of ``1/λmax(D Dᵀ)`` (Algorithm 2, printed) and ``1/λmax(CᵀC)`` (Algorithm 3, not
        given).
    iterations : int
        Of either algorithm, at most.
    tol : float
        Both residuals at which either stops; 0 makes all iterations. The paper says "to
        convergence" (errata B.9).
    """

    phi: float = 5.0
    gamma: float = 1.89
    kappa: float = 1.0
    iterations: int = 1000
    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_constants(
            self, phi=POSITIVE, gamma=POSITIVE, kappa=POSITIVE, iterations=COUNT, tol=BELOW_1
        )

    @property
    def algorithm_2(self) -> BlockEncoder:
        """Codes."""
        steps = LinearisedADMM(self.phi, self.gamma, self.kappa)
        return Encoder(steps, Settled(self.tol), self.iterations, certify=False)

    @property
    def algorithm_3(self) -> L1DictionaryADMM:
        """The batch dictionary."""
        return L1DictionaryADMM(self.phi, self.gamma, self.kappa, self.tol, self.iterations)


@dataclass(frozen=True)
class DualConstants(LinearisedConstants):
    """Constants of OIADMM beside those of its codes: see `thresher.learning.OnlineInexactADMM`.

    Parameters
    ----------
    beta, share : float
        ``β = 5`` and ``τ = share/λmax(CᵀC)`` of every batch, with a share of 1/2, as the
        main paper is remembered to have them.
    tau : float, optional
        A constant τ instead.
    horizon : int, "doubling" or "growing", optional
        T, for ``β = (Φ/‖D*‖)√(τT)`` of Theorem B.5 instead of ``beta``.
    best_norm, subgradient_norm : float, optional
        ‖D*‖ and Φ; their bounds √K and √(nF) if left out.
    """

    beta: float = 5.0
    share: float = 0.5
    tau: float | None = None
    horizon: int | Horizon | None = None
    best_norm: float | None = None
    subgradient_norm: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_constants(
            self,
            beta=POSITIVE,
            share=POSITIVE,
            tau=POSITIVE,
            horizon=_HORIZON,
            best_norm=POSITIVE,
            subgradient_norm=POSITIVE,
        )

    @property
    def dual_step(self) -> OnlineInexactADMM:
        """(2)–(4)."""
        return OnlineInexactADMM(
            self.beta, self.share, self.tau, self.horizon, self.best_norm, self.subgradient_norm
        )


@dataclass(frozen=True)
class OIADMM(DualConstants, Published[DivergenceSolver]):
    """Linearised ADMM codes, online inexact ADMM dictionary (paper B, (2)–(4)).

    Its constants are those of `LinearisedConstants` and `DualConstants`.
    """

    name = "oiadmm"

    def made(self) -> DivergenceSolver:
        """Its parts; what it keeps is dense, but scores need not be."""
        return DivergenceSolver(
            "linearised ADMM codes, online inexact ADMM dictionary (paper B, OIADMM)",
            self.algorithm_2,
            self.dual_step,
            sparse=True,
        )


@dataclass(frozen=True)
class ADMM(LinearisedConstants, Published[DivergenceSolver]):
    """Linearised ADMM dictionary and codes in turns (paper B, Algorithms 3 and 2).

    Its constants are those of `LinearisedConstants`.
    """

    name = "admm"

    def made(self) -> DivergenceSolver:
        """Its parts; what it keeps is dense, but scores need not be."""
        return DivergenceSolver(
            "linearised ADMM codes and dictionary (paper B, Algorithms 2 and 3)",
            self.algorithm_2,
            self.algorithm_3,
            sparse=True,
            dictionary_first=True,
        )


ONLINE_L1_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step with additive statistics",
        AutoEncoder(1e-3, 100),
        sparse=True,
    ),
    "oiadmm": OIADMM(),
}

BATCH_L1_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step", AutoEncoder(1e-3, 100), sparse=True
    ),
    "admm": ADMM(),
}
