"""Convex sets for dictionaries and codes, with exact projections and, where cheap, oracles."""

from thresher.sets.balls import NonnegativeElasticNetBall, NonnegativeL1Ball, NonnegativeL2Ball
from thresher.sets.base import ConvexSet, OracleSet, RowConstraint
from thresher.sets.box import Box, NonnegativeOrthant, Reals
from thresher.sets.covered import CoveredBox
from thresher.sets.groups import GroupBall
from thresher.sets.signed import L1Ball, L2Ball
from thresher.sets.simplex import Simplex
from thresher.sets.spectral import NuclearBall, SpectralBall

__all__ = [
    "Box",
    "ConvexSet",
    "CoveredBox",
    "GroupBall",
    "L1Ball",
    "L2Ball",
    "NonnegativeElasticNetBall",
    "NonnegativeL1Ball",
    "NonnegativeL2Ball",
    "NonnegativeOrthant",
    "NuclearBall",
    "OracleSet",
    "Reals",
    "RowConstraint",
    "Simplex",
    "SpectralBall",
]
