"""Small kernels against their twins in NumPy, at sizes that leave a rest after every tile."""

import numpy as np
import pytest

from thresher.kernels.block_sums import BlockSums, block_sums
from thresher.kernels.bundles import EntryPenalty
from thresher.kernels.cholesky import drop, factorise, solve
from thresher.kernels.column_range import column_range
from thresher.kernels.nearest import lower_to_third_nearest
from thresher.kernels.products import add, add_gram, combine, copy, dot
from thresher.kernels.quadratic import Bends, pulled
from thresher.kernels.sparse_rows import products_at
from thresher.losses import Envelope
from thresher.penalties import ElasticNet
from thresher.sets import Box

SIZES = [1, 2, 3, 4, 5, 7, 8, 9]


@pytest.mark.parametrize("n", [0, *SIZES])
def test_products_of_gathered_vectors(n):
    rng = np.random.default_rng(n)
    D, a = rng.random((12, 9)), rng.random(12)
    atoms = rng.permutation(12).astype(np.int64)
    for m in (9, 6):
        out = np.full(m, np.nan)
        combine.py_func(a, atoms, n, D, out)
        np.testing.assert_allclose(out, a[:n] @ D[atoms[:n], :m], atol=1e-12)
    left, right = rng.random((2, 9))
    assert dot.py_func(left, right) == pytest.approx(left @ right)
    kept, other = left.copy(), np.empty(9)
    add.py_func(left, 0.5, right)
    np.testing.assert_allclose(left, kept + 0.5 * right)
    copy.py_func(right, other)
    np.testing.assert_array_equal(other, right)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", [1, 4])
def test_gram_matrices_of_some_features(n, m):
    rng = np.random.default_rng(n)
    D, weights = rng.random((12, 9)), rng.random(9)
    atoms, features = rng.permutation(12), rng.permutation(9)
    start = rng.random((n, n))
    start = start + start.T
    H = np.triu(start)
    room = np.empty((2, n, 9))
    add_gram.py_func(D, atoms, n, features, weights, m, *room, H)
    d = D[atoms[:n]][:, features[:m]]
    np.testing.assert_allclose(H, start + (d * weights[:m]) @ d.T)


@pytest.mark.parametrize("n", SIZES)
def test_triangular_factors(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n + 3))
    H = A @ A.T
    R = np.full((n + 2, n + 2), np.nan)
    R[:n, :n] = H
    factorise.py_func(R, n, 1e-12)
    upper = np.triu(R[:n, :n])
    np.testing.assert_allclose(upper.T @ upper, H, atol=1e-10)
    z = rng.random(n)
    found = z.copy()
    solve.py_func(R, n, found)
    np.testing.assert_allclose(H @ found, z, atol=1e-8)
    for p in range(n):
        less = np.vstack([np.triu(R[:n, :n]), np.zeros((1, n))])
        drop.py_func(less, n, p)
        kept = np.triu(less[: n - 1, : n - 1])
        rest = np.delete(np.delete(H, p, 0), p, 1)
        np.testing.assert_allclose(kept.T @ kept, rest, atol=1e-9)


