"""Penalties on codes, dictionaries and outliers, with exact proximal maps."""

from thresher.penalties.base import Penalty
from thresher.penalties.constrained import Constrained
from thresher.penalties.elastic_net import L1, ElasticNet, Tikhonov
from thresher.penalties.form import Form
from thresher.penalties.group import GroupLasso, GroupNorm, SparseGroupLasso

__all__ = [
    "L1",
    "Constrained",
    "ElasticNet",
    "Form",
    "GroupLasso",
    "GroupNorm",
    "Penalty",
    "SparseGroupLasso",
    "Tikhonov",
]
