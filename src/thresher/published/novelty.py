"""Paper B, detectors of novel documents: constants of ONLINE, BATCH-IMPL and L2-BATCH.

They are values of ``NovelDocumentDetector(mode=...)``. Each has the solver of its dictionaries.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from thresher.encoding import AutoEncoder, Encoder, can_stay_sparse
from thresher.engine import Specification
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.losses import SquaredL2
from thresher.published.base import (
    AT_LEAST_0,
    BELOW_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    Published,
    constant,
    one_of,
)
from thresher.published.divergences import needs_loss
from thresher.published.l1_dictionary import (
    ADMM,
    OIADMM,
    DualConstants,
    LinearisedConstants,
    dictionary_first,
)
from thresher.published.method import PublishedMethod, PublishedSolver

Unit = Literal["l1", "l2"]

_SINGLE = 1e-5  # the certificate that codes reach in float32


@dataclass(frozen=True)
class SquareConstants:
    """Constants of sparse coding with the squared loss; paper B does not give them (errata B.8).

    Parameters
    ----------
    sweeps : int
        Maximum number of sweeps of block coordinate descent over the atoms.
    tol : float
        Tolerance of sweeps and codes.
    """

    sweeps: int = constant(200, COUNT)
    tol: float = constant(1e-8, BELOW_1)


@dataclass(frozen=True)
class SparseCoding(SquareConstants, PublishedSolver[Specification]):
    """Alternate between block coordinate descent and exact codes: the problem of L2-BATCH.

    Its constants are those of `SquareConstants`.
    """

    name = "sparse_coding"
    description = "exact codes and block coordinate descent (paper B, L2-BATCH)"

    @property
    def encoder(self) -> Encoder:
        """Exact codes."""
        return AutoEncoder(self.tol, 10_000)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method, for the squared loss."""
        loss = given.loss(1.0)
        self.check(needs_loss(SquaredL2(), loss))
        learner = QuadraticLearner(BlockDescent(self.sweeps, self.tol))
        sparse, rounds = can_stay_sparse(loss, given.code_regulariser), dictionary_first
        return self.build(given, self.encoder, learner, rounds=rounds, keep_sparse=sparse)


@dataclass(frozen=True)
class DetectorConstants:
    """Constants of every detector of paper B.

    Parameters
    ----------
    code_penalty : float
        λ; 0.1 is quoted from memory of the main paper.
    rounds : int
        Maximum number of alternations between dictionary and codes: on the first documents, and in
        the batch detectors at every step.
    rtol : float
        Relative change of the objective at which they end; 0 runs all of them. The paper: "to
        convergence" (errata B.9).
    single : bool
        Compute in float32: expanded documents take half the memory.
    """

    code_penalty: float = constant(0.1, AT_LEAST_0)
    rounds: int = constant(20, COUNT)
    rtol: float = constant(1e-4, BELOW_1)
    single: bool = constant(False, FLAG)


@dataclass(frozen=True)
class GrowthConstants(DetectorConstants):
    """Constants of the batch detectors.

    Parameters
    ----------
    eta : int
        η, the atoms added at every step, unless ``n_new_atoms`` of the detector is given.
    """

    eta: int = constant(10, COUNT_OR_0)


@dataclass(frozen=True)
class Online(DetectorConstants, DualConstants, Published):
    """ONLINE of paper B: score, then one step of OIADMM.

    Its constants are those of `DetectorConstants` and `OIADMM`.
    """

    name = "online"

    @property
    def solver(self) -> OIADMM:
        """The solver of every step."""
        return OIADMM(**_shared(self, DualConstants))

    @property
    def starter(self) -> ADMM:
        """The solver for the first documents."""
        return ADMM(**_shared(self, LinearisedConstants))


@dataclass(frozen=True)
class BatchImpl(GrowthConstants, LinearisedConstants, Published):
    """BATCH-IMPL of paper B (Algorithm 4): score, then Algorithms 3 and 2 on all documents.

    Its constants are those of `GrowthConstants` and `ADMM`.

    Parameters
    ----------
    as_printed : bool
        New atoms are zero, and remain zero, instead of the documents with the largest loss (errata
        B.5).
    """

    name = "batch_impl"
    as_printed: bool = constant(False, FLAG)

    @property
    def solver(self) -> ADMM:
        """The solver."""
        return ADMM(**_shared(self, LinearisedConstants))


@dataclass(frozen=True)
class L2Batch(GrowthConstants, SquareConstants, Published):
    """L2-BATCH of paper B (Algorithm 5): score, then sparse coding of all documents, in squares.

    Its constants are those of `GrowthConstants` and `SquareConstants`.

    Parameters
    ----------
    unit : {"l2", "l1"}
        The norm by which documents are divided. In the paper it is ℓ1; then λ = 0.1 exceeds every
        product of an atom and a long document, so that all codes are zero (errata B.8).
    """

    name = "l2_batch"
    unit: Unit = constant("l2", one_of(Unit))

    @property
    def solver(self) -> SparseCoding:
        """The solver."""
        tol = max(self.tol, _SINGLE) if self.single else self.tol
        return SparseCoding(self.sweeps, tol)


def _shared(mode: Any, kind: Any) -> dict[str, Any]:
    return {f.name: getattr(mode, f.name) for f in fields(kind)}
