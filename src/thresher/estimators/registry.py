"""Names and what they stand for: the only place where strings become parts."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import (
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
from thresher.engine import (
    ExactRows,
    Graph,
    Half,
    HalfSolver,
    NesterovSmoothing,
    RankOneSweeps,
    nearest_neighbours,
    similarities,
)
from thresher.learning import (
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    DictionaryStep,
    FixedWeight,
    Forgetting,
    HalfLife,
    L1DictionaryADMM,
    Learner,
    NoiseWeight,
    OnlineInexactADMM,
    OutlierWeight,
    PlainAverage,
    PowerForgetting,
    RangeWeight,
    RatioLearner,
    RobustApproximation,
    StochasticGradient,
)
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    ElasticDistance,
    Envelope,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Loss,
    Mahalanobis,
    SmoothedL1,
    SquaredL2,
)
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso, GroupNorm, Penalty
from thresher.sets import (
    Box,
    ConvexSet,
    CoveredBox,
    GroupBall,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Simplex,
)

NamedSolver = TypeVar("NamedSolver")

SETS: dict[str, Callable[[], ConvexSet]] = {
    "nonnegative": NonnegativeOrthant,
    "l2_ball": NonnegativeL2Ball,
    "l1_ball": NonnegativeL1Ball,
    "simplex": Simplex,
    "elastic_net_ball": NonnegativeElasticNetBall,
    "box": Box,
    "covered_box": CoveredBox,
}

OUTLIER_PENALTIES: dict[str, Callable[[], Penalty]] = {
    "l1": lambda: L1(1.0),
    "samples": lambda: GroupLasso(1.0),
}


@dataclass(frozen=True)
class Solver:
    """What a solver's name stands for: how it finds codes while learning, and moves atoms."""

    description: str
    encoder: BlockEncoder
    step: DictionaryStep


_UNTIL_SMALL_CHANGE = SmallChange(1e-3)  # paper A, VII-B2

ONLINE_ROBUST_SOLVERS = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        Encoder(BlockADMM(), Rough(), 4, certify=False),
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
class Divergence:
    """What a divergence's name stands for.

    ``loss`` makes the loss from the threshold that the rule ``threshold`` gives, and
    ``dictionary_loss`` the one that the learner sees, if it is another.
    """

    loss: Callable[[float], Loss]
    threshold: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
    dictionary_loss: Callable[[float], Loss] | None = None


DIVERGENCES: dict[str, Callable[[], Loss]] = {
    "squared_l2": SquaredL2,
    "kl": KullbackLeibler,
    "is": ItakuraSaito,
    "hellinger": Hellinger,
    "l2": L2Distance,
}

PARAMETRIC_DIVERGENCES: dict[str, tuple[Callable[[Any], Loss], str]] = {
    "alpha": (AlphaDivergence, "its α, such as 0.5"),
    "beta": (BetaDivergence, "its β, such as 1.5"),
    "mahalanobis": (Mahalanobis, "a positive definite matrix"),
}

# Rounding off at half of the noise's standard deviation changes the ℓ1 optimum little, and
# leaves enough curvature to step by (docs/divergences.md).
_L1_WIDTH = 0.5


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
    learner: Learner | str = "auto"
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


def ogm(smoothing: float = 2.0, monotone: bool = False) -> FactorSolver:
    """The smoothing method of paper C; see `thresher.engine.NesterovSmoothing`.

    Give it to ``ManhattanNMF(solver=ogm(monotone=True))``.
    """
    return FactorSolver(
        "Nesterov's smoothing method (paper C, OGM)",
        lambda half: NesterovSmoothing(smoothing, monotone),
    )


MANHATTAN_SOLVERS = {
    "auto": FactorSolver(
        "ADMM on both factors, then sweeps; exact rows of large sparse data", _best, True
    ),
    "rri": FactorSolver("one sweep over the entries of each factor (paper C, RRI)", _rri),
    "ogm": ogm(),
}

# The paper says "to convergence": this is about as far as the statement can mean, at a bearable
# price. (`transform` and scores are exact, whatever the solver.)
_LINEARISED = Encoder(LinearisedADMM(), Settled(1e-2), 200, certify=False)

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
        L1DictionaryADMM(),
        L1Distance,
        sparse=True,  # what they keep is dense, but scores need not be
    ),
}

