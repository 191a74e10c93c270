"""Solvers of ℓ1 dictionaries (paper B)."""

from dataclasses import replace

from thresher.encoding import AutoEncoder, Encoder, LinearisedADMM, Settled
from thresher.learning import L1DictionaryADMM, OnlineInexactADMM
from thresher.solvers.divergences import DivergenceSolver
from thresher.solvers.names import named_solver

# The paper says "to convergence", which would take thousands of iterations; steps start from the
# last codes and atoms, so that rounds go on where these end. (`transform` and scores are exact,
# whatever the solver.)
_LINEARISED_STEPS = 50
_LINEARISED = Encoder(LinearisedADMM(), Settled(1e-2), _LINEARISED_STEPS, certify=False)

ONLINE_L1_SOLVERS = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step with additive statistics",
        AutoEncoder(1e-3, 100),
        sparse=True,
    ),
    "oiadmm": DivergenceSolver(
        "linearised ADMM codes, online inexact ADMM dictionary (paper B, OIADMM)",
        _LINEARISED,
        OnlineInexactADMM(),
        sparse=True,  # what they keep is dense, but scores need not be
    ),
}

BATCH_L1_SOLVERS = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step", AutoEncoder(1e-3, 100), sparse=True
    ),
    "admm": DivergenceSolver(
        "linearised ADMM codes and dictionary (paper B, Algorithms 2 and 3)",
        _LINEARISED,
        L1DictionaryADMM(max_iter=_LINEARISED_STEPS),
        sparse=True,  # what they keep is dense, but scores need not be
    ),
}


def named_l1_solver(
    value: str | OnlineInexactADMM | DivergenceSolver, solvers: dict[str, DivergenceSolver]
) -> DivergenceSolver:
    """The same, where OIADMM may also be given with step sizes of one's own."""
    if isinstance(value, OnlineInexactADMM):
        return replace(solvers["oiadmm"], learner=value)
    return named_solver(value, solvers)
