"""Gaps are filled within what was seen; what nobody can know stays open, and is counted."""

import numpy as np
import pytest
from scipy import sparse

from thresher.engine import SeenRange
from thresher.estimators import (
    BatchNMF,
    ManhattanNMF,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    load,
    save,
)
from thresher.streams import Batch
from thresher.testing.data import planted

MODELS = [
    OnlineRobustNMF(4),
    OnlineRobustNMF(4, scale_samples="max"),
    RobustNMF(4),
    OnlineNMF(4, divergence="kl"),
    BatchNMF(4, max_iter=10),
    ManhattanNMF(4, max_iter=10),
    OnlineOrthogonalDictionary(),
]


def ready(estimator):
    return type(estimator)(**{**estimator.get_params(), "random_state": 0, "verbose": 0})


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_what_is_filled_in_was_seen_before(estimator):
    """A sample far larger than any, with gaps: its prediction is far outside of the range."""
    X = planted(200) * 100
    model = ready(estimator).fit(X)
    low, high = X.min(axis=0), X.max(axis=0)
    gaps = np.vstack([X[:20] * 5, X[20:40]])
    missing = np.random.default_rng(0).random(gaps.shape) < 0.3
    whole = gaps.copy()
    gaps[missing] = np.nan
    filled = model.impute(gaps)
    np.testing.assert_array_equal(filled[~missing], whole[~missing])
    inside = (filled >= low - 1e-9) & (filled <= high + 1e-9)
    assert inside[missing].all()
    free = model.impute(gaps, bounds=None)
    assert (free[missing] > high[np.nonzero(missing)[1]]).any()
    tight = model.impute(gaps, bounds=(10.0, high / 2))
    assert (tight[missing] >= 10).all()
    assert (tight <= high / 2)[missing].all()
    inner = missing & (free > 10) & (free < high / 2)
    np.testing.assert_allclose(tight[inner], free[inner])


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_what_nobody_can_know_stays_open(estimator):
    X = planted(150)
    X[:, 5] = np.nan
    model = ready(estimator).fit(X)
    gaps = X[:10].copy()
    gaps[3] = np.nan
    gaps[4, 7] = np.nan
    gaps[6, 5] = 0.25  # known here, if not before
    with pytest.warns(UserWarning, match=r"32 gaps stay NaN.* 1 samples .* 1 features"):
        filled = model.impute(gaps)
    assert np.isnan(filled[3]).all()
    assert np.isnan(filled[:, 5]).sum() == 9
    assert filled[6, 5] == 0.25
    assert np.isnan(filled).sum() == 24 + 9 - 1


def test_the_range_follows_streams_growth_and_files(tmp_path):
    X = planted(128)
    model = ready(OnlineRobustNMF(4))
    model.partial_fit(X[:64] * 0.5).partial_fit(X[64:])
    both = np.vstack([X[:64] * 0.5, X[64:]])
    gaps = both[:8] * 10
    gaps[:, 3] = np.nan
    assert model.impute(gaps)[:, 3].max() <= both[:, 3].max()
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").impute(gaps), model.impute(gaps))
    model.grow(n_features=X.shape[1] + 1)
    wider = np.hstack([gaps, np.full((8, 1), np.nan)])
    with pytest.warns(UserWarning, match="1 features were never seen"):
        filled = model.impute(wider)
    assert np.isnan(filled[:, -1]).all()
    model.keep_features([3, 0, 1])
    assert model.impute(gaps[:, [3, 0, 1]])[:, 0].max() <= both[:, 3].max()


@pytest.mark.parametrize("bounds", ["all", (1, 0), (0, [1, 2]), 3, ("a", "b"), (np.nan, 1)])
def test_bounds_that_mean_nothing_are_refused(bounds):
    X = planted(60)
    with pytest.raises(ValueError, match="bounds"):
        ready(MODELS[0]).fit(X).impute(X, bounds=bounds)


def test_ranges_of_every_kind_of_batch():
    """Dense, CSR, gaps, weights: as one entry after the other would tell."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6)
        X[rng.random(X.shape) < 0.2] = np.nan
        weight = (rng.random(X.shape) < 0.7).astype(float)
        samples = (rng.random(6) < 0.8).astype(float)
        for entry, sample in ((None, None), (weight, None), (None, samples), (weight, samples)):
            seen = ~np.isnan(X)
            seen &= True if entry is None else entry > 0
            seen &= True if sample is None else (sample > 0)[:, None]
            low = np.where(seen, X, np.inf).min(axis=0)
            high = np.where(seen, X, -np.inf).max(axis=0)
            for kind in (np.asarray, sparse.csr_array):
                got = SeenRange.of(Batch(kind(X), sample, entry))
                np.testing.assert_array_equal(got.low, low)
                np.testing.assert_array_equal(got.high, high)
                np.testing.assert_array_equal(got.known, seen.any(axis=0))
            halves = SeenRange.of(Batch(X[:3])) | SeenRange.of(Batch(X[3:]))
            np.testing.assert_array_equal(halves.low, SeenRange.of(Batch(X)).low)
