"""Pieces of factorisations by themselves: halves, smoothed losses, graphs, states, blocks."""

import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from thresher.engine.explained import Energies
from thresher.engine.pool import Pool
from thresher.engine.seen import SeenRange
from thresher.engine.state import StreamState, Summary
from thresher.learning.surrogate import QuadraticStatistics
from thresher.linalg import (
    approach,
    block_slices,
    evenly,
    length,
    load_block,
    load_sparse_block,
    load_stored_block,
    newton_schulz,
    polar,
    range_of_powers,
    row_lengths,
    rows_per_block,
    sparse_block_slices,
    squared_lengths,
    stored_rows,
    thinned,
    with_gaps,
    without_traces,
)
from thresher.manhattan import Graph, nearest_neighbours, similarities
from thresher.manhattan.factor_admm import FactorADMM
from thresher.manhattan.half import Half
from thresher.manhattan.smoothing import SmoothedLoss, box_gap
from thresher.penalties import L1, Constrained, GroupNorm
from thresher.sets import Box, GroupBall, Simplex
from thresher.streams import Batch

K, F, N = 3, 5, 8
DOUBLE = np.dtype(np.float64)


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((N, F)), rng.random((N, K)), rng.random((K, F))


# ------------------------------------------------------------------------------ halves


@pytest.mark.parametrize("square", [0.0, 0.7])
def test_a_half_knows_all_weights(square):
    X, V, A = data()
    X[0, 0], X[1, 1] = 0, np.nan
    rng = np.random.default_rng(1)
    entry, row, column = rng.random((N, F)), rng.random(N), rng.random(F)
    half = Half(X, Constrained(L1(0.3)), DOUBLE, 2.0, 0.5, square, entry, row, column, 3.0)
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
    assert Half(0 * X[2:], Constrained(), DOUBLE).mean_entry == 1.0
    plain = Half(X[2:], Constrained(), DOUBLE)
    assert plain.load(slice(0, 2))[1] is None
    only = Half(X[2:], Constrained(), DOUBLE, column_weight=column)
    np.testing.assert_allclose(only.load(slice(0, 2))[1], np.tile(column, (2, 1)))


def test_halves_know_what_is_tied():
    X, V, _ = data()
    groups = (0, 0, 1, 1, 2, 2, 2, 2)
    graph = Graph(similarities(np.ones((N, N))), 0.5)
    alone = Half(X, Constrained(), DOUBLE)
    assert alone.rows_are_alone
    np.testing.assert_array_equal(alone.ties, np.arange(N))
    tied = Half(X, Constrained(GroupNorm(1.0, groups, of_rows=True)), DOUBLE)
    assert not tied.rows_are_alone
    np.testing.assert_array_equal(tied.ties, groups)
    coupled = Half(X, Constrained(), DOUBLE, graph=graph)
    assert not coupled.rows_are_alone
    assert not coupled.ties.any()
    assert coupled.penalty(V) == pytest.approx(graph.value(V))
    turned = Half(X, Constrained(region=Simplex()), DOUBLE, transposed=True)
    assert not turned.rows_are_alone
    assert not turned.ties.any()
    assert Half(X, Constrained(region=Box(0, 1)), DOUBLE, transposed=True).rows_are_alone
    columns = Half(X, Constrained(region=GroupBall(1.0, groups)), DOUBLE, transposed=True)
    np.testing.assert_array_equal(columns.ties, groups)
    free = np.array([True, False, True])
    assert Half(X, Constrained(), DOUBLE, free=free).atoms(3).tolist() == [0, 2]
    assert alone.atoms(3).tolist() == [0, 1, 2]
    csr = sparse.csr_array(X)
    assert Half(csr, Constrained(), DOUBLE).is_sparse
    assert not Half(csr, Constrained(), DOUBLE, entry_weight=X).is_sparse
    assert not Half(csr, Constrained(), DOUBLE, column_weight=X[0]).is_sparse
    assert not alone.is_sparse


