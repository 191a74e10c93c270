"""Factorisation in the ℓ1 distance of a whole matrix: the library's own method (cf. paper C)."""

from thresher.manhattan.half import Graph, Half, HalfSolver, nearest_neighbours, similarities
from thresher.manhattan.half_solvers import ExactRows, RankOneSweeps
from thresher.manhattan.smoothing import NesterovSmoothing
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
    "TwoFactors",
    "nearest_neighbours",
    "similarities",
]
