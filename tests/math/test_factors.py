"""Factorisations: halves, smoothed losses, graphs, polar factors and rank-one terms."""

import numpy as np
import pytest
from scipy import sparse

from thresher.engine.executor import Pool
from thresher.linalg import (
    approach,
    load_block,
    load_sparse_block,
    newton_schulz,
    polar,
    range_of_powers,
    stored_rows,
    with_gaps,
)
from thresher.manhattan import (
    Graph,
    Half,
    nearest_neighbours,
    similarities,
)
from thresher.manhattan.smoothing import SmoothedLoss, box_gap
from thresher.penalties import L1, Regulariser
from thresher.published.manhattan import _published_bound
from thresher.sets import Simplex

K, F, N = 3, 5, 8
DOUBLE = np.dtype(np.float64)


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((N, F)), rng.random((N, K)), rng.random((K, F))


@pytest.mark.parametrize("square", [0.0, 0.7])
def test_sums_of_a_half_against_their_formulas(square):
    X, V, A = data()
    X[0, 0], X[1, 1] = 0, np.nan
    rng = np.random.default_rng(1)
    entry, row, column = rng.random((N, F)), rng.random(N), rng.random(F)
    half = Half(X, Regulariser(L1(0.3)), DOUBLE, 2.0, 0.5, square, entry, row, column, 3.0)
    loaded, weight = half.load(slice(0, N))
    wanted = entry * column * np.where(X == 0, 0.5, 1) * ~np.isnan(X)
    np.testing.assert_allclose(weight, np.where(np.isnan(X), 0, wanted))
    np.testing.assert_allclose(loaded, np.nan_to_num(X) / 2)
    E = loaded - V @ A
    losses = (weight * (np.abs(E) + square / 2 * E * E)).sum(axis=1)
    with Pool(1) as pool:
        np.testing.assert_allclose(half.evaluate(A, V, pool), losses)
    assert half.total(losses) == pytest.approx(row @ losses)
    assert half.penalty(V) == pytest.approx(3 * 0.3 * (row @ V.sum(axis=1)))
    sizes, counts = half.row_sums
    np.testing.assert_allclose(sizes, (weight * np.abs(loaded)).sum(axis=1))
    np.testing.assert_allclose(counts, weight.sum(axis=1))
    assert half.mean_entry == pytest.approx((row @ sizes) / (row @ counts))
    only = Half(X[2:], Regulariser(), DOUBLE, column_weight=column)
    np.testing.assert_allclose(only.load(slice(0, 2))[1], np.tile(column, (2, 1)))


