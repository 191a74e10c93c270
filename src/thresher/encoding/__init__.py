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
from thresher.encoding.multiplicative import MultiplicativeUpdates
from thresher.encoding.newton import Newton
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.encoding.sparse_fit import SparseFit
from thresher.encoding.stored import encode_rows, narrowed
from thresher.encoding.stored_fit import StoredFit

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
    "MultiplicativeUpdates",
    "Never",
    "Newton",
    "Rough",
    "RoughEncoder",
    "Rows",
    "SmallChange",
    "SparseFit",
    "Status",
    "StoredFit",
    "can_stay_sparse",
    "duality_gap",
    "encode_rows",
    "narrowed",
]
