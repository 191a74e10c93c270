"""Solvers of robust factorisations (paper A): how they find codes, and move atoms."""

from dataclasses import dataclass

from thresher.encoding import (
    ROUNDS_WITH_GAPS,
    BlockADMM,
    BlockEncoder,
    Encoder,
    Never,
    OutlierADMM,
    ProjectedGradient,
    Rough,
    SmallChange,
)
from thresher.learning import (
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    DictionaryStep,
    OutlierWeight,
)
from thresher.solvers.names import Published


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
_SIX_ROUNDS = Encoder(BlockADMM(), Never(), 6, certify=False)


@dataclass(frozen=True)
class OPGD(Published[Solver]):
    """Projected gradient codes and dictionary (paper A, IV-A): steps are κ over a bound."""

    name = "opgd"
    kappa: float = 0.7

    def made(self) -> Solver:
        """Its parts."""
        return Solver(
            "projected gradient codes and dictionary (paper A, OPGD)",
            Encoder(ProjectedGradient(self.kappa), _UNTIL_SMALL_CHANGE, 50, certify=False),
            DictionaryGradient(self.kappa),
        )


@dataclass(frozen=True)
class OADMM(Published[Solver]):
    """ADMM codes and dictionary (paper A, IV-B), with the penalty ρ."""

    name = "oadmm"
    rho: float = 1.0

    def made(self) -> Solver:
        """Its parts."""
        return Solver(
            "ADMM codes and dictionary (paper A, OADMM)",
            Encoder(OutlierADMM(self.rho), _UNTIL_SMALL_CHANGE, 50, certify=False),
            DictionaryADMM(self.rho),
        )


@dataclass(frozen=True)
class BPGD(Published[Solver]):
    """One projected gradient step for codes and dictionary in turn (paper A, (S-8)–(S-10))."""

    name = "bpgd"
    kappa: float = 0.7

    def made(self) -> Solver:
        """Its parts."""
        return Solver(
            "one projected gradient step for codes and dictionary (paper A, BPGD)",
            Encoder(ProjectedGradient(self.kappa), Never(), 1, certify=False),
            DictionaryGradient(self.kappa, max_iter=1),
        )


@dataclass(frozen=True)
class BADMM(Published[Solver]):
    """ADMM on codes, outliers and dictionary together (paper A, (S-12)–(S-20))."""

    name = "badmm"

    def made(self) -> Solver:
        """Its parts. Its steps are its own (engine/batch.py); the encoder serves `transform`."""
        return Solver(
            "ADMM on codes, outliers and dictionary together (paper A, BADMM)",
            _SIX_ROUNDS,
            BlockDescent(),
            splits=True,
        )


ONLINE_ROBUST_SOLVERS: dict[str, Solver | Published[Solver]] = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        Encoder(BlockADMM(), Rough(), ROUNDS_WITH_GAPS, certify=False),
        BlockDescent(),
        published=False,
        patient=_PATIENT,
    ),
    "opgd": OPGD(),
    "oadmm": OADMM(),
}

BATCH_ROBUST_SOLVERS: dict[str, Solver | Published[Solver]] = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        _SIX_ROUNDS,
        BlockDescent(),
        published=False,
        patient=_PATIENT,
    ),
    "bpgd": BPGD(),
    "badmm": BADMM(),
}
