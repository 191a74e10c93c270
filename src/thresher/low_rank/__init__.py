"""Low rank plus sparse, of whole matrices in memory: principal component pursuit and GoDec."""

from thresher.low_rank.godec import GoDecStep, godec
from thresher.low_rank.partial_svd import Decomposition, PartialSVD
from thresher.low_rank.pursuit import DUAL_PER_PRIMAL, PursuitStep, default_weight, pursue

__all__ = [
    "DUAL_PER_PRIMAL",
    "Decomposition",
    "GoDecStep",
    "PartialSVD",
    "PursuitStep",
    "default_weight",
    "godec",
    "pursue",
]
