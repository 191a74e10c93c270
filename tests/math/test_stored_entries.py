"""Sparse samples whose unstored entries are missing: the same as dense ones with NaN, in less."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

from thresher import OnlineNMF, OnlineRobustNMF
from thresher.encoding import CodingProblem, narrowed
from thresher.linalg import load_stored_block, stored_rows
from thresher.losses import Huber

N, F, K = 60, 90, 3


@pytest.fixture(scope="module")
def pair():
    """Samples as CSR with stored zeros, and the same as a dense array with NaN."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (N, K)) @ rng.random((K, F)) + 0.1 * rng.random((N, F))
    X[rng.random(X.shape) < 0.05] = 0
    seen = rng.random(X.shape) < 0.15
    seen[np.arange(F) % N, np.arange(F)] = True
    row, column = np.nonzero(seen)
    return sparse.csr_array((X[seen], (row, column)), shape=X.shape), np.where(seen, X, np.nan)


def both(kind, stored, dense, fit_with=None, **parameters):
    """Two models: of stored entries, and of what is not NaN."""
    given = {"n_components": K, "random_state": 0, "verbose": 0, "n_jobs": 1, "n_passes": 2}
    given |= {"tol": 1e-9, "batch_size": 32} | parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = kind(**given, implicit_zeros="missing").fit(stored, **(fit_with or {}))
        return one, kind(**given).fit(dense, **(fit_with or {}))


CASES = [
    (OnlineRobustNMF, {"outlier_weight": 0.3}),
    (OnlineRobustNMF, {"outlier_penalty": "l21"}),
    (OnlineRobustNMF, {"scale_samples": "max"}),
    (OnlineRobustNMF, {"solver": "opgd"}),
    (OnlineNMF, {}),
    (OnlineNMF, {"divergence": "kl"}),
    (OnlineNMF, {"divergence": "is"}),
    (OnlineNMF, {"code_set": "simplex"}),
]


@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_stored_entries_equal_a_dense_array_with_missing_values(pair, kind, parameters):
    one, other = both(kind, *pair, **parameters)
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=1e-7)
    stored, dense = one.transform(pair[0]), other.transform(pair[1])
    np.testing.assert_allclose(stored, dense, rtol=0, atol=1e-5 * np.abs(dense).max())
    np.testing.assert_allclose(one.score_samples(pair[0]), other.score_samples(pair[1]), rtol=1e-5)


def test_weights_and_precision_are_kept(pair):
    rng = np.random.default_rng(1)
    weights = {"sample_weight": rng.uniform(0.5, 2, N), "entry_weight": rng.uniform(0.5, 2, (N, F))}
    one, other = both(OnlineRobustNMF, *pair, weights, outlier_weight=0.3)
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=1e-7)
    single = pair[0].astype(np.float32), pair[1].astype(np.float32)
    one, other = both(OnlineRobustNMF, *single, outlier_weight=0.3, tol=1e-4)
    assert one.transform(single[0]).dtype == np.float32
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=1e-3)


def test_dense_zeros_are_missing_and_stored_zeros_are_not(pair):
    stored, dense = pair
    without = stored.copy()
    without.eliminate_zeros()
    model = both(OnlineNMF, stored, dense)[0]
    codes = model.transform(np.nan_to_num(dense))
    np.testing.assert_array_equal(codes, model.transform(without))
    assert np.abs(codes - model.transform(stored)).max() > 1e-3


def test_rows_are_coded_independently_of_their_storage(pair):
    stored, dense = pair
    model = both(OnlineRobustNMF, stored, dense, tol=1e-4)[0]
    codes = model.transform(stored)
    for i in (0, 7, N - 1):
        np.testing.assert_allclose(model.transform(stored[[i]]), codes[[i]], rtol=1e-9, atol=1e-9)
    twice = sparse.csr_array(
        (np.repeat(stored.data / 2, 2), np.repeat(stored.indices, 2), stored.indptr * 2),
        shape=stored.shape,
    )
    before = twice.data.copy()
    np.testing.assert_allclose(model.transform(twice), codes, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(twice.data, before)
    assert model.transform(sparse.csr_array((2, F))).sum() == 0  # nothing is known of them


def test_narrow_dictionaries_have_the_products_of_the_whole_one():
    """The narrow dictionary has the products of the whole one, on the features of the rows."""
    rng = np.random.default_rng(3)
    D = rng.random((K, 500))
    rows = stored_rows(sparse.random_array((40, 500), density=0.01, rng=rng, format="csr"))
    block = load_stored_block(rows, slice(0, 40), np.dtype(float), None, 1.0)
    n_rows = 0
    for part, narrow, x, w in narrowed(CodingProblem(D, Huber(0.3)), block):
        np.testing.assert_allclose(narrow.D @ narrow.D.T, D @ D.T)
        assert narrow.n_features == 500
        assert narrow.D.shape[1] == x.shape[1] < 500
        assert not w[:, -K:].any()
        n_rows += len(x)
        np.testing.assert_allclose(x.sum(axis=1), rows[part].sum(axis=1))
    assert n_rows == 40


def test_memory_grows_with_stored_entries_not_with_the_width():
    rng = np.random.default_rng(4)
    wide = 50_000
    rows = sparse.csr_array(
        (rng.uniform(1, 5, 1000), rng.integers(0, wide, 1000), np.arange(0, 1001, 5)),
        shape=(200, wide),
    )
    model = OnlineRobustNMF(2, implicit_zeros="missing", random_state=0, verbose=0, n_passes=1).fit(
        rows
    )
    tracemalloc.start()
    model.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * wide * 20  # a dense block, or its mask, would have 128 rows


def test_invalid_combinations_are_refused(pair):
    stored = pair[0]
    with pytest.raises(ValueError, match="implicit_zeros"):
        OnlineNMF(K, implicit_zeros="nan").fit(stored)
    metric = {"divergence": "mahalanobis", "divergence_parameter": np.eye(F)}
    with pytest.raises(ValueError, match="ahalanobis"):
        OnlineNMF(K, **metric, implicit_zeros="missing").fit(stored)
    robust = OnlineRobustNMF(K, implicit_zeros="missing", verbose=0, random_state=0).fit(stored)
    with pytest.raises(TypeError, match="outliers"):
        robust.entry_scores(stored)
    model = OnlineNMF(K, implicit_zeros="missing", verbose=0, random_state=0).fit(stored)
    with pytest.raises(ValueError, match="zeros"):
        model.set_params(implicit_zeros="observed").transform(stored)
