"""Principal component pursuit and GoDec: recovery, optimality, CVXPY and LAPACK."""

from itertools import pairwise

import cvxpy
import numpy as np
import pytest

from thresher import GoDec, RobustPCA
from thresher.published.low_rank import PartialSVD, default_weight, godec, pursue


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


def test_pursuit_is_invariant_to_permutations():
    low_rank, outliers, _ = planted(60, 50, 3, size=9.0)
    X, rng = low_rank + outliers, np.random.default_rng(0)
    rows, columns = rng.permutation(60), rng.permutation(50)
    here, there = pursued(X), pursued(X[rows][:, columns])
    atol = 1e-5 * np.abs(X).max()
    found = here.low_rank.product[rows][:, columns]
    np.testing.assert_allclose(there.low_rank.product, found, atol=atol)


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


def test_godec_separates_the_given_number_of_outliers():
    low_rank, outliers, noise = planted(100, 80, 3, share=0.05, size=50.0, noise=0.01)
    X, count = low_rank + outliers + noise, int((outliers != 0).sum())
    *_, last = godec(X, None, 3, count, 1e-9, np.random.default_rng(0))
    assert np.count_nonzero(last.outliers) == count
    assert error(last.codes @ last.basis, low_rank) < 0.01


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_codes_of_the_fitted_samples_are_the_pursuit_itself(missing):
    """Coded one by one, samples give the low-rank part of the whole matrix again."""
    low_rank, outliers, noise = planted(60, 50, 3, size=5.0, noise=0.02)
    X = low_rank + outliers + noise
    seen = np.random.default_rng(0).random(X.shape) >= missing
    weight = default_weight(X.shape, seen.mean())
    whole = pursued(X, seen, weight).low_rank.product
    model = RobustPCA(verbose=0, tol=1e-5).fit(np.where(seen, X, np.nan))
    parts = model.separate(np.where(seen, X, np.nan))
    assert model.outlier_weight_ == pytest.approx(weight)
    assert error(parts.low_rank, whole) < 2e-3
    assert error(parts.low_rank, low_rank) < 0.1
    assert not parts.outliers[~seen].any()
