"""Solvers by their names: one table for each family of estimators."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
    OutlierWeight,
    RatioLearner,
    RefinedLearner,
    RobustApproximation,
    StochasticGradient,
    TrackedLearner,
)
from thresher.losses import (
    ItakuraSaito,
    Loss,
)
from thresher.manhattan import ExactRows, Half, HalfSolver, NesterovSmoothing, RankOneSweeps
from thresher.penalties import Constrained

NamedSolver = TypeVar("NamedSolver")


@dataclass(frozen=True)
class Solver:
    """What a solver's name stands for: how it finds codes while learning, and moves atoms.

    ``published`` ones keep to what was published: the data's own unit, no revival of dead atoms.
    ``patient`` codes where λ comes from the noise: which rows are mostly noise is not known before
    it is. ``splits`` says that all variables move together (BADMM).
    """

    description: str
    encoder: BlockEncoder
    step: DictionaryStep
    published: bool = True
    patient: BlockEncoder | None = None
    splits: bool = False

    def encoder_for(self, rule: OutlierWeight) -> BlockEncoder:
        """The encoder, given the rule for λ."""
        measured = rule.measures == "residuals" and self.patient is not None
        return self.patient if measured and self.patient is not None else self.encoder


_UNTIL_SMALL_CHANGE = SmallChange(1e-3)  # paper A, VII-B2

_PATIENT = Encoder(BlockADMM(), Never(), ROUNDS_WITH_GAPS, certify=False)

ONLINE_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        Encoder(BlockADMM(), Rough(), ROUNDS_WITH_GAPS, certify=False),
        BlockDescent(),
        published=False,
        patient=_PATIENT,
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
        "block ADMM codes, block coordinate descent dictionary",
        _SIX_ROUNDS,
        BlockDescent(),
        published=False,
        patient=_PATIENT,
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
        splits=True,
    ),
}


@dataclass(frozen=True)
class DivergenceSolver:
    """What a solver of paper E stands for.

    Without a ``learner`` it is ``auto``, which takes the one that suits the divergence;
    ``multiplicative`` stands for the update that every divergence has. ``only_for`` is the one
    loss that the solver was published for, if there is one; ``only_outliers`` says that it is for
    losses that set outliers aside. ``covered`` says that its dictionaries lie in
    the set of the paper, ``sparse`` that its encoder codes sparse rows on their nonzeros. ``prior``
    is that of `RatioLearner`.
    """

    description: str
    encoder: BlockEncoder
    learner: Learner | None = None
    multiplicative: bool = False
    only_for: Loss | None = None
    only_outliers: bool = False
    covered: bool = False
    sparse: bool = False
    prior: float = 0.0

    @property
    def published(self) -> bool:
        """Whether it keeps to what was published."""
        return self.learner is not None or self.multiplicative

    def check(self, loss: Loss, atoms: Constrained) -> None:
        """Refuse a loss or atoms that the solver is not for."""
        reason = None if self.learner is None else self.learner.requires(loss, atoms.form)
        if self.only_for is not None and loss.simplest != self.only_for:
            reason = f"{self.only_for}, not {loss}; use solver='auto', or that divergence"
        if self.only_outliers and loss.envelope is None:
            reason = f"divergence='huber', not {loss}; use solver='auto', or that divergence"
        if reason is not None:
            raise ValueError(f"This solver ({self.description}) needs {reason}.")


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
    ),
    "ol_lef": DivergenceSolver(
        "multiplicative codes, majorised dictionary (Lefèvre et al., OL-Lef)",
        _UPDATES,
        RatioLearner(2.0, 0.0),
        only_for=ItakuraSaito(),
    ),
    "ol_wang": DivergenceSolver(
        "multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang)",
        _UPDATES,
        StochasticGradient(constant=True),
        only_outliers=True,
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
        multiplicative=True,
        sparse=True,
    ),
}


@dataclass(frozen=True)
class FactorSolver:
    """What a solver of paper C stands for: who moves the factor of a half."""

    description: str
    choose: Callable[[Half], HalfSolver]
    quick_start: bool = False
    published: bool = True


_LARGE = 1 << 20


def _best(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] >= _LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    return RankOneSweeps() if RankOneSweeps().requires(half) is None else NesterovSmoothing()


def _rri(half: Half) -> HalfSolver:
    reason = RankOneSweeps().requires(half)
    if reason is not None:
        raise ValueError(reason)
    return RankOneSweeps()


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
        "ADMM on both factors, then sweeps; exact rows of large sparse data",
        _best,
        quick_start=True,
        published=False,
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


AS_PUBLISHED = "it was asked for by name, and keeps to what was published"


def name_of(value: Any) -> str:
    """What states and files call a solver that was given: its name, or that of its part."""
    return value if isinstance(value, str) else type(value).__name__


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
