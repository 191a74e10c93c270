"""Codes given a dictionary: one file per method."""

from thresher.encoding.auto import AutoEncoder
from thresher.encoding.block_admm import BlockADMM, Rough
from thresher.encoding.iterate import (
    Block,
    BlockEncoder,
    Certified,
    Encoder,
    Encoding,
    Never,
    SmallChange,
    Status,
)
from thresher.encoding.newton import Newton
from thresher.encoding.oadmm import OutlierADMM
from thresher.encoding.opgd import ProjectedGradient
from thresher.encoding.problem import CodingProblem

__all__ = [
    "AutoEncoder",
    "Block",
    "BlockADMM",
    "BlockEncoder",
    "Certified",
    "CodingProblem",
    "Encoder",
    "Encoding",
    "Never",
    "Newton",
    "OutlierADMM",
    "ProjectedGradient",
    "Rough",
    "SmallChange",
    "Status",
]
