"""Solvers for general divergences (paper E and its peers)."""

from dataclasses import dataclass

from thresher.encoding import (
    AutoEncoder,
    BlockEncoder,
    Encoder,
    MultiplicativeUpdates,
    Never,
    ProjectedSubgradient,
    RoughEncoder,
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
from thresher.solvers.names import Published

_UNTIL_SMALL_CHANGE = SmallChange(1e-3)  # that of paper A; E does not state its own


@dataclass(frozen=True)
class DivergenceSolver:
    """What a solver of paper E stands for.

    Without a ``learner`` it is ``auto``, which takes the one that suits the divergence;
    ``multiplicative`` stands for the update that every divergence has. ``only_for`` is the one
    loss that the solver was published for, if there is one; ``only_outliers`` says that it is for
    losses that set outliers aside. ``covered`` says that its dictionaries lie in
    the set of the paper, ``sparse`` that its encoder codes sparse rows on their nonzeros. ``prior``
    is that of `RatioLearner`. ``dictionary_first`` says that codes are solved anew after the
    dictionary (paper B).
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
    dictionary_first: bool = False

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


_UPDATES = Encoder(MultiplicativeUpdates(), _UNTIL_SMALL_CHANGE, 100, certify=False)


@dataclass(frozen=True)
class SPSGD(Published[DivergenceSolver]):
    """The solver of paper E, with steps ``a/(τt + b)``.

    ``scaled=False`` leaves them as printed.
    """

    name = "spsgd"
    a: float = 2e4
    b: float = 2e4
    scaled: bool = True

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "projected subgradient codes, projected stochastic gradient dictionary (paper E)",
            Encoder(ProjectedSubgradient(self.scaled), _UNTIL_SMALL_CHANGE, 100, certify=False),
            StochasticGradient(self.a, self.b, self.scaled),
            covered=True,
        )


@dataclass(frozen=True)
class OLGuan(Published[DivergenceSolver]):
    """Exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan)."""

    name = "ol_guan"

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan)",
            AutoEncoder(),
            RobustApproximation(),
        )


@dataclass(frozen=True)
class OLLef(Published[DivergenceSolver]):
    """Multiplicative codes and dictionary from two sums (Lefèvre et al., OL-Lef)."""

    name = "ol_lef"

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "multiplicative codes, majorised dictionary (Lefèvre et al., OL-Lef)",
            _UPDATES,
            RatioLearner(2.0, 0.0),
            only_for=ItakuraSaito(),
        )


@dataclass(frozen=True)
class OLWang(Published[DivergenceSolver]):
    """Multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang)."""

    name = "ol_wang"

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang)",
            _UPDATES,
            StochasticGradient(constant=True),
            only_outliers=True,
            covered=True,
        )


@dataclass(frozen=True)
class MU(Published[DivergenceSolver]):
    """One multiplicative update of codes and dictionary in turn (paper E, batch)."""

    name = "mu"

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "one multiplicative update of codes and dictionary",
            Encoder(MultiplicativeUpdates(), Never(), 1, certify=False),
            multiplicative=True,
            sparse=True,
        )


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