def test_the_proximal_map_of_a_half():
    X, V, _ = data()
    half = Half(X, Constrained(L1(0.3)), DOUBLE, amount=2.0)
    np.testing.assert_allclose(half.prox(V, 0.5), np.maximum(V - 0.3, 0))
    turned = Half(X, Constrained(region=Simplex()), DOUBLE, transposed=True)
    np.testing.assert_allclose(turned.prox(V, 0.0).sum(axis=0), 1)
    assert turned.prox(V, 0.0).flags.c_contiguous
    priced = Half(X, Constrained(L1(0.3)), DOUBLE, amount=2.0, transposed=True)
    assert priced.penalty(V) == pytest.approx(2 * 0.3 * V.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("square", [0.0, 0.6])
def test_smoothed_losses_are_below_and_near(weighted, square):
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
    np.testing.assert_allclose((loss.gradient(E) * way).sum(axis=1), slope, atol=1e-6)
    for L in (loss.lipschitz, loss.published_lipschitz):
        assert L.shape == (N, 1)
        other = V + 0.1 * way
        far = np.linalg.norm(loss.gradient(loss.residual(other)) - loss.gradient(E), axis=1)
        assert (far <= L[:, 0] * 0.1 * np.linalg.norm(way, axis=1) * (1 + 1e-9)).all()
    zero = SmoothedLoss(X, weight, 0 * A, width, square)
    assert (zero.lipschitz == 1).all()
    assert not zero.published_lipschitz.any()


def test_the_gap_of_a_box_bounds_what_is_left():
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
def test_graphs_pull_neighbours_together(n):
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
    assert graph.gradient(V.astype(np.float32)).dtype == np.float32
    similarities(np.zeros((3, 3)))
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="finite and not negative"):
            similarities(np.full((2, 2), bad))


