"""The two loops, methods, state, history, callbacks, progress and the thread pool."""

from thresher.engine.batch import (
    Alternation,
    AndersonExtrapolation,
    BatchProblem,
    ExactAlternation,
    HeldOutEntries,
    Rounds,
    alternate,
)
from thresher.engine.callbacks import (
    Callback,
    Step,
    StopAfter,
    any_stops,
    begin_callbacks,
    list_callbacks,
)
from thresher.engine.drift import Detector, MannWhitneyDrift, Rival, Trial, Watch
from thresher.engine.executor import Pool, PrefetchedArray, tree_sum
from thresher.engine.history import KINDS, Event, History, HistoryRow
from thresher.engine.method import (
    Candidate,
    Candidates,
    Method,
    Specification,
    StreamMethod,
    choose,
    named,
)
from thresher.engine.orthogonal import OrthogonalMethod
from thresher.engine.progress import ProgressBar
from thresher.engine.residuals import Energies, UnexplainedWarning, energies, residual_sizes
from thresher.engine.state import FeatureRange, StreamState, Summary
from thresher.engine.stream import (
    WINDOWS,
    Executor,
    Position,
    StreamRun,
    StreamStep,
    advance,
    best_start,
    check_origin,
    passes_per_window,
)
from thresher.engine.units import OVERFLOW, translate_linalg_errors

__all__ = [
    "KINDS",
    "OVERFLOW",
    "WINDOWS",
    "Alternation",
    "AndersonExtrapolation",
    "BatchProblem",
    "Callback",
    "Candidate",
    "Candidates",
    "Detector",
    "Energies",
    "Event",
    "ExactAlternation",
    "Executor",
    "FeatureRange",
    "HeldOutEntries",
    "History",
    "HistoryRow",
    "MannWhitneyDrift",
    "Method",
    "OrthogonalMethod",
    "Pool",
    "Position",
    "PrefetchedArray",
    "ProgressBar",
    "Rival",
    "Rounds",
    "Specification",
    "Step",
    "StopAfter",
    "StreamMethod",
    "StreamRun",
    "StreamState",
    "StreamStep",
    "Summary",
    "Trial",
    "UnexplainedWarning",
    "Watch",
    "advance",
    "alternate",
    "any_stops",
    "begin_callbacks",
    "best_start",
    "check_origin",
    "choose",
    "energies",
    "list_callbacks",
    "named",
    "passes_per_window",
    "residual_sizes",
    "translate_linalg_errors",
    "tree_sum",
]
