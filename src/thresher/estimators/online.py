"""How online models learn: from arrays, streams, single batches, and on from where they stopped."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from thresher.cluster import cluster_for
from thresher.engine import (
    WINDOWS,
    Ahead,
    Callback,
    Course,
    Energies,
    HistoryRow,
    Pool,
    Position,
    ProgressBar,
    Step,
    StreamState,
    Summary,
    Watch,
    advance,
    begin_callbacks,
    best_start,
    check_origin,
    events_of,
    list_callbacks,
    passes_per_window,
    stream,
    told_in_words,
)
from thresher.estimators.by_batch import comes_in_parts, source_of
from thresher.estimators.changing import ChangingModel
from thresher.estimators.checked_source import CheckedSource
from thresher.estimators.guard import Attempt, unchanged_if_refused
from thresher.estimators.recipe import ModelRecipe
from thresher.estimators.registry import named_detector
from thresher.linalg import Array, length
from thresher.streams import ArraySource, Batch, BatchSource, Source

_PASSES_FOR_A_START = 3
_LAST_BATCHES = 5  # tell what a fit came to; by judgement

_log = logging.getLogger(__name__)


class OnlineModel(ChangingModel):
    """`fit`, `partial_fit` and `resume` on the engine's stream loop."""

    batch_size: int
    n_passes: int | None
    n_starts: int = 1
    shuffle: bool
    drift: Any = None
    solver: Any
    callbacks: Iterable[Callback] | None

    # ----------------------------------------------------------------- learning

    @told_in_words()
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Learn from an array, in passes, or from a source, in one or in ``n_passes``.

        What is refused leaves the model as it was; a bad batch in the middle of a stream leaves it
        as it was before that batch.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F), a source, or an iterable of such arrays
            Nonnegative samples; NaN marks missing entries. `thresher.open` makes sources of files;
            they are read in their order unless they are ``shuffled``.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Two equals two copies of the sample.
        entry_weight : array-like of shape (n, F), optional
            Weights of the entries, such as inverse variances.
        """
        list_callbacks(self)
        self._check_parameters()
        begin_callbacks(self)
        if comes_in_parts(X):
            self._refuse_weights(sample_weight, entry_weight)
            return self._fit_source(source_of(X))
        samples = self._checked(X, known=False)
        seed = self._draw_seed()
        source = self._source(self._batch(samples, sample_weight, entry_weight), seed)
        first = next(source.batches(0, 0))
        state = self._begin(first, seed, in_order=not self.shuffle)
        self._check_weights(state, source.entry_weight)
        started = time.perf_counter()
        if self.n_starts > 1:
            state = self._best_start(source, state, first, in_order=not self.shuffle)
        with unchanged_if_refused(self) as attempt:
            self._learn_features(X)
            self._forget_everything()
            self._seconds = time.perf_counter() - started
            self._adopt(state, Position(n_rows=source.n_samples, batch_size=self.batch_size))
            return self._run(source, self._position, attempt, in_order=not self.shuffle)

    @told_in_words()
    def resume(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Go on with a `fit` that was interrupted, on the same array or source.

        After a `KeyboardInterrupt`, or after loading a checkpoint of a run that was killed, this
        gives the same bits as the run would have given.
        """
        self._check_is_begun()
        list_callbacks(self)
        self._check_goes_on()
        begin_callbacks(self, self._state.n_samples)
        position = self._position
        if comes_in_parts(X):
            self._refuse_weights(sample_weight, entry_weight)
            return self._resume_source(source_of(X), position)
        samples = self._checked(X, known=True)
        if (samples.shape[0], self.batch_size) != (position.n_rows, position.batch_size):
            raise ValueError(
                f"resume needs the array and the batch size that fit had ({position.n_rows} "
                f"samples in batches of {position.batch_size}); got {samples.shape[0]} in batches "
                f"of {self.batch_size}. To learn from other data, call partial_fit."
            )
        batch = self._batch(samples, sample_weight, entry_weight)
        self._check_weights(self._state, batch.entry_weight)
        source = self._source(batch, self._state.seed)
        check_origin(position.origin, source.origin())
        with unchanged_if_refused(self) as attempt:
            return self._run(source, position, attempt, in_order=not self.shuffle)

    @told_in_words()
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Learn from one batch: one step, whatever its size."""
        begun = hasattr(self, "_state")
        if not begun:
            self._check_parameters()
        samples = self._checked(X, known=begun)
        batch = self._batch(samples, sample_weight, entry_weight)
        before = self._state if begun else self._begin(batch, self._draw_seed())
        if before.awaits_entries and batch.has_entries:
            before = self._begun_again(before, batch)
        self._check_weights(before, batch.entry_weight)
        started = time.perf_counter()
        with Pool(self.n_jobs) as pool:
            after, summary = advance(self._method_of(before), before, batch, pool)
        if not begun:  # only now, when nothing can go wrong any more
            self._learn_features(X)
            self._forget_everything()
            self._position = Position()
        self._seconds += time.perf_counter() - started
        self._record(before, after, self._position, batch, summary)
        self._remember(batch)
        return self

    # ------------------------------------------------------------------- details

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named_detector(self.drift)

    def _begin(self, first: Batch, seed: int, in_order: bool = True) -> StreamState:
        return self._watching(super()._begin(first.glance(2 * self._n_atoms()), seed, in_order))

    def _begun_again(self, state: StreamState, batch: Batch, in_order: bool = True) -> StreamState:
        """Start from a batch, keeping the counters of a state that has seen no entry so far."""
        fresh = self._begin(batch, state.seed, in_order)
        return replace(fresh, n_samples=state.n_samples, seen=state.seen)

    def _watching(self, state: StreamState) -> StreamState:
        detector = named_detector(self.drift)
        return state if detector is None else replace(state, watch=Watch.begun(detector))

    def _fit_source(self, given: Source) -> Self:
        source = self._sized(given)
        n_passes = 1 if self.n_passes is None else self.n_passes
        if given.reader.once and max(n_passes, self.n_starts) > 1:
            raise ValueError(
                f"n_passes={n_passes} and n_starts={self.n_starts} read the samples several times, "
                "and this stream is read once; give a function that makes it, or a file "
                "(thresher.open)."
            )
        learning = self._reading(source, known=True)
        head = learning.first(2 * self._n_atoms())
        if head is None:
            raise ValueError("The stream is empty; give it at least one batch.")
        first = self._piece(head, known=False)
        in_order = not source.window
        state = self._begin(first, self._draw_seed(), in_order)
        started = time.perf_counter()
        if self.n_starts > 1:
            looking = self._reading(source, known=False)
            state = self._best_start(looking, state, first, in_order)
        with unchanged_if_refused(self) as attempt:
            self._learn_features(head)
            if source.names is not None:
                self.feature_names_in_ = np.array(source.names, dtype=object)
            self._forget_everything()
            self._seconds = time.perf_counter() - started
            self._adopt(state, self._place_in(source))
            return self._run(learning, self._position, attempt, in_order, n_passes, keep=True)

    def _resume_source(self, given: Source, position: Position) -> Self:
        source = self._sized(given)
        if source.reader.live:
            raise ValueError(
                "What is live does not come again, so there is nothing to resume; call partial_fit "
                "with each batch of it to go on."
            )
        now = self._place_in(source)
        if (now.n_rows, now.batch_size) != (position.n_rows, position.batch_size):
            raise ValueError(
                f"resume needs the source and the batch size that fit had ({position.n_rows or '?'}"
                f" samples in batches of {position.batch_size}); got {now.n_rows or '?'} in batches"
                f" of {now.batch_size}. To learn from other data, call partial_fit."
            )
        check_origin(position.origin, now.origin)
        self._check_names(source)
        n_passes = 1 if self.n_passes is None else self.n_passes
        learning = self._reading(source, known=True)
        with unchanged_if_refused(self) as attempt:
            return self._run(learning, position, attempt, not source.window, n_passes, keep=True)

    def _reading(self, source: Source, known: bool) -> Any:
        """A source whose batches are checked: here, or by the workers of a cluster."""
        in_order = not source.window
        shared = cluster_for(source, lambda: ModelRecipe(self, known, in_order))
        if shared is None:
            return CheckedSource(source, lambda piece: self._piece(piece, known))
        self._check_suits_cluster()
        return shared

    def _workers(self, source: Any) -> Any:
        """Who codes the batches of a source: its own workers, if it has any, or threads."""
        return source.workers() if hasattr(source, "workers") else Pool(self.n_jobs)

    def _check_suits_cluster(self) -> None:
        if self.drift is not None:
            raise ValueError(
                "drift= is watched in one process; leave it out on a cluster, or close the client "
                "to learn here."
            )
        candidates = self._planned(self._n_atoms())
        if any(candidate.method.keeps_samples for candidate in candidates):
            raise ValueError(
                f"solver={self.solver!r} keeps samples instead of sums of a fixed size, so it does "
                "not learn on a cluster; use solver='auto', or close the client to learn here."
            )

    def _n_atoms(self) -> int:
        """How many atoms there will be at the most, before samples have told."""
        given = getattr(self, "n_components", None)
        return int(given or (10 if isinstance(self.init, str) else len(self._given_init())))

    def _sized(self, source: Source) -> Source:
        """With the batch size of the source, or else of the model."""
        return source.sized(self._n_atoms(), self.batch_size)

    def _place_in(self, source: Source) -> Position:
        size = source.batch_size
        assert isinstance(size, int)
        return Position(n_rows=source.n_samples or 0, batch_size=size, origin=source.origin())

    def _piece(self, piece: Any, known: bool) -> Batch:
        return self._batch(self._checked(piece, known=known), None, None)

    def _refuse_weights(self, sample_weight: Any, entry_weight: Any) -> None:
        if sample_weight is not None or entry_weight is not None:
            raise ValueError(
                "Weights cannot be matched to a stream; call partial_fit with each batch and "
                "its weights instead."
            )

    def _best_start(
        self, source: BatchSource, first: StreamState, batch: Batch, in_order: bool
    ) -> StreamState:
        """The best of several first dictionaries; all else that is random stays."""
        seeds = np.random.default_rng([first.seed, 4]).integers(2**31 - 1, size=self.n_starts - 1)
        others = [
            replace(self._begin(batch, int(seed), in_order), seed=first.seed) for seed in seeds
        ]
        method = self._method_of(first, in_order)
        n_passes = min(_PASSES_FOR_A_START, self.n_passes or _PASSES_FOR_A_START)
        with self._workers(source) as pool:
            return best_start(method, [first, *others], source, pool, n_passes)

    def _source(self, batch: Batch, seed: int) -> ArraySource:
        return ArraySource(
            batch.X, self.batch_size, self.shuffle, seed, batch.sample_weight, batch.entry_weight
        )

    def _check_weights(self, state: StreamState, entry_weight: Array | None) -> None:
        if entry_weight is None:
            return
        self._method_of(state).problem(state).loss.check_weight(entry_weight)

    def _run(
        self,
        source: BatchSource,
        position: Position,
        attempt: Attempt,
        in_order: bool,
        n_passes: int | None = None,
        keep: bool = False,
    ) -> Self:
        if n_passes is None:
            n_passes = self.n_passes
        method = self._method_of(self._state, in_order)
        already = self._seconds
        started = time.perf_counter()
        total = _expected_samples(source, n_passes)
        label = f"{type(self).__name__}: learning"
        seen_before = self._state.n_samples
        callbacks = list(self.callbacks or ())
        stopped = converged = False
        energies: deque[Callable[[], Energies]] = deque(maxlen=_LAST_BATCHES)
        in_memory = isinstance(source, ArraySource)

        with self._workers(source) as pool, ProgressBar(label, total, self.verbose > 0) as bar:
            batches: BatchSource = source
            origin: Callable[[], dict[str, str]] | None = None
            if isinstance(source, ArraySource):
                batches = Ahead(source, pool)
                if not position.origin:  # which nobody needs before the model is saved
                    origin = pool.beside(source.origin)

            def report(
                before: StreamState,
                after: StreamState,
                position: Position,
                batch: Batch,
                summary: Summary,
            ) -> bool | Course:
                nonlocal stopped
                energies.append(summary.energies)
                if not (in_memory or hasattr(source, "workers")):
                    self._remember(batch)
                self._seconds = already + time.perf_counter() - started
                row = self._record(before, after, position, batch, summary)
                bar.update(after.n_samples - seen_before, f"loss {row.loss:.4g}")
                if callbacks and origin is not None:  # which may save the model
                    self._position = replace(position, origin=origin())
                # What came before a bad batch of a source was long to read, or is gone.
                attempt.keep = keep
                step = Step(row, self.components_, self, events_of(after), batch.at_hand)
                stopped = attempt.stops(callbacks, step)
                if stopped or self._state is after:
                    return stopped
                method = self._method_of(self._state, in_order)
                return Course(method, self._state, self._position)

            def restart(state: StreamState, batch: Batch) -> tuple[Any, StreamState]:
                fresh = self._begun_again(state, batch, in_order)
                return self._method_of(fresh, in_order), fresh

            try:
                given = method, self._state, batches, pool, report, n_passes, self.tol
                converged = stream(*given, position, restart)
            except KeyboardInterrupt:
                self._tell_end("interrupted; what was learned so far is kept")
                raise
            finally:
                if origin is not None:
                    self._position = replace(self._position, origin=origin())
        if stopped:
            self._tell_end("a callback said stop")
        elif converged:
            self._tell_end("the mean loss has converged")
        else:
            self._tell_end("there is no more to read")
        if not stopped:
            self._warn_of_size(sum((of_batch() for of_batch in energies), Energies()))
        if isinstance(source, ArraySource):
            self._remember(source.whole())
        return self

    def _tell_end(self, reason: str) -> None:
        name, seen, steps = type(self).__name__, self.n_samples_seen_, self.n_iter_
        _log.info("%s: ends after %d samples in %d steps: %s", name, seen, steps, reason)

    def _record(
        self,
        before: StreamState,
        after: StreamState,
        position: Position,
        batch: Batch,
        summary: Summary,
    ) -> HistoryRow:
        size, moved = length(before.average), length(after.average - before.average)
        change = moved / (size if size > 0 else 1.0)
        loss = summary.loss / batch.weight * after.loss_unit if batch.weight > 0 else 0.0
        measures = after.statistics.measures(after.D)
        row = HistoryRow(
            after.n_samples, self._seconds, loss, summary.certificate, change, **measures
        )
        self.history_.append(row)
        self.history_.note(events_of(after))
        self._adopt(after, position)
        return row


def _expected_samples(source: BatchSource, n_passes: int | None) -> int | None:
    """How many samples a fit reads, unless it converges before."""
    n_samples = source.n_samples
    if n_samples is None:
        return None
    if n_passes is None:
        steps = -(-n_samples // getattr(source, "batch_size", n_samples))
        n_passes = WINDOWS * passes_per_window(n_samples, steps)
    return n_samples * n_passes
