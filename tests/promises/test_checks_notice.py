"""Every sentence of the public checks: models that break one promise of one check, and no other."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from test_public_checks import Derived, Parts
from thresher.testing import checks_for, conventions, data, robustness, streaming
from thresher.testing.damage import damaged


class AtomsInAnotherPrecision(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        self.components_ = self.components_.astype(np.float64)
        return self


class WritesToSamplesOnly(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X[0] = 0
        return self


class WritesToItsStartOnly(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(self.init, np.ndarray) and self.init.flags.writeable:
            self.init[0] = 0
        return self


class KeepsItsStart(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(self.init, np.ndarray):
            self.components_ = self.init
        return self


class ReadsColumnsFirst(Parts):
    def fit(self, X, y=None):
        if isinstance(self.init, np.ndarray) and self.init.flags.f_contiguous:
            before, self.init = self.init, 2 * self.init + np.arange(self.init.shape[1])
            super().fit(X)
            self.init = before
            return self
        return super().fit(X)


class ForgetsWhenItScores(Parts):
    def score_samples(self, X):
        found = super().score_samples(X)
        self.components_ = self.components_ * self.components_.dtype.type(1.5)
        return found


class ThrowsDice(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        noise = np.random.default_rng().random(self.components_.shape)
        self.components_ = (self.components_ + 1e-3 * noise).astype(self.components_.dtype)
        return self


class ReadsFramesAnew(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, pd.DataFrame):
            self.components_ = self.components_[::-1].copy()
        return self


class ReadsListsAnew(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, list):
            self.components_ = self.components_[::-1].copy()
        return self


class LearnsAnotherScale(Parts):
    def fit(self, X, y=None):
        super().fit(X)
        if np.max(X) > 100:
            self.components_ = 2 * self.components_
        return self

    def transform(self, X):
        return super().transform(X) * (2 if np.max(X) > 100 else 1)


class SaysLittle(Parts):
    def score_samples(self, X):
        try:
            return super().score_samples(X)
        except (ValueError, TypeError):
            raise ValueError("no") from None


class ChangesItsWidthWhenRefused(Parts):
    def fit(self, X, y=None):
        before = getattr(self, "n_features_in_", None)
        try:
            return super().fit(X)
        except (ValueError, TypeError):
            self.n_features_in_ = 1 + (before or 0)
            raise


class RoundsSmallNumbers(Parts):
    def transform(self, X):
        codes = super().transform(X)
        return codes + (codes.mean() * 1e-2 if codes.dtype == np.float32 else 0)


class NamesTheFirstColumnOnly(Parts):
    def get_feature_names_out(self, input_features=None):
        return np.array([f"{type(self).__name__.lower()}{k + 1}" for k in range(4)], dtype=object)


class IsNotHeard(Derived):
    def set_output(self, *, transform=None):
        return self


class LosesNames(Derived):
    def impute(self, X, bounds="seen"):
        found = super().impute(X, bounds)
        return found.set_axis(range(found.shape[1]), axis=1) if hasattr(found, "columns") else found


class ImputesFramesAnew(Derived):
    def impute(self, X, bounds="seen"):
        found = super().impute(X, bounds)
        return found + 1 if isinstance(found, pd.DataFrame) and self._pandas() else found

    def _pandas(self):
        return getattr(self, "_sklearn_output_config", {}).get("transform") == "pandas"


class ImputesMeans(Derived):
    def impute(self, X, bounds="seen"):
        return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


class NeverWarns(Derived):
    def transform(self, X, entry_weight=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = super().transform(X, entry_weight)
        return found + 0.01 if self.max_iter == 1 else found


class CodesGapsAnew(Derived):
    def transform(self, X, entry_weight=None):
        found = super().transform(X, entry_weight)
        return found if entry_weight is None else found + 0.01


class ScoresByChance(Derived):
    calls = 0

    def score_entries(self, X, y=None, *, share=0.1, random_state=None):
        type(self).calls += 1
        seed = self.calls if random_state is None else random_state
        return super().score_entries(X, share=share, random_state=seed)


class ScoresSparseRowsAnew(Derived):
    def score_entries(self, X, y=None, *, share=0.1, random_state=0):
        found = super().score_entries(X, share=share, random_state=random_state)
        return found if isinstance(X, np.ndarray) else found - 1


class ScoresAllAlike(Derived):
    def score_entries(self, X, y=None, *, share=0.1, random_state=0):
        return -1.0


class LearnsLessFromSparseRows(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        self.factor_ = 1.0 if isinstance(X, np.ndarray) else 1.5
        return self

    def score(self, X, y=None, entry_weight=None):
        return self.factor_ * super().score(X)


class FlagsNothing(Derived):
    def is_anomaly(self, X):
        return np.zeros(len(X), dtype=bool)


class DrawsAnotherBackground(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        if not hasattr(parts, "codes"):
            return parts
        return parts._replace(low_rank=parts.low_rank + 1e-6)


class WritesOtherTargets(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        if targets:
            targets["low_rank"][0] = 7
        return parts


class SeparatesStreamsAnew(Derived):
    def separate(self, X, **targets):
        parts = super().separate(X, **targets)
        if hasattr(X, "__next__"):
            return (part._replace(outliers=part.outliers + 1) for part in parts)
        return parts


class CountsTwice(Derived):
    def partial_fit(self, X, y=None, **weights):
        super().partial_fit(X, **weights)
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + 1
        return self


class CodesSourcesAnew(Derived):
    def transform(self, X, entry_weight=None):
        found = super().transform(X, entry_weight)
        return found if isinstance(X, np.ndarray) else (part + 1 for part in found)


class ForgetsItsHistory(Derived):
    def fit(self, X, y=None, **weights):
        super().fit(X, **weights)
        if getattr(self, "callbacks", None) is None:
            self.extra_ = 1
        return self

    def resume(self, X, y=None, **weights):
        super().resume(X, **weights)
        self.components_ = self.components_ + 1e-9
        return self


class GrowsInAnotherPlace(Derived):
    def grow(self, **sizes):
        super().grow(**sizes)
        self.components_ = self.components_[:, ::-1].copy()
        return self


class AlwaysInThreads(Derived):
    def fit(self, X, y=None, **weights):
        wanted, self.n_jobs = self.n_jobs, 3
        super().fit(X, **weights)
        self.n_jobs = wanted
        return self


NOTICED = [
    (AtomsInAnotherPrecision, conventions.check_dtype_stays),
    (WritesToSamplesOnly, conventions.check_input_is_not_written),
    (WritesToItsStartOnly, conventions.check_input_is_not_written),
    (KeepsItsStart, conventions.check_input_is_not_written),
    (ReadsColumnsFirst, conventions.check_input_is_not_written),
    (ForgetsWhenItScores, conventions.check_getters_are_pure),
    (ThrowsDice, conventions.check_seed_decides),
    (ReadsFramesAnew, conventions.check_inputs_of_all_kinds),
    (ReadsListsAnew, conventions.check_inputs_of_all_kinds),
    (NamesTheFirstColumnOnly, conventions.check_output_as_frame),
    (LearnsAnotherScale, robustness.check_scale_of_data_does_not_matter),
    (SaysLittle, robustness.check_bad_input_changes_nothing),
    (ChangesItsWidthWhenRefused, robustness.check_bad_input_changes_nothing),
    (RoundsSmallNumbers, robustness.check_rows_are_coded_independently),
    (IsNotHeard, conventions.check_frames_keep_index_and_names),
    (LosesNames, conventions.check_frames_keep_index_and_names),
    (ImputesFramesAnew, conventions.check_frames_keep_index_and_names),
    (ImputesMeans, robustness.check_impute_keeps_what_was_seen),
    (NeverWarns, robustness.check_codes_are_optimal),
    (CodesGapsAnew, robustness.check_missing_entries_do_not_matter),
    (ScoresByChance, robustness.check_hidden_entries_are_scored),
    (ScoresSparseRowsAnew, robustness.check_hidden_entries_are_scored),
    (ScoresAllAlike, robustness.check_hidden_entries_are_scored),
    (LearnsLessFromSparseRows, robustness.check_sparse_equals_dense),
    (FlagsNothing, robustness.check_false_alarm_rate),
    (DrawsAnotherBackground, robustness.check_separation_adds_up),
    (WritesOtherTargets, robustness.check_separation_adds_up),
    (SeparatesStreamsAnew, robustness.check_separation_adds_up),
    (CountsTwice, streaming.check_fit_is_partial_fits),
    (CountsTwice, streaming.check_uneven_batches),
    (CodesSourcesAnew, streaming.check_stream_is_array),
    (ForgetsItsHistory, streaming.check_resume_gives_the_same_bits),
    (GrowsInAnotherPlace, streaming.check_grow),
    (AlwaysInThreads, streaming.check_threads_do_not_matter),
]


@pytest.mark.parametrize(
    ("kind", "check"), NOTICED, ids=lambda part: getattr(part, "__name__", str(part))
)
def test_each_promise_of_a_check_has_caught_somebody(kind, check):
    with pytest.raises(AssertionError):
        check(kind())


# ------------------------------------------------------------------------------ which checks


def names(kind, **about):
    return {check.__name__ for check in checks_for(type("Kind", (kind,), about)())}


def test_a_method_or_a_parameter_brings_its_checks():
    plain = names(Parts)
    for method, brought in {
        "separate": {
            "check_separation_adds_up", "check_outliers_do_not_move_the_dictionary",
        },
        "resume": {"check_resume_gives_the_same_bits"},
        "calibrate": {"check_false_alarm_rate"},
        "impute": {"check_impute_keeps_what_was_seen", "check_frames_keep_index_and_names"},
        "score_entries": {"check_hidden_entries_are_scored"},
        "certificates": {"check_codes_are_optimal"},
        "grow": set(),
        "partial_fit": {
            "check_fit_is_partial_fits", "check_uneven_batches", "check_stream_is_array",
            "check_order_within_a_batch", "check_memory_is_bounded",
        },
    }.items():  # fmt: skip
        assert names(Parts, **{method: lambda self: None}) - plain == brought, method
    both = names(Parts, grow=lambda self: None, partial_fit=lambda self: None)
    assert "check_grow" in both
    assert not {"check_save_and_load", "check_threads_do_not_matter"} & both

    def tagged(**tags):
        def with_tags(self):
            found = Parts.__sklearn_tags__(self)
            for name, value in tags.items():
                setattr(found.input_tags, name, value)
            return found

        return names(Parts, __sklearn_tags__=with_tags) - plain

    assert tagged(allow_nan=True) == {"check_missing_entries_do_not_matter"}
    assert tagged(sparse=True) == {"check_sparse_equals_dense"}
    assert {"check_interrupt_leaves_a_model", "check_save_and_load"} <= names(Derived)


# ------------------------------------------------------------------------------ their samples


def test_planted_samples_have_four_parts_noise_and_outliers():
    X = data.planted(500)
    assert X.shape == (500, 24)
    assert X.min() == 0
    assert X.max() == 1
    np.testing.assert_array_equal(X, data.planted(500))
    assert not np.array_equal(X, data.planted(500, seed=1))
    assert data.planted(7, 5).shape == (7, 5)
    parts = np.abs(np.random.default_rng(99).standard_normal((4, 24)))
    parts *= np.random.default_rng(98).random(parts.shape) < 0.5
    assert 0.3 < (parts == 0).mean() < 0.7
    rng = np.random.default_rng(0)
    clean = rng.random((500, 4)) @ parts
    scale = np.median(clean[clean > 1] / X[clean > 1])
    off = np.abs(scale * X - clean)
    assert np.median(off[parts.any(axis=0)[None].repeat(500, 0)]) < 0.015  # the noise
    far = off > 0.1
    assert far.mean() == pytest.approx(0.03, abs=0.006)
    assert 2.5 < off.max() < 3.1


def test_models_are_made_ready_small_and_quiet():
    model = data.ready(Derived(9, verbose=1))
    assert (model.n_components, model.random_state) == (4, 0)
    assert (model.verbose, model.batch_size) == (0, 64)
    assert data.ready(Derived(), n_components=2).n_components == 2
    assert data.ready(Parts()).n_components == 4
    assert data.start(Parts(), 7).shape == (4, 7)
    assert data.takes(Parts(), "init")
    assert not data.takes(Parts(), "batch_size")
    square = type("Square", (), {"get_params": lambda self: {"init": None}})()
    assert data.start(square, 7).shape == (7, 7)
    assert data.given_start(square, 7)["init"].shape == (7, 7)
    bare = type("Bare", (), {"get_params": lambda self: {}})()
    assert data.given_start(bare, 7) == {}


def test_threads_are_counted():
    import threading

    def work(n):
        threads = [threading.Thread(target=sum, args=[[1]]) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert data.threads_used(lambda: None) == 0
    assert data.threads_used(lambda: work(3)) >= 1
    with pytest.raises(ZeroDivisionError):
        data.threads_used(lambda: 1 / 0)
    assert threading.getprofile() is None


def test_damage_is_of_six_kinds():
    """All of them come up, and what they do is seen in the bytes."""
    whole, other = bytes(range(100)), bytes(range(150, 250))
    rng = np.random.default_rng(0)
    found = [damaged(whole, other, rng) for _ in range(600)]
    assert sum(each == whole for each in found) < 20

    def bits(one):
        return sum((a ^ b).bit_count() for a, b in zip(one, whole, strict=True))

    same = [each for each in found if len(each) == 100]
    assert {bits(each) for each in same} >= set(range(1, 9))
    cut = [each for each in found if len(each) < 100 and each == whole[: len(each)]]
    assert len(cut) > 60
    assert max(map(len, cut)) > 90
    longer = [e for e in found if any(e[:k] == whole[:k] for k in (5,)) and 100 < len(e) <= 108]
    assert {len(each) - 100 for each in longer} >= set(range(1, 9))
    for each in longer[:20]:
        more = len(each) - 100
        assert any(each[:k] + each[k + more :] == whole for k in range(101))
    swapped = [each for each in same if sorted(each) == list(whole) and each != whole]
    assert len(swapped) > 60
    mixed = [e for e in same if any(e == whole[:k] + other[k:] for k in range(100))]
    assert len(mixed) > 60
    noise = [each for each in found if not set(each[:3]) <= set(whole) | set(other)]
    assert len(noise) > 20
