"""The first loop: encode, summarise, merge, update, one mini-batch at a time.

Rows are coded independently and statistics add up, so the blocks of a batch may run anywhere; they
have a fixed size and are merged in order, so the bits do not depend on where they ran.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol, Self, cast

import numpy as np

from thresher.engine.drift import watched
from thresher.engine.method import Method
from thresher.engine.state import StreamState, Summary
from thresher.learning import Statistics
from thresher.linalg import Array, has_gram, is_finite
from thresher.streams import Batch, BatchSource

WINDOWS = 10
"""After so many windows a fit goes on only while its loss falls fast."""

# Heuristic, from 36 fits of 8 to 300 planted samples: 2 of them end over 10 % above the loss of 50
# passes; 3 at half of both numbers, in 2/3 of the time, and 1 at double, in 3/2 of the time.
_WINDOW_SAMPLES, _WINDOW_STEPS = 500, 50
_LEAST_PROGRESS = 0.01
_MAX_WINDOWS = 100

OVERFLOW = (
    "The samples are too large or too small to compute with in their precision: squares overflow "
    "or vanish. Rescale the data, pass float64, or mark glitches as missing (NaN)."
)


class StreamMethod(Protocol):
    """What the first loop calls: `Method`, or `OrthogonalMethod`."""

    def in_unit_of(self, state: StreamState) -> Self:
        """Bind the method to the unit of a state; itself if it is bound already."""

    def measure(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the unit of the data, if it is not known yet."""

    def measure_range(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure what is needed before coding."""

    @property
    def keeps_samples(self) -> bool:
        """Whether sums of blocks hold the samples themselves, so that they grow with them."""

    def block_rows(self, batch: Batch) -> int:
        """Rows of a block."""

    def blocks(self, batch: Batch) -> Iterator[slice]:
        """Row blocks of fixed size."""

    def for_coding(self, state: StreamState) -> StreamState:
        """What `summariser` needs of a state, and nothing else that is large."""

    def summariser(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """What codes a block and summarises it."""

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, move the dictionary."""

    def dictionary_cost(self, state: StreamState) -> float:
        """The penalty of the dictionary, which is added to the mean loss of samples."""


class Workers(Protocol):
    """Whoever codes the blocks of a batch: threads, or the machines of a cluster."""

    def summarise(self, method: StreamMethod, state: StreamState, batch: Batch) -> Summary:
        """All blocks of a batch, coded, summarised, and merged as `merged` does."""


def advance(
    method: StreamMethod, state: StreamState, batch: Batch, pool: Workers
) -> tuple[StreamState, Summary]:
    """Learn from one batch; one without observed entries is counted, and is no step."""
    if not batch.has_entries:
        nothing: Array = np.empty(0)
        watch = None if state.watch is None else replace(state.watch, events=())
        n_samples = state.n_samples + batch.n_samples
        counted = state.having_seen(batch).changed(n_samples=n_samples, watch=watch)
        return counted, Summary(Statistics(), 0.0, 0.0, nothing, nothing)
    state = method.measure(state, batch)
    method = method.in_unit_of(state)
    state = method.measure_range(state, batch)
    try:
        summary = pool.summarise(method, state, batch)
        after = method.update(state.having_seen(batch), batch, summary)
    except np.linalg.LinAlgError as error:
        raise ValueError(OVERFLOW) from error
    if not has_gram(after.D) or not all(map(is_finite, after.statistics.arrays().values())):
        raise ValueError(OVERFLOW)  # the state before the batch is still whole
    if state.watch is not None:
        again = partial(advance, batch=batch, pool=pool)
        after = watched(cast(Method, method), state, after, batch, summary, again)
    return after, summary


@dataclass(frozen=True)
class Position:
    """Where a fit stands: which pass, which batch of it, and the losses that decide the end.

    ``pass_loss``, ``pass_weight`` and ``window_steps`` are sums over the current window of passes
    (see `stream`), ``last_mean`` is the mean loss of the window before it.
    ``n_rows`` (zero if nobody knows) and ``batch_size`` are those of the array or source that is
    being read; ``origin`` is its `thresher.streams.ArraySource.origin`.
    """

    pass_index: int = 0
    batch_index: int = 0
    pass_loss: float = 0.0
    pass_weight: float = 0.0
    last_mean: float = float("inf")
    n_rows: int = 0
    batch_size: int = 0
    origin: dict[str, str] = field(default_factory=dict)
    window_steps: int = 0

    def after(self, summary: Summary, batch: Batch, cost: float = 0.0) -> "Position":
        """One batch further, with a dictionary that costs so much for every sample."""
        return replace(
            self,
            batch_index=self.batch_index + 1,
            pass_loss=self.pass_loss + summary.loss + cost * batch.weight,
            pass_weight=self.pass_weight + batch.weight,
            window_steps=self.window_steps + 1,
        )

    def next_pass(self, same_window: bool = False) -> "Position":
        """At the start of the next pass, which may belong to the same window of losses."""
        there = replace(self, pass_index=self.pass_index + 1, batch_index=0)
        if same_window:
            return there
        mean = self.pass_loss / self.pass_weight if self.pass_weight > 0 else 0.0
        return replace(there, pass_loss=0.0, pass_weight=0.0, last_mean=mean, window_steps=0)

    def untold(self) -> "Position":
        """The same place, where neither this pass nor the last has a mean to be compared with."""
        return replace(self, pass_loss=float("inf"), last_mean=float("inf"))


def check_origin(then: dict[str, str], now: dict[str, str]) -> None:
    """Refuse to go on with other data than a fit began with; old files do not tell which."""
    other = [name for name, value in now.items() if then.get(name, value) != value]
    if then and set(then) != set(now):
        other = ["the kind of data"]
    if other:
        raise ValueError(
            f"resume goes on with what fit was given, but {' and '.join(other)} changed since; "
            "give the same again, or call partial_fit to learn from other data."
        )


class Course(NamedTuple):
    """What a fit goes on with, if somebody changed it between two steps."""

    method: StreamMethod
    state: StreamState
    position: Position


Report = Callable[[StreamState, StreamState, Position, Batch, Summary], "bool | Course"]
"""Told of every step (state before, state after, position, batch, summary).

True ends the fit; a `Course` is what it goes on with.
"""


def stream(
    method: StreamMethod,
    state: StreamState,
    source: BatchSource,
    pool: Workers,
    report: Report,
    n_passes: int | None,
    tol: float,
    position: Position | None = None,
    restart: Callable[[StreamState, Batch], tuple[StreamMethod, StreamState]] | None = None,
) -> bool:
    """Run passes until the loss has converged, the passes are used up, or a report says stop.

    Losses are compared between windows: the least number of whole passes with 500 samples, by
    weight, or 50 steps. A single pass over few samples says little: its loss fluctuates, and few
    steps change it little. A fit has converged when the mean loss of a window is below that of the
    one before by ``tol`` of it at most; without ``n_passes``, after ten windows, by 1 % at most.

    ``restart`` makes method and state from the first batch with observed entries, if batches
    without any came before. Returns whether the fit has converged.
    """
    position = Position() if position is None else position
    method = method.in_unit_of(state)
    while n_passes is None or position.pass_index < n_passes:
        with closing(source.batches(position.pass_index, position.batch_index)) as batches:
            for batch in batches:
                if restart is not None and state.awaits_entries and batch.has_entries:
                    method, state = restart(state, batch)
                before = state
                state, summary = advance(method, state, batch, pool)
                method = method.in_unit_of(state)  # changes it if the batch was the first to count
                cost = method.dictionary_cost(before)
                position = position.after(summary, batch, cost)
                answer = report(before, state, position, batch, summary)
                if isinstance(answer, Course):
                    method, state, position = answer
                elif answer:
                    return False
        weight, steps = position.pass_weight, position.window_steps
        last_mean, per_pass = position.last_mean, max(position.batch_index, 1)
        unfinished = 0 < weight < _WINDOW_SAMPLES and steps < _WINDOW_STEPS
        position = position.next_pass(same_window=unfinished)
        if unfinished:
            continue
        windows = position.pass_index // max(steps // per_pass, 1)
        # A tolerance of 0 never ends a fit with a number of passes, as in scikit-learn.
        many = n_passes is None and windows >= WINDOWS
        least = max(tol, _LEAST_PROGRESS) if many else tol
        if least > 0 and last_mean - position.last_mean <= least * last_mean < float("inf"):
            return True
        if many and windows >= _MAX_WINDOWS:
            return False
    return False


def passes_per_window(n_samples: int | None, n_steps: int) -> int:
    """How many passes of so many samples and steps have a loss that is worth comparing."""
    if not n_samples or not n_steps:
        return 1
    return max(1, min(-(-_WINDOW_SAMPLES // n_samples), -(-_WINDOW_STEPS // n_steps)))
