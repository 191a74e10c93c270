"""Online models: they learn from arrays, streams and single batches, and resume."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thresher.cluster import cluster_for
from thresher.engine import (
    WINDOWS,
    Event,
    HistoryRow,
    Pool,
    Position,
    PrefetchedArray,
    ProgressBar,
    Step,
    StreamMethod,
    StreamRun,
    StreamState,
    StreamStep,
    Watch,
    advance,
    begin_callbacks,
    best_start,
    check_origin,
    energies,
    list_callbacks,
    named,
    passes_per_window,
    translate_linalg_errors,
)
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.fitted_model import FittedModel
from thresher.estimators.fitting import Attempt, unchanged_if_refused
from thresher.estimators.parameters import COUNT, MAY_CHANGE, is_number
from thresher.estimators.registry import named_detector
from thresher.estimators.results import (
    CheckedSource,
    check_source_names,
    comes_in_parts,
    source_of,
    without_callbacks,
)
from thresher.estimators.validation import numbers_in_rows
from thresher.linalg import Array, length
from thresher.streams import ArraySource, Batch, BatchSource, Source

_PASSES_FOR_A_START = 3
_RECORDED = ("outlier_weight", "forgetting")  # parameters whose changes are events of the history

_log = logging.getLogger(__name__)


class OnlineEstimator(DictionaryEstimator):
    """`fit`, `partial_fit` and `resume` on the engine's stream loop.

    ``outlier_weight`` and ``forgetting`` may be changed by `set_params` between two calls of
    `partial_fit`, or in a callback of `fit`. The new value is validated by the next call, takes
    effect with the next batch, and is recorded in ``history_.events``; files and checkpoints hold
    it. Statistics that were summed up under the old λ fade as ``forgetting`` sets. Losses under
    different λ cannot be compared: a detector of ``drift`` restarts, a fit does not end by a
    comparison of the two, and `calibrate` has to be called again.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DictionaryEstimator._parameter_constraints,
        "batch_size": [COUNT],
        "n_passes": [COUNT, None],
        "n_starts": [COUNT],
        "shuffle": ["boolean"],
    }

    batch_size: int
    n_passes: int | None
    n_starts: int = 1
    shuffle: bool
    drift: Any = None
    solver: Any
    forgetting: Any

    _may_change = MAY_CHANGE | {"outlier_weight"}
    _in_use: dict[str, Any]

    # ----------------------------------------------------------------- learning

    @translate_linalg_errors()
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Learn from an array, in passes, or from a source, in one or in ``n_passes``.

        A refused call leaves the model as it was; a bad batch in the middle of a stream leaves it
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
        data = self._learning_data(X, sample_weight, entry_weight)
        batches, source = data.batches, data.source
        if source is None:
            head, first = X, next(batches.batches(0, 0))
        else:
            head = self._first_piece(data, source)
            first = self._piece(head, known=False)
        seed = batches.seed if source is None else self._draw_seed()
        fitted = self._begin(first, seed, data.in_order)
        self._check_weights(fitted, data.entry_weight)
        started = time.perf_counter()
        if self.n_starts > 1:
            trials = batches if source is None else self._reading(source, known=False)
            fitted = self._best_start(trials, fitted, first)
        with unchanged_if_refused(self) as attempt:
            self._set_features(head)
            if source is not None and source.names is not None:
                self.feature_names_in_ = np.array(source.names, dtype=object)
            self._reset()
            self._seconds = time.perf_counter() - started
            self._adopt(fitted, data.position)
            return self._run(data, attempt)

    @translate_linalg_errors()
    def resume(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Continue an interrupted `fit` on the same array or source.

        After a `KeyboardInterrupt`, or after loading a checkpoint of a run that was killed, this
        gives the same bits as the run would have given.
        """
        self._check_is_fitted()
        list_callbacks(self)
        self._check_unchanged()
        begin_callbacks(self, self._state.n_samples)
        data = self._learning_data(X, sample_weight, entry_weight, self._state.seed)
        now, before = data.position, self._position
        if data.source is not None:
            if data.source.reader.live:
                raise ValueError(
                    "A live source cannot be read again, so there is nothing to resume; call "
                    "partial_fit with each batch of it to continue."
                )
            check_source_names(self, data.source)
        if (now.n_rows, now.batch_size) != (before.n_rows, before.batch_size):
            raise ValueError(
                f"resume needs the samples and the batch size that fit had ({before.n_rows or '?'} "
                f"samples in batches of {before.batch_size}); got {now.n_rows or '?'} in batches "
                f"of {now.batch_size}. To learn from other data, call partial_fit."
            )
        self._check_weights(self._model(), data.entry_weight)
        check_origin(before.origin, data.origin())
        with unchanged_if_refused(self) as attempt:
            return self._run(data, attempt)

    @translate_linalg_errors()
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Learn from one batch: one step, whatever its size."""
        begun = hasattr(self, "_state")
        if not begun:
            self._check_parameters()
        samples = self._checked(X, known=begun)
        batch = self._batch(samples, sample_weight, entry_weight)
        fitted = self._model(in_order=True) if begun else self._begin(batch, self._draw_seed())
        if begun and fitted.state.awaits_entries and batch.has_entries:
            fitted = self._begun_again(fitted.state, batch)
        self._check_weights(fitted, batch.entry_weight)
        started = time.perf_counter()
        with Pool(self.n_jobs) as pool:
            after, summary = advance(fitted.method, fitted.state, batch, pool)
        # The model is changed only now, when nothing can fail any more.
        if begun:
            self._put_into_effect(self._changes())
        else:
            self._set_features(X)
            self._reset()
            self._position = Position()
        self._seconds += time.perf_counter() - started
        self._remember(batch)
        step = StreamStep(fitted.state, after, self._position, batch, summary)
        self._record(fitted, step)
        return self

    # ------------------------------------------------------- changed parameters

    def _reset(self) -> None:
        super()._reset()
        self._in_use = {name: getattr(self, name) for name in _RECORDED if hasattr(self, name)}

    def _changes(self) -> list[Event]:
        return [
            Event(self.n_samples_seen_, name, _as_number(now))
            for name, before in self._in_use.items()
            if not _same(before, now := getattr(self, name))
        ]

    def _put_into_effect(self, changes: list[Event]) -> None:
        """Record changes of λ and forgetting."""
        if not changes:
            return
        self.history_.note(changes)
        self._in_use = {name: getattr(self, name) for name in self._in_use}
        if any(event.kind == "outlier_weight" for event in changes):
            self._position = self._position.without_losses()
            self._calibrated_threshold = None

    def _with_changes(self) -> Self:
        super()._with_changes()
        changes = self._changes()
        if not changes:
            return self
        fitted, other = self._model(), copy(self)
        other.history_ = copy(self.history_)
        other._put_into_effect(changes)
        other._adopt(fitted, other._position)
        return other

    def _fitted_to(self, state: StreamState, in_order: bool = True) -> FittedModel:
        fitted = super()._fitted_to(state, in_order)
        if state is not self._state or all(e.kind != "outlier_weight" for e in self._changes()):
            return fitted
        before = self._fitted
        if before is None:  # of a model that was pickled
            before = copy(self).set_params(**self._in_use)._fitted_to(state)
        # λ stays until the next batch; a rule measures the data from then on.
        rule = fitted.candidate.method.outlier_weight
        scale = float(before.method.threshold(state)) / rule.weight(1.0, state.D.shape[1])
        watch = None if state.watch is None else state.watch.restarted()
        return fitted.after(
            replace(state, scale=scale, scale_weight=0.0, watch=watch), self._recent
        )

    # ------------------------------------------------------------------- details

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named_detector(self.drift)

    def _begin(self, first: Batch, seed: int, in_order: bool = True) -> FittedModel:
        return super()._begin(first.glance(2 * self._n_atoms()), seed, in_order)

    def _begin_from(
        self, init: Any, n_components: int, first: Batch, seed: int, in_order: bool
    ) -> FittedModel:
        fitted = super()._begin_from(init, n_components, first, seed, in_order)
        detector = named_detector(self.drift)
        if detector is None:
            return fitted
        return fitted.after(replace(fitted.state, watch=Watch.begun(detector)), fitted.recent)

    def _begun_again(self, state: StreamState, batch: Batch, in_order: bool = True) -> FittedModel:
        """Start from a batch, with the counters of a state that has seen no entry so far."""
        fresh = self._begin(batch, state.seed, in_order)
        counted = replace(fresh.state, n_samples=state.n_samples, seen=state.seen)
        return fresh.after(counted, self._recent)

    def _learning_data(
        self, X: Any, sample_weight: Any, entry_weight: Any, seed: int | None = None
    ) -> "LearningData":
        """Return the checked batches of an array or of a source.

        To continue a fit, ``seed`` is its seed; without one, a fit begins.
        """
        if not comes_in_parts(X):
            samples = self._checked(X, known=seed is not None)
            batch = self._batch(samples, sample_weight, entry_weight)
            array = ArraySource(
                batch.X,
                self.batch_size,
                self.shuffle,
                self._draw_seed() if seed is None else seed,
                batch.sample_weight,
                batch.entry_weight,
            )
            position = Position(n_rows=array.n_samples, batch_size=self.batch_size)
            return LearningData(array, None, position, not self.shuffle, self.n_passes)
        if sample_weight is not None or entry_weight is not None:
            raise ValueError(
                "Weights cannot be matched to a stream; call partial_fit with each batch and "
                "its weights instead."
            )
        source = source_of(X).sized(self._n_atoms(), self.batch_size)
        # Workers of a cluster are checked here, before they compute the origin of their samples.
        batches = self._reading(source, known=True)
        size = source.batch_size
        assert isinstance(size, int)
        position = Position(n_rows=source.n_samples or 0, batch_size=size, origin=source.origin())
        n_passes = 1 if self.n_passes is None else self.n_passes
        return LearningData(batches, source, position, not source.window, n_passes)

    def _first_piece(self, data: "LearningData", source: Source) -> Any:
        """Return the first samples of a source as they are, for the start."""
        n_passes = data.n_passes or 1
        if source.reader.once and max(n_passes, self.n_starts) > 1:
            raise ValueError(
                f"n_passes={n_passes} and n_starts={self.n_starts} read the samples several times, "
                "and this stream is read once; give a function that makes it, or a file "
                "(thresher.open)."
            )
        head = data.batches.first(2 * self._n_atoms())
        if head is None:
            raise ValueError("The stream is empty; give it at least one batch.")
        return head

    def _reading(self, source: Source, known: bool) -> Any:
        """Return a source whose batches are checked: here, or by the workers of a cluster."""
        in_order = not source.window
        shared = cluster_for(source, lambda: ModelRecipe(self, known, in_order))
        if shared is None:
            return CheckedSource(source, lambda piece, names: self._piece(piece, known, names))
        self._check_suits_cluster()
        return shared

    def _workers(self, source: Any) -> Any:
        """Return what codes the batches of a source: its own workers, if it has any, or threads."""
        return source.workers() if hasattr(source, "workers") else Pool(self.n_jobs)

    def _check_suits_cluster(self) -> None:
        if self.drift is not None:
            raise ValueError(
                "drift= is watched in one process; leave it out on a cluster, or close the client "
                "to learn here."
            )
        candidates = self._plan(self._n_atoms())
        if any(candidate.method.keeps_samples for candidate in candidates):
            raise ValueError(
                f"solver={self.solver!r} keeps samples instead of sums of a fixed size, so it does "
                "not learn on a cluster; use solver='auto', or close the client to learn here."
            )

    def _n_atoms(self) -> int:
        """Return the largest number of atoms before the first batch is known."""
        default = 10 if isinstance(self.init, str) else len(numbers_in_rows("init", self.init))
        return int(self.n_components or default)

    def _piece(self, piece: Any, known: bool, compare_names: bool = True) -> Batch:
        return self._batch(self._checked(piece, known, compare_names), None, None)

    def _best_start(self, source: BatchSource, fitted: FittedModel, batch: Batch) -> FittedModel:
        """Return the best of several first dictionaries; all else that is random stays."""
        first = fitted.state
        seeds = np.random.default_rng([first.seed, 4]).integers(2**31 - 1, size=self.n_starts - 1)
        others = [self._begin(batch, int(seed), fitted.in_order).state for seed in seeds]
        others = [replace(state, seed=first.seed) for state in others]
        n_passes = min(_PASSES_FOR_A_START, self.n_passes or _PASSES_FOR_A_START)
        with self._workers(source) as pool:
            best = best_start(fitted.method, [first, *others], source, pool, n_passes)
        return fitted.after(best, fitted.recent)

    def _check_weights(self, fitted: FittedModel, entry_weight: Array | None) -> None:
        if entry_weight is not None:
            fitted.method.problem(fitted.state).loss.check_weight(entry_weight)

    def _run(self, data: "LearningData", attempt: Attempt) -> Self:
        source, in_order, n_passes = data.batches, data.in_order, data.n_passes
        keep = data.source is not None
        fitted = self._model(in_order)
        self._put_into_effect(self._changes())
        self._adopt(fitted, self._position)
        already = self._seconds
        started = time.perf_counter()
        total = _expected_samples(source, n_passes)
        label = f"{type(self).__name__}: learning"
        seen_before = self._state.n_samples
        callbacks = list(self.callbacks or ())
        stopped = False
        last: Batch | None = None
        in_memory = isinstance(source, ArraySource)

        with self._workers(source) as pool, ProgressBar(label, total, self.verbose > 0) as bar:
            batches: BatchSource = source
            origin: Callable[[], dict[str, str]] | None = None
            if isinstance(source, ArraySource):
                batches = PrefetchedArray(source, pool)
                if not self._position.origin:  # needed only when the model is saved
                    origin = pool.submit(source.origin)

            def restart(state: StreamState, batch: Batch) -> tuple[StreamMethod, StreamState]:
                nonlocal fitted
                fitted = self._begun_again(state, batch, in_order)
                return fitted.method, fitted.state

            run = StreamRun(fitted.method, fitted.state, self._position)
            try:
                with closing(run.steps(batches, pool, n_passes, self.tol, restart)) as steps:
                    for done in steps:
                        last = done.batch if done.batch.has_entries else last
                        if not (in_memory or hasattr(source, "workers")):
                            self._remember(done.batch)
                        self._seconds = already + time.perf_counter() - started
                        row = self._record(fitted, done)
                        bar.update(done.after.n_samples - seen_before, f"loss {row.loss:.4g}")
                        if callbacks and origin is not None:  # which may save the model
                            self._position = replace(done.position, origin=origin())
                        # Batches before a bad one took long to read, or cannot be read again.
                        attempt.keep = keep
                        at_hand = done.batch.at_hand
                        step = Step(row, self.components_, self, done.after.events, at_hand)
                        stopped = attempt.stops(callbacks, step)
                        if stopped:
                            break
                        changes = self._changes()
                        if self._state is done.after and not changes:
                            continue
                        attempt.keep = True  # an invalid change does not discard what was learned
                        fitted = self._model(in_order)
                        attempt.keep = keep
                        self._put_into_effect(changes)
                        self._adopt(fitted, self._position)
                        run.method, run.state = fitted.method, fitted.state
                        run.position = self._position
            except KeyboardInterrupt:
                self._log_end("interrupted; what was learned so far is kept")
                raise
            finally:
                if origin is not None:
                    self._position = replace(self._position, origin=origin())
        if stopped:
            self._log_end("a callback ended it")
        elif run.converged:
            self._log_end("the mean loss has converged")
        else:
            self._log_end("there is no more to read")
        if isinstance(source, ArraySource):
            last = source.whole()
            self._remember(last)
            self._adopt_state(self._state)
        if not stopped and last is not None:
            self._warn_of_batch(last)
        return self

    def _warn_of_batch(self, batch: Batch) -> None:
        """Warn if the last samples are poorly explained because of sets or penalties."""
        self._warn_of_size(energies(self._model().method, self._state, batch))

    def _log_end(self, reason: str) -> None:
        name, seen, steps = type(self).__name__, self.n_samples_seen_, self.n_iter_
        _log.info("%s: ends after %d samples in %d steps: %s", name, seen, steps, reason)

    def _record(self, fitted: FittedModel, step: StreamStep) -> HistoryRow:
        """Adopt the state after a step, and add the step to the history."""
        before, after, position, batch, summary = step
        size, moved = length(before.average), length(after.average - before.average)
        change = moved / (size if size > 0 else 1.0)
        loss = summary.loss / batch.weight * after.loss_unit if batch.weight > 0 else 0.0
        measures = after.statistics.measures(after.D)
        row = HistoryRow(
            after.n_samples, self._seconds, loss, summary.certificate, change, **measures
        )
        self.history_.append(row, after.events)
        self._adopt(fitted.after(after, self._recent), position)
        return row


class LearningData(NamedTuple):
    """The checked batches of a fit."""

    batches: Any
    source: Source | None
    """What the batches come from, if not from an array."""
    position: Position
    """The position before the first batch."""
    in_order: bool
    """Whether samples come in their own order."""
    n_passes: int | None

    @property
    def entry_weight(self) -> Array | None:
        """Weights of the entries of an array."""
        return self.batches.entry_weight if self.source is None else None

    def origin(self) -> dict[str, str]:
        """Return what identifies the samples; an array is hashed."""
        origin: dict[str, str] = (
            self.batches.origin() if self.source is None else self.position.origin
        )
        return origin


class ModelRecipe:
    """Checks samples as a model does, and makes its method, on the workers of a cluster.

    Parameters are sent, not methods: a worker makes the method itself.
    """

    def __init__(self, model: OnlineEstimator, known: bool, in_order: bool) -> None:
        self._model: OnlineEstimator = without_callbacks(model)
        for name in _LEARNED:
            vars(self._model).pop(name, None)
        self._known, self._in_order = known, in_order
        self._made_for: Any = None
        self._method: Any = None

    def batch(self, rows: Any) -> Batch:
        """Return checked samples; their names were compared in the process of the model."""
        return self._model._piece(rows, self._known, compare_names=False)

    def method(self, state: StreamState) -> Any:
        """Return the method of a state, in its unit."""
        made_for = len(state.D), state.method, state.unit
        if self._made_for != made_for:
            candidates = self._model._plan(len(state.D), self._in_order)
            self._method = named(candidates, state.method).method.in_unit_of(state)
            self._made_for = made_for
        return self._method


# Attributes that workers need neither to check samples nor to make methods.
_LEARNED = (
    "_state",
    "_position",
    "_seconds",
    "history_",
    "components_",
    "_calibrated_threshold",
    "_calibrated_scale",
    "_recent",
)


def _same(before: Any, now: Any) -> bool:
    """Whether two values of a parameter are the same; schedules are, if they are one object."""
    plain = all(isinstance(value, str | None) or is_number(value) for value in (before, now))
    return before is now or (plain and bool(before == now))


def _as_number(value: Any) -> float:
    """Return a value as the number of an event: no forgetting is an infinite half-life."""
    if value is None:
        return float("inf")
    return float(value) if is_number(value) else float("nan")


def _expected_samples(source: BatchSource, n_passes: int | None) -> int | None:
    """How many samples a fit reads, unless it converges before."""
    n_samples = source.n_samples
    if n_samples is None:
        return None
    if n_passes is None:
        steps = -(-n_samples // getattr(source, "batch_size", n_samples))
        n_passes = WINDOWS * passes_per_window(n_samples, steps)
    return n_samples * n_passes
