"""The public checks on estimators of other people: honest ones pass, broken ones are caught."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from thresher import OnlineRobustNMF
from thresher.testing import checks_for


class Parts(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Nonnegative parts by least squares in turns: what somebody else might write."""

    def __init__(self, n_components=2, init=None, max_iter=8, random_state=None):
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        return len(self.components_)

    def _samples(self, X, known=True):
        dtype = np.float32 if getattr(X, "dtype", None) == np.uint8 else [np.float64, np.float32]
        if known:
            X = validate_data(self, X, reset=False, dtype=dtype)
        else:
            X = check_array(X, dtype=dtype, estimator=self)
        if (X < 0).any():
            raise ValueError(f"Negative values in data passed to {type(self).__name__}.")
        return X

    def fit(self, X, y=None):
        given, X = X, self._samples(X, known=False)
        rng = check_random_state(self.random_state)
        rows = rng.choice(len(X), self.n_components, replace=len(X) < self.n_components)
        D = X[rows] + X.mean() * rng.random((self.n_components, X.shape[1]))
        D = np.array(D if self.init is None else self.init, dtype=np.float64, order="C")
        for _ in range(self.max_iter):
            D /= np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-300)
            C = self._codes(X, D)
            D = np.array([nnls(C, x)[0] for x in X.T.astype(np.float64)]).T
        D /= np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-300)
        validate_data(self, given, reset=True, skip_check_array=True)
        self.components_ = D.astype(X.dtype)
        self.n_iter_ = self.max_iter
        return self

    def _codes(self, X, D):
        D = D.astype(np.float64)
        return np.array([nnls(D.T, x)[0] for x in X.astype(np.float64)])

    def transform(self, X):
        check_is_fitted(self)
        X = self._samples(X)
        return self._codes(X, self.components_).astype(X.dtype)

    def inverse_transform(self, C):
        return C @ self.components_

    def score_samples(self, X):
        C = self.transform(X)
        X = self._samples(X)
        return -0.5 * ((X - C @ self.components_) ** 2).sum(axis=1)

    def score(self, X, y=None):
        return float(self.score_samples(X).mean())


@pytest.mark.parametrize("check", checks_for(Parts()), ids=lambda check: check.__name__)
def test_an_estimator_of_somebody_else_can_be_checked(check):
    check(Parts())


def test_checks_follow_methods_parameters_and_tags():
    names = {check.__name__ for check in checks_for(Parts())}
    for missing in (
        "threads",
        "impute",
        "sparse",
        "gaps",
        "resume",
        "save",
        "optimal",
        "interrupt",
    ):
        assert not any(missing in name for name in names), missing
    assert len(checks_for(OnlineRobustNMF())) > len(names) + 12


# Each breaks one promise, and keeps the interface.


class InAnotherPrecision(Parts):
    def transform(self, X):
        return super().transform(X).astype(np.float64)


class WritesToItsInput(Parts):
    def transform(self, X):
        codes = super().transform(X)
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X[0] = 0
        return codes

    def fit(self, X, y=None):
        if isinstance(self.init, np.ndarray):
            self.init[:, 0] = 0
        return super().fit(X)


class LearnsWhileItCodes(Parts):
    def transform(self, X):
        codes = super().transform(X)
        self.components_ = self.components_ * self.components_.dtype.type(1.5)
        return codes


class IgnoresItsSeed(Parts):
    def fit(self, X, y=None):
        seed, self.random_state = self.random_state, 7
        super().fit(X)
        self.random_state = seed
        return self


class CodesRowsTogether(Parts):
    def transform(self, X):
        codes = super().transform(X)
        return codes + (codes.mean() * 1e-3).astype(codes.dtype)


class NamesColumnsAnew(Parts):
    def get_feature_names_out(self, input_features=None):
        return np.array([f"part {k}" for k in range(len(self.components_))], dtype=object)


class TakesNegativeNumbers(Parts):
    def transform(self, X):
        return super().transform(np.abs(X))


class ForgetsItselfWhenRefused(Parts):
    def fit(self, X, y=None):
        if hasattr(self, "components_"):
            self.components_ = np.zeros_like(self.components_)
        return super().fit(X)


class HasAScaleOfItsOwn(Parts):
    def transform(self, X):
        codes = super().transform(X)
        return np.minimum(codes, codes.dtype.type(3))


class WrapsBytesAround(Parts):
    def fit(self, X, y=None):
        bytes_ = isinstance(X, np.ndarray) and X.dtype == np.uint8
        return super().fit(X + X if bytes_ else X)


class PrefersFewParts(Parts):
    def score(self, X, y=None):
        return -super().score(X)


class ReturnsNothing(Parts):
    def fit(self, X, y=None):
        super().fit(X)


BROKEN = {
    InAnotherPrecision: "check_dtype_stays",
    WritesToItsInput: "check_input_is_not_written",
    LearnsWhileItCodes: "check_getters_are_pure",
    IgnoresItsSeed: "check_seed_decides",
    CodesRowsTogether: "check_rows_are_coded_independently",
    NamesColumnsAnew: "check_output_as_frame",
    TakesNegativeNumbers: "check_bad_input_changes_nothing",
    ForgetsItselfWhenRefused: "check_bad_input_changes_nothing",
    HasAScaleOfItsOwn: "check_scale_of_data_does_not_matter",
    WrapsBytesAround: "check_inputs_of_all_kinds",
    PrefersFewParts: "check_pipeline_and_grid_search",
    ReturnsNothing: "check_scikit_learn_agrees",
}


