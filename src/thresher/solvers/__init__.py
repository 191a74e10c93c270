"""Solvers by name, and the published ones with constants of one's own.

``OnlineRobustNMF(solver="opgd")`` is a solver with the constants of its paper;
``OnlineRobustNMF(solver=thresher.solvers.opgd(kappa=0.5))`` is the same with others.
"""

from typing import Any

from thresher.solvers.divergences import (
    AUTO_ONLINE,
    MU,
    ONLINE_DIVERGENCE_SOLVERS,
    SPSGD,
    DivergenceSolver,
    OLGuan,
    OLLef,
    OLWang,
)
from thresher.solvers.l1 import ADMM, BATCH_L1_SOLVERS, OIADMM, ONLINE_L1_SOLVERS
from thresher.solvers.low_rank import GODEC, ONLINE_PCA, PURSUIT
from thresher.solvers.manhattan import (
    MANHATTAN_SOLVERS,
    OGM,
    RRI,
    SYMMETRIC_SOLVERS,
    FactorSolver,
    SymmetricRRI,
    SymmetricSolver,
)
from thresher.solvers.names import AS_PUBLISHED, Published, name_of, named_solver
from thresher.solvers.novelty import (
    BATCH_DIVERGENCE_SOLVERS,
    BatchImpl,
    L2Batch,
    Online,
    SparseCoding,
)
from thresher.solvers.orthogonal import AODL, ORTHOGONAL_SOLVERS, SFW, NoncvxSFW, OrthogonalSolver
from thresher.solvers.robust import (
    BADMM,
    BATCH_ROBUST_SOLVERS,
    BPGD,
    OADMM,
    ONLINE_ROBUST_SOLVERS,
    OPGD,
    Solver,
)

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
