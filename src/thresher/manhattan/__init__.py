"""The solvers of Manhattan NMF (paper C): both factors in memory, one half at a time."""

from thresher.manhattan.exact_half import ExactRows
from thresher.manhattan.graph import Graph, nearest_neighbours, similarities
from thresher.manhattan.half import Half, HalfSolver
from thresher.manhattan.nesterov import NesterovSmoothing
from thresher.manhattan.rank_one import RankOneSweeps
from thresher.manhattan.smoothing import SmoothedLoss, box_gap
from thresher.manhattan.two_factors import LARGE, FactorSpecification, TwoFactors

__all__ = [
    "LARGE",
    "ExactRows",
    "FactorSpecification",
    "Graph",
    "Half",
    "HalfSolver",
    "NesterovSmoothing",
    "RankOneSweeps",
    "SmoothedLoss",
    "TwoFactors",
    "box_gap",
    "nearest_neighbours",
    "similarities",
]
