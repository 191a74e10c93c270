"""Solvers by their names: one table for each family of estimators."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from thresher.encoding import (
    ROUNDS_WITH_GAPS,
    AutoEncoder,
    BlockADMM,
    BlockEncoder,
    Encoder,
    LinearisedADMM,
    MultiplicativeUpdates,
    Never,
    OutlierADMM,
    ProjectedGradient,
    ProjectedSubgradient,
    Rough,
    RoughEncoder,
    Settled,
    SmallChange,
)
from thresher.learning import (
    CONVEX_AVERAGING,
    CONVEX_STEP,
    PUBLISHED_AVERAGING,
    PUBLISHED_STEP,
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    DictionaryStep,
    FrankWolfeLearner,
    L1DictionaryADMM,
    Learner,
    OnlineInexactADMM,
    OrthogonalLearner,
    RatioLearner,
    RefinedLearner,
    RobustApproximation,
    StochasticGradient,
    TrackedLearner,
)
from thresher.losses import (
    Envelope,
    ItakuraSaito,
    L1Distance,
    Loss,
    SquaredL2,
)
from thresher.manhattan import ExactRows, Half, HalfSolver, NesterovSmoothing, RankOneSweeps

NamedSolver = TypeVar("NamedSolver")


@dataclass(frozen=True)
class Solver:
    """What a solver's name stands for: how it finds codes while learning, and moves atoms."""

    description: str
    encoder: BlockEncoder
    step: DictionaryStep


_UNTIL_SMALL_CHANGE = SmallChange(1e-3)  # paper A, VII-B2

PATIENT = Encoder(BlockADMM(), Never(), ROUNDS_WITH_GAPS, certify=False)
"""For λ from the noise: which rows are mostly noise is not known before it is."""

ONLINE_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        Encoder(BlockADMM(), Rough(), ROUNDS_WITH_GAPS, certify=False),
        BlockDescent(),
    ),
    "opgd": Solver(
        "projected gradient codes and dictionary (paper A, OPGD)",
        Encoder(ProjectedGradient(), _UNTIL_SMALL_CHANGE, 50, certify=False),
        DictionaryGradient(),
    ),
    "oadmm": Solver(
        "ADMM codes and dictionary (paper A, OADMM)",
        Encoder(OutlierADMM(), _UNTIL_SMALL_CHANGE, 50, certify=False),
        DictionaryADMM(),
    ),
}

_SIX_ROUNDS = Encoder(BlockADMM(), Never(), 6, certify=False)

BATCH_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary", _SIX_ROUNDS, BlockDescent()
    ),
    "bpgd": Solver(
        "one projected gradient step for codes and dictionary (paper A, BPGD)",
        Encoder(ProjectedGradient(), Never(), 1, certify=False),
        DictionaryGradient(max_iter=1),
    ),
    # Its steps are its own (engine/batch.py); the encoder serves `transform` and the noise level.
    "badmm": Solver(
        "ADMM on codes, outliers and dictionary together (paper A, BADMM)",
        _SIX_ROUNDS,
        BlockDescent(),
    ),
}


@dataclass(frozen=True)
class DivergenceSolver:
    """What a solver of paper E stands for.

    ``learner`` "auto" takes the one that suits the divergence, "multiplicative" the multiplicative
    update that every divergence has. ``kind`` is the one loss that the
    solver is for, if there is only one; ``covered`` says that its dictionaries lie in the set of
    the paper, ``sparse`` that its encoder codes sparse rows on their nonzeros. ``prior`` is that
    of `RatioLearner`.
    """

    description: str
    encoder: BlockEncoder
    learner: Learner | Literal["auto", "multiplicative"] = "auto"
    kind: Loss | type | None = None
    covered: bool = False
    sparse: bool = False
    prior: float = 0.0

    def check(self, loss: Loss) -> None:
        """Refuse a loss that the solver is not for."""
        fits = self.kind is None or loss == self.kind
        if isinstance(self.kind, type):
            fits = isinstance(loss, self.kind)
        if not fits:
            raise ValueError(
                f"This solver ({self.description}) is for another divergence than {loss}; use "
                "solver='auto', or the divergence that it is for."
            )


def spsgd(a: float = 2e4, b: float = 2e4, scaled: bool = True) -> DivergenceSolver:
    """The solver of paper E with steps ``a/(τt + b)``; ``scaled=False`` leaves them as published.

    Give it to ``OnlineNMF(solver=spsgd(a=1e4))``.
    """
    return DivergenceSolver(
        "projected subgradient codes, projected stochastic gradient dictionary (paper E)",
        Encoder(ProjectedSubgradient(scaled), _UNTIL_SMALL_CHANGE, 100, certify=False),
        StochasticGradient(a, b, scaled),
        covered=True,
    )


_UPDATES = Encoder(MultiplicativeUpdates(), _UNTIL_SMALL_CHANGE, 100, certify=False)

