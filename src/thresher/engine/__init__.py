"""The two loops, state, history, callbacks, progress and the thread pool."""

from thresher.engine.ahead import Ahead
from thresher.engine.alternate import Alternation, PlainAlternation, alternate
from thresher.engine.batch import BatchProblem, ExactAlternation, Rounds
from thresher.engine.callbacks import (
    Callback,
    Step,
    StopAfter,
    any_stops,
    begin_callbacks,
    list_callbacks,
)
from thresher.engine.drift import Detector, Watch, events_of
from thresher.engine.explained import Energies, UnexplainedWarning
from thresher.engine.extrapolation import Extrapolation
from thresher.engine.history import KINDS, Event, History, HistoryRow
from thresher.engine.left_out import LeftOut
from thresher.engine.mann_whitney import MannWhitneyDrift
from thresher.engine.merging import merged
from thresher.engine.method import Candidate, Candidates, Method, choose, named
from thresher.engine.noise import residual_sizes
from thresher.engine.orthogonal import OrthogonalMethod
from thresher.engine.pool import Pool
from thresher.engine.progress import ProgressBar
from thresher.engine.seen import SeenRange
from thresher.engine.specification import Specification
from thresher.engine.starts import best_start
from thresher.engine.state import StreamState, Summary
from thresher.engine.stream import (
    OVERFLOW,
    WINDOWS,
    Course,
    Position,
    StreamMethod,
    Workers,
    advance,
    check_origin,
    passes_per_window,
    stream,
)
from thresher.engine.trial import Rival, Trial
from thresher.engine.trouble import told_in_words

__all__ = [
    "KINDS",
    "OVERFLOW",
    "WINDOWS",
    "Ahead",
    "Alternation",
    "BatchProblem",
    "Callback",
    "Candidate",
    "Candidates",
    "Course",
    "Detector",
    "Energies",
    "Event",
    "ExactAlternation",
    "Extrapolation",
    "History",
    "HistoryRow",
    "LeftOut",
    "MannWhitneyDrift",
    "Method",
    "OrthogonalMethod",
    "PlainAlternation",
    "Pool",
    "Position",
    "ProgressBar",
    "Rival",
    "Rounds",
    "SeenRange",
    "Specification",
    "Step",
    "StopAfter",
    "StreamMethod",
    "StreamState",
    "Summary",
    "Trial",
    "UnexplainedWarning",
    "Watch",
    "Workers",
    "advance",
    "alternate",
    "any_stops",
    "begin_callbacks",
    "best_start",
    "check_origin",
    "choose",
    "events_of",
    "list_callbacks",
    "merged",
    "named",
    "passes_per_window",
    "residual_sizes",
    "stream",
    "told_in_words",
]
