"""The two loops, state, history, callbacks, progress and the thread pool."""

from thresher.engine.alternate import Alternation, alternate
from thresher.engine.batch import BatchADMM, BatchProblem, ExactAlternation
from thresher.engine.callbacks import Callback, Step, StopAfter, any_stops
from thresher.engine.history import History, HistoryRow
from thresher.engine.method import OnlineMethod, StreamState, Summary
from thresher.engine.orthogonal import OrthogonalMethod
from thresher.engine.pool import Pool
from thresher.engine.progress import ProgressBar
from thresher.engine.starts import best_start
from thresher.engine.stream import OVERFLOW, Method, Position, advance, stream

__all__ = [
    "OVERFLOW",
    "Alternation",
    "BatchADMM",
    "BatchProblem",
    "Callback",
    "ExactAlternation",
    "History",
    "HistoryRow",
    "Method",
    "OnlineMethod",
    "OrthogonalMethod",
    "Pool",
    "Position",
    "ProgressBar",
    "Step",
    "StopAfter",
    "StreamState",
    "Summary",
    "advance",
    "alternate",
    "any_stops",
    "best_start",
    "stream",
]