ONLINE_DIVERGENCE_SOLVERS = {
    "auto": DivergenceSolver(
        "the best method for the divergence", RoughEncoder(), sparse=True, prior=2.0
    ),
    "spsgd": spsgd(),
    "ol_guan": DivergenceSolver(
        "exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan)",
        AutoEncoder(),
        RobustApproximation(),
        SquaredL2(),
    ),
    "ol_lef": DivergenceSolver(
        "multiplicative codes, majorised dictionary (Lefèvre et al., OL-Lef)",
        _UPDATES,
        RatioLearner(2.0, 0.0),
        ItakuraSaito(),
    ),
    "ol_wang": DivergenceSolver(
        "multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang)",
        _UPDATES,
        StochasticGradient(constant=True),
        Envelope,
        covered=True,
    ),
}

BATCH_DIVERGENCE_SOLVERS = {
    "auto": DivergenceSolver(
        "near-exact codes, the best dictionary step for the divergence",
        AutoEncoder(1e-3, 100),
        sparse=True,
    ),
    "mu": DivergenceSolver(
        "one multiplicative update of codes and dictionary",
        Encoder(MultiplicativeUpdates(), Never(), 1, certify=False),
        "multiplicative",
        sparse=True,
    ),
}


@dataclass(frozen=True)
class FactorSolver:
    """What a solver of paper C stands for: who moves the factor of a half."""

    description: str
    choose: Callable[[Half], HalfSolver]
    quick_start: bool = False


_LARGE = 1 << 20


def _best(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] >= _LARGE
    if large and half.is_sparse and ExactRows.applies(half):
        return ExactRows()
    return _rri(half) if RankOneSweeps.applies(half) else NesterovSmoothing()


def _rri(half: Half) -> HalfSolver:
    solver = RankOneSweeps()
    solver.check(half)
    return solver


@dataclass(frozen=True)
class Smoothing:
    """Makes `NesterovSmoothing`, which counts rounds, anew for each half."""

    smoothing: float = 2.0
    monotone: bool = False

    def __call__(self, half: Half) -> HalfSolver:
        """The same for every half."""
        return NesterovSmoothing(self.smoothing, self.monotone)


def ogm(smoothing: float = 2.0, monotone: bool = False) -> FactorSolver:
    """The smoothing method of paper C; see `thresher.engine.NesterovSmoothing`.

    Give it to ``ManhattanNMF(solver=ogm(monotone=True))``.
    """
    return FactorSolver(
        "Nesterov's smoothing method (paper C, OGM)", Smoothing(smoothing, monotone)
    )


MANHATTAN_SOLVERS = {
    "auto": FactorSolver(
        "ADMM on both factors, then sweeps; exact rows of large sparse data", _best, True
    ),
    "rri": FactorSolver("one sweep over the entries of each factor (paper C, RRI)", _rri),
    "ogm": ogm(),
}

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
        L1Distance,
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
        L1Distance,
        sparse=True,  # what they keep is dense, but scores need not be
    ),
}


@dataclass(frozen=True)
class OrthogonalSolver:
    """A learner of orthogonal dictionaries, made from the norm p and whether data drift."""

    make: Callable[[int, bool], OrthogonalLearner]
    powers: tuple[int, ...] = (3, 4)


def _published_frank_wolfe(p: int, drifts: bool) -> OrthogonalLearner:
    return FrankWolfeLearner(PUBLISHED_AVERAGING, PUBLISHED_STEP, True, p)


def _convex_frank_wolfe(p: int, drifts: bool) -> OrthogonalLearner:
    return FrankWolfeLearner(CONVEX_AVERAGING, CONVEX_STEP, False, p)


def _best_orthogonal(p: int, drifts: bool) -> OrthogonalLearner:
    return TrackedLearner() if drifts else RefinedLearner()


ORTHOGONAL_SOLVERS = {
    "auto": OrthogonalSolver(_best_orthogonal, (3,)),
    "noncvx_sfw": OrthogonalSolver(_published_frank_wolfe),
    "sfw": OrthogonalSolver(_convex_frank_wolfe),
}


def named_solver(value: Any, solvers: dict[str, NamedSolver]) -> NamedSolver:
    """A solver from its name, or the part itself."""
    if isinstance(value, DivergenceSolver | FactorSolver) and isinstance(
        value, type(solvers["auto"])
    ):
        return value
    if not isinstance(value, str) or value not in solvers:
        *others, last = map(repr, solvers)
        known = f"{', '.join(others)} or {last}"
        raise ValueError(f"solver={value!r} is not known; use {known}.")
    return solvers[value]


def named_l1_solver(
    value: str | OnlineInexactADMM | DivergenceSolver, solvers: dict[str, DivergenceSolver]
) -> DivergenceSolver:
    """The same, where OIADMM may also be given with step sizes of one's own."""
    if isinstance(value, OnlineInexactADMM):
        return replace(solvers["oiadmm"], learner=value)
    return named_solver(value, solvers)
