"""Solvers of ℓ1 dictionaries (paper B)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any

from thresher.encoding import AutoEncoder, BlockEncoder, Encoder, LinearisedADMM, Settled
from thresher.learning import Horizon, L1DictionaryADMM, OnlineInexactADMM
from thresher.solvers.divergences import DivergenceSolver
from thresher.solvers.names import Published


def require(constants: Any, name: str, wanted: str, good: Callable[[Any], bool]) -> None:
    """Refuse a constant, with a sentence; None is fine where it is the default."""
    value = getattr(constants, name)
    if value is None and getattr(type(constants), name) is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not good(value):
        raise ValueError(f"{name}={value!r} must be {wanted}.")


def require_positive(constants: Any, *names: str) -> None:
    """Refuse what is no positive, finite number."""
    for name in names:
        require(constants, name, "a positive number", lambda value: 0 < value < inf)


def require_count(constants: Any, name: str, least: int = 1) -> None:
    """Refuse what is no whole number."""
    wanted = f"a whole number, {least} or more"
    require(constants, name, wanted, lambda n: isinstance(n, Integral) and int(n) >= least)


def require_share(constants: Any, name: str) -> None:
    """Refuse what is no tolerance."""
    require(constants, name, "0 or more, and below 1", lambda value: 0 <= value < 1)


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
        require_positive(self, "phi", "gamma", "kappa")
        require_count(self, "iterations")
        require_share(self, "tol")

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
        require_positive(self, "beta", "share", "tau", "best_norm", "subgradient_norm")
        if self.horizon not in ("doubling", "growing"):
            require_count(self, "horizon")

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
