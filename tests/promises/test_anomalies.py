"""Anomalies in scikit-learn's terms: predict, decision_function, offset_, scores of readings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_outlier_detector
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from thresher import (
    GoDec,
    OnlineNMF,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    load,
    save,
)

QUIET = {"random_state": 0, "verbose": 0}
ROBUST = [
    OnlineRobustNMF(3, **QUIET),
    RobustNMF(3, **QUIET),
    OnlineRobustPCA(3, **QUIET),
    RobustPCA(verbose=0),
    GoDec(3, **QUIET),
]
every_robust = pytest.mark.parametrize("model", ROBUST, ids=lambda m: type(m).__name__)

PARTS = np.random.default_rng(7).random((3, 16)) ** 3


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, size=(n, 3)) @ PARTS + 0.02 * rng.random((n, 16))


def broken(n=60, seed=1):
    """Rows of another kind."""
    return table(n, seed)[:, ::-1]


@every_robust
def test_predict_is_the_sign_of_decision_function(model):
    X, news = table(), np.vstack([table(40, 2), broken()])
    model.fit(X)
    for _ in range(2):
        decision, signs = model.decision_function(news), model.predict(news)
        np.testing.assert_array_equal(signs == -1, decision < 0)
        np.testing.assert_array_equal(decision, model.score_samples(news) - model.offset_)
        assert set(np.unique(signs)) == {-1, 1}
        model.calibrate(table(200, 3), 0.05)  # and all of that again
    assert roc_auc_score(np.arange(100) >= 40, -decision) > 0.95


@every_robust
def test_a_model_that_was_not_calibrated_flags_one_in_a_hundred_of_its_samples(model):
    X = table(400)
    flags = model.fit_predict(X)
    np.testing.assert_array_equal(flags, model.fit(X).predict(X))
    assert (flags == -1).sum() == 3  # ⌈401 · .99⌉ = 397 of 400 are not above
    assert (model.predict(broken()) == -1).mean() > 0.7


@every_robust
def test_calibration_holds_its_rate_and_flags_grow_with_it(model):
    """On new normal samples; the threshold is the ⌈(n + 1)(1 − rate)⌉-th smallest loss."""
    model.fit(table(400))
    normal, news = table(199, 3), table(2000, 4)
    flagged = []
    for rate in (0.01, 0.05, 0.2):
        model.calibrate(normal, rate)
        losses = np.sort(-model.score_samples(normal))
        rank = int(np.ceil(200 * (1 - rate) - 1e-9))
        assert -model.offset_ == pytest.approx(losses[rank - 1])
        flags = model.predict(news) == -1
        assert flags.mean() < rate + 4 * np.sqrt(rate / 199)
        flagged.append(flags)
    assert (flagged[0] <= flagged[1]).all()
    assert (flagged[1] <= flagged[2]).all()


@every_robust
def test_a_new_fit_forgets_the_calibration(model):
    X = table()
    before = model.fit(X).offset_
    model.calibrate(X, 0.3).fit(X)
    assert model.offset_ == pytest.approx(before)


@every_robust
def test_a_reading_is_scored_in_deviations_of_its_column(model):
    """Noise of very different sizes scores alike, and outliers stand out wherever they are."""
    rng = np.random.default_rng(0)
    noise = np.geomspace(0.01, 0.2, 16)
    X = rng.gamma(2.0, size=(400, 3)) @ PARTS + noise * (1 + rng.standard_normal((400, 16)) / 4)
    X = np.maximum(X, 0)
    if isinstance(model, RobustPCA | OnlineRobustPCA | GoDec):
        X = X - 1
    model.fit(X)
    scores = model.entry_scores(X)
    typical = np.median(np.abs(scores), axis=0)
    np.testing.assert_allclose(typical, 0.6745, rtol=0.1)
    news = X[:50].copy()
    outliers = rng.random(news.shape) < 0.02
    news[outliers] += 30 * model.entry_scale_[np.nonzero(outliers)[1]]
    assert roc_auc_score(outliers.ravel(), -model.entry_scores(news).ravel()) > 0.9
    residual = np.abs(news - model.separate(news).low_rank)
    np.testing.assert_allclose(
        model.entry_scores(news), -residual / model.entry_scale_, rtol=1e-9, atol=1e-9
    )


def test_missing_frames_and_single_precision():
    X = table(200)
    missing = np.random.default_rng(0).random(X.shape) < 0.1
    frame = pd.DataFrame(np.where(missing, np.nan, X), columns=[f"s{i}" for i in range(16)])
    frame.index = pd.date_range("2020-01-01", periods=200, freq="h")
    model = OnlineRobustNMF(3, **QUIET).fit(frame)
    scores = model.entry_scores(frame)
    assert scores.index.equals(frame.index)
    assert list(scores.columns) == list(frame.columns)
    np.testing.assert_array_equal(scores.isna().to_numpy(), missing)
    assert (scores.to_numpy()[~missing] <= 0).all()
    single = OnlineRobustNMF(3, **QUIET).fit(X.astype(np.float32))
    assert single.entry_scores(X.astype(np.float32)).dtype == np.float32
    assert single.decision_function(X.astype(np.float32)).dtype == np.float64
    assert single.predict(X.astype(np.float32)).dtype.kind == "i"


def test_streams_are_calibrated_on_their_last_samples():
    model = OnlineRobustNMF(3, **QUIET)
    for seed in range(30):
        model.partial_fit(table(100, seed))
    last = np.vstack([table(100, seed) for seed in range(24, 30)])
    assert (model.predict(last) == -1).mean() == pytest.approx(0.01, abs=0.002)
    assert (model.predict(broken()) == -1).mean() > 0.7
    before = model.offset_
    model.partial_fit(table(600, 40) + 0.5)  # another dictionary, and other samples
    assert model.offset_ != before
    # What was given is not kept: a buffer that is used again changes nothing.
    buffer = table(600, 41)
    model.partial_fit(buffer)
    buffer[:] = 0
    assert (model.predict(table(600, 41)) == -1).sum() in (5, 6, 7)


def test_sources_are_flagged_and_scored_batch_by_batch(tmp_path):
    X = table(250)
    batches = [X[:100], X[100:200], X[200:]]
    model = OnlineRobustNMF(3, **QUIET).fit(iter(batches))
    for verb in ("predict", "decision_function", "entry_scores"):
        here = getattr(model, verb)(X)
        parts = list(getattr(model, verb)(iter(batches)))
        np.testing.assert_allclose(np.concatenate(parts), here, rtol=1e-9, atol=1e-9)
        place = getattr(model, verb)(iter(batches), write=tmp_path / f"{verb}.npy")
        np.testing.assert_allclose(np.load(place), here, rtol=1e-9, atol=1e-9)


def test_calibrating_on_a_source_is_calibrating_on_its_samples():
    X, more = table(), table(300, 5)
    here, there = (OnlineRobustNMF(3, **QUIET).fit(X) for _ in range(2))
    here.calibrate(more, 0.1)
    there.calibrate(iter([more[:120], more[120:]]), 0.1)
    assert here.offset_ == pytest.approx(there.offset_, rel=1e-9)
    np.testing.assert_allclose(here.entry_scale_, there.entry_scale_, rtol=1e-6)


def test_sparse_samples_are_flagged_and_their_readings_refused():
    X = np.where(table() > 0.4, table(), 0)
    model = OnlineRobustNMF(3, **QUIET).fit(sparse.csr_array(X))
    assert (model.predict(sparse.csr_array(X)) == -1).sum() == 2
    with pytest.raises(ValueError, match="calibrate"):
        model.entry_scores(X)
    model.calibrate(X)
    assert model.entry_scores(X).shape == X.shape
    with pytest.raises(TypeError, match="dense"):
        model.entry_scores(sparse.csr_array(X))
    parts = list(model.entry_scores(map(sparse.csr_array, (X[:100], X[100:]))))
    np.testing.assert_allclose(np.vstack(parts), model.entry_scores(X), rtol=1e-4, atol=1e-4)


def test_calibration_survives_a_file(tmp_path):
    X, news = table(), np.vstack([table(40, 2), broken(40)])
    model = OnlineRobustNMF(3, **QUIET).fit(X)
    for _ in range(2):
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(news), model.predict(news))
        np.testing.assert_array_equal(again.entry_scores(news), model.entry_scores(news))
        assert again.offset_ == model.offset_
        model.calibrate(table(200, 3), 0.1)
    again.partial_fit(X)
    assert (again.fit(X).predict(X) == -1).sum() == 2


def test_pipelines_and_other_widths():
    X = table() - 1
    pipe = make_pipeline(MinMaxScaler(clip=True), OnlineRobustNMF(3, **QUIET)).fit(X)
    assert (pipe.predict(X) == -1).sum() == 2
    forest = IsolationForest(random_state=0).fit(X)
    assert pipe.decision_function(X).shape == forest.decision_function(X).shape
    model = pipe[-1].grow(20)
    with pytest.raises(NotFittedError, match="calibrate"):
        model.predict(np.zeros((1, 20)))
    model.partial_fit(np.abs(np.random.default_rng(0).random((50, 20))))
    assert model.entry_scores(np.zeros((1, 20))).shape == (1, 20)
    model.calibrate(np.abs(np.random.default_rng(0).random((150, 20)))).keep_features([1, 3])
    with pytest.raises(ValueError, match="calibrate"):
        model.entry_scores(np.zeros((1, 2)))


def test_only_models_of_both_signs_are_detectors_to_scikit_learn():
    """Its checks of detectors give negative numbers to all of them."""
    assert [is_outlier_detector(model) for model in ROBUST] == [False, False, True, True, True]
    assert not hasattr(OnlineNMF, "predict")
    with pytest.raises(NotFittedError):
        OnlineRobustNMF(3).predict(table())
