"""Batch nonnegative matrix factorisation with outliers: paper A, supplement S-2."""

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from thresher.engine import (
    OVERFLOW,
    Alternation,
    BatchADMM,
    BatchProblem,
    Callback,
    ExactAlternation,
    HistoryRow,
    OnlineMethod,
    Pool,
    Position,
    ProgressBar,
    Step,
    StreamState,
    alternate,
    any_stops,
    stream,
)
from thresher.estimators.learned import LearnedModel
from thresher.estimators.registry import (
    AVERAGING_SHUFFLED,
    BATCH_ROBUST_SOLVERS,
    FORGETTING_SHUFFLED,
    named_solver,
)
from thresher.estimators.robust import RobustModel
from thresher.learning import PlainAverage
from thresher.linalg import Array, block_slices
from thresher.streams import ArraySource, Batch

_ROUNDS_PER_NOISE_LEVEL = 5
_NOISE_LEVELS = 3
_STREAM_BATCH = 256
_STREAM_PASSES = 3


class RobustNMF(RobustModel, LearnedModel):
    r"""Factorise a whole matrix into nonnegative parts and set the outliers aside.

    Minimises (S-7) of paper A, divided by the number of samples,

    .. math:: \tfrac1n \sum_i \min_{c \ge 0,\; |r| \le M}
              \tfrac12 \|x_i - cD - r\|_2^2 + \lambda \|r\|_1

    by alternating between codes and dictionary, all data in memory. For data that do not fit, or
    that arrive, use `OnlineRobustNMF`.

    Parameters
    ----------
    solver : {"auto", "bpgd", "badmm"}
        ``auto`` starts with a few passes of the online method, then alternates near-exact codes
        and block coordinate descent, and its objective never rises; ``bpgd`` and ``badmm`` are
        those of the paper (κ = 0.7, ρ = 1).
    max_iter : int
        Bound on the rounds of the alternation and on the iterations of a code in `transform`.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends, and the certificate
        that codes of `transform` meet.

    All other parameters are those of `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    n_iter_ : int
        Rounds.
    outlier_weight_ : float
        λ in use.

    Examples
    --------
    >>> from thresher import RobustNMF
    >>> from thresher.datasets import make_outlier_stream
    >>> data = make_outlier_stream(300, 40, 3, random_state=0).data
    >>> RobustNMF(3, random_state=0).fit(data).components_.shape
    (3, 40)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "samples",
        solver: str = "auto",
        outlier_weight: Any = "auto",
        outlier_penalty: Any = "l1",
        outlier_sign: str = "free",
        outlier_bound: float | None = None,
        code_set: Any = "nonnegative",
        code_penalty: Any = None,
        dictionary_set: Any = "l2_ball",
        dictionary_penalty: Any = None,
        frozen_atoms: Any = None,
        scale_samples: str | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.outlier_weight = outlier_weight
        self.outlier_penalty = outlier_penalty
        self.outlier_sign = outlier_sign
        self.outlier_bound = outlier_bound
        self.code_set = code_set
        self.code_penalty = code_penalty
        self.dictionary_set = dictionary_set
        self.dictionary_penalty = dictionary_penalty
        self.frozen_atoms = frozen_atoms
        self.scale_samples = scale_samples
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

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
        self._check_parameters()
        samples = self._checked(X, known=False)
        batch = self._batch(samples, sample_weight, entry_weight)
        state = self._begin(batch, self._draw_seed())
        method = self._method(len(state.D))
        state = method.look(state, batch)
        method.problem(state).loss.check_weight(batch.entry_weight)
        self._learn_features(X)
        self._forget_everything()
        self._adopt(state, Position())
        codes = None
        with Pool(self.n_jobs) as pool:
            if self.solver == "auto":
                self._stream_first(method, batch, pool)
            if method.outlier_weight.measures == "residuals":
                for _ in range(_NOISE_LEVELS):
                    codes, stopped = self._rounds(
                        method, batch, pool, codes, _ROUNDS_PER_NOISE_LEVEL
                    )
                    if stopped:
                        return self
                    self._adopt(self._measure_noise(method, batch, codes), self._position)
            self._rounds(method, batch, pool, codes, self.max_iter)
        return self

    @property
    def solver_(self) -> str:
        """What the solver consists of."""
        return named_solver(self.solver, BATCH_ROBUST_SOLVERS).description

    # ------------------------------------------------------------------- details

    def _method(self, n_components: int, in_order: bool = True) -> OnlineMethod:
        solver = named_solver(self.solver, BATCH_ROBUST_SOLVERS)
        return self._parts(n_components, solver.encoder, solver.step, PlainAverage())

    def _stream_first(self, method: OnlineMethod, batch: Batch, pool: Pool) -> None:
        """A few passes of the online method: a quick way to the neighbourhood of a good optimum.

        Alternating from random atoms settles on worse ones, where an atom serves a few outliers.
        """
        source = ArraySource(
            batch.X,
            _STREAM_BATCH,
            True,
            self._state.seed,
            batch.sample_weight,
            batch.entry_weight,
        )
        method = replace(method, forgetting=FORGETTING_SHUFFLED, averaging=AVERAGING_SHUFFLED)

        def report(
            before: StreamState, after: StreamState, position: Position, *rest: object
        ) -> bool:
            self._adopt(after, self._position)
            return False

        started = time.perf_counter()
        stream(method, self._state, source, pool, report, _STREAM_PASSES, self.tol)
        self._seconds += time.perf_counter() - started
        state = self._state
        self._adopt(replace(state, D=state.average, n_samples=0, n_steps=0), self._position)

    def _alternation(
        self, method: OnlineMethod, batch: Batch, pool: Pool, codes: Array | None
    ) -> ExactAlternation | BatchADMM:
        state = self._state
        D = state.D.copy()
        problem = BatchProblem(method, batch, method.problem(state).loss, D.dtype)
        shape = (batch.n_samples, len(D))
        if self.solver != "auto" and codes is None:  # as published: uniform codes
            start = np.random.default_rng([state.seed, 3]).random(shape).astype(D.dtype)
            codes = method.code_regulariser.region.project(start)
        if self.solver == "badmm":
            assert codes is not None
            return BatchADMM(problem, D, codes)
        room = np.zeros(shape, dtype=D.dtype) if codes is None else codes
        return ExactAlternation(problem, D, room, method.encoder, pool, cold=codes is None)

    def _rounds(
        self, method: OnlineMethod, batch: Batch, pool: Pool, codes: Array | None, rounds: int
    ) -> tuple[Array, bool]:
        """Alternate, the model whole after each round; the codes, and if a callback stopped."""
        work = self._alternation(method, batch, pool, codes)
        already, started = self._seconds, time.perf_counter()
        label = f"{type(self).__name__}: rounds"
        stopped = False
        with ProgressBar(label, rounds, self.verbose > 0) as bar:

            def report(number: int, after_codes: float, objective: float) -> bool:
                self._seconds = already + time.perf_counter() - started
                row = self._record(work, batch, objective)
                bar.update(number, f"objective {objective:.4g}")
                nonlocal stopped
                stopped = any_stops(self.callbacks or (), Step(row, self.components_, self))
                return stopped

            alternate(work, report, rounds, self.tol)
        return work.C, stopped

    def _record(self, work: Alternation, batch: Batch, objective: float) -> HistoryRow:
        assert isinstance(work, ExactAlternation | BatchADMM)
        before, D = self._state.D, work.D.copy()
        if not np.isfinite(D).all():
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
        some = slice(0, min(16, batch.n_samples))
        X, weight = work.problem.load(some)
        certificate = work.problem.coding(D).certificate(X, work.C[some], weight)
        row = HistoryRow(
            state.n_samples, self._seconds, objective, float(certificate.max()), change
        )
        self.history_.append(row)
        self._adopt(state, self._position)
        return row

    def _measure_noise(self, method: OnlineMethod, batch: Batch, codes: Array) -> StreamState:
        """λ from the residuals of all samples, once the dictionary fits roughly."""
        state = self._state
        problem = method.problem(state)
        parts = []
        for rows in block_slices(*batch.X.shape):
            X, weight, _ = method.load(batch, rows, state.D.dtype)
            sample_weight = None if batch.sample_weight is None else batch.sample_weight[rows]
            parts.append(method.summarise(problem, X, weight, sample_weight, codes[rows]))
        summary = reduce(add, parts)
        scale = method.outlier_weight.measure(summary.residuals, summary.residual_weights)
        return replace(state, scale=max(scale, 0.01 * state.scale), scale_weight=batch.weight)
