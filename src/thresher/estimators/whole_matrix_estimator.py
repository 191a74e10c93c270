"""Models of whole matrices: low rank and outliers of all samples at once, in memory."""

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.engine import (
    HistoryRow,
    Pool,
    Position,
    ProgressBar,
    Step,
    StreamState,
    begin_callbacks,
    list_callbacks,
    translate_linalg_errors,
)
from thresher.estimators.fitting import Attempt, unchanged_if_refused, warn_unconverged
from thresher.estimators.outlier_mixin import OutlierMixin
from thresher.estimators.parameters import COUNT
from thresher.estimators.validation import checked_flags, computing_dtype
from thresher.learning import NoiseWeight, OutlierWeight, RangeWeight
from thresher.linalg import Array, length
from thresher.penalties import Tikhonov
from thresher.sets import Reals

FINER = 1e-2
"""`fit` ends at this share of ``tol``: its residuals are relative to all data."""


def typical(X: Array, observed: NDArray[np.bool_] | None) -> float:
    """The size of a typical entry of a matrix, whatever its gross errors; one for zeros."""
    sizes = np.abs(X if observed is None else X[observed]).ravel()
    return RangeWeight(0.5).measure(sizes, np.ones_like(sizes)) or 1.0


class Basis(NamedTuple):
    """What a round of such a method comes to, in the unit of the computation."""

    atoms: Array
    threshold: float
    """From which size on a residual of a sample is an outlier."""
    objective: float
    certificate: float
    """How far the method is from its end: one is there."""
    weight: float = 0.0
    """λ of the method, if it has one beside the threshold."""


class WholeMatrixEstimator(OutlierMixin):
    """`fit` on a matrix as a whole; all other methods code one sample at a time on the basis.

    Samples, atoms and codes have either sign. Codes cost ``½‖c‖²``. That is no loss of generality:
    a product ``cD`` is the same if codes are divided and atoms multiplied by the same number, so
    the size of an atom says how much its direction may be used.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutlierMixin._parameter_constraints,
        "max_iter": [COUNT],
    }

    max_iter: int

    init = "auto"
    n_jobs = None
    random_state: Any = None
    code_set: Any = Reals()
    code_penalty: Any = Tikhonov(1.0)
    dictionary_set: Any = Reals()

    _nonnegative = False
    _can_grow = False

    @abstractmethod
    def _rounds(self, X: Array, observed: NDArray[np.bool_] | None, seed: int) -> Iterator[Basis]:
        """The rounds of the method."""

    def _coding_dtype(self, X: Any) -> np.dtype[Any]:
        """Double: with atoms of either sign codes are sums of entries that cancel.

        In single precision some had four digits, and others alone than among other samples.
        """
        return np.dtype(np.float64)

    def _weight_rule(self) -> OutlierWeight:
        return NoiseWeight(1.0)  # the threshold of a round, as it is

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @translate_linalg_errors()
    def fit(self, X: Any, y: Any = None, entry_weight: Any = None) -> Self:
        """Take a matrix apart, and keep the basis of its low-rank part.

        Parameters
        ----------
        X : array-like of shape (n, F)
            Samples; NaN marks missing entries.
        y : ignored
        entry_weight : array-like of shape (n, F), optional
            Zero marks missing entries too, one the others.
        """
        list_callbacks(self)
        self._check_parameters()
        begin_callbacks(self)
        if sparse.issparse(X):
            raise TypeError(
                f"{type(self).__name__} takes no sparse matrix: its low-rank part would be dense. "
                "Pass X.toarray(), or use OnlineRobustPCA, which expands a batch at a time."
            )
        batch = self._batch(self._checked(X, known=False), None, entry_weight)
        seed, dtype = self._draw_seed(), computing_dtype(batch.X)
        chosen = self._plan(1)[0]
        units = chosen.method.units_for(batch, batch.X.shape[1], dtype)
        nothing = np.zeros((1, batch.X.shape[1]), dtype=dtype)
        empty = chosen.method.learner.empty(1, batch.X.shape[1])
        state = StreamState(nothing, nothing, empty, seed, method=chosen.name, **units)
        fitted = self._make(chosen, state.with_range(batch), in_order=True)
        samples, weight, _ = fitted.method.load_dense(batch, slice(0, batch.n_samples), dtype)
        observed = None if weight is None else weight > 0
        # One BLAS thread: with more, sums of products have other bits.
        with unchanged_if_refused(self) as attempt, Pool(1):
            self._set_features(X)
            self._reset()
            self._adopt(fitted, Position())
            missed = self._run(self._rounds(samples, observed, seed), len(samples), attempt)
            self._remember(batch)
            self._adopt_state(self._state)
        warn_unconverged(self, missed, stacklevel=4)
        return self

    def _checked_entry_weight(self, X: Any, entry_weight: Any) -> Array | None:
        weight = super()._checked_entry_weight(X, entry_weight)
        return checked_flags(weight, "A whole matrix is separated entry by entry")

    def _run(self, rounds: Iterator[Basis], n_samples: int, attempt: Attempt) -> float:
        """Round by round, the model whole after each; how far the last one was from the end."""
        started, callbacks, missed = time.perf_counter(), list(self.callbacks or ()), 0.0
        label = f"{type(self).__name__}: rounds"
        with ProgressBar(label, self.max_iter, self.verbose > 0) as bar:
            for number, found in enumerate(islice(rounds, self.max_iter), 1):
                self._seconds = time.perf_counter() - started
                row = self._record(found, n_samples)
                bar.update(number, f"objective {row.loss:.4g}")
                missed = row.certificate
                if attempt.stops(callbacks, Step(row, self.components_, self)):
                    return 0.0
        return missed

    def _record(self, found: Basis, n_samples: int) -> HistoryRow:
        before = self._state
        atoms = np.ascontiguousarray(found.atoms, dtype=before.D.dtype)
        same = atoms.shape == before.D.shape and length(atoms) > 0
        change = length(atoms - before.D) / length(atoms) if same else 1.0
        assert self._fitted is not None
        learner = self._fitted.method.learner
        state = replace(
            before,
            D=atoms,
            average=atoms,
            statistics=learner.empty(*atoms.shape),
            scale=found.threshold,
            scale_weight=found.weight,
            n_samples=before.n_samples + n_samples,
            n_steps=before.n_steps + 1,
        )
        loss = found.objective / n_samples * state.loss_unit
        row = HistoryRow(state.n_samples, self._seconds, loss, found.certificate, change)
        self.history_.append(row)
        self._adopt_state(state)
        return row