INITS = {
    "auto": "auto",
    "mean": "mean",
    "medians": "medians",
    "samples": "samples",
    "random": "uniform",
    "uniform": "uniform",
    "half-normal": "half-normal",
}

PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        Box,
        NonnegativeOrthant,
        NonnegativeL2Ball,
        NonnegativeL1Ball,
        NonnegativeElasticNetBall,
        Simplex,
        CoveredBox,
        SquaredL2,
        AlphaDivergence,
        BetaDivergence,
        L1Distance,
        ElasticDistance,
        L2Distance,
        Mahalanobis,
        Envelope,
        ElasticNet,
        type(GroupLasso(1.0)),
        GroupNorm,
        GroupBall,
        PlainAverage,
        PowerForgetting,
        HalfLife,
        OnlineInexactADMM,
    )
}
"""Parts that a saved model may contain as parameters."""

# Chosen by measurement, see docs/learner.md. In random order old samples only hold back, as they
# were coded with poorer dictionaries; in the order of time they are what the model must remember.
FORGETTING_SHUFFLED = PowerForgetting(60.0)
AVERAGING_SHUFFLED = 10.0
FORGETTING_IN_ORDER = PowerForgetting(3.0)
FORGETTING_MAJORISED = PowerForgetting(10.0)
"""For ratios of sums in random order; they need no averaging (docs/divergences.md)."""


def _unknown(parameter: str, value: object, names: Any) -> ValueError:
    known = ", ".join(repr(name) for name in names)
    return ValueError(f"{parameter}={value!r} is not known; use one of {known}, or a part.")


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


def named_divergence(value: Any, parameter: Any) -> Divergence:
    """A divergence from its name and its parameter, or from a loss."""
    if isinstance(value, str) and value in ("huber", "l1"):
        return _robust_divergence(value, parameter)
    if isinstance(value, str) and value in PARAMETRIC_DIVERGENCES:
        make, what = PARAMETRIC_DIVERGENCES[value]
        if parameter is None:
            raise ValueError(f"divergence={value!r} needs divergence_parameter: {what}.")
        loss = make(parameter)
    elif isinstance(value, str) and value in DIVERGENCES:
        loss = DIVERGENCES[value]()
        _refuse_parameter(value, parameter)
    elif isinstance(value, L1Distance):
        return _robust_divergence("l1", parameter, value)
    elif isinstance(value, Loss):
        loss = value
        _refuse_parameter(value, parameter)
    else:
        known = (*DIVERGENCES, "l1", "huber", *PARAMETRIC_DIVERGENCES)
        raise _unknown("divergence", value, known)
    return Divergence(lambda _: loss)


def _robust_divergence(name: str, parameter: Any, l1: L1Distance | None = None) -> Divergence:
    if name == "l1":
        _refuse_parameter(name, parameter)
        loss = L1Distance() if l1 is None else l1

        def smoothed(width: float) -> SmoothedL1:
            return SmoothedL1(width, loss.zero_weight)

        return Divergence(lambda _: loss, NoiseWeight(_L1_WIDTH), smoothed)
    if parameter is not None and not isinstance(parameter, Real):
        raise ValueError(
            f"The threshold of 'huber' must be a number in units of the data, got {parameter!r}."
        )
    rule = NoiseWeight() if parameter is None else FixedWeight(float(parameter))
    return Divergence(Huber, rule)


def _refuse_parameter(divergence: Any, parameter: Any) -> None:
    if parameter is not None:
        raise ValueError(f"divergence={divergence!r} takes no parameter; leave it out.")


def named_set(parameter: str, value: str | ConvexSet) -> ConvexSet:
    """A set from its name."""
    if isinstance(value, ConvexSet):
        return value
    if isinstance(value, str) and value in SETS:
        return SETS[value]()
    raise _unknown(parameter, value, SETS)


def named_penalty(parameter: str, value: float | Penalty | None) -> Penalty:
    """None is no penalty, a number the weight of an ℓ1 penalty."""
    if value is None:
        return ElasticNet()
    if isinstance(value, Penalty):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return L1(float(value))
    raise ValueError(
        f"{parameter}={value!r} is not a penalty; use None, a number (the weight of an ℓ1 "
        "penalty), or a part such as thresher.penalties.ElasticNet(0.1, 0.1)."
    )


