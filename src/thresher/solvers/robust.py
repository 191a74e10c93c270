"""Solvers of robust factorisations (paper A): how they find codes, and move atoms."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
from thresher.engine import Alternation, BatchADMM, BatchGradient, BatchProblem, Pool
from thresher.learning import (
    BlockDescent,
    DictionaryADMM,
    DictionaryGradient,
    DictionaryStep,
    OutlierWeight,
)
from thresher.linalg import Array
from thresher.solvers.constants import AT_LEAST_0, COUNT, FLAG, POSITIVE, SHARE, check_constants
from thresher.solvers.names import Published


@dataclass(frozen=True)
class Solver:
    """What a solver's name stands for: how it finds codes while learning, and moves atoms.

    ``published`` ones keep to what was published: the data's own unit, a uniform start, the plain
    average, no revival of dead atoms. ``patient`` codes where λ comes from the noise: which rows
    are mostly noise is not known before it is. ``rounds`` makes the rounds of a batch method from
    the problem, dictionary and codes to start from, if they are its own. ``strays`` says that
    the dictionary may leave its set.
    """

    description: str
    encoder: BlockEncoder
    step: DictionaryStep
    published: bool = True
    patient: BlockEncoder | None = None
    rounds: Callable[[BatchProblem, Array, Array, Pool], Alternation] | None = None
    strays: bool = False

    def encoder_for(self, rule: OutlierWeight) -> BlockEncoder:
        """The encoder, given the rule for λ."""
        measured = rule.measures == "residuals" and self.patient is not None
        return self.patient if measured and self.patient is not None else self.encoder


_PATIENT = Encoder(BlockADMM(), Never(), ROUNDS_WITH_GAPS, certify=False)
_SIX_ROUNDS = Encoder(BlockADMM(), Never(), 6, certify=False)


@dataclass(frozen=True)
class OPGD(Published[Solver]):
    """Projected gradient codes and dictionary (paper A, IV-A), started uniform on [0, 1].

    Parameters
    ----------
    kappa : float
        κ: codes take steps of ``κ/‖D‖₂²``, (15).
    kappa_dictionary : float
        κ̃: the dictionary takes steps of ``κ̃/‖A‖_F``, (20)–(22).
    code_tol, code_max_iter : float, int
        Codes of a sample end when (6) changes by less, relatively, or after so many steps (VII-B2).
    dictionary_tol, dictionary_max_iter : float, int
        The same for the dictionary and (18).
    as_printed : bool
        The dictionary's step is ``κ̃/‖D‖₂²``, its stop divides by the negative (18), and its
        start is not in the set (errata A.6 to A.8).
    """

    name = "opgd"
    kappa: float = 0.7
    kappa_dictionary: float = 0.7
    code_tol: float = 1e-3
    code_max_iter: int = 50
    dictionary_tol: float = 1e-4
    dictionary_max_iter: int = 200
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            kappa=SHARE,
            kappa_dictionary=SHARE,
            code_tol=AT_LEAST_0,
            code_max_iter=COUNT,
            dictionary_tol=AT_LEAST_0,
            dictionary_max_iter=COUNT,
            as_printed=FLAG,
        )

    def made(self) -> Solver:
        """Its parts."""
        stop, step = SmallChange(self.code_tol), ProjectedGradient(self.kappa)
        return Solver(
            "projected gradient codes and dictionary (paper A, OPGD)",
            Encoder(step, stop, self.code_max_iter, certify=False),
            DictionaryGradient(
                self.kappa_dictionary,
                self.dictionary_tol,
                self.dictionary_max_iter,
                as_printed=self.as_printed,
            ),
            strays=self.as_printed,
        )


@dataclass(frozen=True)
class OADMM(Published[Solver]):
    """ADMM codes and dictionary (paper A, IV-B), started uniform on [0, 1].

    Parameters
    ----------
    rho_1, rho_2, rho_3 : float
        ρ₁ ties the copies of the codes together and ρ₂ those of the outliers, (24); ρ₃ those of the
        dictionary, (32).
    code_tol, code_max_iter : float, int
        Codes of a sample end when (6) changes by less, relatively, or after so many steps (VII-B2).
    dictionary_tol, dictionary_max_iter : float, int
        The same for the dictionary and (18).
    as_printed : bool
        The free copies h, r and W are what goes on, and what the stops look at; the dictionary's
        stop divides by the negative (18), and its start is not in the set (errata A.5, A.7, A.8).
    """

    name = "oadmm"
    rho_1: float = 1.0
    rho_2: float = 1.0
    rho_3: float = 1.0
    code_tol: float = 1e-3
    code_max_iter: int = 50
    dictionary_tol: float = 1e-4
    dictionary_max_iter: int = 200
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            rho_1=POSITIVE,
            rho_2=POSITIVE,
            rho_3=POSITIVE,
            code_tol=AT_LEAST_0,
            code_max_iter=COUNT,
            dictionary_tol=AT_LEAST_0,
            dictionary_max_iter=COUNT,
            as_printed=FLAG,
        )

    def made(self) -> Solver:
        """Its parts."""
        codes = OutlierADMM(self.rho_1, self.rho_2, self.as_printed)
        return Solver(
            "ADMM codes and dictionary (paper A, OADMM)",
            Encoder(codes, SmallChange(self.code_tol), self.code_max_iter, certify=False),
            DictionaryADMM(
                self.rho_3, self.dictionary_tol, self.dictionary_max_iter, self.as_printed
            ),
            strays=self.as_printed,
        )


@dataclass(frozen=True)
class BPGD(Published[Solver]):
    """One projected gradient step for codes and dictionary in turn (paper A, (S-8)–(S-10)).

    Parameters
    ----------
    kappa, kappa_dictionary : float
        Steps are ``κ/‖D‖₂²`` for codes and ``κ̃/‖CᵀC‖_F`` for the dictionary.
    as_printed : bool
        The uniform start of the dictionary is not in the set (errata A.7).
    """

    name = "bpgd"
    kappa: float = 0.7
    kappa_dictionary: float = 0.7
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            kappa=SHARE,
            kappa_dictionary=SHARE,
            as_printed=FLAG,
        )

    def made(self) -> Solver:
        """Its parts; the encoder serves nobody but who streams."""
        codes = ProjectedGradient(self.kappa)
        return Solver(
            "one projected gradient step for codes and dictionary (paper A, BPGD)",
            Encoder(codes, Never(), 1, certify=False),
            DictionaryGradient(self.kappa_dictionary, max_iter=1),
            rounds=partial(BatchGradient, solver=codes),
            strays=self.as_printed,
        )


@dataclass(frozen=True)
class BADMM(Published[Solver]):
    """ADMM on codes, outliers and dictionary together (paper A, (S-12)–(S-20)).

    Parameters
    ----------
    rho_1, rho_2, rho_3 : float
        ρ̃₁ ties the copies of the codes together, ρ̃₂ those of the outliers, ρ̃₃ those of the
        dictionary, (S-11).
    as_printed : bool
        The uniform start of the dictionary is not in the set (errata A.7).
    """

    name = "badmm"
    rho_1: float = 1.0
    rho_2: float = 1.0
    rho_3: float = 1.0
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(
            self,
            rho_1=POSITIVE,
            rho_2=POSITIVE,
            rho_3=POSITIVE,
            as_printed=FLAG,
        )

    def made(self) -> Solver:
        """Its parts; the encoder and the step serve nobody but who streams."""
        penalties = {"rho_1": self.rho_1, "rho_2": self.rho_2, "rho_3": self.rho_3}
        return Solver(
            "ADMM on codes, outliers and dictionary together (paper A, BADMM)",
            _SIX_ROUNDS,
            BlockDescent(),
            rounds=lambda problem, D, C, pool: BatchADMM(problem, D, C, **penalties),
            strays=self.as_printed,
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