class Derived(OnlineRobustNMF):
    """A model of the library with something of one's own, by public names only."""


class StopsHalfway(Derived):
    """fit and partial_fit see other samples."""

    def partial_fit(self, X, y=None, **weights):
        return super().partial_fit(X[: max(1, len(X) // 2)], **weights)


class LosesTheEndOfAStream(Derived):
    def fit(self, X, y=None, **weights):
        X = iter(list(X)[:-1]) if hasattr(X, "__next__") else X
        return super().fit(X, **weights)


class SkipsTheLastRow(Derived):
    def partial_fit(self, X, y=None, **weights):
        return super().partial_fit(X[:-1] if len(X) > 1 else X, **weights)


class KeepsEverySample(Derived):
    def partial_fit(self, X, y=None, **weights):
        self.kept_ = [*getattr(self, "kept_", []), np.array(X)]
        return super().partial_fit(X, **weights)


class DoesNotResume(Derived):
    def resume(self, X, y=None, **weights):
        return self


class UsesOneThread(Derived):
    def fit(self, X, y=None, **weights):
        wanted, self.n_jobs = self.n_jobs, 1
        super().fit(X, **weights)
        self.n_jobs = wanted
        return self


class TakesGapsForZeros(Derived):
    def fit(self, X, y=None, **weights):
        return super().fit(np.nan_to_num(X) if isinstance(X, np.ndarray) else X, **weights)


class ImputesEverything(Derived):
    def impute(self, X):
        return self.inverse_transform(self.transform(X))


class LosesTheIndex(Derived):
    def impute(self, X, bounds="seen"):
        return super().impute(X.reset_index(drop=True), bounds)


class ScoresWhatItSaw(Derived):
    def score_entries(self, X, y=None, *, share=0.1, random_state=0):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return -float(np.abs(X - self.inverse_transform(self.transform(X))).mean())


class CodesSparseRowsAnew(Derived):
    def score_samples(self, X, entry_weight=None):
        scores = super().score_samples(X, entry_weight)
        return scores if isinstance(X, np.ndarray) else 1.01 * scores


class RoundsItsCodes(Derived):
    def transform(self, X, entry_weight=None):
        return np.round(super().transform(X, entry_weight), 2)


class CalibratesAtTheMedian(Derived):
    def calibrate(self, X, false_alarm_rate=0.01):
        return super().calibrate(X, 0.5)


class SetsTooMuchAside(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        return parts._replace(outliers=0.5 * parts.outliers) if hasattr(parts, "codes") else parts


class SetsNothingAside(Derived):
    def fit(self, X, y=None, **weights):
        self.outlier_weight = 1e3
        return super().fit(X, **weights)


class CannotBeLoaded(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        self.factor_ = 2.0
        return self

    def transform(self, X, entry_weight=None):
        return super().transform(X, entry_weight) * getattr(self, "factor_", 1.0)


class SwallowsInterrupts(Derived):
    def fit(self, X, y=None, **weights):
        try:
            return super().fit(X, **weights)
        except KeyboardInterrupt:
            return self


class GrowsFromNothing(Derived):
    def grow(self, **sizes):
        super().grow(**sizes)
        self.components_ = np.zeros_like(self.components_)
        return self


class DependsOnBatches(Derived):
    """Small batches teach nothing."""

    def partial_fit(self, X, y=None, **weights):
        if hasattr(self, "components_") and len(X) < 64:
            super().partial_fit(X[:1].repeat(len(X), axis=0), **weights)
        else:
            super().partial_fit(X, **weights)
        return self


BROKEN_MODELS = {
    StopsHalfway: "check_fit_is_partial_fits",
    LosesTheEndOfAStream: "check_stream_is_array",
    SkipsTheLastRow: "check_order_within_a_batch",
    KeepsEverySample: "check_memory_is_bounded",
    DoesNotResume: "check_resume_gives_the_same_bits",
    UsesOneThread: "check_threads_do_not_matter",
    TakesGapsForZeros: "check_missing_entries_do_not_matter",
    ImputesEverything: "check_impute_keeps_what_was_seen",
    LosesTheIndex: "check_frames_keep_index_and_names",
    ScoresWhatItSaw: "check_hidden_entries_are_scored",
    CodesSparseRowsAnew: "check_sparse_equals_dense",
    RoundsItsCodes: "check_codes_are_optimal",
    CalibratesAtTheMedian: "check_false_alarm_rate",
    SetsTooMuchAside: "check_separation_adds_up",
    SetsNothingAside: "check_outliers_do_not_move_the_dictionary",
    CannotBeLoaded: "check_save_and_load",
    SwallowsInterrupts: "check_interrupt_leaves_a_model",
    GrowsFromNothing: "check_grow",
    DependsOnBatches: "check_uneven_batches",
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*BROKEN.items(), *BROKEN_MODELS.items()],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_a_broken_promise_is_caught(kind, name):
    checks = {check.__name__: check for check in checks_for(kind())}
    with pytest.raises(AssertionError):
        checks[name](kind())


def test_every_check_has_caught_somebody():
    applied = {check.__name__ for check in checks_for(Derived())}
    assert applied == {*BROKEN.values(), *BROKEN_MODELS.values()}
