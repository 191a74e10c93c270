"""Codes given a dictionary: one file per method."""

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.iterate import Certified, Encoder, Encoding, Never, SmallChange, Status
from thresher.encoding.oadmm import OutlierADMM
from thresher.encoding.opgd import ProjectedGradient
from thresher.encoding.problem import CodingProblem

__all__ = [
    "BlockADMM",
    "Certified",
    "CodingProblem",
    "Encoder",
    "Encoding",
    "Never",
    "OutlierADMM",
    "ProjectedGradient",
    "SmallChange",
    "Status",
]
