"""Solvers by name, and the published ones with constants of one's own.

``OnlineNMF(solver="spsgd")`` is a solver with the constants of its paper;
``OnlineNMF(solver=thresher.solvers.spsgd(a=1e4))`` is the same with others.
"""

from thresher.solvers.divergences import (
    BATCH_DIVERGENCE_SOLVERS,
    ONLINE_DIVERGENCE_SOLVERS,
    DivergenceSolver,
    spsgd,
)
from thresher.solvers.l1 import BATCH_L1_SOLVERS, ONLINE_L1_SOLVERS, named_l1_solver
from thresher.solvers.manhattan import MANHATTAN_SOLVERS, FactorSolver, Smoothing, ogm
from thresher.solvers.names import AS_PUBLISHED, name_of, named_solver
from thresher.solvers.orthogonal import ORTHOGONAL_SOLVERS, OrthogonalSolver
from thresher.solvers.robust import BATCH_ROBUST_SOLVERS, ONLINE_ROBUST_SOLVERS, Solver

__all__ = [
    "AS_PUBLISHED",
    "BATCH_DIVERGENCE_SOLVERS",
    "BATCH_L1_SOLVERS",
    "BATCH_ROBUST_SOLVERS",
    "MANHATTAN_SOLVERS",
    "ONLINE_DIVERGENCE_SOLVERS",
    "ONLINE_L1_SOLVERS",
    "ONLINE_ROBUST_SOLVERS",
    "ORTHOGONAL_SOLVERS",
    "DivergenceSolver",
    "FactorSolver",
    "OrthogonalSolver",
    "Smoothing",
    "Solver",
    "name_of",
    "named_l1_solver",
    "named_solver",
    "ogm",
    "spsgd",
]
