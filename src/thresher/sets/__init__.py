"""Convex sets for dictionaries and codes, with exact projections and, where cheap, oracles."""

from thresher.sets.balls import (
    L1Ball,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NuclearBall,
    Simplex,
    SpectralBall,
)
from thresher.sets.base import ConvexSet, OracleSet, RowConstraint
from thresher.sets.box import Box, CoveredBox, NonnegativeOrthant, Reals
from thresher.sets.groups import GroupBall

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
