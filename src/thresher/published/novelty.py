"""Paper B, detectors of novel documents: constants of ONLINE, BATCH-IMPL and L2-BATCH.

Given as ``NovelDocumentDetector(mode=...)``. Each has the solver of its dictionaries.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from thresher.encoding import AutoEncoder
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.losses import SquaredL2
from thresher.published.base import (
    AT_LEAST_0,
    BELOW_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    Published,
    check_constants,
    one_of,
)
from thresher.published.divergences import DivergenceSolver
from thresher.published.l1_dictionary import ADMM, OIADMM, DualConstants, LinearisedConstants

Unit = Literal["l1", "l2"]

_SINGLE = 1e-5  # what codes meet in float32


@dataclass(frozen=True)
class SquareConstants:
    """Constants of sparse coding in squares, of which paper B says nothing (errata B.8).

    Parameters
    ----------
    sweeps : int
        Of block coordinate descent over the atoms, at most.
    tol : float
        At which sweeps and codes stop.
    """

    sweeps: int = 200
    tol: float = 1e-8

    def __post_init__(self) -> None:
        check_constants(self, sweeps=COUNT, tol=BELOW_1)


@dataclass(frozen=True)
class SparseCoding(SquareConstants, Published[DivergenceSolver]):
    """Block coordinate descent and exact codes in turns: the problem inside L2-BATCH.

    Its constants are those of `SquareConstants`.
    """

    name = "sparse_coding"

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return DivergenceSolver(
            "exact codes and block coordinate descent in turns (paper B, L2-BATCH)",
            AutoEncoder(self.tol, 10_000),
            QuadraticLearner(BlockDescent(self.sweeps, self.tol)),
            only_for=SquaredL2(),
            sparse=True,
            dictionary_first=True,
        )


@dataclass(frozen=True)
class DetectorConstants:
    """Constants of every detector of paper B.

    Parameters
    ----------
    code_penalty : float
        λ, remembered to be 0.1.
    rounds : int
        Of dictionary and codes in turns, at most: on the first documents, and in the batch
        detectors at every step.
    rtol : float
        Relative change of the objective in a round at which these end; 0 makes all of them. The
        paper says "to convergence" (errata B.9).
    single : bool
        Compute in float32: documents are expanded, and take half the memory.
    """

    code_penalty: float = 0.1
    rounds: int = 20
    rtol: float = 1e-4
    single: bool = False

    def __post_init__(self) -> None:
        check_constants(self, code_penalty=AT_LEAST_0, rounds=COUNT, rtol=BELOW_1, single=FLAG)


@dataclass(frozen=True)
class GrowthConstants(DetectorConstants):
    """Constants of the batch detectors.

    Parameters
    ----------
    eta : int
        η, the atoms more at every step; ``n_new_atoms`` of the detector takes its place.
    """

    eta: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_constants(self, eta=COUNT_OR_0)


@dataclass(frozen=True)
class Online(DetectorConstants, DualConstants, Published[DivergenceSolver]):
    """ONLINE of paper B: score, then one step of OIADMM.

    Its constants are those of `DetectorConstants` and `OIADMM`.
    """

    name = "online"

    def __post_init__(self) -> None:
        DetectorConstants.__post_init__(self)
        DualConstants.__post_init__(self)

    @property
    def solver(self) -> OIADMM:
        """What learns at every step."""
        return OIADMM(**_shared(self, DualConstants))

    @property
    def starter(self) -> ADMM:
        """What learns from the first documents."""
        return ADMM(**_shared(self, LinearisedConstants))

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return self.solver.made()


@dataclass(frozen=True)
class BatchImpl(GrowthConstants, LinearisedConstants, Published[DivergenceSolver]):
    """BATCH-IMPL of paper B (Algorithm 4): score, then Algorithms 3 and 2 on all documents.

    Its constants are those of `GrowthConstants` and `ADMM`.

    Parameters
    ----------
    as_printed : bool
        New atoms are zero, and stay so, instead of the least explained documents (errata B.5).
    """

    name = "batch_impl"
    as_printed: bool = False

    def __post_init__(self) -> None:
        GrowthConstants.__post_init__(self)
        LinearisedConstants.__post_init__(self)
        check_constants(self, as_printed=FLAG)

    @property
    def solver(self) -> ADMM:
        """What learns."""
        return ADMM(**_shared(self, LinearisedConstants))

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return self.solver.made()


@dataclass(frozen=True)
class L2Batch(GrowthConstants, SquareConstants, Published[DivergenceSolver]):
    """L2-BATCH of paper B (Algorithm 5): score, then sparse coding of all documents, in squares.

    Its constants are those of `GrowthConstants` and `SquareConstants`.

    Parameters
    ----------
    unit : {"l2", "l1"}
        The length of documents that is one. The paper's is ℓ1, where λ = 0.1 is above every
        product of an atom and a long document, so that all codes are zero (errata B.8).
    """

    name = "l2_batch"
    unit: Unit = "l2"

    def __post_init__(self) -> None:
        GrowthConstants.__post_init__(self)
        SquareConstants.__post_init__(self)
        check_constants(self, unit=one_of(*get_args(Unit)))

    @property
    def solver(self) -> SparseCoding:
        """What learns."""
        tol = max(self.tol, _SINGLE) if self.single else self.tol
        return SparseCoding(self.sweeps, tol)

    def made(self) -> DivergenceSolver:
        """Its parts."""
        return self.solver.made()


def _shared(mode: Any, kind: Any) -> dict[str, Any]:
    return {f.name: getattr(mode, f.name) for f in fields(kind)}
