"""The fitted model: method, state, coding problem and encoder as one immutable value."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse

from thresher.encoding import (
    DENSE,
    AutoEncoder,
    CodingProblem,
    Encoding,
    PreparedEncoder,
    Status,
)
from thresher.engine import Candidate, Pool, StreamState, translate_linalg_errors
from thresher.estimators.calibration import Calibration, RecentSamples, distances_to
from thresher.estimators.validation import computing_dtype
from thresher.linalg import Array, as_dense
from thresher.penalties import Regulariser
from thresher.streams import Batch

Result = TypeVar("Result")
_CONVERGED = np.int8(Status.CONVERGED)


@dataclass(frozen=True)
class CodedBlock:
    """Samples of a batch and their codes, in the unit of the state.

    Samples were divided by the unit of the state, and by ``divisor`` (n, 1), if any, before they
    were coded.
    """

    problem: CodingProblem
    X: Any
    weight: Array | None
    encoding: Encoding
    divisor: Array | None


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A dictionary with everything that codes samples on it.

    An estimator makes one after each step. Values that only coding needs are computed when they
    are first asked for.

    Parameters
    ----------
    candidate : Candidate
        The method that learns, its name and the reason for the choice, in the unit of the data.
    method : method
        The same method in the unit of the state.
    state : StreamState
    parameters : tuple
        Values of the estimator's parameters that the method was made from.
    in_order : bool
        Whether the method was made for samples in their own order, see `Forgetting`.
    tol, max_iter : float, int
        Tolerance and bound on the iterations of a code.
    n_jobs : int or None
        Threads.
    recent : RecentSamples or None
        Samples that the default calibration is measured on.
    """

    candidate: Candidate[Any]
    method: Any
    state: StreamState
    parameters: tuple[Any, ...]
    in_order: bool
    tol: float
    max_iter: int
    n_jobs: int | None
    recent: RecentSamples | None = None

    def after(self, state: StreamState, recent: RecentSamples | None) -> Self:
        """Return the fitted model of a later state."""
        same = state.unit == self.state.unit
        method = self.method if same else self.candidate.method.in_unit_of(state)
        return replace(self, method=method, state=state, recent=recent)

    # ------------------------------------------------------------------- parts

    @cached_property
    def encoder(self) -> AutoEncoder:
        """The encoder of `transform`: codes that meet ``tol``."""
        return AutoEncoder(self.tol, self.max_iter)

    @cached_property
    def own_problem(self) -> CodingProblem:
        """The coding problem in the precision of the dictionary."""
        return self._problem(self.state.average)

    def problem(self, dtype: np.dtype[Any]) -> CodingProblem:
        """Return the coding problem in a precision, in the unit of the state."""
        if dtype == self.state.average.dtype:
            return self.own_problem
        return self._problem(np.ascontiguousarray(self.state.average, dtype=dtype))

    def _problem(self, D: Array) -> CodingProblem:
        loss = self.method.problem(self.state).loss
        return CodingProblem(D, loss, _of_rows(self.method.code_regulariser))

    @cached_property
    def prepared_encoder(self) -> PreparedEncoder:
        """The encoder, prepared for dense rows in the precision of the dictionary."""
        return self.encoder.prepare(self.own_problem)

    def problem_in_data_unit(self) -> CodingProblem:
        """Return the coding problem in the unit of the data."""
        method = self.candidate.method
        loss = method.loss(self.outlier_weight)
        return CodingProblem(self.state.atoms, loss, _of_rows(method.code_regulariser))

    @property
    def outlier_weight(self) -> float:
        """λ in the unit of the data."""
        return float(self.method.threshold(self.state) * self.state.unit)

    def encoder_choice(self) -> tuple[str, str]:
        """Return the name of the method that codes dense samples, and the reason for it."""
        _, name, reason = self.encoder.choice(self.own_problem, DENSE)
        return name, reason

    @cached_property
    def calibration(self) -> Calibration | None:
        """Loss quantile and residual scales of the recent samples; None if there are none."""
        return None if self.recent is None else self.recent.calibration(self._losses_and_distances)

    # ------------------------------------------------------------------ coding

    def encode(
        self,
        batch: Batch,
        dtype: np.dtype[Any],
        pool: Pool,
        finish: Callable[[CodedBlock], Result],
    ) -> Iterator[tuple[slice, Result, int]]:
        """Code a batch block by block, in the threads of a pool.

        Yields the rows of a block, what ``finish`` makes of it, and how many of its codes did not
        converge.
        """
        method, state = self.method, self.state
        with translate_linalg_errors():
            method.check(state, batch)
            dtype = method.computing_dtype(state, batch, dtype)
            problem = self.problem(dtype)
            problem.loss.check_weight(batch.entry_weight)
            rows = method.rows(batch)
            own = problem is self.own_problem and rows == DENSE
            encode = self.prepared_encoder if own else self.encoder.prepare(problem, rows)

        def work(rows: slice) -> tuple[slice, Result, int]:
            block, weight, divisor = method.load(batch, rows, dtype)
            with translate_linalg_errors():
                encoding = encode(block, weight)
            n_unconverged = int(np.count_nonzero(encoding.status != _CONVERGED))
            coded = CodedBlock(problem, block, weight, encoding, divisor)
            return rows, finish(coded), n_unconverged

        yield from pool.stream(work, method.blocks(batch))

    def certificates(self, batch: Batch, C: Array) -> Array:
        """Return how far given codes are from optimal, relative; 0 is exact."""
        method, state = self.method, self.state
        method.check(state, batch)
        dtype = method.computing_dtype(state, batch, computing_dtype(batch.X))
        problem, parts = self.problem(dtype), []
        for rows in method.blocks(batch):
            block, weight, divisor = method.load(batch, rows, dtype)
            codes = C[rows].astype(dtype) / dtype.type(state.code_unit)
            codes = codes if divisor is None else codes / divisor
            parts.append(problem.certificate(block, codes, weight))
        certificates: Array = np.concatenate(parts).astype(C.dtype, copy=False)
        return certificates

    def _losses_and_distances(self, batch: Batch) -> tuple[Array, Array | None]:
        with Pool(self.n_jobs) as pool:
            finish = self.loss if sparse.issparse(batch.X) else self.loss_and_prediction
            coded = self.encode(batch, computing_dtype(batch.X), pool, finish)
            return distances_to(batch, ((rows, result) for rows, result, _ in coded))

    # ------------------------------------- of coded blocks, in the unit of the data

    def codes(self, block: CodedBlock) -> Array:
        """``C``."""
        return self._scaled(block, block.encoding.codes, self.state.code_unit)

    def predict(self, block: CodedBlock) -> Array:
        """``C D``."""
        return self._scaled(block, block.encoding.codes @ block.problem.D, self.state.unit)

    def outliers(self, block: CodedBlock) -> Array:
        """Outliers ``r`` of the loss."""
        prediction = block.encoding.codes @ block.problem.D
        X, weight = as_dense(block.X, block.weight)
        outliers = block.problem.loss.outliers(X, prediction, weight)
        return self._scaled(block, outliers, self.state.unit)

    def separate(self, block: CodedBlock) -> tuple[Array, Array, Array]:
        """Predictions, outliers and codes."""
        return self.predict(block), self.outliers(block), self.codes(block)

    def loss(self, block: CodedBlock) -> Array:
        """Loss of every sample, in double precision; of divided samples as they were divided."""
        losses = block.problem.fit(block.X, block.encoding.codes, block.weight).values()
        return losses.astype(np.float64) * self.state.loss_unit

    def loss_and_prediction(self, block: CodedBlock) -> tuple[Array, Array]:
        """Both."""
        return self.loss(block), self.predict(block)

    def objective(self, block: CodedBlock) -> Array:
        """Loss of every sample plus the penalty of its code."""
        penalty = block.problem.regulariser.value(block.encoding.codes).astype(np.float64)
        return self.loss(block) + penalty * self.state.loss_unit

    def _scaled(self, block: CodedBlock, values: Array, unit: float) -> Array:
        if unit != 1:
            values = values * values.dtype.type(unit)
        return values if block.divisor is None else values * block.divisor

    # -------------------------------------------------------------- imputation

    def impute(self, X: Array, predictions: Iterator[tuple[slice, Array]], bounds: Any) -> Array:
        """Fill the missing entries of samples in place, and return them.

        Parameters
        ----------
        X : array of shape (n, F)
            Samples, NaN where an entry is missing.
        predictions : iterator of (rows, array)
        bounds : "seen", None, or a pair
            As in `DictionaryEstimator.impute`.
        """
        seen = self.state.seen
        low, high = self._bounds(bounds)
        empty = np.asarray(np.isnan(X).all(axis=1))
        unseen = np.zeros(X.shape[1], dtype=bool) if seen is None else ~seen.observed
        for rows, samples in predictions:
            block = X[rows]
            missing = np.isnan(block) & ~empty[rows, None] & ~unseen
            block[missing] = np.clip(samples, low, high)[missing]
        left = int(np.isnan(X).sum())
        if left:
            warnings.warn(
                f"{left} missing values stay NaN, since nothing is known of them: "
                f"{int(empty.sum())} samples have no entry at all, and {int(unseen.sum())} "
                "features were never observed in learning. Leave these samples and features out, "
                "or fill them by other means.",
                UserWarning,
                stacklevel=4,
            )
        return X

    def _bounds(self, bounds: Any) -> tuple[Any, Any]:
        seen, n_features = self.state.seen, self.state.D.shape[1]
        if isinstance(bounds, str) and bounds == "seen":
            if seen is None:
                return -np.inf, np.inf
            low = np.where(seen.observed, seen.low, -np.inf)
            return low, np.where(seen.observed, seen.high, np.inf)
        if bounds is None:
            return -np.inf, np.inf
        try:
            low, high = (
                np.broadcast_to(np.asarray(bound, dtype=np.float64), n_features) for bound in bounds
            )
        except (TypeError, ValueError):
            low, high = np.array([1.0]), np.array([0.0])
        if not (low <= high).all():
            raise ValueError(
                f"bounds={bounds!r} is not known; use 'seen' for the range that was learned from, "
                f"None for no bounds, or a pair (low, high) of numbers or of {n_features} numbers "
                "each."
            )
        return low, high


def _of_rows(codes: Regulariser) -> Regulariser:
    """Return penalty and set of the codes of one sample; what couples rows acts in `fit` only."""
    return Regulariser() if codes.form.couples_rows else codes