def test_neighbours_are_mutual_and_gaps_are_means():
    X = np.array([[0.0, 0], [0.1, 0], [1.0, 0], [1.1, np.nan]])
    S = nearest_neighbours(X, 1).toarray()
    np.testing.assert_array_equal(S, [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    np.testing.assert_array_equal(nearest_neighbours(sparse.csr_array(X[:3]), 1).toarray(),
                                  [[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # fmt: skip


# ------------------------------------------------------------------------------ states


def state(**values):
    rng = np.random.default_rng(9)
    D = rng.random((K, F))
    sums = QuadraticStatistics(rng.random((K, K)), rng.random((K, F)), 4.0)
    seen = SeenRange(np.zeros(F), np.ones(F))
    return StreamState(D, D, sums, 0, seen=seen, n_samples=7, **values)


def test_states_grow_shrink_and_join():
    one, atoms = state(), np.full((2, F + 2), 0.5)
    wide = one.grow(F + 2, atoms, fill=0.1)
    np.testing.assert_array_equal(wide.D[:K, :F], one.D)
    np.testing.assert_allclose(wide.D[:K, F:], 0.1 * one.D.mean(axis=1, keepdims=True) * [1, 1])
    np.testing.assert_array_equal(wide.D[K:], atoms)
    assert wide.statistics.B.shape == (K + 2, F + 2)
    assert wide.seen.known.tolist() == [True] * F + [False] * 2
    assert not one.grow(F + 1, np.zeros((0, F + 1))).D[:, F:].any()
    few = one.keep(np.array([2, 0]))
    np.testing.assert_array_equal(few.D, one.D[:, [2, 0]])
    assert few.average is few.D
    assert len(few.seen.low) == 2
    members, usage = np.array([[1.0, 1, 0]]), np.array([3.0, 1, 9])
    both = one.joined(members, usage)
    np.testing.assert_allclose(both.D[0], (3 * one.D[0] + one.D[1]) / 4)
    unused = one.joined(members, np.zeros(3))
    np.testing.assert_allclose(unused.D[0], (one.D[0] + one.D[1]) / 2)
    assert both.statistics.A.shape == (1, 1)


def test_states_are_read_only_and_have_units():
    one = state(unit=8.0, atom_unit=2.0)
    assert one.code_unit == 4.0
    np.testing.assert_allclose(one.atoms, 2 * one.D)
    assert not one.atoms.flags.writeable
    assert not one.D.flags.writeable
    assert state().atoms is state().average or state().atom_unit == 1
    other = one.changed(n_steps=5, D=np.ones((K, F)))
    assert (other.n_steps, other.n_samples, one.n_steps) == (5, 7, 0)
    assert not other.D.flags.writeable
    batch = Batch(np.full((2, F), 3.0))
    assert one.having_seen(batch).seen.high.tolist() == [3.0] * F
    blind = one.changed(seen=None)
    assert blind.having_seen(batch) is blind  # it saw others before that nobody recorded
    first = blind.changed(n_samples=0)
    assert first.having_seen(batch).seen.low.tolist() == [3.0] * F


def test_summaries_add_up_and_can_be_sent():
    def summary(loss, gap, energies=Energies):
        sums = QuadraticStatistics(np.ones((1, 1)), np.ones((1, 2)), 1.0)
        return Summary(sums, loss, gap, np.array([loss]), np.array([1.0]), energies, 2.0, 3.0)

    both = summary(1.0, 0.5) + summary(2.0, 0.1)
    assert (both.loss, both.certificate, both.mass, both.entries) == (3.0, 0.5, 4.0, 6.0)
    assert both.residuals.tolist() == [1, 2]
    assert both.sums.weight == 2.0
    first, second = (lambda: Energies(1.0)), (lambda: Energies(2.0))
    assert (summary(1, 0, first) + summary(1, 0, second)).energies is first
    assert (summary(1, 0) + summary(1, 0, second)).energies is second
    sent = summary(1, 0, first).for_sending()
    assert sent.energies() == Energies(1.0)
    assert sent.energies is not first
    plain = summary(1, 0)
    assert plain.for_sending() is plain


# ------------------------------------------------------------------------------ pools


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_pools_keep_the_order_of_results(n_jobs):
    def work(k):
        time.sleep(0.001 * (5 - k % 5))
        return k * k

    with Pool(n_jobs) as pool:
        assert pool.map(work, range(12)) == [k * k for k in range(12)]
        assert list(pool.stream(work, range(12))) == [k * k for k in range(12)]
        assert list(pool.stream(work, range(1))) == [0]
        assert list(pool.ahead(iter(range(7)))) == list(range(7))
        assert pool.map(work, []) == []
        assert pool.n_jobs == n_jobs


def test_an_error_ends_all_work():
    begun, lock = [], threading.Lock()

    def work(k):
        with lock:
            begun.append(k)
        if k == 1:
            raise RuntimeError("of item 1")
        time.sleep(0.01)

    with Pool(2) as pool, pytest.raises(RuntimeError, match="of item 1"):
        pool.map(work, range(50))
    assert len(begun) < 10


def test_a_stream_is_only_a_few_results_ahead():
    begun = []
    with Pool(2) as pool:
        results = pool.stream(lambda k: begun.append(k) or k, range(100))
        assert next(results) == 0
        time.sleep(0.05)
        assert len(begun) <= 7
        results.close()


# ------------------------------------------------------------------------------ linear algebra


def test_lengths_and_ranges():
    V = np.random.default_rng(10).standard_normal((4, 6))
    assert length(V) == pytest.approx(np.linalg.norm(V))
    np.testing.assert_allclose(row_lengths(V), np.linalg.norm(V, axis=1))
    np.testing.assert_allclose(squared_lengths(V), (V * V).sum(axis=1))
    for dtype in (np.float32, np.float64):
        least, most = range_of_powers(np.dtype(dtype), 3)
        info = np.finfo(dtype)
        assert least**3 == pytest.approx(float(info.tiny) / float(info.eps), rel=1e-6)
        assert most**3 == pytest.approx(float(info.max) * float(info.eps), rel=1e-6)


@pytest.mark.parametrize("shape", [(10, 10), (7, 4), (3, 100)])
@pytest.mark.parametrize("limit", [5, 20, 1000])
def test_entries_are_spread_over_all_features(shape, limit):
    places = evenly(shape, limit)
    assert places[0] == 0
    assert len(places) <= max(limit, 1)
    assert len(np.unique(np.diff(places))) <= 1
    if limit == 1000:
        assert len(places) == shape[0] * shape[1]
    if 1 < np.diff(places)[0] < shape[1] and len(places) > 2 * shape[1]:
        assert len(np.unique(places % shape[1])) == shape[1]


def test_blocks_cover_all_rows_once():
    assert [rows_per_block(width) for width in (1, 512, 1024, 4096, 10**6, 0)] == [
        128, 128, 64, 16, 8, 128,
    ]  # fmt: skip
    for cut in (list(block_slices(300, 700)), list(sparse_block_slices(1500)),
                list(sparse_block_slices(7, 3))):  # fmt: skip
        assert cut[0].start == 0
        assert all(a.stop == b.start for a, b in pairwise(cut))
    assert list(block_slices(300, 700))[-1].stop == 300
    assert [s.stop for s in sparse_block_slices(1500)] == [512, 1024, 1500]
    assert [s.stop for s in sparse_block_slices(7, 3)] == [3, 6, 7]


def test_blocks_are_loaded_without_a_copy_where_nothing_changes():
    X = np.random.default_rng(11).random((6, 4))
    block, weight = load_block(X, slice(1, 4), DOUBLE)
    assert np.shares_memory(block, X)
    assert weight is None
    halved, _ = load_block(X, slice(1, 4), np.dtype(np.float32), unit=2.0)
    np.testing.assert_allclose(halved, X[1:4] / 2, rtol=1e-6)
    assert halved.dtype == np.float32
    gaps = X.copy()
    gaps[2, 1] = np.nan
    given = np.random.default_rng(12).random((6, 4))
    block, weight = load_block(gaps, slice(1, 4), DOUBLE, given)
    assert (block[1, 1], weight[1, 1]) == (0, 0)
    np.testing.assert_array_equal(np.delete(weight.ravel(), 5), np.delete(given[1:4].ravel(), 5))
    assert np.isnan(gaps[2, 1])
    assert given[2, 1] > 0
    stored = stored_rows(sparse.csr_array(np.where(X > 0.5, X, 0)))
    block, weight = load_block(stored, slice(0, 6), DOUBLE, given)
    np.testing.assert_array_equal(weight, given * (X > 0.5))
    np.testing.assert_array_equal(load_block(stored, slice(0, 6), DOUBLE)[1], X > 0.5)
    np.testing.assert_array_equal(with_gaps(stored, DOUBLE), np.where(X > 0.5, X, np.nan))


def test_sparse_blocks_are_clean():
    X = sparse.csr_array(
        (np.array([1.0, 2, 0, 4]), np.array([1, 1, 0, 2]), np.array([0, 2, 3, 4])), shape=(3, 3)
    )
    part = load_sparse_block(X, slice(0, 3), DOUBLE, 2.0)
    np.testing.assert_array_equal(part.toarray(), [[0, 1.5, 0], [0, 0, 0], [0, 0, 2]])
    assert part.nnz == 2
    assert X.nnz == 4  # the user's own stays
    assert part.indices.dtype == part.indptr.dtype == np.int32
    last = load_sparse_block(X, slice(2, 3), np.dtype(np.float32))
    assert (last.shape, last.dtype) == ((1, 3), np.float32)
    np.testing.assert_array_equal(last.toarray(), [[0, 0, 4]])


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
def test_traces_are_nothing_beside_samples(kind):
    least = range_of_powers(DOUBLE)[0]
    X = np.array([[1.0, least / 2], [least / 2, 0], [-least / 2, 0], [least, 0], [-1.0, 0]])
    wanted = X.copy()
    wanted[1] = wanted[2] = 0
    if kind == "stored":
        found = load_stored_block(stored_rows(sparse.csr_array(X)), slice(0, 5), DOUBLE, None, 1.0)
        np.testing.assert_array_equal(found.dense()[0], wanted)
        assert found.values.nnz == 6  # zeros stay stored
        return
    given = X if kind == "dense" else sparse.csr_array(X)
    found = without_traces(given)
    found = found if kind == "dense" else found.toarray()
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(given if kind == "dense" else given.toarray(), X)
    whole = np.ones((2, 2))
    assert without_traces(whole) is whole


def test_few_nonzeros_are_kept_sparse():
    A = np.zeros((10, 10))
    A[0, :9] = 1
    assert sparse.issparse(thinned(A))
    A[0, 9] = 1
    assert thinned(A) is A


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
    for _ in range(50):  # others that are as good are no nearer
        U, _, Vt = np.linalg.svd(B)
        turn = np.eye(5)
        turn[1:, 1:] = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        other = U @ turn @ Vt
        assert np.linalg.norm(R - near) <= np.linalg.norm(other - near) + 1e-9
    np.testing.assert_allclose(newton_schulz(Q + 0.02 * A), polar(Q + 0.02 * A), atol=1e-12)
    assert newton_schulz(5 * Q) is None


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_steps_towards_the_polar_factor_end_there(size):
    rng = np.random.default_rng(14)
    A = rng.standard_normal((6, 6)) + 6 * np.eye(6)
    goal = polar(A)
    Q = polar(goal + size * rng.standard_normal((6, 6)))
    for _ in range(40):
        Q = approach(A, Q)
    np.testing.assert_allclose(Q, goal, atol=1e-9)
    np.testing.assert_allclose(approach(A, goal), goal, atol=1e-12)
    assert np.isfinite(approach(0 * A, Q)).all()


def test_frozen_atoms_keep_their_share_of_the_quick_start():
    """With ``B = A D*`` and the frozen atoms at D*, the free ones end there as well."""
    rng = np.random.default_rng(15)
    C = rng.random((30, K))
    A, goal = C.T @ C, rng.random((K, F)) / 4
    half = SimpleNamespace(regulariser=Constrained(), amount=1.0)
    state = SimpleNamespace(D=goal.copy(), _free=np.array([0, 2]), dictionary=half)
    state.D[[0, 2]] += 0.1
    for _ in range(300):
        FactorADMM._move_dictionary(state, A, A @ goal, 1.0)
    np.testing.assert_allclose(state.D, goal, atol=1e-6)
    state.dictionary.regulariser = Constrained(region=Box(0, 0.1))
    FactorADMM._move_dictionary(state, A, A @ goal, 1.0)
    assert state.D[[0, 2]].max() <= 0.1
    np.testing.assert_array_equal(state.D[1], goal[1])
