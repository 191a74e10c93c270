"""Promise 8: missing values have no influence, are filled within what was seen, or stay open."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    load,
    save,
)
from thresher.testing.data import planted, ready

# ------------------------------------------------------ batches and rows without entries


pytestmark = pytest.mark.filterwarnings("ignore:The model:UserWarning")

N, F = 60, 9
rng = np.random.default_rng(0)
COUNTS = rng.integers(1, 6, (N, F)) * (rng.random((N, F)) < 0.15).astype(float)
MISSING = np.where(COUNTS > 0, COUNTS, np.nan)
STORED = sparse.csr_array(COUNTS)
ALL_NAN, NOTHING_STORED = np.full((3, F), np.nan), sparse.csr_array((3, F))

HOW = {"random_state": 0}
SMALL = {"n_components": 2, **HOW}
ONLINE = [
    (OnlineRobustNMF, SMALL),
    (OnlineRobustNMF, {"outlier_weight": "mad", **SMALL}),
    (OnlineRobustNMF, {"drift": "auto", **SMALL}),
    (OnlineRobustNMF, {"solver": "opgd", **SMALL}),
    (OnlineNMF, SMALL),
    (OnlineNMF, {"divergence": "squared_l2", **SMALL}),
    (OnlineNMF, {"divergence": "l1", **SMALL}),
    (OnlineNMF, {"solver": "spsgd", **SMALL}),
    (OnlineL1Dictionary, SMALL),
    (OnlineRobustPCA, SMALL),
    (OnlineOrthogonalDictionary, HOW),
]
OTHERS = [(kind, SMALL) for kind in (RobustNMF, BatchNMF, ManhattanNMF, L1Dictionary)]
OTHERS += [(RobustPCA, {})]


def cases(models):
    """Each model with NaN and, where it has the parameter, with CSR of which zeros are missing."""
    found = []
    for kind, parameters in models:
        options = {name: value for name, value in parameters.items() if name not in SMALL}
        name = f"{kind.__name__}{options or ''}"
        found.append(pytest.param(kind, parameters, MISSING, ALL_NAN, id=f"{name} NaN"))
        if "missing" in kind().get_params():
            stored = {"implicit_zeros": "missing", **parameters}
            found.append(pytest.param(kind, stored, STORED, NOTHING_STORED, id=f"{name} CSR"))
    return found


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE))
def test_a_batch_without_entries_changes_only_counters(kind, parameters, samples, nothing):
    plain = kind(**parameters).partial_fit(samples[:30]).partial_fit(samples[30:])
    model = kind(**parameters)
    for batch in (nothing, samples[:30], nothing, samples[30:], nothing):
        model.partial_fit(batch)
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.transform(samples), plain.transform(samples))
    assert (model.n_samples_seen_, model.n_iter_) == (plain.n_samples_seen_ + 9, plain.n_iter_)
    assert np.isfinite(model.history_.column("loss")).all()


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE))
def test_a_fit_passes_over_rows_without_entries(kind, parameters, samples, nothing):
    stack = sparse.vstack if sparse.issparse(samples) else np.vstack
    more = stack([nothing, samples])
    how = {"shuffle": False, "n_passes": 1, **parameters}
    model = kind(batch_size=3, **how).fit(more)
    plain = kind(batch_size=3, **how).fit(samples)
    np.testing.assert_array_equal(model.components_, plain.components_)
    streamed = kind(batch_size=3, **how).fit(iter([nothing, samples[:3]]))
    np.testing.assert_array_equal(
        streamed.components_, kind(**parameters).partial_fit(samples[:3]).components_
    )


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE + OTHERS))
def test_rows_without_entries_have_codes_and_scores(kind, parameters, samples, nothing):
    few = {"n_passes": 2} if "solver" in parameters else {}
    model = kind(**parameters, **few).fit(samples)
    assert np.isfinite(model.transform(nothing)).all()
    assert np.isfinite(model.score(nothing))
    assert np.isfinite(model.score_samples(nothing)).all()
    if hasattr(model, "separate"):
        assert all(np.isfinite(part).all() for part in model.separate(nothing))


@pytest.mark.parametrize("kind", [OnlineRobustNMF, OnlineNMF])
@pytest.mark.parametrize("seed", range(5))
def test_few_stored_entries_are_learned_one_by_one(kind, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, (50, 12)) * (rng.random((50, 12)) < 0.15)
    X = sparse.csr_array(counts.astype(float))
    model = kind(3, implicit_zeros="missing", batch_size=1, random_state=seed).fit(X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.score(X))


# ---------------------------------------------------------------------------- imputation


IMPUTING = [
    OnlineRobustNMF(),
    OnlineRobustNMF(scale_samples="max"),
    RobustNMF(),
    OnlineNMF(divergence="kl"),
    BatchNMF(max_iter=10),
    ManhattanNMF(max_iter=10),
    OnlineOrthogonalDictionary(),
]


@pytest.mark.parametrize("estimator", IMPUTING, ids=str)
def test_what_is_filled_in_was_seen_before(estimator):
    """A sample far larger than any, with samples: its prediction is far outside of the range."""
    X = planted(200) * 100
    model = ready(estimator).fit(X)
    low, high = X.min(axis=0), X.max(axis=0)
    samples = np.vstack([X[:20] * 5, X[20:40]])
    missing = np.random.default_rng(0).random(samples.shape) < 0.3
    whole = samples.copy()
    samples[missing] = np.nan
    filled = model.impute(samples)
    np.testing.assert_array_equal(filled[~missing], whole[~missing])
    inside = (filled >= low - 1e-9) & (filled <= high + 1e-9)
    assert inside[missing].all()
    free = model.impute(samples, bounds=None)
    assert (free[missing] > high[np.nonzero(missing)[1]]).any()
    tight = model.impute(samples, bounds=(10.0, high / 2))
    assert (tight[missing] >= 10).all()
    assert (tight <= high / 2)[missing].all()
    inner = missing & (free > 10) & (free < high / 2)
    np.testing.assert_allclose(tight[inner], free[inner])


@pytest.mark.parametrize("estimator", IMPUTING, ids=str)
def test_what_was_never_observed_stays_missing(estimator):
    X = planted(150)
    X[:, 5] = np.nan
    model = ready(estimator).fit(X)
    samples = X[:10].copy()
    samples[3] = np.nan
    samples[4, 7] = np.nan
    samples[6, 5] = 0.25  # known here, if not before
    with pytest.warns(UserWarning, match="32"):
        filled = model.impute(samples)
    assert np.isnan(filled[3]).all()
    assert np.isnan(filled[:, 5]).sum() == 9
    assert filled[6, 5] == 0.25
    assert np.isnan(filled).sum() == 24 + 9 - 1


def test_the_range_follows_streams_growth_and_files(tmp_path):
    X = planted(128)
    model = ready(OnlineRobustNMF())
    model.partial_fit(X[:64] * 0.5).partial_fit(X[64:])
    both = np.vstack([X[:64] * 0.5, X[64:]])
    samples = both[:8] * 10
    samples[:, 3] = np.nan
    assert model.impute(samples)[:, 3].max() <= both[:, 3].max()
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").impute(samples), model.impute(samples))
    model.grow(n_features=X.shape[1] + 1)
    wider = np.hstack([samples, np.full((8, 1), np.nan)])
    with pytest.warns(UserWarning, match="1 features"):
        filled = model.impute(wider)
    assert np.isnan(filled[:, -1]).all()
    model.keep_features([3, 0, 1])
    assert model.impute(samples[:, [3, 0, 1]])[:, 0].max() <= both[:, 3].max()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_ranges_of_imputed_values_ignore_entries_of_weight_zero(kind):
    X = planted(100)
    weight = np.ones_like(X)
    weight[::7, 3] = 0
    far = X.copy()
    far[::7, 3] = 50.0
    model = ready(OnlineRobustNMF(), outlier_weight=0.1).fit(kind(far), entry_weight=weight)
    samples = 10 * X[:8]
    samples[:, 3] = np.nan
    assert model.impute(samples)[:, 3].max() <= X[:, 3].max() + 1e-9


def test_missing_values_are_imputed_in_the_units_of_their_sample():
    """Samples of sizes from 1 to 1000, each divided by its largest entry while it is coded."""
    X = planted(200)
    size = 10.0 ** (np.arange(200) % 4)[:, None]
    samples = np.where(np.random.default_rng(5).random(X.shape) < 0.15, np.nan, X)
    model = OnlineRobustNMF(4, scale_samples="max", random_state=0, verbose=0).fit(X)
    filled = model.impute(samples * size, bounds=None)
    np.testing.assert_allclose(filled, model.impute(samples, bounds=None) * size, rtol=1e-9)
    missing = np.isnan(samples)
    # What was filled is the code's prediction in the same units.
    prediction = model.transform(samples * size) @ model.components_
    np.testing.assert_allclose(filled[missing], prediction[missing], rtol=1e-9)
    np.testing.assert_array_equal(filled[~missing], (samples * size)[~missing])
    parts = model.separate(samples * size)
    np.testing.assert_allclose(parts.low_rank[missing], filled[missing], rtol=1e-9)


def test_noise_of_stored_entries_equals_that_with_missing_values():
    rng = np.random.default_rng(0)
    table = rng.random((400, 3)) @ rng.random((3, 12)) + 0.05 * rng.random((400, 12)) + 0.1
    table[rng.random(table.shape) < 0.4] = np.nan
    settings = {"outlier_weight": "mad", "random_state": 0, "verbose": 0}
    dense = OnlineRobustNMF(3, **settings).fit(table)
    stored = OnlineRobustNMF(3, implicit_zeros="missing", **settings)
    stored.fit(sparse.csr_array(np.nan_to_num(table)))
    assert stored.outlier_weight_ == pytest.approx(dense.outlier_weight_, rel=0.1)


# -------------------------------------------------------------------- the level of noise


SIZES = [(1000, 50, 4, 0.1, 0.04), (800, 90, 5, 0.05, 0.0), (800, 70, 3, 10.0, 0.08)]


def noisy(seed, n, F, K, noise, outliers, missing):
    """Nonnegative parts, normal noise of a twentieth of the data, outliers, missing values."""
    rng = np.random.default_rng(seed)
    X = 20 * noise * rng.random((n, K)) @ rng.random((K, F)) / K**0.5 + 3 * noise
    X = np.maximum(X + noise * rng.standard_normal(X.shape), 0)
    wrong = rng.random(X.shape) < outliers
    X[wrong] = rng.uniform(0, 2 * X.max(), int(wrong.sum()))
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("estimator", [OnlineRobustNMF, RobustNMF])
def test_noise_is_measured_whatever_is_missing(estimator, size, missing):
    n, F, K, noise, outliers = size
    X = noisy(5, n, F, K, noise, outliers, missing)
    model = estimator(K + 1, outlier_weight="mad", random_state=5, verbose=0).fit(X)
    assert model.outlier_weight_ == pytest.approx(2.5 * noise, rel=0.1)


def test_noise_is_that_of_the_residuals_where_a_model_is_too_small():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 12)) @ rng.random((12, 40)) * 100 + 20
    X[rng.random(X.shape) < 0.3] = np.nan
    model = OnlineRobustNMF(3, outlier_weight="mad", random_state=0, verbose=0).fit(X)
    residuals = np.abs(X - model.inverse_transform(model.transform(X)))
    assert model.outlier_weight_ == pytest.approx(2.5 * 1.4826 * np.nanmedian(residuals), rel=0.1)


def test_rows_with_one_entry_do_not_change_the_estimate_of_noise():
    """Their codes leave no residual, so that nothing may be divided by its share."""
    n, F, K, noise, outliers = SIZES[0]
    X = noisy(5, n, F, K, noise, outliers, 0.0)
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
    "CSR": lambda X: {"X": _csr_with_missing(X)},
    "stream": lambda X: {"X": (X[i : i + 200] for i in range(0, len(X), 200))},
}


@pytest.mark.parametrize("form", FORMS)
def test_noise_is_measured_in_every_form_of_the_data(form):
    n, F, K, noise, outliers = SIZES[0]
    X = noisy(11, 2 * n, F, K, noise, outliers, 0.3)
    model = OnlineRobustNMF(K + 1, outlier_weight="mad", random_state=1, verbose=0)
    model.fit(**FORMS[form](X))
    assert model.outlier_weight_ == pytest.approx(2.5 * noise, rel=0.1)


def _csr_with_missing(X):
    stored = sparse.csr_array(np.where(np.isnan(X), -1.0, X))
    stored.data[stored.data == -1.0] = np.nan
    return stored
