"""What every dictionary model shares: validation, codes, reconstruction, scores."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from thresher.encoding import (
    DENSE,
    AutoEncoder,
    CodingProblem,
    Status,
    encode_rows,
)
from thresher.engine import Method, Pool, ProgressBar, StreamState, told_in_words
from thresher.estimators.agreed_names import names_were_compared
from thresher.estimators.by_batch import ReadsSources, all_of, comes_in_parts
from thresher.estimators.coded_block import CodedBlock
from thresher.estimators.containers import samples_like, samples_of
from thresher.estimators.imputing import filled
from thresher.estimators.inputs import (
    as_matrix,
    computing_dtype,
    dense_copy,
    is_plain,
    refuse_mask,
)
from thresher.estimators.parameters import KeepsParameters
from thresher.estimators.planned import PlannedModel
from thresher.estimators.scoring import ScoresEntries
from thresher.linalg import Array, stored_rows
from thresher.penalties import Constrained
from thresher.streams import Batch

Result = TypeVar("Result")
_CONVERGED = np.int8(Status.CONVERGED)


class DictionaryModel(
    PlannedModel,
    ReadsSources,
    ScoresEntries,
    KeepsParameters,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """A dictionary in `components_` and everything that follows from coding samples on it."""

    # Set by subclasses in their constructors.
    tol: float
    max_iter: int
    n_jobs: int | None
    verbose: int
    implicit_zeros: str = "observed"

    components_: Array
    _state: StreamState
    _nonnegative = True

    # ------------------------------------------------------------ for subclasses

    @abstractmethod
    def _solver(self) -> Any:
        """What the parameter ``solver`` stands for."""

    @abstractmethod
    def _exact_encoder(self) -> AutoEncoder:
        """The encoder of `transform`: codes that meet ``tol``."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._nonnegative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    # --------------------------------------------------------------- validation

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "components_"):  # scikit-learn asks for all tags first
            check_is_fitted(self, "components_")

    def _checked(self, X: Any, known: bool) -> Any:
        """Samples as an array or CSR of numbers; a sentence says what is wrong with others.

        ``known`` compares width and names of the features, and the parameters, with those that
        were learned. Nothing is changed: bad input leaves the model as it was.
        """
        if known:
            self._check_goes_on()
        checks: dict[str, Any] = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
        plain = is_plain(X)
        checked: Any = X if plain else as_matrix(X, self, **checks)
        named = hasattr(self, "feature_names_in_")
        if known and names_were_compared():
            _check_n_features(self, X, reset=False)
        elif known and (not plain or named or X.shape[1] != self.n_features_in_):
            validate_data(self, X, reset=False, skip_check_array=True)
        if self.implicit_zeros == "missing":
            checked = stored_rows(checked)
        if not self._nonnegative:
            return checked
        values = checked.data if hasattr(checked, "indptr") else checked
        lowest = np.minimum.reduce(values, None, initial=0)
        if np.isnan(lowest):  # slower, but it looks past the gaps
            lowest = np.fmin.reduce(values, axis=None)
        if lowest < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: its parts are "
                "nonnegative. Shift the data, clip them at zero, or use "
                "OnlineOrthogonalDictionary, which takes either sign."
            )
        return checked

    def _learn_features(self, X: Any) -> None:
        """Remember the width and the names of the features, once everything is in order."""
        validate_data(self, X, reset=True, skip_check_array=True)

    def _batch(self, X: Any, sample_weight: Any, entry_weight: Any) -> Batch:
        """Samples and checked weights."""
        refuse_mask("sample_weight", sample_weight)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self._check_gaps(X)
        return Batch(X, sample_weight, self._checked_entry_weight(X, entry_weight))

    def _check_gaps(self, X: Any) -> None:
        """Refuse missing entries for losses that cannot leave entries out."""
        return None

    def _checked_entry_weight(self, X: Any, entry_weight: Any) -> Array | None:
        if entry_weight is None:
            return None
        refuse_mask("entry_weight", entry_weight)
        weight: Array = check_array(
            entry_weight, dtype=[np.float64, np.float32], input_name="entry_weight"
        )
        if weight.shape != X.shape or (weight < 0).any():
            raise ValueError(
                f"entry_weight must be nonnegative and of the shape of the data, {X.shape}; got "
                f"the shape {weight.shape}."
            )
        return weight

    # ---------------------------------------------------------------- coding

    def problem(self) -> CodingProblem:
        """The coding problem that `transform` solves, in the unit of the data.

        Its methods tell of any codes, in NumPy: ``problem().objective(X, C)`` is the loss of every
        sample and what its codes cost, ``gradient(X, C)`` the slope of the loss in the codes, and
        ``certificate(X, C)`` how far they are from optimal. `D`, `loss` and `regulariser` are its
        parts. Give gaps as entries of weight zero, with any number in their place, and with
        ``scale_samples`` the samples divided by their largest entries.
        """
        self._check_is_fitted()
        self._check_goes_on()
        threshold = self._fitted_method().threshold(self._state) * self._state.unit
        method = self._chosen(self._state).method
        regulariser = self._row_regulariser(method)
        return CodingProblem(self.components_, method.loss(threshold), regulariser)

    def _problem(self, dtype: np.dtype[Any]) -> CodingProblem:
        """The same in the unit of the state."""

        def make() -> CodingProblem:
            method = self._fitted_method()
            D = np.ascontiguousarray(self._state.average, dtype=dtype)
            return CodingProblem(D, method.problem(self._state).loss, self._row_regulariser(method))

        problem: CodingProblem = self._fitted(dtype, make)
        return problem

    def _coding_dtype(self, X: Any) -> np.dtype[Any]:
        """The precision in which samples are coded, unless they need more."""
        return computing_dtype(X)

    def _row_regulariser(self, method: Method) -> Constrained:
        """Penalty and set of the codes of a sample by itself."""
        return method.code_regulariser

    @property
    def solver_(self) -> str:
        """Name of the method that learned the dictionary, such as ``"quadratic"``."""
        self._check_is_fitted()
        return self._state.method

    @property
    def encoder_(self) -> str:
        """Name of the method that finds codes of dense samples, such as ``"newton"``."""
        self._check_is_fitted()
        return self._coding_choice()[0]

    def explain(self) -> str:
        """Return which methods learn the dictionary and find the codes, and why, as text."""
        self._check_is_fitted()
        solver = self._chosen(self._state)
        encoder, reason = self._coding_choice()
        return f"solver: {solver.name}\n  {solver.reason}\nencoder: {encoder}\n  {reason}"

    def _coding_choice(self) -> tuple[str, str]:
        """Name of the method that codes dense samples, and the reason for the choice."""
        problem = self._problem(self.components_.dtype)
        _, name, reason = self._exact_encoder().choice(problem, DENSE)
        return name, reason

    def _coded(
        self,
        X: Any,
        entry_weight: Any,
        finish: Callable[[CodedBlock], Result],
        quiet: bool = False,
    ) -> Iterator[tuple[slice, Result]]:
        """Code all rows, block by block, and yield what ``finish`` makes of each block.

        If ``quiet``, without a word: for samples that nobody asked to code.
        """
        batch = self._batch(X, None, entry_weight)
        with told_in_words():
            method, state = self._fitted_method(), self._state
            method.check(state, batch)
            dtype = method.computing_dtype(state, batch, self._coding_dtype(X))
            problem, encoder = self._problem(dtype), self._exact_encoder()
            problem.loss.check_weight(batch.entry_weight)
            encoder.prepare(problem, method.rows(batch))

        def work(rows: slice) -> tuple[slice, Result, int]:
            block, weight, divisor = method.load(batch, rows, dtype)
            with told_in_words():
                encoding = encode_rows(encoder, problem, block, weight)
            late = int(np.count_nonzero(encoding.status != _CONVERGED))
            return rows, finish(CodedBlock(problem, block, weight, encoding, divisor, state)), late

        unfinished, told = 0, self.verbose > 0 and not quiet
        label = f"{type(self).__name__}: coding"
        with Pool(self.n_jobs) as pool, ProgressBar(label, X.shape[0], told) as bar:
            for rows, result, late in pool.stream(work, method.blocks(batch)):
                unfinished += late
                bar.update(rows.stop)
                yield rows, result
        if unfinished and self.tol > 0 and not quiet:
            warnings.warn(
                f"{unfinished} of {X.shape[0]} codes did not reach tol={self.tol:g} within "
                f"max_iter={self.max_iter} iterations; raise max_iter, or tol if the codes are "
                "good enough.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def transform(self, X: Any, entry_weight: Any = None, *, write: Any = None) -> Any:
        """Codes of samples, each row by itself, exact to ``tol``.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F), or a source (`thresher.open`)
            Nonnegative samples; NaN marks missing entries.
        entry_weight : array-like of shape (n, F), optional
            Weights of the entries, such as inverse variances.
        write : path or array, optional
            Where to put the codes, batch by batch: a ``.npy``, Parquet, Feather or CSV file, or an
            array such as a memory map.

        Returns
        -------
        C : array of shape (n, K)
            Codes, with ``C @ components_`` in the units of X. Of a source, an iterable of such
            arrays, one for each batch; with ``write``, what was written to.
        """
        self._check_is_fitted()
        if write is not None or comes_in_parts(X):
            return self._by_batch("transform", X, write, entry_weight=entry_weight)
        X = self._checked(X, known=True)
        C = np.empty((X.shape[0], len(self.components_)), dtype=computing_dtype(X))
        for rows, codes in self._coded(X, entry_weight, CodedBlock.codes):
            C[rows] = codes
        return C

    def inverse_transform(self, C: Any) -> Any:
        """Samples that codes stand for: ``C @ components_``.

        As `set_output` wants them; without it a frame if the codes are one.
        """
        self._check_is_fitted()
        refuse_mask("C", C)
        codes = as_matrix(C, self, dtype=[np.float64, np.float32])
        if codes.shape[1] != len(self.components_):
            raise ValueError(
                f"Codes have {len(self.components_)} columns, one for each atom; got "
                f"{codes.shape[1]}."
            )
        return samples_of(C, codes @ self.components_.astype(codes.dtype, copy=False), self)

    # ------------------------------------------------------------------ measures

    def certificates(self, X: Any, C: Any, entry_weight: Any = None) -> Array:
        """How far the codes of each sample are from optimal; `transform` brings this below ``tol``.

        For a smooth loss it is the residual of a proximal gradient step, for the ℓ1 distance the
        duality gap, both relative; zero is exact.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F)
        C : array-like of shape (n, K)
            Codes from `transform`, or from anywhere else.
        entry_weight : array-like of shape (n, F), optional
        """
        self._check_is_fitted()
        X = self._checked(X, known=True)
        C, method = self._checked_codes(C, X), self._fitted_method()
        batch = self._batch(X, None, entry_weight)
        method.check(self._state, batch)
        dtype = method.computing_dtype(self._state, batch, computing_dtype(X))
        problem, parts = self._problem(dtype), []
        for rows in method.blocks(batch):
            block, weight, divisor = method.load(batch, rows, dtype)
            codes = C[rows].astype(dtype) / dtype.type(self._state.code_unit)
            codes = codes if divisor is None else codes / divisor
            parts.append(problem.certificate(block, codes, weight))
        certificates: Array = np.concatenate(parts).astype(C.dtype, copy=False)
        return certificates

    def _checked_codes(self, C: Any, X: Any) -> Array:
        """Given codes of some samples."""
        codes: Array = check_array(C, dtype=computing_dtype(X))
        if codes.shape != (X.shape[0], len(self.components_)):
            raise ValueError(
                f"{X.shape[0]} samples have codes of shape "
                f"({X.shape[0]}, {len(self.components_)}); got {codes.shape}."
            )
        return codes

    def score_samples(self, X: Any, entry_weight: Any = None, *, write: Any = None) -> Any:
        """Minus the loss of every sample: the lower, the less the dictionary explains it.

        Sources and ``write`` are as in `transform`.
        """
        check_is_fitted(self, "components_")
        if write is not None or comes_in_parts(X):
            return self._by_batch("score_samples", X, write, entry_weight=entry_weight)
        return self._scores(X, entry_weight, CodedBlock.loss)

    def objective_samples(self, X: Any, entry_weight: Any = None) -> Array:
        """Loss and code penalty of every sample, at its codes: what coding minimises."""
        return -self._scores(X, entry_weight, CodedBlock.objective)

    def _scores(self, X: Any, entry_weight: Any, measure: Callable[[CodedBlock], Array]) -> Array:
        self._check_is_fitted()
        X = self._checked(X, known=True)
        return np.concatenate([-losses for _, losses in self._coded(X, entry_weight, measure)])

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean loss per sample: how well this model, as it is, explains other samples.

        Not for choosing parameters. Each loss, penalty and outlier weight has an objective of its
        own, and more atoms always explain more: a grid search on it takes the smallest outlier
        weight and the most atoms that it is offered. Use `score_entries` for that.
        """
        return float(np.mean(all_of(self.score_samples(X)), dtype=np.float64))

    def impute(self, X: Any, bounds: Any = "seen", *, write: Any = None) -> Any:
        """A copy of the samples with missing entries (NaN, null) filled: a frame of a frame.

        Gaps of which nothing is known stay NaN, and one warning tells how many: those of samples
        without any entry, and of features that were never seen in learning.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
        bounds : "seen", None, or pair of floats or of arrays of shape (F,)
            What is filled in lies between them: the range of each feature in the samples that the
            model learned from, no bounds, or your own.
        write : path or array, optional
            As in `transform`; pictures may also go to a video.
        """
        self._check_is_fitted()
        if write is not None or comes_in_parts(X):
            return self._by_batch("impute", X, write, bounds=bounds)
        if sparse.issparse(X) and self.implicit_zeros == "observed":
            raise TypeError("impute gives a dense array; pass a dense array with NaN in the gaps.")
        checked = self._checked(X, known=True)
        copy = dense_copy(checked)
        filled_in = filled(copy, self._predictions(checked), self._state.seen, bounds)
        return samples_like(X, filled_in, self)

    def _predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """What is believed of all entries, block by block."""
        return self._reconstructions(X)

    def _reconstructions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        return self._coded(X, None, CodedBlock.prediction)