def named_regulariser(
    kind: str, region: str | ConvexSet, penalty: float | Penalty | None
) -> Constrained:
    """Set and penalty of codes or of a dictionary."""
    return Constrained(named_penalty(f"{kind}_penalty", penalty), named_set(f"{kind}_set", region))


def named_forgetting(
    value: Any, in_order: bool, shuffled: Forgetting = FORGETTING_SHUFFLED
) -> Forgetting:
    """Take ``auto``, None (the plain average), a half-life in samples, or a schedule."""
    if isinstance(value, str) and value == "auto":
        return FORGETTING_IN_ORDER if in_order else shuffled
    if value is None:
        return PlainAverage()
    if isinstance(value, Real) and not isinstance(value, bool):
        return HalfLife(float(value))
    if callable(value):
        return value
    raise ValueError(
        f"forgetting={value!r} is not known; use 'auto', None for the plain average, a half-life "
        "in samples, or a function of (samples in the batch, samples seen)."
    )


def named_outlier_weight(value: Any) -> OutlierWeight:
    """Take ``auto`` (from the range), ``mad`` (from the noise), or a number."""
    if isinstance(value, str) and value == "auto":
        return RangeWeight()
    if isinstance(value, str) and value == "mad":
        return NoiseWeight()
    if isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0:
        return FixedWeight(float(value))
    raise ValueError(
        f"outlier_weight={value!r} is not known; use 'auto', 'mad', or a positive number in the "
        "units of the data."
    )


def named_loss(penalty: Any, sign: str, bound: float | None) -> Callable[[float], Loss]:
    """How the loss follows from λ: the envelope of ``λ·penalty`` on the outliers' box."""
    if isinstance(penalty, str) and penalty in OUTLIER_PENALTIES:
        shape = OUTLIER_PENALTIES[penalty]()
    elif isinstance(penalty, Penalty):
        shape = penalty
    else:
        raise _unknown("outlier_penalty", penalty, OUTLIER_PENALTIES)
    if sign not in ("free", "nonnegative"):
        raise _unknown("outlier_sign", sign, ("free", "nonnegative"))
    limit = np.inf if bound is None else float(bound)
    if not limit > 0:
        raise ValueError(f"outlier_bound={bound!r} must be positive, or None for no bound.")
    box = Box(0.0 if sign == "nonnegative" else -limit, limit)
    return lambda weight: Envelope(shape.scaled(weight), box)


def named_graph(value: Any, weight: float, X: Any) -> Graph | None:
    """A graph from its similarities, or of so many nearest neighbours."""
    if value is None:
        return None
    if not isinstance(weight, Real) or not weight >= 0:
        raise ValueError(f"graph_weight={weight!r} must be a number, 0 or more.")
    if isinstance(value, Integral) and not isinstance(value, bool):
        if not 1 <= value < X.shape[0]:
            raise ValueError(
                f"graph={value!r} asks for that many neighbours; give a number from 1 to "
                f"{X.shape[0] - 1}, one less than there are samples."
            )
        return Graph(nearest_neighbours(X, int(value)), float(weight))
    if getattr(value, "shape", None) != (X.shape[0], X.shape[0]):
        raise ValueError(
            f"graph={value!r} is not known; give a number of neighbours, or a matrix of "
            f"similarities of shape ({X.shape[0]}, {X.shape[0]})."
        )
    return Graph(similarities(value), float(weight))


def frozen_mask(value: Any, n_components: int) -> NDArray[np.bool_] | None:
    """Atoms that never move: indices, or a flag for each atom."""
    if value is None or np.size(value) == 0:
        return None
    chosen = np.asarray(value)
    if chosen.dtype == bool and chosen.ndim == 1 and len(chosen) <= n_components:
        # Atoms that grew later are free.
        return np.pad(chosen, (0, n_components - len(chosen)))
    if chosen.ndim == 1 and chosen.dtype.kind in "iu":
        if not 0 <= chosen.min() <= chosen.max() < n_components:
            raise ValueError(
                f"frozen_atoms must name atoms from 0 to {n_components - 1}, got {value!r}."
            )
        mask = np.zeros(n_components, dtype=bool)
        mask[chosen] = True
        return mask
    raise ValueError(
        f"frozen_atoms must be a list of atom numbers or {n_components} flags, got {value!r}."
    )
