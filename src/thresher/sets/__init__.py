"""Convex sets for the rows of a dictionary or of a code matrix, with exact projections."""

from thresher.sets.balls import NonnegativeElasticNetBall, NonnegativeL1Ball, NonnegativeL2Ball
from thresher.sets.base import ConvexSet
from thresher.sets.box import Box, NonnegativeOrthant, Reals
from thresher.sets.covered import CoveredBox
from thresher.sets.groups import GroupBall
from thresher.sets.simplex import Simplex

__all__ = [
    "Box",
    "ConvexSet",
    "CoveredBox",
    "GroupBall",
    "NonnegativeElasticNetBall",
    "NonnegativeL1Ball",
    "NonnegativeL2Ball",
    "NonnegativeOrthant",
    "Reals",
    "Simplex",
]
