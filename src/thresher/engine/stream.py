"""The first loop: encode, summarise, merge, update, one mini-batch at a time.

Rows are coded independently and statistics add up, so the blocks of a batch may run anywhere; they
have a fixed size and are merged in order, so the bits do not depend on where they ran.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol, cast

import numpy as np

from thresher.engine.drift import watched
from thresher.engine.method import Method, StreamMethod
from thresher.engine.state import StreamState, Summary
from thresher.engine.units import OVERFLOW
from thresher.learning import Statistics
from thresher.linalg import Array, has_gram, is_finite
from thresher.streams import Batch, BatchSource

WINDOWS = 10
"""After so many windows a fit goes on only while its loss falls fast."""

# Heuristic, from 36 fits of 8 to 300 planted samples: 2 of them end over 10 % above the loss of 50
# passes; 3 at half of both numbers, in 2/3 of the time, and 1 at double, in 3/2 of the time.
_WINDOW_SAMPLES, _WINDOW_STEPS = 500, 50
_MIN_PROGRESS = 0.01
_MAX_WINDOWS = 100


class Executor(Protocol):
    """What codes the blocks of a batch: threads, or the machines of a cluster."""

    def summarise(self, method: StreamMethod, state: StreamState, batch: Batch) -> Summary:
        """Code and summarise all blocks of a batch, and add them by `tree_sum`."""


def advance(
    method: StreamMethod, state: StreamState, batch: Batch, pool: Executor
) -> tuple[StreamState, Summary]:
    """Learn from one batch; a batch without observed entries is counted only."""
    if not batch.has_entries:
        nothing: Array = np.empty(0)
        watch = None if state.watch is None else replace(state.watch, events=())
        n_samples = state.n_samples + batch.n_samples
        counted = state.with_range(batch).changed(n_samples=n_samples, watch=watch)
        return counted, Summary(Statistics(), 0.0, 0.0, nothing, nothing)
    if not state.measured:
        state = method.measure_unit(state, batch)
        method = method.in_unit_of(state)
    method.check(state, batch)
    state = method.measure_range(state, batch)
    summary = pool.summarise(method, state, batch)
    after = method.update(state.with_range(batch), batch, summary)
    if not has_gram(after.D) or not all(map(is_finite, after.statistics.arrays().values())):
        raise ValueError(OVERFLOW)
    if state.watch is not None:
        again = partial(advance, batch=batch, pool=pool)
        after = watched(cast(Method, method), state, after, batch, summary, again)
    return after, summary


@dataclass(frozen=True)
class Position:
    """Progress of a fit: the pass, its batch, and the losses that decide convergence.

    ``pass_loss``, ``pass_weight`` and ``window_steps`` are sums over the current window of passes
    (see `stream`), ``last_mean`` is the mean loss of the window before it.
    ``n_rows`` (zero if unknown), ``batch_size`` and ``origin`` (see
    `thresher.streams.ArraySource.origin`) are those of the array or source.
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

    def check_fields(self) -> None:
        """Raise ValueError for values that no fit can reach, such as those of a forged file."""
        counts = ("pass_index", "batch_index", "n_rows", "batch_size", "window_steps")
        for name in counts:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, which is out of range")
        if not all(isinstance(one, str) for pair in self.origin.items() for one in pair):
            raise ValueError("origin must map strings to strings")

    def after(self, summary: Summary, batch: Batch, cost: float = 0.0) -> "Position":
        """Advance by one batch; ``cost`` is the penalty of the dictionary for every sample."""
        return replace(
            self,
            batch_index=self.batch_index + 1,
            pass_loss=self.pass_loss + summary.loss + cost * batch.weight,
            pass_weight=self.pass_weight + batch.weight,
            window_steps=self.window_steps + 1,
        )

    def next_pass(self, same_window: bool = False) -> "Position":
        """Advance to the next pass, which may belong to the same window of losses."""
        there = replace(self, pass_index=self.pass_index + 1, batch_index=0)
        if same_window:
            return there
        mean = self.pass_loss / self.pass_weight if self.pass_weight > 0 else 0.0
        return replace(there, pass_loss=0.0, pass_weight=0.0, last_mean=mean, window_steps=0)

    def without_losses(self) -> "Position":
        """Return the same place without losses to compare, after λ was changed."""
        return replace(self, pass_loss=float("inf"), last_mean=float("inf"))


