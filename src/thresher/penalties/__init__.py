"""Penalties on codes, dictionaries and outliers, with exact proximal maps."""

from thresher.penalties.base import L1, ElasticNet, Penalty, Tikhonov
from thresher.penalties.group import GroupLasso, GroupNorm, SparseGroupLasso
from thresher.penalties.regulariser import Form, Regulariser

__all__ = [
    "L1",
    "ElasticNet",
    "Form",
    "GroupLasso",
    "GroupNorm",
    "Penalty",
    "Regulariser",
    "SparseGroupLasso",
    "Tikhonov",
]
