"""Solvers of ℓ1 dictionaries (paper B)."""

from dataclasses import dataclass
from typing import Literal

from thresher.encoding import AutoEncoder, Encoder, LinearisedADMM, Settled
from thresher.learning import L1DictionaryADMM, OnlineInexactADMM
from thresher.solvers.divergences import DivergenceSolver
from thresher.solvers.names import Published

# The paper says "to convergence", which would take thousands of iterations; steps start from the
# last codes and atoms, so that rounds go on where these end. (`transform` and scores are exact,
# whatever the solver.)
_LINEARISED_STEPS = 50
_LINEARISED = Encoder(LinearisedADMM(), Settled(1e-2), _LINEARISED_STEPS, certify=False)


@dataclass(frozen=True)
class OIADMM(Published[DivergenceSolver]):
    """Linearised ADMM codes, online inexact ADMM dictionary (paper B, (2)–(4)).

    Its steps are those of `thresher.learning.OnlineInexactADMM`.
    """

    name = "oiadmm"
    steps: Literal["theorem", "adaptive"] = "theorem"
    tau: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        self.made()  # which checks the numbers

    def made(self) -> DivergenceSolver:
        """Its parts; what it keeps is dense, but scores need not be."""
        return DivergenceSolver(
            "linearised ADMM codes, online inexact ADMM dictionary (paper B, OIADMM)",
            _LINEARISED,
            OnlineInexactADMM(self.steps, self.tau, self.beta),
            sparse=True,
        )


@dataclass(frozen=True)
class ADMM(Published[DivergenceSolver]):
    """Linearised ADMM codes and dictionary (paper B, Algorithms 2 and 3)."""

    name = "admm"

    def made(self) -> DivergenceSolver:
        """Its parts; what it keeps is dense, but scores need not be."""
        return DivergenceSolver(
            "linearised ADMM codes and dictionary (paper B, Algorithms 2 and 3)",
            _LINEARISED,
            L1DictionaryADMM(max_iter=_LINEARISED_STEPS),
            sparse=True,
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
