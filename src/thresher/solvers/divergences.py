"""Solvers for general divergences (paper E and its peers)."""

from dataclasses import dataclass
from typing import get_args

from thresher.encoding import (
    AutoEncoder,
    BlockEncoder,
    Encoder,
    MultiplicativeUpdates,
    Never,
    NoMoreGain,
    ProjectedSubgradient,
    RoughEncoder,
    Rule,
    SmallChange,
)
from thresher.learning import (
    Learner,
    RatioLearner,
    RobustApproximation,
    StochasticGradient,
)
from thresher.losses import ItakuraSaito, Loss
from thresher.penalties import Constrained
from thresher.sets import ConvexSet, CoveredBox, Simplex
from thresher.solvers.constants import (
    AT_LEAST_0,
    BETWEEN_0_AND_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    check_constants,
    one_of,
)
from thresher.solvers.names import Published


@dataclass(frozen=True)
class DivergenceSolver:
    """What a solver of paper E stands for.

    Without a ``learner`` it is ``auto``, which takes the one that suits the divergence;
    ``multiplicative`` stands for the update that every divergence has. ``only_for`` is the one
    loss that the solver was published for, if there is one; ``only_outliers`` says that it is for
    losses that set outliers aside. ``region`` is where its dictionaries lie, if it was published
    with a set; ``sparse`` says that its encoder codes sparse rows on their nonzeros. ``exponent``
    is that of multiplicative updates, if it is not the proven one, ``prior`` that of
    `RatioLearner`. ``dictionary_first`` says that codes are solved anew after the dictionary
    (paper B).
    """

    description: str
    encoder: BlockEncoder
    learner: Learner | None = None
    multiplicative: bool = False
    only_for: Loss | None = None
    only_outliers: bool = False
    region: ConvexSet | None = None
    sparse: bool = False
    exponent: float | None = None
    prior: float = 0.0
    dictionary_first: bool = False

    @property
    def published(self) -> bool:
        """Whether it keeps to what was published."""
        return self.learner is not None or self.multiplicative

    def check(self, loss: Loss, atoms: Constrained) -> None:
        """Refuse a loss or atoms that the solver is not for."""
        reason = None if self.learner is None else self.learner.requires(loss, atoms.form)
        if self.only_for is not None and loss.canonical != self.only_for:
            reason = f"{self.only_for}, not {loss}; use solver='auto', or that divergence"
        if self.only_outliers and loss.envelope is None:
            reason = f"divergence='huber', not {loss}; use solver='auto', or that divergence"
        if reason is not None:
            raise ValueError(f"This solver ({self.description}) needs {reason}.")


@dataclass(frozen=True)
class SPSGD(Published[DivergenceSolver]):
    """Algorithm 1 of paper E: projected subgradient codes, stochastic gradient dictionary.

    Parameters
    ----------
    a, b : float
        Of the steps ``η_t = a/(τt + b)`` of the dictionary (VIII-C), t counting batches from 1.
    tau : float, optional
        Their τ; without one, τt is the number of samples seen, the batch included.
    rule : {"armijo", "constant", "polyak"}, optional
        The step of the codes; without one, that of section V-C: ``polyak`` for losses with kinks,
        ``constant`` for those of bounded curvature, ``armijo`` for all others.
    alpha, gamma, q : float, float, int
        Of Armijo's rule (Algorithm 3): how much of the promised fall must come, by what the step is
        cut, and the last cut that is tested but for one: there are q + 2 trials.
    delta : float
        δ of Polyak's steps, in units of the loss of zero codes.
    tol, max_iter, patience : float, int, int
        The stop of the codes, which is not stated: a relative change of at most ``tol`` (of best
        values under Polyak's rule: less than δ in ``patience`` steps), or so many iterations.
    as_printed : bool
        The letter: steps have the unit of the data, and diverge on those of the paper (errata E.3);
        codes are tested where they are not projected (E.1), and columns of the dictionary before
        they are clipped (E.2).
    """

    name = "spsgd"
    a: float = 2e4
    b: float = 2e4
    tau: float | None = None
    rule: Rule | None = None
    alpha: float = 0.01
    gamma: float = 0.1
    q: int = 10
    delta: float = 0.01
    tol: float = 1e-3
    max_iter: int = 2000
    patience: int = 100
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            a=POSITIVE,
            b=POSITIVE,
            tau=POSITIVE,
            rule=one_of(*get_args(Rule)),
            alpha=BETWEEN_0_AND_1,
            gamma=BETWEEN_0_AND_1,
            q=COUNT_OR_0,
            delta=POSITIVE,
            tol=AT_LEAST_0,
            max_iter=COUNT,
            patience=COUNT,
            as_printed=FLAG,
        )

    def made(self) -> DivergenceSolver:
        """Its parts."""
        codes = ProjectedSubgradient(
            self.as_printed,
            self.rule,
            self.alpha,
            self.gamma,
            self.q + 1,
            self.delta,
            self.patience,
        )
        return DivergenceSolver(
            "projected subgradient codes, projected stochastic gradient dictionary (paper E)",
            Encoder(codes, NoMoreGain(self.tol), self.max_iter, certify=False),
            StochasticGradient(self.a, self.b, self.tau, scaled=not self.as_printed),
            region=CoveredBox(as_printed=self.as_printed),
        )


