"""Compiled loops against their NumPy twins: every dtype, odd sizes, read-only input."""

import importlib
import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from thresher.encoding import (
    ActiveRows,
    BlockADMM,
    CodingProblem,
)
from thresher.kernels import (
    lad_start,
    machine_code,
    sparse_power,
)
from thresher.kernels.block_admm import Splitting, begin, split_residual
from thresher.kernels.bundles import EntryPenalty, Samples
from thresher.kernels.cholesky import drop, factorise, solve
from thresher.kernels.column_range import column_range
from thresher.kernels.products import (
    add,
    add_gram,
    add_rows,
    combine,
    copy,
    dot,
    floor_rows,
    products_at,
)
from thresher.kernels.quadratic import (
    AtomSet,
    BlockSums,
    FeatureCurvature,
    block_sums,
    scaled_steps,
    sweeps,
)
from thresher.kernels.ratio import add_batch, measure_atoms, write_atoms
from thresher.kernels.region import Region, project
from thresher.kernels.weighted_median import weighted_select
from thresher.losses import Envelope, Huber
from thresher.losses.base import Loss
from thresher.penalties import ElasticNet, Form, Regulariser
from thresher.sets import (
    Box,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Simplex,
)

PRECISION = {np.float32: 2e-5, np.float64: 1e-12}
LOSSES = [
    Huber(0.2),
    Huber(0.2, bound=0.4),
    Huber(0.2, bound=0.4, nonnegative=True),
    Envelope(ElasticNet(0.2, 0.7)),
]
every_dtype = pytest.mark.parametrize("dtype", PRECISION)


@cache
def _block(dtype, n=7, K=5, F=13):
    rng = np.random.default_rng(0)
    D = NonnegativeL2Ball().project(rng.random((K, F))).astype(dtype)
    X = rng.random((n, F)).astype(dtype)
    X.flags.writeable = D.flags.writeable = False
    return D, X


class _AnyLoss(Loss):
    """The same loss without its type, so that the block encoder takes its NumPy way."""

    def __init__(self, inside):
        self.inside = inside

    curvature = 1.0

    def value(self, X, Y, weight=None):
        return self.inside.value(X, Y, weight)

    def gradient(self, X, Y, weight=None):
        return self.inside.gradient(X, Y, weight)

    def prox(self, V, X, step, weight=None):
        return self.inside.prox(V, X, step, weight)

    def outliers(self, X, Y, weight=None):
        return self.inside.outliers(X, Y, weight)