def check_origin(then: dict[str, str], now: dict[str, str]) -> None:
    """Refuse to resume with other data than a fit began with."""
    other = [name for name, value in now.items() if then.get(name, value) != value]
    if then and set(then) != set(now):
        other = ["the kind of data"]
    if other:
        raise ValueError(
            f"resume goes on with what fit was given, but {' and '.join(other)} changed since; "
            "give the same again, or call partial_fit to learn from other data."
        )


class StreamStep(NamedTuple):
    """A step of the first loop: the states around it, its batch and what came of it."""

    before: StreamState
    after: StreamState
    position: Position
    batch: Batch
    summary: Summary


@dataclass
class StreamRun:
    """Passes over a source; method, state and position may be replaced between two steps."""

    method: StreamMethod
    state: StreamState
    position: Position = field(default_factory=Position)
    converged: bool = False

    def steps(
        self,
        source: BatchSource,
        pool: Executor,
        n_passes: int | None,
        tol: float,
        restart: Callable[[StreamState, Batch], tuple[StreamMethod, StreamState]] | None = None,
    ) -> Generator[StreamStep]:
        """Yield steps until the loss has converged or the passes are used up.

        Losses are compared between windows: the least number of whole passes with 500 samples, by
        weight, or 50 steps. A single pass over few samples says little: its loss fluctuates, and
        few steps change it little. A fit has converged when the mean loss of a window is below that
        of the one before by ``tol`` of it at most; without ``n_passes``, after ten windows, by 1 %
        at most.

        ``restart`` makes method and state from the first batch with observed entries, if batches
        without any came before.
        """
        self.method = self.method.in_unit_of(self.state)
        while n_passes is None or self.position.pass_index < n_passes:
            place = self.position.pass_index, self.position.batch_index
            with closing(source.batches(*place)) as batches:
                for batch in batches:
                    if restart is not None and self.state.awaits_entries and batch.has_entries:
                        self.method, self.state = restart(self.state, batch)
                    yield self._step(batch, pool)
            if self._ends(n_passes is None, tol):
                return

    def _step(self, batch: Batch, pool: Executor) -> StreamStep:
        before = self.state
        self.state, summary = advance(self.method, before, batch, pool)
        self.method = self.method.in_unit_of(self.state)
        cost = self.method.dictionary_cost(before)
        self.position = self.position.after(summary, batch, cost)
        return StreamStep(before, self.state, self.position, batch, summary)

    def _ends(self, unlimited: bool, tol: float) -> bool:
        """Advance to the next pass; return whether the last one was enough."""
        at = self.position
        weight, steps, per_pass = at.pass_weight, at.window_steps, max(at.batch_index, 1)
        unfinished = 0 < weight < _WINDOW_SAMPLES and steps < _WINDOW_STEPS
        self.position = at.next_pass(same_window=unfinished)
        if unfinished:
            return False
        windows = self.position.pass_index // max(steps // per_pass, 1)
        # A tolerance of 0 never ends a fit with a number of passes, as in scikit-learn.
        many = unlimited and windows >= WINDOWS
        least = max(tol, _MIN_PROGRESS) if many else tol
        gain = at.last_mean - self.position.last_mean
        self.converged = least > 0 and gain <= least * at.last_mean < float("inf")
        return self.converged or (many and windows >= _MAX_WINDOWS)


def passes_per_window(n_samples: int | None, n_steps: int) -> int:
    """Return the number of passes in a window of losses, for so many samples and steps a pass."""
    if not n_samples or not n_steps:
        return 1
    return max(1, min(-(-_WINDOW_SAMPLES // n_samples), -(-_WINDOW_STEPS // n_steps)))


def best_start(
    method: StreamMethod,
    starts: Sequence[StreamState],
    source: BatchSource,
    pool: Executor,
    n_passes: int,
) -> StreamState:
    """Return the start with the least loss in the last of some passes.

    With few samples it is random whether two topics share an atom while another is split, and
    further passes do not separate them. The start itself is returned, so that the run from it is
    the same as if there had been no other.
    """
    losses = []
    for start in starts:
        reached = Position()
        # A tolerance of zero, so that all starts are compared after the same number of samples.
        for step in StreamRun(method, start).steps(source, pool, n_passes, tol=0.0):
            reached = step.position
        losses.append(reached.next_pass().last_mean)
    return starts[losses.index(min(losses))]