def test_the_proximal_map_of_a_half():
    X, V, _ = data()
    half = Half(X, Regulariser(L1(0.3)), DOUBLE, penalty_factor=2.0)
    np.testing.assert_allclose(half.prox(V, 0.5), np.maximum(V - 0.3, 0))
    turned = Half(X, Regulariser(region=Simplex()), DOUBLE, transposed=True)
    np.testing.assert_allclose(turned.prox(V, 0.0).sum(axis=0), 1)
    priced = Half(X, Regulariser(L1(0.3)), DOUBLE, penalty_factor=2.0, transposed=True)
    assert priced.penalty(V) == pytest.approx(2 * 0.3 * V.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("square", [0.0, 0.6])
def test_smoothed_losses_are_lower_bounds_with_a_known_error(weighted, square):
    X, V, A = data(2)
    A[:, 0] = 0  # an entry that no code reaches
    weight = np.random.default_rng(3).random((N, F)) if weighted else None
    w = np.ones((N, F)) if weight is None else weight
    width = np.linspace(0.05, 0.4, N)[:, None]
    loss = SmoothedLoss(X, weight, A, width, square)
    E = loss.residual(V)
    q = np.linalg.norm(A, axis=0)
    true = (w * (np.abs(E) + square / 2 * E * E)).sum(axis=1)
    smooth = loss.values(E)
    assert (smooth <= true + 1e-12).all()  # Theorem 1
    assert (true <= smooth + width[:, 0] / 2 * (w @ q) + 1e-12).all()
    np.testing.assert_allclose(loss.spread, w @ q)
    U = loss.dual(E)
    np.testing.assert_allclose(U[:, 0], w[:, 0] * np.sign(E[:, 0]))
    np.testing.assert_allclose(
        U[:, 1:], (w * np.clip(E / (width * np.where(q > 0, q, 1)), -1, 1))[:, 1:]
    )
    way, h = np.random.default_rng(4).standard_normal(V.shape), 1e-6
    ahead, behind = (loss.values(loss.residual(V + t * way)) for t in (h, -h))
    slope = (ahead - behind) / (2 * h)
    np.testing.assert_allclose((loss.gradient(E, U) * way).sum(axis=1), slope, atol=1e-6)
    E2 = loss.residual(V + 0.1 * way)
    far = np.linalg.norm(loss.gradient(E2, loss.dual(E2)) - loss.gradient(E, U), axis=1)
    for L in (loss.lipschitz, _published_bound(loss)):
        assert L.shape == (N, 1)
        bound = L[:, 0] * 0.1 * np.linalg.norm(way, axis=1)
        assert (far <= bound * (1 + 1e-9)).all()


def test_the_duality_gap_of_a_box_bounds_the_suboptimality():
    X, V, A = data(5)
    weight = np.random.default_rng(6).random((N, F))
    loss = SmoothedLoss(X, weight, A, 0.01)
    V = np.minimum(V, 0.5)
    true = (weight * np.abs(X - V @ A)).sum(axis=1) + 0.1 * V.sum(axis=1)
    best = np.full(N, np.inf)
    rng = np.random.default_rng(7)
    for _ in range(3000):
        C = rng.uniform(0, 0.5, (N, K)) * (rng.random((N, K)) < 0.7)
        cost = (weight * np.abs(X - C @ A)).sum(axis=1) + 0.1 * C.sum(axis=1)
        best = np.minimum(best, cost)
    gap = box_gap(loss, V, loss.dual(loss.residual(V)), 0.5, 0.1)
    assert (gap >= true - best - 1e-9).all()
    mu = loss.dual(loss.residual(V))
    by_hand = true + (X * mu).sum(axis=1) - 0.5 * np.minimum(mu @ A.T + 0.1, 0).sum(axis=1)
    np.testing.assert_allclose(gap, by_hand)


@pytest.mark.parametrize("n", [N, 80])
def test_graph_penalties_against_the_laplacian(n):
    rng = np.random.default_rng(8)
    S = similarities(rng.random((n, n)) * (rng.random((n, n)) < 0.3))
    assert (abs(S - S.T)).max() < 1e-12
    assert not S.diagonal().any()
    graph, V = Graph(S, 0.7), rng.random((n, K))
    dense = S.toarray()
    pairs = ((V[:, None] - V[None]) ** 2).sum(axis=2)
    assert graph.value(V) == pytest.approx(0.7 / 4 * (dense * pairs).sum())
    L = np.diag(dense.sum(axis=1)) - dense
    np.testing.assert_allclose(graph.gradient(V), 0.7 * L @ V)
    exact = 0.7 * np.linalg.norm(L, 2)
    assert exact * (1 - 1e-9) <= graph.curvature <= exact * 1.002


def test_nearest_neighbours_are_symmetric():
    X = np.array([[0.0, 0], [0.1, 0], [1.0, 0], [1.1, np.nan]])
    S = nearest_neighbours(X, 1).toarray()
    np.testing.assert_array_equal(S, [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    np.testing.assert_array_equal(nearest_neighbours(sparse.csr_array(X[:3]), 1).toarray(),
                                  [[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_within_the_range_neither_overflow_nor_vanish(dtype):
    least, most = range_of_powers(np.dtype(dtype), 3)
    info = np.finfo(dtype)
    assert least**3 == pytest.approx(float(info.tiny) / float(info.eps), rel=1e-6)
    assert most**3 == pytest.approx(float(info.max) * float(info.eps), rel=1e-6)


def test_missing_values_of_a_block_have_no_weight():
    rng = np.random.default_rng(11)
    X, given = rng.random((6, 4)), rng.random((6, 4))
    observed = X > 0.3
    for rows in (np.where(observed, X, np.nan), stored_rows(sparse.csr_array(X * observed))):
        block, weight = load_block(rows, slice(1, 4), DOUBLE, given, unit=2.0)
        np.testing.assert_allclose(block, (X * observed)[1:4] / 2)
        np.testing.assert_array_equal(weight, (given * observed)[1:4])
        np.testing.assert_array_equal(load_block(rows, slice(1, 4), DOUBLE)[1], observed[1:4])
    np.testing.assert_array_equal(with_gaps(rows, DOUBLE), np.where(observed, X, np.nan))


def test_sparse_blocks_sum_duplicates_and_drop_zeros():
    X = sparse.csr_array(
        (np.array([1.0, 2, 0, 4]), np.array([1, 1, 0, 2]), np.array([0, 2, 3, 4])), shape=(3, 3)
    )
    part = load_sparse_block(X, slice(0, 3), DOUBLE, 2.0)
    np.testing.assert_array_equal(part.toarray(), [[0, 1.5, 0], [0, 0, 0], [0, 0, 2]])
    assert (part.nnz, X.nnz) == (2, 4)


def test_polar_factors():
    rng = np.random.default_rng(13)
    A = rng.standard_normal((5, 5))
    Q = polar(A)
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-12)
    P = A @ Q.T
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert np.linalg.eigvalsh((P + P.T) / 2).min() > 0
    # Of a singular matrix, the maximiser nearest to what is given.
    B = np.outer(A[0], A[1])
    near = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    R = polar(B, near)
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-10)
    assert (B * R).sum() == pytest.approx(np.linalg.svd(B)[1].sum())
    for _ in range(50):  # other maximisers are no nearer
        U, _, Vt = np.linalg.svd(B)
        turn = np.eye(5)
        turn[1:, 1:] = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        other = U @ turn @ Vt
        assert np.linalg.norm(R - near) <= np.linalg.norm(other - near) + 1e-9
    np.testing.assert_allclose(newton_schulz(Q + 0.02 * A), polar(Q + 0.02 * A), atol=1e-12)
    assert newton_schulz(5 * Q) is None


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_steps_converge_to_the_polar_factor(size):
    rng = np.random.default_rng(14)
    A = rng.standard_normal((6, 6)) + 6 * np.eye(6)
    goal = polar(A)
    Q = polar(goal + size * rng.standard_normal((6, 6)))
    for _ in range(40):
        Q = approach(A, Q)
    np.testing.assert_allclose(Q, goal, atol=1e-9)
    np.testing.assert_allclose(approach(A, goal), goal, atol=1e-12)
