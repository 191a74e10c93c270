"""Low rank plus sparse: recovery where it is known to be exact, optimality, and what rounds do."""

from itertools import pairwise

import cvxpy
import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from thresher import GoDec, OnlineRobustPCA, RobustPCA
from thresher.low_rank import PartialSVD, default_weight, godec, pursue


def planted(n=200, n_features=200, rank=10, share=0.1, size=500.0, noise=0.0, seed=0):
    """Low rank, gross errors of any size on a share of the entries, and noise."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n_features))
    hit = rng.random((n, n_features)) < share
    outliers = np.where(hit, rng.uniform(-size, size, hit.shape), 0)
    return low_rank, outliers, noise * rng.standard_normal(hit.shape)


def pursued(X, observed=None, weight=None, tol=1e-7):
    weight = default_weight(X.shape) if weight is None else weight
    *_, last = pursue(X, observed, weight, tol)
    return last


def error(found, truth):
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


def spanned(components, truth):
    """Expressed variance: the share of a subspace that a basis spans."""
    found, true = (np.linalg.qr(rows.T)[0] for rows in (components, truth))
    return np.linalg.norm(found.T @ true) ** 2 / true.shape[1]


# ----------------------------------------------------------------------- pursuit


@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize(("size", "tol"), [(1.0, 1e-7), (1e4, 1e-10)])
def test_pursuit_recovers_low_rank_and_outliers(share, size, tol):
    """Candès et al., Theorem 1.1: exactly, whatever the size of the errors."""
    low_rank, outliers, _ = planted(share=share, size=size)
    found = pursued(low_rank + outliers, tol=tol)
    assert len(found.low_rank.values) == 10
    assert error(found.low_rank.product, low_rank) < 1e-5
    assert ((found.outliers != 0) == (outliers != 0)).mean() > 0.9999


def test_pursuit_ends_at_the_optimum():
    """The dual variable is a subgradient of both norms: a certificate."""
    low_rank, outliers, noise = planted(80, 60, 4, size=3.0, noise=0.05)
    X, weight = low_rank + outliers + noise, default_weight((80, 60))
    found = pursued(X)
    left, values, right = found.low_rank
    Y, S = found.dual, found.outliers
    assert np.linalg.norm(Y, 2) < 1 + 1e-4
    assert np.abs(Y).max() < weight * (1 + 1e-3)
    np.testing.assert_allclose(Y[S != 0], weight * np.sign(S[S != 0]), rtol=2e-3)
    np.testing.assert_allclose(left.T @ Y @ right.T, np.eye(len(values)), atol=1e-4)
    np.testing.assert_allclose(left @ np.diag(values) @ right + S, X, atol=1e-5)


@pytest.mark.parametrize("gaps", [False, True])
def test_pursuit_is_what_cvxpy_finds(gaps):
    low_rank, outliers, noise = planted(16, 12, 2, size=4.0, noise=0.1)
    X, weight = low_rank + outliers + noise, 0.35
    seen = np.random.default_rng(1).random(X.shape) > 0.2 if gaps else np.ones(X.shape, bool)
    L = cvxpy.Variable(X.shape)
    misfit = cvxpy.sum(cvxpy.abs(cvxpy.multiply(seen, X - L)))
    best = cvxpy.Problem(cvxpy.Minimize(cvxpy.normNuc(L) + weight * misfit)).solve(
        solver=cvxpy.CLARABEL
    )
    found = pursued(np.where(seen, X, np.nan), seen if gaps else None, weight)
    assert found.objective == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(found.low_rank.product, L.value, atol=2e-3)


def test_partial_decompositions_are_those_of_lapack():
    rng = np.random.default_rng(0)
    svd, M = PartialSVD((150, 90), np.dtype(float)), np.zeros((150, 90))
    for rank in (3, 9, 2, 40):  # grows, shrinks, and has too many for a block
        M = 0.01 * rng.standard_normal((150, 90))
        M += rng.standard_normal((150, rank)) @ rng.standard_normal((rank, 90))
        found, values = svd.above(M, 1.0, 1e-9), np.linalg.svd(M)[1]
        assert len(found.values) == (values > 1.0).sum() == rank
        np.testing.assert_allclose(found.values, values[:rank], rtol=1e-9)
        np.testing.assert_allclose(M @ found.right.T, found.left * found.values, atol=1e-8)


def test_rows_and_columns_may_come_in_any_order():
    low_rank, outliers, _ = planted(60, 50, 3, size=9.0)
    X, rng = low_rank + outliers, np.random.default_rng(0)
    rows, columns = rng.permutation(60), rng.permutation(50)
    here, there = pursued(X), pursued(X[rows][:, columns])
    atol = 1e-5 * np.abs(X).max()
    found = here.low_rank.product[rows][:, columns]
    np.testing.assert_allclose(there.low_rank.product, found, atol=atol)


# -------------------------------------------------------------------- estimators


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_codes_of_the_fitted_samples_are_the_pursuit_itself(gaps):
    """Coded one by one, samples give the low-rank part of the whole matrix again."""
    low_rank, outliers, noise = planted(60, 50, 3, size=5.0, noise=0.02)
    X = low_rank + outliers + noise
    seen = np.random.default_rng(0).random(X.shape) >= gaps
    weight = default_weight(X.shape, seen.mean())
    whole = pursued(X, seen, weight).low_rank.product
    model = RobustPCA(verbose=0, tol=1e-5).fit(np.where(seen, X, np.nan))
    parts = model.separate(np.where(seen, X, np.nan))
    assert model.outlier_weight_ == pytest.approx(weight)
    assert error(parts.low_rank, whole) < 2e-3
    assert error(parts.low_rank, low_rank) < 0.1
    assert not parts.outliers[~seen].any()


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
    ("model", "words"),
    [
        (
            RobustPCA(outlier_weight=-1.0),
            "must be a positive number, or 'auto'",
        ),
        (RobustPCA(outlier_weight="mad"), "or 'auto'"),
        (GoDec(cardinality=1.5), "a share of the entries below 1, or a whole number"),
        (GoDec(cardinality=-1), "a share of the entries"),
        (OnlineRobustPCA(ridge=0.0), "ridge=0.0 must be a positive number, or 'auto'"),
        (OnlineRobustPCA(ridge="mad"), "or 'auto'"),
    ],
    ids=str,
)
def test_parameters_are_refused_in_a_sentence(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(np.ones((5, 4)))


# ------------------------------------------------------------------------- GoDec


@pytest.mark.parametrize("gaps", [False, True])
def test_the_error_of_godec_never_rises(gaps):
    low_rank, outliers, noise = planted(60, 50, 4, size=3.0, noise=0.3)
    X = low_rank + outliers + noise
    seen = np.random.default_rng(0).random(X.shape) > 0.2 if gaps else None
    rng = np.random.default_rng(1)
    errors = [step.error for step in godec(X, seen, 4, 300, 1e-9, rng)]
    assert len(errors) > 5
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(errors))


def test_godec_without_outliers_is_the_truncated_decomposition():
    X = np.random.default_rng(0).standard_normal((40, 30)) * np.linspace(3, 0.1, 30)
    *_, last = godec(X, None, 5, 0, 1e-14, np.random.default_rng(0))
    left, values, right = np.linalg.svd(X, full_matrices=False)
    best = (left[:, :5] * values[:5]) @ right[:5]
    np.testing.assert_allclose(last.codes @ last.basis, best, atol=1e-4)
    model = GoDec(5, cardinality=0, tol=1e-10, random_state=0, verbose=0).fit(X)
    np.testing.assert_allclose(model.separate(X).low_rank, best, atol=1e-3)


def test_godec_sets_as_many_outliers_aside_as_it_was_told():
    low_rank, outliers, noise = planted(100, 80, 3, share=0.05, size=50.0, noise=0.01)
    X, count = low_rank + outliers + noise, int((outliers != 0).sum())
    *_, last = godec(X, None, 3, count, 1e-9, np.random.default_rng(0))
    assert np.count_nonzero(last.outliers) == count
    assert error(last.codes @ last.basis, low_rank) < 0.01


# ------------------------------------------------------------------------ online


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
