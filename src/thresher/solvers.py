"""Solvers by name, and the published ones with constants of one's own.

``OnlineRobustNMF(solver="opgd")`` is a solver with the constants of its paper;
``OnlineRobustNMF(solver=thresher.solvers.opgd(kappa=0.5))`` is the same with others.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from thresher.encoding import (
    ROUNDS_WITH_GAPS,
    AutoEncoder,
    BlockADMM,
    Encoder,
    Never,
    Rough,
    RoughEncoder,
)
from thresher.learning import BlockDescent, OrthogonalLearner, RefinedLearner, TrackedLearner
from thresher.manhattan import LARGE, ExactRows, Half, HalfSolver, NesterovSmoothing, RankOneSweeps
from thresher.manhattan.symmetric import manhattan_sweep
from thresher.published.base import AS_PUBLISHED, Published, listed
from thresher.published.divergences import MU, SPSGD, DivergenceSolver, OLGuan, OLLef, OLWang
from thresher.published.l1_dictionary import ADMM, OIADMM
from thresher.published.low_rank import RidgeRegression
from thresher.published.manhattan import OGM, RRI, FactorSolver, SymmetricRRI, SymmetricSolver
from thresher.published.novelty import BatchImpl, L2Batch, Online, SparseCoding
from thresher.published.orthogonal import AODL, SFW, NoncvxSFW, OrthogonalSolver
from thresher.published.outliers import BADMM, BPGD, OADMM, OPGD, Solver

# As they are written in ``solver="..."``.
opgd, oadmm, bpgd, badmm = OPGD, OADMM, BPGD, BADMM
oiadmm, admm = OIADMM, ADMM
online, batch_impl, l2_batch, sparse_coding = Online, BatchImpl, L2Batch, SparseCoding
rri, ogm, symmetric_rri = RRI, OGM, SymmetricRRI
noncvx_sfw, sfw, aodl = NoncvxSFW, SFW, AODL
spsgd, ol_guan, ol_lef, ol_wang, mu = SPSGD, OLGuan, OLLef, OLWang, MU

PUBLISHED: dict[str, type[Published[Any]]] = {
    kind.name: kind
    for kind in (
        *(opgd, oadmm, bpgd, badmm),
        *(oiadmm, admm),
        *(online, batch_impl, l2_batch, sparse_coding),
        *(rri, ogm, symmetric_rri),
        *(noncvx_sfw, sfw, aodl),
        *(spsgd, ol_guan, ol_lef, ol_wang, mu),
    )
}
"""Every published solver, by its name."""

_Made = TypeVar("_Made")


def name_of(value: Any) -> str:
    """What states and files call a solver that was given: its name, or that of its part."""
    if isinstance(value, Published):
        return value.name
    return value if isinstance(value, str) else type(value).__name__


def named_solver(value: Any, solvers: Mapping[str, _Made | Published[_Made]]) -> _Made:
    """A solver from its name, or from a part."""
    if isinstance(value, str) and value in solvers:
        value = solvers[value]
    elif not isinstance(value, tuple({type(solver) for solver in solvers.values()})):
        raise ValueError(f"solver={value!r} is not known; use {listed(solvers)}.")
    made: _Made = value.made() if isinstance(value, Published) else value
    return made


# ------------------------------------------------------------------ robust factorisations (A)

_SIX_ROUNDS = Encoder(BlockADMM(), Never(), 6, certify=False)
_PATIENT = Encoder(BlockADMM(), Never(), ROUNDS_WITH_GAPS, certify=False)
_STREAMING = Encoder(BlockADMM(), Rough(), ROUNDS_WITH_GAPS, certify=False)

ONLINE_ROBUST_SOLVERS: dict[str, Solver | Published[Solver]] = {
    "auto": Solver(
        "block ADMM codes, block coordinate descent dictionary",
        _STREAMING,
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

ONLINE_PCA = Solver(
    "block ADMM codes, the basis by ridge regression",
    _STREAMING,
    RidgeRegression(),
    published=False,
    patient=_PATIENT,
)

# Nothing streams here: encoder and step serve nobody.
PURSUIT = Solver(
    "principal component pursuit, inexact augmented Lagrangian, partial decompositions",
    AutoEncoder(),
    BlockDescent(),
    published=False,
)
GODEC = Solver(
    "rank and cardinality in turns, bilateral random projections",
    AutoEncoder(),
    BlockDescent(),
    published=False,
)

# ------------------------------------------------------------------------ ℓ1 dictionaries (B)

ONLINE_L1_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step with additive statistics",
        AutoEncoder(1e-3, 100),
        sparse=True,
    ),
    "oiadmm": OIADMM(),
}

BATCH_L1_SOLVERS: dict[str, DivergenceSolver | Published[DivergenceSolver]] = {
    "auto": DivergenceSolver(
        "exact codes, smoothed dictionary step", AutoEncoder(1e-3, 100), sparse=True
    ),
    "admm": ADMM(),
}

# -------------------------------------------------------------------------- Manhattan NMF (C)


def _best_half(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] > LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    return RankOneSweeps() if RankOneSweeps().requires(half) is None else NesterovSmoothing()


MANHATTAN_SOLVERS: dict[str, FactorSolver | Published[FactorSolver]] = {
    "auto": FactorSolver(
        "ADMM on both factors, then sweeps; exact rows of large sparse data",
        _best_half,
        quick_start=True,
        published=False,
    ),
    "rri": RRI(),
    "ogm": OGM(),
}

SYMMETRIC_SOLVERS: dict[str, SymmetricSolver | Published[SymmetricSolver]] = {
    "auto": SymmetricSolver("row by row, entry by entry", manhattan_sweep),
    "symmetric_rri": SymmetricRRI(),
}

# ----------------------------------------------------------------- orthogonal dictionaries (D)


def _best_orthogonal(p: int, drifts: bool) -> OrthogonalLearner:
    return TrackedLearner() if drifts else RefinedLearner()


ORTHOGONAL_SOLVERS: dict[str, OrthogonalSolver | Published[OrthogonalSolver]] = {
    "auto": OrthogonalSolver(_best_orthogonal, (3,)),
    "noncvx_sfw": NoncvxSFW(),
    "sfw": SFW(),
    "aodl": AODL(),
}

# --------------------------------------------------------------------- general divergences (E)

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
    "sparse_coding": SparseCoding(),
}

__all__ = [
    "AS_PUBLISHED",
    "AUTO_ONLINE",
    "BATCH_DIVERGENCE_SOLVERS",
    "BATCH_L1_SOLVERS",
    "BATCH_ROBUST_SOLVERS",
    "GODEC",
    "MANHATTAN_SOLVERS",
    "ONLINE_DIVERGENCE_SOLVERS",
    "ONLINE_L1_SOLVERS",
    "ONLINE_PCA",
    "ONLINE_ROBUST_SOLVERS",
    "ORTHOGONAL_SOLVERS",
    "PUBLISHED",
    "PURSUIT",
    "SYMMETRIC_SOLVERS",
    "DivergenceSolver",
    "FactorSolver",
    "OrthogonalSolver",
    "Published",
    "Solver",
    "SymmetricSolver",
    "admm",
    "aodl",
    "badmm",
    "batch_impl",
    "bpgd",
    "l2_batch",
    "mu",
    "name_of",
    "named_solver",
    "noncvx_sfw",
    "oadmm",
    "ogm",
    "oiadmm",
    "ol_guan",
    "ol_lef",
    "ol_wang",
    "online",
    "opgd",
    "rri",
    "sfw",
    "sparse_coding",
    "spsgd",
    "symmetric_rri",
]
