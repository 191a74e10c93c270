"""Codes given a dictionary: one file per method."""

from thresher.encoding.auto import EXACT, ROUGH, AutoEncoder, RoughEncoder, can_stay_sparse
from thresher.encoding.block_admm import ROUNDS_WITH_GAPS, BlockADMM, Rough
from thresher.encoding.block_newton import BlockNewton
from thresher.encoding.fit import DenseFit, Fit
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
from thresher.encoding.least_absolute import LeastAbsolute, duality_gap
from thresher.encoding.linearised_admm import LinearisedADMM, Settled
from thresher.encoding.multiplicative import MultiplicativeUpdates
from thresher.encoding.newton import Newton
from thresher.encoding.oadmm import OutlierADMM
from thresher.encoding.opgd import ProjectedGradient
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.encoding.sparse_fit import SparseFit
from thresher.encoding.stored import encode_rows, narrowed
from thresher.encoding.stored_fit import StoredFit
from thresher.encoding.subgradient import (
    NoMoreGain,
    ProjectedSubgradient,
    Rule,
    published_rule,
)

__all__ = [
    "DENSE",
    "EXACT",
    "ROUGH",
    "ROUNDS_WITH_GAPS",
    "AutoEncoder",
    "Block",
    "BlockADMM",
    "BlockEncoder",
    "BlockNewton",
    "Certified",
    "CodingProblem",
    "DenseFit",
    "Encoder",
    "Encoding",
    "Fit",
    "LeastAbsolute",
    "LinearisedADMM",
    "MultiplicativeUpdates",
    "Never",
    "Newton",
    "NoMoreGain",
    "OutlierADMM",
    "ProjectedGradient",
    "ProjectedSubgradient",
    "Rough",
    "RoughEncoder",
    "Rows",
    "Rule",
    "Settled",
    "SmallChange",
    "SparseFit",
    "Status",
    "StoredFit",
    "can_stay_sparse",
    "duality_gap",
    "encode_rows",
    "narrowed",
    "published_rule",
]
