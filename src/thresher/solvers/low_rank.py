"""Solvers of robust PCA and its kin: one each."""

from thresher.encoding import AutoEncoder
from thresher.learning import BlockDescent, RidgeRegression
from thresher.solvers.robust import ONLINE_ROBUST_SOLVERS, Solver

_STREAMING = ONLINE_ROBUST_SOLVERS["auto"]
assert isinstance(_STREAMING, Solver)

ONLINE_PCA = Solver(
    "block ADMM codes, the basis by ridge regression",
    _STREAMING.encoder,
    RidgeRegression(),
    published=False,
    patient=_STREAMING.patient,
)

# Nothing streams here: encoder and step serve nobody.
PURSUIT = Solver(
    "principal component pursuit, inexact augmented Lagrangian, partial decompositions",
    AutoEncoder(),
    BlockDescent(),
    published=False,
)
GODEC = Solver(
    "rank and cardinality in turns, bilateral random projections",
    AutoEncoder(),
    BlockDescent(),
    published=False,
)
