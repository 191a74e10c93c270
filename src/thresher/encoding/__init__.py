"""Codes given a dictionary: the loop, one file per method, and the choice among them."""

from thresher.encoding.auto import (
    APPROXIMATE,
    APPROXIMATE_UPDATES,
    EXACT,
    AutoEncoder,
    EncoderCandidate,
    can_stay_sparse,
)
from thresher.encoding.block_admm import (
    ITERATIONS_IF_MISSING,
    BlockADMM,
    InexactStop,
    ResidualTolerance,
)
from thresher.encoding.block_newton import BlockNewton
from thresher.encoding.first_order import ArmijoGradient, MultiplicativeUpdates
from thresher.encoding.fit import DenseFit, Fit, ObservedFit, SparseFit
from thresher.encoding.least_absolute import LeastAbsolute
from thresher.encoding.loop import (
    ActiveRows,
    Certified,
    Encoder,
    Encoding,
    IterativeEncoder,
    Never,
    PreparedEncoder,
    RowSolver,
    SmallChange,
    State,
    Status,
    Stop,
)
from thresher.encoding.newton import Newton, NewtonStart
from thresher.encoding.problem import DENSE, CodingProblem, Rows, narrowed
from thresher.encoding.sparse_power import SparsePower
from thresher.encoding.stages import ConvexStart, Stages

__all__ = [
    "APPROXIMATE",
    "APPROXIMATE_UPDATES",
    "DENSE",
    "EXACT",
    "ITERATIONS_IF_MISSING",
    "ActiveRows",
    "ArmijoGradient",
    "AutoEncoder",
    "BlockADMM",
    "BlockNewton",
    "Certified",
    "CodingProblem",
    "ConvexStart",
    "DenseFit",
    "Encoder",
    "EncoderCandidate",
    "Encoding",
    "Fit",
    "InexactStop",
    "IterativeEncoder",
    "LeastAbsolute",
    "MultiplicativeUpdates",
    "Never",
    "Newton",
    "NewtonStart",
    "ObservedFit",
    "PreparedEncoder",
    "ResidualTolerance",
    "RowSolver",
    "Rows",
    "SmallChange",
    "SparseFit",
    "SparsePower",
    "Stages",
    "State",
    "Status",
    "Stop",
    "can_stay_sparse",
    "narrowed",
]
