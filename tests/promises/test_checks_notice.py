"""Every public check passes on an honest estimator and notices those that break its promise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from thresher import OnlineRobustNMF
from thresher.testing import checks_for, damaged


class Parts(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Alternating nonnegative least squares, as somebody else might write it."""

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


class Derived(OnlineRobustNMF):
    """A model of the library with a change of the user's own, by public names only."""


BROKEN = []


def breaks(*checks):
    """Note the checks that must notice a class."""

    def note(kind):
        BROKEN.extend((kind, check) for check in checks)
        return kind

    return note


# ------------------------------------------- estimators of other people that break one promise


@breaks("check_dtype_stays")
class InAnotherPrecision(Parts):
    def transform(self, X):
        return super().transform(X).astype(np.float64)


@breaks("check_getters_are_pure")
class ChangesWhenItEncodes(Parts):
    def transform(self, X):
        codes = super().transform(X)
        self.components_ = self.components_ * self.components_.dtype.type(1.5)
        return codes


@breaks("check_seed_decides")
class IgnoresItsSeed(Parts):
    def fit(self, X, y=None):
        seed, self.random_state = self.random_state, 7
        super().fit(X)
        self.random_state = seed
        return self


@breaks("check_rows_are_coded_independently")
class EncodesRowsTogether(Parts):
    def transform(self, X):
        codes = super().transform(X)
        return codes + (codes.mean() * 1e-3).astype(codes.dtype)


@breaks("check_output_as_frame")
class NamesColumnsOtherwise(Parts):
    def get_feature_names_out(self, input_features=None):
        return np.array([f"part {k}" for k in range(len(self.components_))], dtype=object)


@breaks("check_bad_input_changes_nothing")
class LosesAtomsWhenRefused(Parts):
    def fit(self, X, y=None):
        if hasattr(self, "components_"):
            self.components_ = np.zeros_like(self.components_)
        return super().fit(X)


@breaks("check_pipeline_and_grid_search")
class PrefersFewComponents(Parts):
    def score(self, X, y=None):
        return -super().score(X)


@breaks("check_scikit_learn_agrees")
class ReturnsNothing(Parts):
    def fit(self, X, y=None):
        super().fit(X)


