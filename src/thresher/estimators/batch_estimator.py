"""Batch models: they alternate between codes and dictionary, with all samples in memory."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thresher.engine import (
    OVERFLOW,
    Alternation,
    BatchProblem,
    Energies,
    HeldOutEntries,
    HistoryRow,
    Method,
    Pool,
    Position,
    ProgressBar,
    Step,
    StreamRun,
    StreamState,
    alternate,
    begin_callbacks,
    list_callbacks,
    residual_sizes,
    translate_linalg_errors,
)
from thresher.engine.residuals import EXACT
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.fitting import Attempt, unchanged_if_refused, warn_unconverged
from thresher.estimators.parameters import COUNT
from thresher.estimators.validation import computing_dtype
from thresher.linalg import Array, has_gram
from thresher.streams import ArraySource, Batch

_ROUNDS_PER_NOISE_LEVEL = 5
_SHORT_LEVELS = 3
_NOISE_LEVELS = 6
_SAME_NOISE = 0.05
_BLOCKS_TO_JUDGE_BY = 4


_log = logging.getLogger(__name__)


class Learned(NamedTuple):
    """The result of a batch fit, except its dictionary."""

    codes: Array
    stopped: bool = False
    """Whether a callback ended it."""
    missed: float = 0.0
    """How far it was from its end, see `engine.batch.Ending`."""


class BatchEstimator(DictionaryEstimator):
    """`fit` by alternation, on the engine's second loop."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DictionaryEstimator._parameter_constraints,
        "max_iter": [COUNT],
    }

    max_iter: int

    _stream_batch = 256
    _stream_passes = 3

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None
    ) -> Self:
        """Factorise a matrix.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F)
            Nonnegative samples; NaN marks missing entries.
        y : ignored
        sample_weight : array-like of shape (n,), optional
        entry_weight : array-like of shape (n, F), optional
        """
        learned = self._fit(X, sample_weight, entry_weight)
        warn_unconverged(self, learned.missed)
        return self

    @translate_linalg_errors()
    def _fit(
        self,
        X: Any,
        sample_weight: Any = None,
        entry_weight: Any = None,
        goes_on: bool = False,
        codes: Array | None = None,
    ) -> Learned:
        """`fit`, or on from the current atoms and given codes; without a warning."""
        list_callbacks(self)
        self._check_parameters()
        begin_callbacks(self)
        samples = self._checked(X, known=goes_on)
        batch = self._batch(samples, sample_weight, entry_weight)
        fitted = self._model() if goes_on else self._begin(batch, self._draw_seed())
        method = fitted.method
        state = method.measure_range(fitted.state.with_range(batch), batch)
        method.problem(state).loss.check_weight(batch.entry_weight)
        with unchanged_if_refused(self) as attempt, Pool(self.n_jobs) as pool:
            if not goes_on:
                self._set_features(X)
                self._reset()
            self._adopt(fitted.after(state, self._recent), Position())
            if fitted.candidate.warm_start is not None:
                self._stream_first(fitted.candidate.warm_start, batch, pool)
            learned = self._learn(method, batch, pool, attempt, codes)
        self._remember(batch)
        self._adopt_state(self._state)
        if not learned.stopped:
            self._warn_of_size(self._energies(method, batch, learned.codes))
        return learned

    def _learning_codes(self, X: Any) -> Array:
        """Return codes as the solver finds them while learning; those of `transform` are exact."""
        fitted, batch = self._model(), Batch(X)
        method, state = fitted.method, fitted.state
        problem = fitted.problem(computing_dtype(X))
        encode = method.encoder.prepare(problem, method.rows(batch))
        parts = []
        for rows in method.blocks(batch):
            block, weight, _ = method.load(batch, rows, state.D.dtype)
            parts.append(encode(block, weight).codes)
        return np.concatenate(parts)

    # ------------------------------------------------------------------- details

    def _learn(
        self,
        method: Method,
        batch: Batch,
        pool: Pool,
        attempt: Attempt,
        codes: Array | None,
    ) -> Learned:
        stops = partial(attempt.stops, list(self.callbacks or ()))
        if method.outlier_weight.measures == "residuals":
            learned = self._learn_noise(method, batch, pool, stops)
            if learned.stopped or method.dictionary_loss is None:
                return learned
            codes = learned.codes
        return self._rounds(method, batch, pool, codes, self.max_iter, stops)

    def _learn_noise(
        self, method: Method, batch: Batch, pool: Pool, stops: Callable[[Step], bool]
    ) -> Learned:
        """Rounds and measures of λ in turns, until λ is that of the dictionary it led to.

        Where λ is only the width of a smoothing, a few rounds estimate it well enough.
        """
        learned: Learned | None = None
        levels = _NOISE_LEVELS if method.dictionary_loss is None else _SHORT_LEVELS
        for level in range(levels):
            short = level < _SHORT_LEVELS
            left = method.rounds_left(self.max_iter, self._state)
            rounds = min(_ROUNDS_PER_NOISE_LEVEL, left) if short else left
            codes = None if learned is None else learned.codes
            learned = self._rounds(method, batch, pool, codes, rounds, stops)
            before = method.threshold(self._state)
            self._adopt_state(self._measure_noise(method, batch, learned.codes))
            change = abs(method.threshold(self._state) - before)
            converged = not short and change <= _SAME_NOISE * before
            if learned.stopped or converged or not method.rounds_left(self.max_iter, self._state):
                break
        assert learned is not None
        return learned

    def _stream_first(self, method: Method, batch: Batch, pool: Pool) -> None:
        """A few passes of the online method: a quick way to the neighbourhood of a good optimum.

        Alternating from random atoms converges to worse optima, where an atom fits a few outliers.
        """
        source = ArraySource(
            batch.X,
            self._stream_batch,
            True,
            self._state.seed,
            batch.sample_weight,
            batch.entry_weight,
        )

        started = time.perf_counter()
        run = StreamRun(method, self._state)
        for step in run.steps(source, pool, self._stream_passes, self.tol):
            self._adopt_state(step.after)
        self._seconds += time.perf_counter() - started
        state = self._state
        self._adopt_state(replace(state, D=state.average, n_samples=0, n_steps=0))

    def _rounds(
        self,
        method: Method,
        batch: Batch,
        pool: Pool,
        codes: Array | None,
        rounds: int,
        stops: Callable[[Step], bool],
    ) -> Learned:
        """Alternate; the model is complete after each round.

        Where entries are missing, what fits the noise only ends it, and is undone.
        """
        problem, held_out = BatchProblem.of(method, batch, self._state), None
        work = method.alternation(problem, self._state, codes, pool)
        if work.early_stopping and self.tol > 0:
            held_out = HeldOutEntries.of(work.problem, self._state.seed)
            if held_out is not None and codes is not None:  # what further rounds have to beat
                held_out.overfits(work.problem.coding(work.D), codes)
        already, started = self._seconds, time.perf_counter()
        label = f"{type(self).__name__}: rounds"
        stopped, overfits = False, False
        with ProgressBar(label, rounds, self.verbose > 0) as bar:

            def report(number: int, after_codes: float, objective: float) -> bool:
                self._seconds = already + time.perf_counter() - started
                row = self._record(work, batch, objective)
                bar.update(number, f"objective {row.loss:.4g}")
                nonlocal stopped, overfits
                stopped = stops(Step(row, self.components_, self))
                if held_out is not None and not stopped:
                    overfits = held_out.overfits(method.problem(self._state), work.C)
                return stopped or overfits

            small, seed = work.absolute_tol, self._state.seed
            done, missed = alternate(work, report, rounds, self.tol, small)
            while done < rounds and not (stopped or overfits) and work.change_support(seed):
                more, missed = alternate(work, report, rounds - done, self.tol, small)
                done += more
        reason = "no more rounds are allowed" if missed else "the objective has converged"
        reason = "a callback said stop" if stopped else reason
        reason = "it began to fit the noise of entries, which is undone" if overfits else reason
        _log.info("%s: ends after %d rounds: %s", type(self).__name__, done, reason)
        if not overfits or held_out is None or held_out.best is None:
            return Learned(work.C, stopped, missed)
        _, D, codes = held_out.best
        self._adopt_state(replace(self._state, D=D, average=D))
        return Learned(codes, stopped)

    def _record(self, work: Alternation, batch: Batch, objective: float) -> HistoryRow:
        before, D = self._state.D, work.D.copy()
        if not has_gram(D):
            raise ValueError(OVERFLOW)
        size = float(np.linalg.norm(before))
        change = float(np.linalg.norm(D - before)) / (size if size > 0 else 1.0)
        state = replace(
            self._state,
            D=D,
            average=D,
            n_samples=self._state.n_samples + batch.n_samples,
            n_steps=self._state.n_steps + 1,
        )
        loss = objective * state.loss_unit
        row = HistoryRow(state.n_samples, self._seconds, loss, work.certificate(), change)
        self.history_.append(row)
        self._adopt_state(state)
        return row

    def _energies(self, method: Method, batch: Batch, codes: Array) -> Energies:
        """Of a few blocks, at the codes and the dictionary of the last round."""
        problem, total = method.problem(self._state), Energies()
        blocks = list(method.blocks(batch))
        for rows in blocks[:: max(1, len(blocks) // _BLOCKS_TO_JUDGE_BY)]:
            X, weight, _ = method.load(batch, rows, self._state.D.dtype)
            given = None if batch.sample_weight is None else batch.sample_weight[rows]
            total += Energies.of(problem.fit(X, codes[rows], weight), given)
        return total

    def _measure_noise(self, method: Method, batch: Batch, codes: Array) -> StreamState:
        """λ from the residuals of all samples, once the dictionary fits roughly."""
        state = self._state
        problem = method.problem(state)
        parts, encode = [], EXACT.prepare(problem, method.rows(batch))
        for rows in method.blocks(batch):
            X, weight, _ = method.load(batch, rows, state.D.dtype)
            sample_weight = None if batch.sample_weight is None else batch.sample_weight[rows]
            parts.append(residual_sizes(problem, encode, X, weight, sample_weight, codes[rows]))
        sizes, weights = map(np.concatenate, zip(*parts, strict=True))
        scale = method.outlier_weight.measure(sizes, weights)
        return replace(state, scale=max(scale, 0.01 * state.scale), scale_weight=batch.weight)