def test_pivots_have_a_floor():
    R = np.array([[0.0, 0.0], [0.0, 4.0]])
    factorise.py_func(R, 2, 1e-4)
    assert np.isfinite(R).all()
    assert R[1, 1] == pytest.approx(2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_of_columns_pass_over_gaps(dtype):
    X = np.random.default_rng(0).standard_normal((7, 5)).astype(dtype)
    X[2, 1] = X[0, 0] = np.nan
    X[:, 4] = np.nan
    low, high = np.full(5, np.inf, dtype), np.full(5, -np.inf, dtype)
    low[3], high[3] = -9, 9  # what was known stays
    X.flags.writeable = False
    column_range(X, low, high)
    wanted = (
        np.where(np.isnan(X), np.inf, X).min(axis=0),
        np.where(np.isnan(X), -np.inf, X).max(axis=0),
    )
    np.testing.assert_array_equal(low, np.where(np.arange(5) == 3, -9, wanted[0]))
    np.testing.assert_array_equal(high, np.where(np.arange(5) == 3, 9, wanted[1]))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_pixels_are_compared_with_their_third_nearest(n):
    rng = np.random.default_rng(n)
    picture, cells = rng.random((4, 6, 3)), rng.uniform(0.5, 2, (2, 3, 3))
    kept, usual = rng.random((n, 4, 6, 3)), rng.uniform(0, 0.5, (4, 6))
    sizes = rng.uniform(0, 1, (4, 6))
    light = cells.repeat(2, axis=0).repeat(2, axis=1)
    far = np.sort(np.abs(picture - light * kept).max(axis=-1), axis=0)
    third = np.minimum(sizes, far[2]) if n > 2 else sizes
    wanted = np.where(sizes > usual, third, sizes)
    lower_to_third_nearest.py_func(picture, cells, 2, kept, usual, sizes)
    np.testing.assert_allclose(sizes, wanted)


@pytest.mark.parametrize("bounded", [True, False])
def test_the_quadratic_of_a_batch_has_the_bend_of_each_feature(bounded):
    rng = np.random.default_rng(1)
    AD, gradient = rng.random((2, 3, 5))
    curvature = np.array([0.0, 0.004, 0.3, 2.0, 0.9])
    usual = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    found = np.empty_like(AD)
    pulled(AD, gradient, Bends(curvature, usual, 1.5, bounded, 0.02), found)
    shares = np.maximum(curvature, 0.02 * usual) / 1.5
    shares = np.where(shares > 0, shares, 1)
    shares = np.minimum(shares, 1) if bounded else shares
    np.testing.assert_allclose(found, AD - gradient / shares)


@pytest.mark.parametrize("K", [1, 3, 4])
@pytest.mark.parametrize("F", [1, 6])
def test_products_at_the_nonzeros(K, F):
    rng = np.random.default_rng(K)
    C, D = rng.random((5, K)), rng.random((K, F))
    there = rng.random((5, F)) < 0.5
    rows, columns = np.nonzero(there)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    out = np.empty(len(rows))
    products_at.py_func(indptr, columns.astype(np.int32), C, np.ascontiguousarray(D.T), out)
    np.testing.assert_allclose(out, (C @ D)[there])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_a_block_in_one_call(dtype):
    rng = np.random.default_rng(2)
    X, C, D = (rng.standard_normal(shape).astype(dtype) for shape in ((7, 5), (7, 3), (3, 5)))
    weights = rng.uniform(0.5, 2, 7).astype(dtype)
    X[0] = C[0] @ D  # met exactly, but for rounding
    loss = Envelope(ElasticNet(0.4, 0.5), Box(-0.6, 0.9))
    sums = BlockSums.like(X, 3)
    for part in (X, C, D, weights):
        part.flags.writeable = False
    block_sums(X, C, D, weights, EntryPenalty.of(np.dtype(dtype), loss.entry_constants), sums)
    Y = C @ D
    close = {"rtol": 1e-9} if dtype is np.float64 else {"rtol": 2e-4, "atol": 1e-5}
    G = loss.gradient(X, Y)
    np.testing.assert_allclose(sums.values[1:], loss.value(X, Y)[1:], **close)
    np.testing.assert_allclose(sums.gradient[1:], G[1:], **close)
    np.testing.assert_allclose(sums.squares, (C * C).sum(axis=1), **close)
    np.testing.assert_allclose(sums.A, (C * weights[:, None]).T @ C, **close)
    np.testing.assert_allclose(sums.B, (C * weights[:, None]).T @ G, atol=1e-5)
    E = np.abs(X - Y)[1:]
    share = np.abs(G[1:]) / E
    energy = weights * (C * C).sum(axis=1)
    wanted = energy[1:] @ share + energy[0]  # a residual of nothing bends as an inlier does
    np.testing.assert_allclose(sums.curvature, wanted, rtol=1e-4)