@every_dtype
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [ElasticNet(), ElasticNet(0.05, 0.1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_iterations_of_block_admm(dtype, loss, penalty, weighted):
    D, X = _block(dtype)
    weight = np.random.default_rng(1).uniform(0, 2, X.shape).astype(dtype) if weighted else None
    if weighted:
        weight[0, :4] = 0
    solver = BlockADMM()
    states = []
    for part in (loss, _AnyLoss(loss)):
        problem = CodingProblem(D, part, Regulariser(penalty))
        block = ActiveRows(problem, X, weight, solver.precompute(problem))
        state = solver.start(block, None)
        for times in (1, 2):  # compiled rounds go on where they were
            solver.steps(block, state, times)
        states.append((state, solver.codes(block, state)))
    (fast, fast_codes), (slow, slow_codes) = states
    for name in ("H", "rho"):
        np.testing.assert_allclose(fast[name], slow[name], atol=20 * PRECISION[dtype])
    np.testing.assert_allclose(fast_codes, slow_codes, atol=20 * PRECISION[dtype])
    assert fast_codes.dtype == dtype


@every_dtype
@pytest.mark.parametrize("name", ["begin", "split_residual"])
def test_sums_do_not_depend_on_where_the_empty_weights_lie(name, dtype):
    """A loop that reads them behind a condition adds up in another order if V lies after them."""
    rng = np.random.default_rng(0)
    X, Y = (rng.random((8, 403)).astype(dtype) for _ in range(2))
    number = X.dtype.type

    def sums(weight, V):
        X.flags.writeable = weight.flags.writeable = False
        if name == "begin":
            splitting = Splitting(V, Y.copy(), np.empty((8, 1), dtype))
            outliers = EntryPenalty.of(X.dtype, (0.1, 0.0, -np.inf, np.inf))
            begin(Samples(X, weight), number(0.5), outliers, splitting)
            return splitting.rho
        V[:], losses = 0, np.empty(8)
        split_residual(X, Y.copy(), weight, number(0.1), number(0.5), number(1), V, losses)
        return losses

    room = np.empty(2 * X.size, dtype)
    before, V = room[:0].reshape(0, 0), room[8 : 8 + X.size].reshape(X.shape)
    far = sums(np.empty((0, 0), dtype), np.empty_like(X))
    np.testing.assert_array_equal(sums(before, V), far)


class _BySet(Regulariser):
    """A regulariser whose set is not fully declared, so that no compiled kernel takes it."""

    def __post_init__(self):
        super().__post_init__()
        bounds, constraint = self.region.bounds, self.region.row_constraint
        region = SimpleNamespace(
            bounds=bounds,
            row_constraint=constraint,
            contains_zero=self.region.contains_zero,
            fully_declared=False,
            couples_rows=False,
        )
        object.__setattr__(self, "form", Form(self.penalty, region))


REGIONS = (
    Simplex(2),
    NonnegativeL1Ball(0.5),
    NonnegativeL2Ball(0.4),
    NonnegativeElasticNetBall(0.7, 3),
    Box(0.1, 0.3),
)


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_steps_in_a_region(region):
    D, X = _block(np.float64)
    V = np.random.default_rng(2).normal(0.2, 1, (40, 6))
    V[0], V[1, 1:], V[2] = 0, -1, 0.05
    for v, expected in zip(V, region.project(V), strict=True):
        project(v, Region.of(v.dtype, Regulariser(region=region).form))
        np.testing.assert_allclose(v, expected, atol=1e-12)
    large = (1e5 * V).astype(np.float32)  # single precision knows no μ that puts these right
    for v, expected in zip(large, region.project(large), strict=True):
        project(v, Region.of(v.dtype, Regulariser(region=region).form))
        np.testing.assert_allclose(v, expected, atol=1e-6)
        assert region.contains(v[None], 1e-6)
    penalty = ElasticNet(0.05, 0.1)
    codes, shift = [], 0.5 * np.ones(5)
    for regulariser in (Regulariser(penalty, region), _BySet(penalty, region)):
        problem, state = CodingProblem(D, Huber(0.2), regulariser), {}
        state["H"], state["rho"] = np.zeros((7, 5)), np.full((7, 1), 0.3)
        solver = BlockADMM()
        shared = solver.precompute(problem)
        shared = shared._replace(inverse=np.linalg.inv(D @ D.T + np.diag(shift)), shift=shift)
        block = ActiveRows(problem, X, None, shared)
        codes.append(solver._inner(block, X @ D.T, state, 5))
    np.testing.assert_allclose(*codes, atol=1e-12)


@pytest.mark.parametrize("K", [1, 4, 6, 11, 37])
@pytest.mark.parametrize("radius", [1.0, np.inf])
@pytest.mark.parametrize("F", [9, 20_000])  # atoms that are pulled in groups, and one by one
def test_sweep(K, radius, F):
    rng = np.random.default_rng(K)
    C, X = rng.random((30, K)), rng.random((30, F))
    A, B, D = C.T @ C, C.T @ X, rng.random((K, F))
    A[0], A[:, 0] = 0, 0  # an atom that nobody uses
    A[K // 2], A[:, K // 2] = 0, 0
    l1, l2 = 0.3, 0.2
    expected, moved = D.copy(), 0.0
    for k in range(K):
        if A[k, k] > 0:
            atom = np.maximum(expected[k] * A[k, k] + B[k] - A[k] @ expected - l1, 0)
            atom /= A[k, k] + l2
            atom /= max(1, np.linalg.norm(atom) / radius)
            moved += np.sum((atom - expected[k]) ** 2)
            expected[k] = atom
    atoms = AtomSet.of(D.dtype, l1, l2, radius)
    assert sweeps(A, B, D, atoms, 0.0, 1) == pytest.approx(np.sqrt(moved))
    np.testing.assert_allclose(D, expected, atol=1e-12)


@every_dtype
@pytest.mark.parametrize("kind", ["normal", "ties", "one"])
def test_weighted_select(kind, dtype):
    """Against sorting; at half of the weights it is the weighted median."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        n = int(rng.integers(1, 200))
        values = {
            "normal": rng.standard_normal(n),
            "ties": rng.integers(0, 5, n) * 1.0,
            "one": np.full(n, 1.5),
        }[kind].astype(dtype)
        weights = rng.integers(0, 4, n).astype(dtype)
        weights[rng.integers(n)] += 1
        total = float(weights.sum())
        target = 0.5 + rng.integers(0, int(total))
        order = np.argsort(values, kind="stable")
        expected = values[order][np.searchsorted(np.cumsum(weights[order]), target)]
        room = values.copy(), weights.copy(), np.arange(n)
        value, mark = weighted_select(*room, n, target, total)
        assert value == expected == values[mark]
        assert weights[mark] > 0
        room = values.copy(), weights.copy(), np.arange(n)
        median, _ = weighted_select(*room, n, total / 2, total)
        costs = np.abs(values[:, None] - values) @ weights
        assert np.abs(values - median) @ weights <= costs.min() * (1 + 1e-5)


@every_dtype
@pytest.mark.parametrize("F", [1, 13, 256, 700])
def test_the_kl_step_is_three_passes_over_the_sums(dtype, F):
    rng = np.random.default_rng(0)
    K = 5
    D = (rng.random((K, F)) * (rng.random((K, F)) < 0.8)).astype(dtype)
    past, negative, least = rng.random((K, F)), rng.random((F, K)), np.full(K, 0.1)
    for values in (D, past, negative, least):
        values.flags.writeable = False
    N, columns, added = np.empty((K, F)), np.zeros(F), np.zeros(F)
    rows = add_batch(past, negative, D, least, N, columns, added)
    step = negative.T * np.maximum(D.astype(np.float64), 0.1)
    close = {"rtol": 1e-12}
    np.testing.assert_allclose(N, past + step, **close)
    np.testing.assert_allclose(rows, N.sum(axis=1), **close)
    np.testing.assert_allclose(columns, N.sum(axis=0), **close)
    np.testing.assert_allclose(added, step.sum(axis=0), **close)

    column, extra, share, inverse = rng.random(F), rng.random(F), rng.random(K), rng.random(K)
    atoms = (N * column + share[:, None] * extra) * inverse[:, None]
    linear, quadratic = measure_atoms(N, column, extra, share, inverse)
    np.testing.assert_allclose(linear, atoms.sum(axis=1), **close)
    np.testing.assert_allclose(quadratic, (atoms**2).sum(axis=1), **close)
    out = np.empty_like(D)
    least = np.linspace(0, 0.5, K)
    write_atoms(N, column, extra, share, inverse, least, out)
    np.testing.assert_allclose(out, np.maximum(atoms, least[:, None]), rtol=PRECISION[dtype])


@every_dtype
def test_sums_over_sparse_rows(dtype):
    rng = np.random.default_rng(0)
    dense = rng.random((9, 21)) * (rng.random((9, 21)) < 0.3)
    dense[3] = 0
    X, C = sparse.csr_array(dense.astype(dtype)), rng.random((9, 4)).astype(dtype)
    sums = np.ones((21, 4))
    add_rows(X.indptr, X.indices, X.data, C, sums)
    np.testing.assert_allclose(sums, 1 + X.toarray().T @ C.astype(np.float64), rtol=1e-6)
    y, floored = rng.standard_normal(X.nnz).astype(dtype), np.empty(X.nnz, dtype)
    floor_rows(X.indptr, X.data, y, dtype(0.5), floored)
    largest = np.repeat(X.toarray().max(axis=1), np.diff(X.indptr))
    np.testing.assert_allclose(floored, np.maximum(y, 0) + largest / 2, rtol=1e-6)


def test_smoothed_residuals_have_the_huber_gradient():
    rng = np.random.default_rng(0)
    e, w, radius = rng.laplace(size=50), rng.random(50), 0.7
    pull, near, curvature = np.empty(50), np.full(50, -1), np.full(50, np.nan)
    n = lad_start._pull(e, w, radius, pull, near, curvature)
    np.testing.assert_allclose(pull, w * np.clip(e / radius, -1, 1))
    np.testing.assert_array_equal(near[:n], np.flatnonzero(np.abs(e) < radius))
    np.testing.assert_allclose(curvature[:n], w[near[:n]] / radius)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.0])
def test_overrelaxed_steps_keep_the_mass(alpha):
    """From z ρ^(1/α) on they go half as far again, and give the sum back."""
    rng = np.random.default_rng(0)
    z, rho, ridge = rng.random(9), rng.uniform(0.5, 2.0, 9), np.zeros(9)
    plain, further = z.copy(), z.copy()
    sparse_power.expectation(plain, rho, alpha, ridge, 0.0, z.sum(), False)
    np.testing.assert_allclose(plain, z * rho ** (1 / alpha))
    sparse_power.expectation(further, rho, alpha, ridge, 0.0, z.sum(), True)
    far = z * (plain / z) ** 1.5
    np.testing.assert_allclose(further, far * plain.sum() / far.sum())


BUNDLE = """
from typing import Any, NamedTuple

class {name}(NamedTuple):
    {first}: Any
    {second}: Any

pair = {name}(whole=1.0, part=10.0)
"""


KERNEL = """
from thresher.kernels.compiling import kernel

@kernel
def rest(pair):
    return pair.whole - 2 * pair.part
"""


def test_kernels_on_disk_follow_the_fields_of_their_bundles(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(machine_code, "folder", lambda: tmp_path / "machine_code")
    (tmp_path / "kernel_on_disk.py").write_text(KERNEL)
    found = []
    versions = [("Pair", "whole", "part"), ("Pair", "whole", "part"), ("Pair", "part", "whole")]
    for name, first, second in [*versions, ("Two", "part", "whole")]:  # the kernel stays as it is
        text = BUNDLE.format(name=name, first=first, second=second)
        (tmp_path / "bundle_on_disk.py").write_text(text)
        importlib.invalidate_caches()
        made, compiled = map(importlib.import_module, ("bundle_on_disk", "kernel_on_disk"))
        assert compiled.rest(made.pair) == 1 - 20
        found.append(sum(compiled.rest.stats.cache_hits.values()))
        del sys.modules["bundle_on_disk"], sys.modules["kernel_on_disk"]
    assert found == [0, 1, 0, 0]


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
def test_ranges_of_columns_skip_missing_values(dtype):
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


@pytest.mark.parametrize("bounded", [True, False])
def test_the_surrogate_of_a_batch_has_the_curvature_of_each_feature(bounded):
    rng = np.random.default_rng(1)
    AD, step = rng.random((2, 3, 5))
    curvature = np.array([0.0, 0.004, 0.3, 2.0, 0.9])
    inlier = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    found = np.empty_like(AD)
    features = FeatureCurvature(curvature, inlier, 1.5, bounded, 0.02)
    scaled_steps(AD, step, features, found)
    shares = np.maximum(curvature, 0.02 * inlier) / 1.5
    shares = np.where(shares > 0, shares, 1)
    shares = np.minimum(shares, 1) if bounded else shares
    np.testing.assert_allclose(found, AD + step / shares)


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
    wanted = energy[1:] @ share + energy[0]  # a residual of nothing has the curvature of an inlier
    np.testing.assert_allclose(sums.curvature, wanted, rtol=1e-4)


def test_sweeps_over_the_l1_ball_project_each_atom():
    rng = np.random.default_rng(0)
    C = rng.random((50, 6)) * (rng.random((50, 6)) < 0.5)
    A, B = C.T @ C, 3 * rng.standard_normal((6, 40))
    A[2], A[:, 2], B[2] = 0, 0, 0
    D = NonnegativeL1Ball().project(rng.random((6, 40)))
    expected = D.copy()
    for k in (0, 1, 3, 4, 5):
        target = expected[k] + (B[k] - A[k] @ expected - 0.1) / (A[k, k] + 0.2)
        target -= 0.2 * expected[k] / (A[k, k] + 0.2)
        expected[k] = NonnegativeL1Ball().project(target[None])[0]
    moved = sweeps(A, B, D, AtomSet(0.1, 0.2, 1.0, True), 0.0, 1)
    np.testing.assert_allclose(D, expected, atol=1e-12)
    assert moved > 0