@breaks("check_input_is_not_written")
class WritesToSamplesOnly(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X[0] = 0
        return self


@breaks("check_input_is_not_written")
class WritesToItsStartOnly(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(self.init, np.ndarray) and self.init.flags.writeable:
            self.init[0] = 0
        return self


@breaks("check_input_is_not_written")
class KeepsItsStart(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(self.init, np.ndarray):
            self.components_ = self.init
        return self


@breaks("check_getters_are_pure")
class ForgetsWhenItScores(Parts):
    def score_samples(self, X):
        found = super().score_samples(X)
        self.components_ = self.components_ * self.components_.dtype.type(1.5)
        return found


@breaks("check_inputs_of_all_kinds")
class ReadsFramesOtherwise(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, pd.DataFrame):
            self.components_ = self.components_[::-1].copy()
        return self


@breaks("check_scale_of_data_does_not_matter")
class LearnsAnotherScale(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if np.max(X) > 100:
            self.components_ = 2 * self.components_
        return self

    def transform(self, X):
        return super().transform(X) * (2 if np.max(X) > 100 else 1)


@breaks("check_bad_input_changes_nothing")
class ChangesItsWidthWhenRefused(Parts):
    def fit(self, X, y=None):
        before = getattr(self, "n_features_in_", None)
        try:
            return super().fit(X)
        except (ValueError, TypeError):
            self.n_features_in_ = 1 + (before or 0)
            raise


@breaks("check_rows_are_coded_independently")
class RoundsSmallNumbers(Parts):
    def transform(self, X):
        codes = super().transform(X)
        return codes + (codes.mean() * 1e-2 if codes.dtype == np.float32 else 0)


# --------------------------------------------- models of the library that break one promise


@breaks("check_fit_is_partial_fits")
class StopsHalfway(Derived):
    """fit and partial_fit see other samples."""

    def partial_fit(self, X, y=None, **weights):
        return super().partial_fit(X[: max(1, len(X) // 2)], **weights)


@breaks("check_stream_is_array")
class LosesTheEndOfAStream(Derived):
    def fit(self, X, y=None, **weights):
        X = iter(list(X)[:-1]) if hasattr(X, "__next__") else X
        return super().fit(X, **weights)


@breaks("check_order_within_a_batch")
class SkipsTheLastRow(Derived):
    def partial_fit(self, X, y=None, **weights):
        return super().partial_fit(X[:-1] if len(X) > 1 else X, **weights)


@breaks("check_memory_is_bounded")
class KeepsEverySample(Derived):
    def partial_fit(self, X, y=None, **weights):
        self.kept_ = [*getattr(self, "kept_", []), np.array(X)]
        return super().partial_fit(X, **weights)


@breaks("check_resume_gives_the_same_bits")
class DoesNotResume(Derived):
    def resume(self, X, y=None, **weights):
        return self


@breaks("check_threads_do_not_matter")
class UsesOneThread(Derived):
    def fit(self, X, y=None, **weights):
        wanted, self.n_jobs = self.n_jobs, 1
        super().fit(X, **weights)
        self.n_jobs = wanted
        return self


@breaks("check_missing_entries_do_not_matter")
class TakesMissingForZero(Derived):
    def fit(self, X, y=None, **weights):
        return super().fit(np.nan_to_num(X) if isinstance(X, np.ndarray) else X, **weights)


@breaks("check_impute_keeps_what_was_seen")
class ImputesEverything(Derived):
    def impute(self, X):
        return self.inverse_transform(self.transform(X))


@breaks("check_hidden_entries_are_scored")
class ScoresWhatItSaw(Derived):
    def score_entries(self, X, y=None, *, share=0.1, random_state=0):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return -float(np.abs(X - self.inverse_transform(self.transform(X))).mean())


@breaks("check_codes_are_optimal")
class RoundsItsCodes(Derived):
    def transform(self, X, entry_weight=None):
        return np.round(super().transform(X, entry_weight), 2)


@breaks("check_false_alarm_rate")
class CalibratesAtTheMedian(Derived):
    def calibrate(self, X, false_alarm_rate=0.01):
        return super().calibrate(X, 0.5)


@breaks("check_separation_adds_up")
class HalvesOutliers(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        return parts._replace(outliers=0.5 * parts.outliers) if hasattr(parts, "codes") else parts


@breaks("check_outliers_do_not_move_the_dictionary")
class FindsNoOutliers(Derived):
    def fit(self, X, y=None, **weights):
        self.outlier_weight = 1e3
        return super().fit(X, **weights)


@breaks("check_save_and_load")
class CannotBeLoaded(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        self.factor_ = 2.0
        return self

    def transform(self, X, entry_weight=None):
        return super().transform(X, entry_weight) * getattr(self, "factor_", 1.0)


@breaks("check_interrupt_leaves_a_model")
class SwallowsInterrupts(Derived):
    def fit(self, X, y=None, **weights):
        try:
            return super().fit(X, **weights)
        except KeyboardInterrupt:
            return self


@breaks("check_grow")
class GrowsFromNothing(Derived):
    def grow(self, **sizes):
        super().grow(**sizes)
        self.components_ = np.zeros_like(self.components_)
        return self


@breaks("check_uneven_batches")
class DependsOnBatches(Derived):
    """Small batches teach nothing."""

    def partial_fit(self, X, y=None, **weights):
        if hasattr(self, "components_") and len(X) < 64:
            super().partial_fit(X[:1].repeat(len(X), axis=0), **weights)
        else:
            super().partial_fit(X, **weights)
        return self


@breaks("check_frames_keep_index_and_names")
class IgnoresSetOutput(Derived):
    def set_output(self, *, transform=None):
        return self


@breaks("check_frames_keep_index_and_names")
class LosesNames(Derived):
    def impute(self, X, bounds="seen"):
        found = super().impute(X, bounds)
        return found.set_axis(range(found.shape[1]), axis=1) if hasattr(found, "columns") else found


@breaks("check_codes_are_optimal")
class NeverWarns(Derived):
    def transform(self, X, entry_weight=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = super().transform(X, entry_weight)
        return found + 0.01 if self.code_max_iter == 1 else found


@breaks("check_hidden_entries_are_scored")
class ScoresAtRandom(Derived):
    calls = 0

    def score_entries(self, X, y=None, *, share=0.1, random_state=None):
        type(self).calls += 1
        seed = self.calls if random_state is None else random_state
        return super().score_entries(X, share=share, random_state=seed)


@breaks("check_hidden_entries_are_scored")
class ScoresEntriesOfCsrOtherwise(Derived):
    def score_entries(self, X, y=None, *, share=0.1, random_state=0):
        found = super().score_entries(X, share=share, random_state=random_state)
        return found if isinstance(X, np.ndarray) else found - 1


@breaks("check_sparse_equals_dense")
class LearnsLessFromSparseRows(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        self.factor_ = 1.0 if isinstance(X, np.ndarray) else 1.5
        return self

    def score(self, X, y=None, entry_weight=None):
        return self.factor_ * super().score(X)


@breaks("check_false_alarm_rate")
class FlagsNothing(Derived):
    def calibrate(self, X, false_alarm_rate=0.01):
        return super().calibrate(100 * X, false_alarm_rate)


@breaks("check_separation_adds_up")
class ShiftsLowRank(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        if not hasattr(parts, "codes"):
            return parts
        return parts._replace(low_rank=parts.low_rank + 1e-6)


@breaks("check_separation_adds_up")
class SeparatesStreamsOtherwise(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        if hasattr(X, "__next__"):
            return (part._replace(outliers=part.outliers + 1) for part in parts)
        return parts


@breaks("check_fit_is_partial_fits", "check_uneven_batches")
class CountsTwice(Derived):
    def partial_fit(self, X, y=None, **weights):
        super().partial_fit(X, **weights)
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + 1
        return self


@breaks("check_stream_is_array")
class EncodesSourcesOtherwise(Derived):
    def transform(self, X, entry_weight=None):
        found = super().transform(X, entry_weight)
        return found if isinstance(X, np.ndarray) else (part + 1 for part in found)


@breaks("check_resume_gives_the_same_bits")
class ResumesInexactly(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        if getattr(self, "callbacks", None) is None:
            self.extra_ = 1
        return self

    def resume(self, X, y=None, **weights):
        super().resume(X, **weights)
        self.components_ = self.components_ + 1e-9
        return self


@breaks("check_threads_do_not_matter")
class AlwaysInThreads(Derived):
    def fit(self, X, y=None, **weights):
        wanted, self.n_jobs = self.n_jobs, 3
        super().fit(X, **weights)
        self.n_jobs = wanted
        return self


# ------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize("check", checks_for(Parts()), ids=lambda check: check.__name__)
def test_an_estimator_of_another_library_passes(check):
    check(Parts())


@pytest.mark.parametrize(("kind", "name"), BROKEN, ids=lambda part: getattr(part, "__name__", part))
def test_a_broken_promise_is_noticed(kind, name):
    checks = {check.__name__: check for check in checks_for(kind())}
    with pytest.raises(AssertionError):
        checks[name](kind())


def test_every_check_notices_a_broken_estimator():
    applied = {check.__name__ for check in checks_for(Derived())}
    assert applied == {name for _, name in BROKEN}


def names(kind, **attributes):
    return {check.__name__ for check in checks_for(type("Kind", (kind,), attributes)())}


@pytest.mark.parametrize(
    ("method", "added"),
    [
        ("separate", {"check_separation_adds_up", "check_outliers_do_not_move_the_dictionary"}),
        ("resume", {"check_resume_gives_the_same_bits"}),
        ("calibrate", {"check_false_alarm_rate"}),
        ("impute", {"check_impute_keeps_what_was_seen", "check_frames_keep_index_and_names"}),
        ("score_entries", {"check_hidden_entries_are_scored"}),
        ("grow", set()),
    ],
)
def test_methods_decide_which_checks_apply(method, added):
    assert names(Parts, **{method: lambda self: None}) - names(Parts) == added


@pytest.mark.parametrize(
    ("tag", "added"),
    [
        ("allow_nan", {"check_missing_entries_do_not_matter"}),
        ("sparse", {"check_sparse_equals_dense"}),
    ],
)
def test_tags_decide_which_checks_apply(tag, added):
    def tags(self):
        found = Parts.__sklearn_tags__(self)
        setattr(found.input_tags, tag, True)
        return found

    assert names(Parts, __sklearn_tags__=tags) - names(Parts) == added


def test_damage_changes_nearly_every_packet():
    """Flipped bits, cuts, insertions, exchanged parts and noise."""
    whole, other = bytes(range(100)), bytes(range(150, 250))
    found = [damaged(whole, other, np.random.default_rng(seed)) for seed in range(300)]
    assert sum(packet == whole for packet in found) < 15
    assert min(map(len, found)) < 100 < max(map(len, found))
    assert any(len(packet) == 100 and sorted(packet) == list(whole) for packet in found)
