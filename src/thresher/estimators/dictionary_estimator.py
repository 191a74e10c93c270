"""The base of all dictionary models: validation, codes, reconstruction, scores, growth."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from thresher.encoding import CodingProblem
from thresher.engine import (
    Callback,
    Candidate,
    Candidates,
    Energies,
    Event,
    History,
    Pool,
    Position,
    ProgressBar,
    Specification,
    StreamState,
    choose,
    named,
)
from thresher.estimators.calibration import RecentSamples
from thresher.estimators.fitted_model import CodedBlock, FittedModel
from thresher.estimators.growth import grown_state, joined_state, reduced_state
from thresher.estimators.hidden_entries import hidden_entries, without_entries
from thresher.estimators.parameters import (
    CALLBACKS,
    COUNT,
    MAY_CHANGE,
    NONNEGATIVE,
    SEED,
    SHARE,
    THREADS,
    check_argument,
    fixed_parameters,
    is_number,
    refuse_changes,
)
from thresher.estimators.registry import (
    DICTIONARY_SET,
    FORGETTING,
    INIT,
    INITS,
    PENALTY,
    SET,
    LossTerms,
    frozen_mask,
    named_codes,
    named_dictionary_set,
    named_forgetting,
    named_penalty,
)
from thresher.estimators.reports import model_report, write_report
from thresher.estimators.results import (
    Work,
    as_array,
    codes_like,
    comes_in_parts,
    refuse_dense_results,
    refuse_single_reading,
    results_by_batch,
    samples_like,
    samples_of,
)
from thresher.estimators.validation import (
    as_matrix,
    checked_codes,
    checked_entry_weight,
    checked_rows,
    computing_dtype,
    dense_copy,
    is_plain,
    numbers_in_rows,
    refuse_mask,
    refuse_negative,
)
from thresher.learning import Statistics
from thresher.linalg import Array, stored_rows
from thresher.sets import ConvexSet
from thresher.solvers import named_solver
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.report import Report

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


def _grows(model: "DictionaryEstimator") -> bool:
    return model._can_grow


class DictionaryEstimator(  # type: ignore[call-arg]  # scikit-learn has no types
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=(),  # `transform` makes frames itself, and not of sources
):
    """A dictionary in `components_` and everything that follows from coding samples on it."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT, None],
        "init": INIT,
        "code_set": SET,
        "code_penalty": PENALTY,
        "dictionary_set": DICTIONARY_SET,
        "dictionary_penalty": PENALTY,
        "forgetting": FORGETTING,
        "tol": [NONNEGATIVE],
        "code_tol": [NONNEGATIVE, None],
        "code_max_iter": [COUNT],
        "implicit_zeros": [StrOptions({"observed", "missing"})],
        "n_jobs": THREADS,
        "random_state": SEED,
        "callbacks": CALLBACKS,
        "verbose": ["verbose"],
    }

    # Set by subclasses in their constructors.
    n_components: int | None = None
    init: Any
    tol: float
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None
    random_state: Any
    callbacks: Iterable[Callback] | None
    verbose: int
    implicit_zeros: str = "observed"
    code_set: Any
    code_penalty: Any
    dictionary_set: Any
    dictionary_penalty: Any = None
    frozen_atoms: Any = None
    forgetting: Any = "auto"
    scale_samples: str | None = None

    components_: Array
    history_: History
    n_samples_seen_: int
    n_iter_: int
    n_features_in_: int
    feature_names_in_: Any

    _nonnegative: ClassVar[bool] = True
    _flags_outliers: ClassVar[bool] = False
    _can_grow: ClassVar[bool] = True
    _weighs_entries: ClassVar[bool] = True
    """Whether entries may have weights other than 0 (missing) and 1."""
    _may_change: ClassVar[frozenset[str]] = MAY_CHANGE

    _state: StreamState
    _position: Position
    _seconds: float
    _began_as: dict[str, Any]
    _fitted: FittedModel | None = None
    _recent: RecentSamples | None = None
    _calibrated_threshold: float | None = None
    _calibrated_scale: Array | None = None

    # ---------------------------------------------------------- for subclasses

    fit: Callable[..., Any]

    solver: Any = "auto"

    _solvers: ClassVar[dict[str, Any]] = {}
    """The table of `thresher.solvers` with the names of ``solver``."""

    @abstractmethod
    def _loss_terms(self) -> LossTerms:
        """Return the loss, and the rule for the outlier weight."""

    def _specification(self, n_components: int, in_order: bool = True) -> Specification:
        """Return the problem that the parameters describe."""
        terms = self._loss_terms()
        return Specification(
            loss=terms.loss,
            outlier_weight=terms.outlier_weight,
            dictionary_loss=terms.dictionary_loss,
            code_regulariser=named_codes(self.code_set, self.code_penalty),
            dictionary_set=named_dictionary_set(self.dictionary_set),
            dictionary_penalty=named_penalty(self.dictionary_penalty),
            forgetting=named_forgetting(self.forgetting),
            in_order=in_order,
            frozen=frozen_mask(self.frozen_atoms, n_components),
            scale_samples=self.scale_samples is not None,
            only_stored=self.implicit_zeros == "missing",
        )

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Any]:
        """Return the candidates for these parameters, for samples in their own or random order."""
        solver = named_solver(self.solver, self._solvers)
        candidates: Candidates[Any] = solver(self._specification(n_components, in_order))
        return candidates

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._nonnegative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # Methods contain functions that cannot be pickled; the fitted model is made again.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fitted"}

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    # ------------------------------------------------------------- parameters

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work, before anything is computed."""
        self._validate_params()
        if not isinstance(self.init, str) and getattr(self, "n_starts", 1) > 1:
            raise ValueError("An array as init is the only start; leave n_starts or init out.")
        given = () if isinstance(self.init, str) else numbers_in_rows("init", self.init)
        self._plan(self.n_components or len(given) or 10)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def _parameter_values(self) -> tuple[Any, ...]:
        return tuple(map(vars(self).get, self._get_param_names()))

    def _keeps_parameters(self, fitted: FittedModel) -> bool:
        """Whether all parameters are the very objects that a fitted model was made from."""
        return all(map(is_, self._parameter_values(), fitted.parameters))

    def _fixed_parameters(self) -> dict[str, Any]:
        """Parameters that may not change once a model has learned."""
        return fixed_parameters(self, self._may_change)

    def _check_unchanged(self) -> None:
        """Refuse to go on under other parameters than before, or under invalid ones."""
        fitted = self._fitted
        if fitted is not None and self._keeps_parameters(fitted):
            return
        self._validate_params()
        refuse_changes(self._began_as, self._fixed_parameters())

    # ------------------------------------------------------- the fitted model

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "components_"):  # scikit-learn asks for all tags first
            check_is_fitted(self, "components_")

    def _model(self, in_order: bool | None = None) -> FittedModel:
        """Return the fitted model under the parameters as they are; nothing is changed."""
        self._check_is_fitted()
        fitted = self._fitted
        same = fitted is not None and self._keeps_parameters(fitted)
        if fitted is not None and same and in_order in (None, fitted.in_order):
            return fitted
        self._check_unchanged()
        return self._fitted_to(self._state, in_order is not False)

    def _fitted_to(self, state: StreamState, in_order: bool = True) -> FittedModel:
        """Return the fitted model of a state that was learned before."""
        candidate = named(self._plan(len(state.D), in_order), state.method)
        return self._make(candidate, state, in_order)

    def _make(self, candidate: Candidate[Any], state: StreamState, in_order: bool) -> FittedModel:
        return FittedModel(
            candidate,
            candidate.method.in_unit_of(state),
            state,
            self._parameter_values(),
            in_order,
            *self._code_limits(),
            self.n_jobs,
            self._recent,
        )

    def _code_limits(self) -> tuple[float, int]:
        """Return the tolerance of a code, and the bound on its iterations."""
        return float(self.tol if self.code_tol is None else self.code_tol), self.code_max_iter

    def _adopt(self, fitted: FittedModel, position: Position) -> None:
        """Make a fitted model the estimator's own; between two steps it is always complete."""
        state = fitted.state
        if state.n_steps == 1 and hasattr(self, "outlier_weight"):
            weight, given = fitted.method.threshold(state), self.outlier_weight
            _log.info("%s: outlier_weight=%r is %g at first", type(self).__name__, given, weight)
        self._fitted, self._state, self._position = fitted, state, position
        self.components_ = state.atoms
        self.n_components_ = len(state.D)
        self.n_samples_seen_ = state.n_samples
        self.n_iter_ = max(1, state.n_steps)

    def _adopt_state(self, state: StreamState) -> None:
        """Adopt another state of the same fit."""
        assert self._fitted is not None
        self._adopt(self._fitted.after(state, self._recent), self._position)

    def _changes(self) -> list[Event]:
        """Return changes of parameters that are not in effect yet."""
        return []

    def _with_changes(self) -> Self:
        """Return a model in which changed parameters are in effect: this one, or a copy."""
        self._check_unchanged()
        return self

    # ------------------------------------------------------------- validation

    def _checked(self, X: Any, known: bool, compare_names: bool = True) -> Any:
        """Return samples as an array or CSR of numbers, or say what is wrong with them.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix
        known : bool
            Whether the model was fitted: then width and names of the features, and the parameters
            are compared with those of `fit`.
        compare_names : bool
            False if the names were compared before X was cut into batches.
        """
        if known:
            self._check_unchanged()
        plain = is_plain(X)
        checked: Any = X
        if not plain:
            checked = as_matrix(X, self, accept_sparse="csr", ensure_all_finite="allow-nan")
        named = hasattr(self, "feature_names_in_")
        if known and not compare_names:
            _check_n_features(self, X, reset=False)
        elif known and (not plain or named or X.shape[1] != self.n_features_in_):
            validate_data(self, X, reset=False, skip_check_array=True)
        if self.implicit_zeros == "missing":
            checked = stored_rows(checked)
        if self._nonnegative:
            refuse_negative(checked, type(self).__name__)
        return checked

    def _set_features(self, X: Any) -> None:
        """Set the width and the names of the features, once everything else was checked."""
        validate_data(self, X, reset=True, skip_check_array=True)

    def _batch(self, X: Any, sample_weight: Any, entry_weight: Any) -> Batch:
        """Return checked samples with checked weights."""
        refuse_mask("sample_weight", sample_weight)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self._check_missing(X)
        weight = checked_entry_weight(X, entry_weight, only_flags=not self._weighs_entries)
        return Batch(X, sample_weight, weight)

    def _check_missing(self, X: Any) -> None:
        """Refuse missing values if the loss cannot leave entries out."""
        return None

    # ---------------------------------------------------------------- starting

    def _begin(self, first: Batch, seed: int, in_order: bool = True) -> FittedModel:
        """Choose the method by the first batch, and return it with a state of no sample."""
        init, n_components = self._start(first.X.shape[1])
        flags = np.asarray(self.frozen_atoms)
        if flags.dtype == bool and flags.size not in (0, n_components):
            raise ValueError(
                f"frozen_atoms has {flags.size} flags for {n_components} atoms; give one for each, "
                "or the numbers of the atoms."
            )
        return self._begin_from(init, n_components, first, seed, in_order)

    def _begin_from(
        self, init: Any, n_components: int, first: Batch, seed: int, in_order: bool
    ) -> FittedModel:
        chosen = choose(self._plan(n_components, in_order), first)
        method = chosen.warm_start or chosen.method
        dtype = computing_dtype(first.X)
        state = method.begin(first, init, n_components, dtype, seed)
        (K, F), name, why = state.D.shape, type(self).__name__, f"{chosen.name}, as {chosen.reason}"
        _log.info("%s: starts with %d atoms of %d features (%s): %s", name, K, F, dtype, why)
        return self._make(chosen, replace(state, method=chosen.name), in_order)

    def _start(self, n_features: int) -> tuple[str | Array | None, int]:
        """Return ``init`` as the engine takes it, and the number of atoms."""
        init = self.init
        if isinstance(init, str):
            n_components = min(10, n_features) if self.n_components is None else self.n_components
            return INITS[init], n_components
        atoms = checked_rows("init", init, (self.n_components, n_features), self._nonnegative)
        if not atoms.any(axis=1).all():
            raise ValueError(
                "An atom of init is all zero, and would never learn; give it some other "
                "entries, or leave init out."
            )
        return atoms, len(atoms)

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _reset(self) -> None:
        """Forget what an earlier fit learned."""
        self._began_as = self._fixed_parameters()
        self.history_ = History()
        self._seconds = 0.0
        self._recent = RecentSamples() if self._flags_outliers else None
        self._calibrated_threshold = self._calibrated_scale = None

    def _remember(self, batch: Batch) -> None:
        """Keep some recent samples for the default calibration."""
        if self._recent is not None:
            self._recent = self._recent.after(batch)

    def _check_learned(self, fitted: FittedModel, state: StreamState) -> None:
        """Refuse a state that these parameters cannot have led to, such as a forged one."""
        method = fitted.candidate.method
        method.loss(1.0).check_features(state.D.shape[1])
        signed = min(float(state.D.min()), float(state.average.min())) < 0
        if signed and method.dictionary_set.nonnegative:
            raise ValueError("the dictionary has negative entries, which its set does not allow")

    def _warn_of_size(self, energies: Energies) -> None:
        """Warn if the sets of codes and atoms are too small for data of this size."""
        if energies.data > 0:
            method = self._model().candidate.method
            parts = (method.code_regulariser, method.dictionary_regulariser)
            energies.warn_of_size(not any(part.region.is_cone for part in parts))

    # ------------------------------------------------------ what was learned

    @property
    def solver_(self) -> str:
        """Name of the method that learned the dictionary, such as ``"quadratic"``."""
        self._check_is_fitted()
        return self._state.method

    @property
    def encoder_(self) -> str:
        """Name of the method that finds codes of dense samples, such as ``"newton"``."""
        return self._encoder_choice()[0]

    def explain(self) -> str:
        """Return which methods learn the dictionary and find the codes, and why, as text."""
        chosen = self._model().candidate
        encoder, reason = self._encoder_choice()
        return f"solver: {chosen.name}\n  {chosen.reason}\nencoder: {encoder}\n  {reason}"

    def _encoder_choice(self) -> tuple[str, str]:
        return self._model().encoder_choice()

    @property
    def statistics_(self) -> Statistics:
        """Discounted statistics of the samples, from which the dictionary follows.

        Sums such as ``A = Σ cᵀc`` and ``B = Σ cᵀx``, in the unit of the state.
        """
        self._check_is_fitted()
        return self._state.statistics

    @property
    def dictionary_set_(self) -> ConvexSet:
        """The set of the atoms, in the unit of the data."""
        region: ConvexSet = self._model().candidate.method.dictionary_regulariser.region
        return region

    def problem(self) -> CodingProblem:
        """The coding problem that `transform` solves, in the unit of the data.

        ``problem().objective(X, C)`` is the loss of every sample plus the penalty of its code,
        ``gradient(X, C)`` the gradient of the loss with respect to the codes, and
        ``certificate(X, C)`` how far codes are from optimal. `D`, `loss` and `regulariser` are its
        parts. Missing values have weight zero and any finite value; with ``scale_samples`` the
        samples are divided by their largest entries.
        """
        return self._model().problem_in_data_unit()

    # ------------------------------------------------------------------ coding

    def _coding_dtype(self, X: Any) -> np.dtype[Any]:
        """Return the precision in which samples are coded, unless they need more."""
        return computing_dtype(X)

    def _coded(
        self,
        X: Any,
        entry_weight: Any,
        finish: Callable[[FittedModel, CodedBlock], Result],
    ) -> Iterator[tuple[slice, Result]]:
        """Code all rows, block by block, and yield what ``finish`` makes of each block."""
        batch, fitted = self._batch(X, None, entry_weight), self._model()
        n, n_unconverged = X.shape[0], 0
        label = f"{type(self).__name__}: coding"
        dtype = self._coding_dtype(X)
        with Pool(self.n_jobs) as pool, ProgressBar(label, n, self.verbose > 0) as bar:

            def work(block: CodedBlock) -> Result:
                return finish(fitted, block)

            for rows, result, late in fitted.encode(batch, dtype, pool, work):
                n_unconverged += late
                bar.update(rows.stop)
                yield rows, result
        tol, max_iter = self._code_limits()
        if n_unconverged and tol > 0:
            warnings.warn(
                f"{n_unconverged} of {n} codes did not reach code_tol={tol:g} within "
                f"code_max_iter={max_iter} iterations; raise code_max_iter, or code_tol if the "
                "codes are good enough.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Predict all entries for imputation, block by block."""
        return self._reconstructions(X)

    def _reconstructions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Predict all entries from the codes, block by block."""
        return self._coded(X, None, FittedModel.predict)

    def _apply(
        self, work: Work, X: Any, write: Any = None, entry_weight: Any = None, **options: Any
    ) -> Any:
        """Return the result of a method for samples, or its results for the batches of a source.

        ``work`` is the private twin of the public method: ``_transform`` of `transform`. It takes
        samples as they were given and as checked, and the options.
        """
        self._check_is_fitted()
        if write is None and not comes_in_parts(X):
            refuse_dense_results(self, work, X)
            checked = self._checked(X, known=True)
            if entry_weight is not None:
                options["entry_weight"] = entry_weight
            return work(X, checked, **options)
        if entry_weight is not None:
            raise ValueError(
                "entry_weight cannot be matched to a source; call the method with each batch and "
                "its weights instead."
            )
        return results_by_batch(self, work, X, write, options)

    # --------------------------------------------------------------- transform

    def transform(self, X: Any, entry_weight: Any = None, *, write: Any = None) -> Any:
        """Codes of samples, each row by itself, exact to ``code_tol``.

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
            arrays, one for each batch; with ``write``, the paths that were written to.
        """
        return self._apply(self._transform, X, write, entry_weight)

    def _transform(self, given: Any, X: Any, entry_weight: Any = None) -> Any:
        return codes_like(given, self._codes(X, entry_weight), self)

    def _codes(self, X: Any, entry_weight: Any = None) -> Array:
        C = np.empty((X.shape[0], len(self.components_)), dtype=computing_dtype(X))
        for rows, codes in self._coded(X, entry_weight, FittedModel.codes):
            C[rows] = codes
        return C

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, then code the same samples; of a source, as `transform` gives them."""
        if comes_in_parts(X):
            refuse_single_reading(X)
        return self.fit(X, y, **fit_params).transform(X)

    def inverse_transform(self, C: Any) -> Any:
        """Reconstruct samples from codes: ``C @ components_``.

        In the container of `set_output`; without it a frame if the codes are one.
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

    def impute(self, X: Any, bounds: Any = "seen", *, write: Any = None) -> Any:
        """Return a copy of the samples with missing entries (NaN, null) filled.

        Samples without any entry, and features that were never observed in learning, stay NaN; one
        warning counts them.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
        bounds : "seen", None, or pair of floats or of arrays of shape (F,)
            Bounds of the imputed values: the range of each feature in the samples that the model
            learned from, no bounds, or your own.
        write : path or array, optional
            As in `transform`; pictures may also go to a video.
        """
        return self._apply(self._impute, X, write, bounds=bounds)

    def _impute(self, given: Any, X: Any, bounds: Any) -> Any:
        filled = self._model().impute(dense_copy(X), self._predictions(X), bounds)
        return samples_like(given, filled, self)

    # ------------------------------------------------------------------ measures

    def certificates(self, X: Any, C: Any, entry_weight: Any = None) -> Array:
        """How far codes of each sample are from optimal; `transform` brings it below ``code_tol``.

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
        C = checked_codes(C, X, len(self.components_))
        return self._model().certificates(self._batch(X, None, entry_weight), C)

    def score_samples(self, X: Any, entry_weight: Any = None, *, write: Any = None) -> Any:
        """Minus the loss of every sample: the lower, the less the dictionary explains it.

        Sources and ``write`` are as in `transform`.
        """
        return self._apply(self._score_samples, X, write, entry_weight)

    def _score_samples(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        coded = self._coded(X, entry_weight, FittedModel.loss)
        return np.concatenate([-losses for _, losses in coded])

    def objective_samples(self, X: Any, entry_weight: Any = None) -> Array:
        """Loss of every sample plus the penalty of its code: what coding minimises."""
        self._check_is_fitted()
        return self._objectives(self._checked(X, known=True), entry_weight)

    def _objectives(self, X: Any, entry_weight: Any) -> Array:
        coded = self._coded(X, entry_weight, FittedModel.objective)
        return np.concatenate([objectives for _, objectives in coded])

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean loss per sample.

        Do not choose parameters by it: each loss, penalty and outlier weight has an objective of
        its own, and more atoms always explain more. A grid search takes the smallest outlier
        weight and the most atoms that it is offered. Use `score_entries` for that.
        """
        return float(np.mean(as_array(self.score_samples(X)), dtype=np.float64))

    def score_entries(
        self, X: Any, y: Any = None, *, share: float = 0.1, random_state: Any = 0
    ) -> float:
        """Minus the mean absolute error of entries that are hidden while samples are coded.

        A share of the observed entries is made missing, the samples are coded without them, and
        the predictions ``C @ components_`` are compared with the hidden values. The score is in
        the unit of the data, and higher is better. Therefore it can be compared over
        ``n_components``, penalties, outlier weights and losses, where `score` cannot.

        Errors are absolute because hidden entries can be outliers. No model predicts these;
        whatever their size, one outlier changes the difference between two models by no more than
        the difference of their predictions. In a sum of squares the largest would decide.

        Zeros are observed, also those that CSR does not store (unless
        ``implicit_zeros="missing"``), and dense and CSR are hidden alike. At most as many zeros
        are hidden as other entries: the best constant under absolute errors is the median, which
        is zero in data of mostly zeros, so that a model that predicts zero would win.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F)
            Samples that the model has not learned from; NaN marks entries that are missing anyway.
        y : ignored
            So that the method serves as ``scoring``, see below.
        share : float
            How much of the observed entries is hidden, between 0 and 1. No sample loses all.
        random_state : int, RandomState or None
            Decides which entries. The same seed hides the same entries for every model.

        Notes
        -----
        CSR is coded with missing values, which takes as long as if it were dense; some thousand
        rows will do.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from thresher import RobustNMF
        >>> rng = np.random.default_rng(0)
        >>> parts = rng.random((4, 24)) * (rng.random((4, 24)) < 0.5)
        >>> X = rng.gamma(1.0, size=(150, 4)) @ parts + 0.02 * rng.random((150, 24))
        >>> X[rng.random(X.shape) < 0.02] += 3.0
        >>> search = GridSearchCV(
        ...     RobustNMF(random_state=0, verbose=0),
        ...     {"n_components": [2, 4, 8]},
        ...     scoring=RobustNMF.score_entries,
        ...     cv=3,
        ... )
        >>> search.fit(X).best_params_
        {'n_components': 4}
        """
        self._check_is_fitted()
        if is_number(y):
            raise TypeError(f"share is given by its name: score_entries(X, share={y!r}).")
        check_argument("score_entries", [SHARE], share=share)
        check_argument("score_entries", SEED, random_state=random_state)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        _, errors = self._entry_errors(X, share, rng)
        return -float(errors.sum(dtype=np.float64)) / len(errors)

    def _entry_errors(
        self, X: Any, share: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], Array]:
        """Return the rows of hidden entries, and the absolute errors of their predictions."""
        X = self._checked(X, known=True)
        n_features = X.shape[1]
        places, truth = hidden_entries(X, share, rng)
        partial = without_entries(X, places)
        try:
            self._check_missing(partial)
        except ValueError as error:
            raise ValueError(f"score_entries hides entries, and here it cannot. {error}") from None
        errors = np.empty(len(places))
        for rows, samples in self._reconstructions(partial):
            ends = np.searchsorted(places, [rows.start * n_features, rows.stop * n_features])
            here = slice(*ends)
            predicted = samples.ravel()[places[here] - rows.start * n_features]
            errors[here] = np.abs(predicted - truth[here])
        return places // n_features, errors

    # ------------------------------------------------------------------- growth

    @available_if(_grows)
    def grow(self, n_features: int | None = None, atoms: int | Array = 0) -> Self:
        """Add features, atoms, or both.

        Parameters
        ----------
        n_features : int, optional
            The new width; new features start at zero in the old atoms.
        atoms : int or array of shape (m, n_features)
            New atoms, or how many: then they start random and the next batches shape them.
        """
        fitted = self._model()
        state = grown_state(fitted, n_features, atoms, self._nonnegative)
        same_features = state.D.shape[1] == self._state.D.shape[1]
        if not same_features and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._adopt_reshaped(fitted, state, same_features)
        return self

    @available_if(_grows)
    def keep_features(self, columns: Any) -> Self:
        """Keep some features and forget all others; dictionary and statistics follow.

        Parameters
        ----------
        columns : array of int
            The features to keep, in their new order.
        """
        fitted = self._model()
        state = reduced_state(fitted, columns)
        if hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = self.feature_names_in_[np.asarray(columns)]
        self._adopt_reshaped(fitted, state, same_features=False)
        return self

    @property
    def usage_(self) -> Array:
        """Discounted usage of every atom, as shares that sum to one."""
        self._check_is_fitted()
        if not self._can_grow:
            raise AttributeError(f"{type(self).__name__} does not measure the usage of its atoms.")
        method = self._model().method
        usage: Array = method.learner.usage(self._state.statistics, self._state.D)
        total = float(usage.sum())
        K = len(usage)
        return usage / total if total > 0 else np.full(K, 1 / K)

    def _join_atoms(self, groups: Any) -> Self:
        """Replace groups of atoms by their means, weighted by usage; statistics are added up.

        Parameters
        ----------
        groups : list of lists of int
            The atoms of each new atom. An atom in no group is forgotten.
        """
        fitted = self._model()
        if self.frozen_atoms is not None:
            raise ValueError(
                "frozen_atoms= names atoms by their numbers, which would change; join atoms of a "
                "model without it."
            )
        self._adopt_reshaped(fitted, joined_state(fitted, groups))
        return self

    def _adopt_reshaped(
        self, fitted: FittedModel, state: StreamState, same_features: bool = True
    ) -> None:
        """Adopt a state with other atoms or features; samples of other features are forgotten."""
        if not same_features and self._recent is not None:
            self._recent, self._calibrated_scale = RecentSamples(), None
        self.n_features_in_ = state.D.shape[1]
        self._adopt(self._fitted_to(state, fitted.in_order), self._position)

    # ------------------------------------------------------------------- report

    def report(
        self, path: str | Path, X: Any = None, *, shape: Sequence[int] | None = None
    ) -> Path:
        """Write a page about this model, with pictures, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        X : array-like or CSR of shape (n, F), optional
            Samples to measure the fit on; of many, a thousand at equal distances are taken.
        shape : (height, width) or (height, width, 3), optional
            Of samples that are pictures: then so are the parts.
        """
        return write_report(self, self._page(X, shape), path)

    def _page(self, X: Any = None, shape: Sequence[int] | None = None) -> "Report":
        return model_report(self, X, shape)
