"""The two loops, state, history, callbacks, progress and the thread pool."""

from thresher.engine.alternate import Alternation, alternate
from thresher.engine.batch import BatchADMM, BatchProblem, ExactAlternation
from thresher.engine.callbacks import (
    Callback,
    Step,
    StopAfter,
    any_stops,
    begin_callbacks,
    list_callbacks,
)
from thresher.engine.exact_half import ExactRows
from thresher.engine.graph import Graph, nearest_neighbours, similarities
from thresher.engine.half import Half, HalfSolver
from thresher.engine.history import History, HistoryRow
from thresher.engine.method import OnlineMethod
from thresher.engine.nesterov import NesterovSmoothing, SmoothedLoss, box_gap
from thresher.engine.noise import residual_sizes
from thresher.engine.orthogonal import OrthogonalMethod
from thresher.engine.pool import Pool
from thresher.engine.progress import ProgressBar
from thresher.engine.rank_one import RankOneSweeps
from thresher.engine.seen import SeenRange
from thresher.engine.starts import best_start
from thresher.engine.state import StreamState, Summary
from thresher.engine.stream import OVERFLOW, Method, Position, advance, check_origin, stream
from thresher.engine.trouble import told_in_words
from thresher.engine.two_factors import TwoFactors, is_bare

__all__ = [
    "OVERFLOW",
    "Alternation",
    "BatchADMM",
    "BatchProblem",
    "Callback",
    "ExactAlternation",
    "ExactRows",
    "Graph",
    "Half",
    "HalfSolver",
    "History",
    "HistoryRow",
    "Method",
    "NesterovSmoothing",
    "OnlineMethod",
    "OrthogonalMethod",
    "Pool",
    "Position",
    "ProgressBar",
    "RankOneSweeps",
    "SeenRange",
    "SmoothedLoss",
    "Step",
    "StopAfter",
    "StreamState",
    "Summary",
    "TwoFactors",
    "advance",
    "alternate",
    "any_stops",
    "begin_callbacks",
    "best_start",
    "box_gap",
    "check_origin",
    "is_bare",
    "list_callbacks",
    "nearest_neighbours",
    "residual_sizes",
    "similarities",
    "stream",
    "told_in_words",
]
