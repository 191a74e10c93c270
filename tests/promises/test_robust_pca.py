"""RobustPCA, OnlineRobustPCA and GoDec: planted subspaces, missing values, optimal codes."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from thresher import GoDec, OnlineRobustPCA, RobustPCA


def planted(n=200, n_features=200, rank=10, share=0.1, size=500.0, noise=0.0, seed=0):
    """Low rank, gross errors of any size on a share of the entries, and noise."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n_features))
    hit = rng.random((n, n_features)) < share
    outliers = np.where(hit, rng.uniform(-size, size, hit.shape), 0)
    return low_rank, outliers, noise * rng.standard_normal(hit.shape)


def error(found, truth):
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


def spanned(components, truth):
    """Expressed variance: the share of a subspace that a basis spans."""
    found, true = (np.linalg.qr(rows.T)[0] for rows in (components, truth))
    return np.linalg.norm(found.T @ true) ** 2 / true.shape[1]


def test_missing_entries_are_completed_among_outliers():
    low_rank, outliers, _ = planted(150, 150, 4, share=0.05, size=20.0)
    X = low_rank + outliers
    hidden = np.random.default_rng(0).random(X.shape) < 0.3
    gaps = np.where(hidden, np.nan, X)
    told = GoDec(4, cardinality=0.06, tol=1e-6, random_state=0, verbose=0)
    for model, most in ((RobustPCA(verbose=0), 1e-3), (told, 0.2)):
        filled = model.fit(gaps).impute(gaps, bounds=None)
        assert error(filled[hidden], low_rank[hidden]) < most, model


@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 1e-5), (np.float32, 1e-2)])
def test_separation_of_the_fitted_samples_recovers_the_truth(dtype, most):
    low_rank, outliers, _ = planted(120, 80, 4, 0.08, size=5.0)
    X = (low_rank + outliers).astype(dtype)
    model = RobustPCA(verbose=0).fit(X)
    assert model.n_iter_ < 200  # it ended by its tolerance
    assert error(model.separate(X).low_rank, low_rank) < most


def test_new_samples_lie_in_the_subspace_that_was_found():
    low_rank, outliers, _ = planted(300, 100, 4)
    model = RobustPCA(verbose=0).fit((low_rank + outliers)[:200])
    parts = model.separate((low_rank + outliers)[200:])
    assert error(parts.low_rank, low_rank[200:]) < 5e-3
    assert model.components_.shape == (4, 100)


@pytest.mark.parametrize("model", [RobustPCA(verbose=0), GoDec(5, random_state=0, verbose=0)])
def test_threads_of_blas_change_no_bit(model):
    low_rank, outliers, _ = planted(300, 300, 10, size=50.0)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(clone(model).fit(low_rank + outliers).components_)
    np.testing.assert_array_equal(*found)


def test_zeros_have_no_parts():
    for model in (RobustPCA(verbose=0), GoDec(2, random_state=0, verbose=0)):
        parts = model.fit(np.zeros((6, 4))).separate(np.zeros((3, 4)))
        assert not parts.low_rank.any()
        assert not parts.outliers.any()


@pytest.mark.parametrize(
    ("model", "keyword"),
    [
        (RobustPCA(outlier_weight=-1.0), "outlier_weight"),
        (RobustPCA(outlier_weight="mad"), "outlier_weight"),
        (GoDec(cardinality=1.5), "cardinality"),
        (GoDec(cardinality=-1), "cardinality"),
        (OnlineRobustPCA(ridge=0.0), "ridge"),
        (OnlineRobustPCA(ridge="mad"), "ridge"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(model, keyword):
    with pytest.raises(ValueError, match=keyword):
        model.fit(np.ones((5, 4)))


def test_online_codes_are_optimal():
    """∇ of ``½‖x − cD − r‖² + ½‖c‖²`` in c is zero, and r is the soft-thresholded residual."""
    low_rank, outliers, noise = planted(200, 40, 3, size=9.0, noise=0.05)
    X = low_rank + outliers + noise
    model = OnlineRobustPCA(3, random_state=0, verbose=0, tol=1e-9).fit(X)
    prediction, R, C = model.separate(X)
    level = model.outlier_weight_
    left = X - prediction
    np.testing.assert_allclose(R, left - np.clip(left, -level, level), atol=1e-9)
    slope = C - (left - R) @ model.components_.T
    assert np.abs(slope).max() < 1e-5 * np.abs(X @ model.components_.T).max()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_the_online_subspace_is_the_planted_one(share):
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((5, 100))
    clean = rng.standard_normal((3000, 5)) @ basis
    hit = rng.random(clean.shape) < share
    X = clean + 0.01 * rng.standard_normal(clean.shape)
    X[hit] += rng.uniform(-20, 20, int(hit.sum()))
    model = OnlineRobustPCA(5, random_state=0, verbose=0)
    seen = []
    for first in range(0, 3000, 100):
        model.partial_fit(X[first : first + 100])
        seen.append(spanned(model.components_, basis))
    assert seen[-1] > 0.999
    assert seen[-1] > seen[0]


def test_superfluous_directions_cost_what_singular_values_do():
    """With more rows than the rank, a large ridge leaves as many directions as there are."""
    low_rank, _, _ = planted(400, 50, 3, share=0.0, noise=0.0)
    model = OnlineRobustPCA(8, ridge=60.0, outlier_weight=1e3, batch_size=400, random_state=0)
    model.set_params(verbose=0, forgetting=400.0, n_passes=60, tol=0).fit(low_rank)
    values = np.linalg.svd(np.asarray(model.separate(low_rank).low_rank))[1]
    true = np.linalg.svd(low_rank)[1]
    assert (values > 1e-2 * values[0]).sum() == 3
    # With this half-life the matrix is remembered twice, and each time has its share of the price.
    np.testing.assert_allclose(values[:3], true[:3] - 60.0 / np.sqrt(2), rtol=0.02)


def test_a_ridge_has_the_unit_of_the_data():
    low_rank, outliers, noise = planted(120, 20, 3, 0.05, 20.0, 0.1, seed=5)
    X = low_rank + outliers + noise
    how = {"random_state": 0, "verbose": 0, "shuffle": False, "n_passes": 1, "batch_size": 40}
    found = []
    for unit in (1.0, 2.0**20):
        model = OnlineRobustPCA(3, ridge=5.0 * unit, outlier_weight=2.0 * unit, **how)
        found.append(model.fit(unit * X).separate(unit * X).low_rank / unit)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-6)
