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
from thresher.engine.method import OnlineMethod
from thresher.engine.state import StreamState, Summary
from thresher.learning import Statistics
from thresher.linalg import Array, has_gram, is_finite
from thresher.streams import Batch, BatchSource

OVERFLOW = (
    "The samples are too large or too small to compute with in their precision: squares overflow "
    "or vanish. Rescale the data, pass float64, or mark glitches as missing (NaN)."
)


class Method(Protocol):
    """The verbs of an online method."""

    def in_unit_of(self, state: StreamState) -> Self:
        """The same method in the unit in which a state computes."""

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


class Workers(Protocol):
    """Whoever codes the blocks of a batch: threads, or the machines of a cluster."""

    def summarise(self, method: Method, state: StreamState, batch: Batch) -> Summary:
        """All blocks of a batch, coded, summarised, and merged as `merged` does."""


def advance(
    method: Method, state: StreamState, batch: Batch, pool: Workers
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
        after = watched(cast(OnlineMethod, method), state, after, batch, summary, again)
    return after, summary


@dataclass(frozen=True)
class Position:
    """Where a fit stands: which pass, which batch of it, and the losses that decide the end.

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

    def after(self, summary: Summary, batch: Batch) -> "Position":
        """One batch further."""
        return replace(
            self,
            batch_index=self.batch_index + 1,
            pass_loss=self.pass_loss + summary.loss,
            pass_weight=self.pass_weight + batch.weight,
        )

    def next_pass(self) -> "Position":
        """At the start of the next pass."""
        mean = self.pass_loss / self.pass_weight if self.pass_weight > 0 else 0.0
        return replace(
            self,
            pass_index=self.pass_index + 1,
            batch_index=0,
            pass_loss=0.0,
            pass_weight=0.0,
            last_mean=mean,
        )

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

    method: Method
    state: StreamState
    position: Position


Report = Callable[[StreamState, StreamState, Position, Batch, Summary], "bool | Course"]
"""Told of every step (state before, state after, position, batch, summary).

True ends the fit; a `Course` is what it goes on with.
"""


def stream(
    method: Method,
    state: StreamState,
    source: BatchSource,
    pool: Workers,
    report: Report,
    n_passes: int,
    tol: float,
    position: Position | None = None,
    restart: Callable[[StreamState, Batch], tuple[Method, StreamState]] | None = None,
) -> None:
    """Run passes until the mean loss settles, the passes are used up, or a report says stop.

    ``restart`` makes method and state from the first batch with observed entries, if batches
    without any came before.
    """
    position = Position() if position is None else position
    while position.pass_index < n_passes:
        with closing(source.batches(position.pass_index, position.batch_index)) as batches:
            for batch in batches:
                if restart is not None and state.awaits_entries and batch.has_entries:
                    method, state = restart(state, batch)
                before = state
                state, summary = advance(method, state, batch, pool)
                position = position.after(summary, batch)
                answer = report(before, state, position, batch, summary)
                if isinstance(answer, Course):
                    method, state, position = answer
                elif answer:
                    return
        last_mean = position.last_mean
        position = position.next_pass()
        # A tolerance of 0 never ends a fit, as in scikit-learn.
        known = tol > 0 and last_mean < float("inf")
        if known and last_mean - position.last_mean <= tol * last_mean:
            return