@dataclass(frozen=True)
class OLGuan(Published[DivergenceSolver]):
    """Exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan).

    Its constants are stated neither in paper A nor in paper E.

    Parameters
    ----------
    buffer : int
        So many of the last samples are kept, with their codes.
    steps, draw : int
        Steps for each batch, and samples of the buffer that a step sees, drawn at random.
    step : float
        The k-th of them is ``step/(L√k)``, L the spectral norm of the buffer's ``mean cᵀc``.
    tol : float
        To what codes are exact.
    """

    name = "ol_guan"
    buffer: int = 1000
    steps: int = 20
    draw: int = 50
    step: float = 1.0
    tol: float = 1e-4

    def __post_init__(self) -> None:
        check_constants(self, buffer=COUNT, steps=COUNT, draw=COUNT, step=POSITIVE, tol=POSITIVE)

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan)",
            AutoEncoder(self.tol),
            RobustApproximation(self.buffer, self.steps, self.draw, self.step),
        )


@dataclass(frozen=True)
class OLLef(Published[DivergenceSolver]):
    """Multiplicative codes and dictionary from two sums (Lefèvre et al., OL-Lef).

    Atoms sum to one. A discount of the past is `forgetting` of the estimator.

    Parameters
    ----------
    updates, tol : int, float
        Codes have so many updates at most, or end when a relative change is at most ``tol``;
        neither is stated.
    """

    name = "ol_lef"
    updates: int = 100
    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_constants(self, updates=COUNT, tol=AT_LEAST_0)

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "multiplicative codes, majorised dictionary (Lefèvre et al., OL-Lef)",
            _updates(self.updates, self.tol),
            RatioLearner(2.0, 0.0),
            only_for=ItakuraSaito(),
            region=Simplex(),
        )


@dataclass(frozen=True)
class OLWang(Published[DivergenceSolver]):
    """Multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang).

    Parameters
    ----------
    step : float, optional
        The constant step, one over the square of the data's unit. It is not stated; without one,
        the step is one over the curvature that it sees, averaged over the stream.
    updates, tol : int, float
        As in `OLLef`.
    """

    name = "ol_wang"
    step: float | None = None
    updates: int = 100
    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_constants(self, step=POSITIVE, updates=COUNT, tol=AT_LEAST_0)

    def made(self) -> DivergenceSolver:
        """Its parts."""
        step = 1.0 if self.step is None else self.step
        return DivergenceSolver(
            "multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang)",
            _updates(self.updates, self.tol),
            StochasticGradient(step, 1.0, scaled=self.step is None, constant=True),
            only_outliers=True,
            region=CoveredBox(),
        )


@dataclass(frozen=True)
class MU(Published[DivergenceSolver]):
    """One multiplicative update of codes and dictionary in turn (paper E, batch).

    Parameters
    ----------
    exponent : float, optional
        Of both updates; without one, that which makes them majorisation steps. Some texts have
        those of β < 1 and β > 2 with 1.
    """

    name = "mu"
    exponent: float | None = None

    def __post_init__(self) -> None:
        check_constants(self, exponent=POSITIVE)

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "one multiplicative update of codes and dictionary",
            Encoder(MultiplicativeUpdates(self.exponent, lift=0.0), Never(), 1, certify=False),
            multiplicative=True,
            exponent=self.exponent,
            sparse=True,
        )


def _updates(times: int, tol: float) -> Encoder:
    return Encoder(MultiplicativeUpdates(), SmallChange(tol), times, certify=False)


AUTO_ONLINE = DivergenceSolver(
    "the best method for the divergence", RoughEncoder(), sparse=True, prior=2.0
)

ONLINE_DIVERGENCE_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": AUTO_ONLINE,
    "spsgd": SPSGD(),
    "ol_guan": OLGuan(),
    "ol_lef": OLLef(),
    "ol_wang": OLWang(),
}

BATCH_DIVERGENCE_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": DivergenceSolver(
        "near-exact codes, the best dictionary step for the divergence",
        AutoEncoder(1e-3, 100),
        sparse=True,
    ),
    "mu": MU(),
}
