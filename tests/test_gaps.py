"""What is measured on data with gaps and weights, and what is filled in."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from thresher import OnlineNMF, OnlineRobustNMF, RobustNMF

SIZES = [(1000, 50, 4, 0.1, 0.04), (800, 90, 5, 0.05, 0.0), (800, 70, 3, 10.0, 0.08)]


def planted(seed, n, F, K, noise, outliers, gaps):
    """Nonnegative parts, normal noise of a twentieth of the data, outliers, gaps."""
    rng = np.random.default_rng(seed)
    X = 20 * noise * rng.random((n, K)) @ rng.random((K, F)) / K**0.5 + 3 * noise
    X = np.maximum(X + noise * rng.standard_normal(X.shape), 0)
    wrong = rng.random(X.shape) < outliers
    X[wrong] = rng.uniform(0, 2 * X.max(), int(wrong.sum()))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize("gaps", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("estimator", [OnlineRobustNMF, RobustNMF])
def test_noise_is_measured_whatever_is_missing(estimator, size, gaps):
    n, F, K, noise, outliers = size
    X = planted(5, n, F, K, noise, outliers, gaps)
    model = estimator(K + 1, outlier_weight="mad", random_state=5, verbose=0).fit(X)
    assert model.outlier_weight_ == pytest.approx(2.5 * noise, rel=0.1)


def test_noise_is_that_of_the_residuals_where_a_model_is_too_small():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 12)) @ rng.random((12, 40)) * 100 + 20
    X[rng.random(X.shape) < 0.3] = np.nan
    model = OnlineRobustNMF(3, outlier_weight="mad", random_state=0, verbose=0).fit(X)
    residuals = np.abs(X - model.inverse_transform(model.transform(X)))
    assert model.outlier_weight_ == pytest.approx(2.5 * 1.4826 * np.nanmedian(residuals), rel=0.1)


def test_rows_that_codes_meet_exactly_say_nothing_of_noise():
    """One reading, one code: no residual is left, and nothing may be divided by its share."""
    n, F, K, noise, outliers = SIZES[0]
    X = planted(5, n, F, K, noise, outliers, 0.0)
    alone = np.full_like(X[:200], np.nan)
    alone[np.arange(200), np.arange(200) % F] = X[:200].diagonal()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = OnlineRobustNMF(K + 1, outlier_weight="mad", random_state=5, verbose=0)
        model.fit(np.concatenate([X, alone]))
    assert model.outlier_weight_ == pytest.approx(2.5 * noise, rel=0.1)


def _as_entry_weights(X):
    weight = np.where(np.isnan(X), 0.0, 0.7)
    return {"X": np.where(np.isnan(X), 1e6, X), "entry_weight": weight}


def _as_copies(X):
    return {"X": X, "sample_weight": np.tile([0.0, 1.0, 3.0], len(X))[: len(X)]}


FORMS = {
    "entry weights": _as_entry_weights,
    "sample weights": _as_copies,
    "CSR": lambda X: {"X": _csr_with_gaps(X)},
    "stream": lambda X: {"X": (X[i : i + 200] for i in range(0, len(X), 200))},
}


@pytest.mark.parametrize("form", FORMS)
def test_noise_is_measured_in_every_form_of_the_data(form):
    n, F, K, noise, outliers = SIZES[0]
    X = planted(11, 2 * n, F, K, noise, outliers, 0.3)
    model = OnlineRobustNMF(K + 1, outlier_weight="mad", random_state=1, verbose=0)
    model.fit(**FORMS[form](X))
    assert model.outlier_weight_ == pytest.approx(2.5 * noise, rel=0.1)


def _csr_with_gaps(X):
    stored = sparse.csr_array(np.where(np.isnan(X), -1.0, X))
    stored.data[stored.data == -1.0] = np.nan
    return stored


def test_noise_is_measured_where_the_past_never_fades():
    n, F, K, noise, outliers = SIZES[1]
    X = planted(3, n, F, K, noise, outliers, 0.2)
    model = OnlineNMF(K + 1, divergence="huber", forgetting=None, random_state=0, verbose=0).fit(X)
    assert model.loss_.penalty.l1 == pytest.approx(2.5 * noise, rel=0.1)
