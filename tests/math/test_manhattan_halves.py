"""Halves of Manhattan NMF: sweeps, exact rows, smoothing and ADMM against other solvers."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import statements
from thresher.engine import Pool
from thresher.manhattan import (
    ExactRows,
    Graph,
    Half,
    NesterovSmoothing,
    RankOneSweeps,
)
from thresher.manhattan.factor_admm import FactorADMM
from thresher.penalties import ElasticNet, GroupNorm, Regulariser
from thresher.sets import Box, GroupBall, Simplex


def ring(n):
    S = sparse.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    return S


ORTHANT = Regulariser()


def half_of(X, regulariser=ORTHANT, **parts):
    return Half(X, regulariser, X.dtype, **parts)


def data(rng, n=12, F=30, K=4, dtype=np.float64):
    A = np.abs(rng.standard_normal((K, F))) * (rng.random((K, F)) < 0.8)
    V = rng.random((n, K))
    X = np.maximum(V @ A + 0.3 * rng.laplace(size=(n, F)), 0)
    return X.astype(dtype), A.astype(dtype), rng.random((n, K)).astype(dtype)


def along(half, X, A, V, weight, i, k):
    """The objective of a half, as a function of one entry."""

    def value(v):
        moved = V.copy()
        moved[i, k] = v
        e = X[i] - moved[i] @ A
        w = np.ones_like(e) if weight is None else weight[i]
        total = np.sum(w * (np.abs(e) + half.square / 2 * e * e))
        penalty = half.regulariser.value(moved)[i]
        return total + penalty + (0 if half.graph is None else half.graph.value(moved))

    return value


CASES = {
    "plain": {},
    "box": {"regulariser": Regulariser(region=Box(0.0, 0.4))},
    "l1": {"regulariser": Regulariser(ElasticNet(3.0, 0.0))},
    "elastic net penalty": {"regulariser": Regulariser(ElasticNet(1.0, 5.0))},
    "elastic net loss": {"square": 2.0},
    "graph": {"graph": Graph(ring(12), 3.0)},
    "all": {
        "regulariser": Regulariser(ElasticNet(0.5, 1.0), Box(0.0, 0.8)),
        "square": 0.5,
        "graph": Graph(ring(12), 1.0),
    },
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_last_entry_of_a_sweep_is_at_its_minimum(case, weighted):
    """Theorem 3 and (6): no point near or far is better, for each of the entries swept last."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        X, A, V = data(rng)
        weight = rng.random(X.shape) * (rng.random(X.shape) < 0.8) if weighted else None
        half = half_of(X, entry_weight=weight, **CASES[case])
        region = half.regulariser.region
        V = region.project(V)
        moved, losses = RankOneSweeps().improve(half, A, V, Pool(1))
        e = np.abs(X - moved @ A) + half.square / 2 * (X - moved @ A) ** 2
        np.testing.assert_allclose(losses, (e if weight is None else e * weight).sum(axis=1))
        assert region.contains(moved, 0)
        # The last atom of every row saw all others as they are (the last row, if a graph couples).
        for i in range(len(X)) if half.graph is None else (len(X) - 1,):
            value = along(half, X, A, moved, weight, i, len(A) - 1)
            best = value(moved[i, -1])
            tried = np.concatenate(
                [np.linspace(0, 3, 301), moved[i, -1] + np.array([1e-3, 1e-5, -1e-5, -1e-3])]
            )
            for v in region.project(tried[None])[0]:
                assert best <= value(v) + 1e-12


def test_theorem_3_at_nonsmooth_points_and_elsewhere():
    """Errata C.5: |x − 1| + b(x − d)² has its minimum at the breakpoint for d near 1."""
    X, A = np.array([[1.0]]), np.array([[1.0]])
    for d, expected in ((1.2, 1.0), (0.9, 1.0), (3.0, 2.5), (0.2, 0.7)):
        V = np.array([[0.3], [d]])  # a neighbour with the code d pulls with b = 1
        graph = Graph(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), 2.0)
        half = half_of(np.vstack([X, X]), graph=graph)
        moved, _ = RankOneSweeps().improve(half, A, V, Pool(1))
        assert moved[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sweeps_never_raise_the_objective(case, dtype):
    """Errata C.9, at every sweep of either half."""
    rng = np.random.default_rng(0)
    X, A, V = data(rng, dtype=dtype)
    half = half_of(X, **CASES[case])
    V = half.regulariser.region.project(V)
    last = np.inf
    for _ in range(20):
        V, losses = RankOneSweeps().improve(half, A, V, Pool(1))
        now = half.total(losses) + half.penalty(V)
        assert now <= last * (1 + (1e-12 if dtype == np.float64 else 1e-6))
        last = now


def least_absolute_optimum(x, A):
    result = linprog(-x, A_ub=A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    return -result.fun


def test_sweeps_can_stall_above_the_optimum_and_exact_rows_do_not():
    """Errata C.9: no single entry helps, yet the linear program is lower."""
    rng = np.random.default_rng(1)
    above = []
    for _ in range(20):
        X, A, V = data(rng, n=3)
        half = half_of(X)
        for _ in range(50):
            V, losses = RankOneSweeps().improve(half, A, V, Pool(1))
        best = np.array([least_absolute_optimum(x, A) for x in X])
        assert (losses >= best * (1 - 1e-9)).all()
        _, exact = ExactRows().improve(half, A, V, Pool(1))
        np.testing.assert_allclose(exact, best, rtol=1e-7)
        above += list(losses / best - 1)
    assert np.mean(above) > 1e-3


def test_sparse_rows_are_solved_on_their_nonzeros():
    """The same optimum as that of expanded rows, with zeros of any weight, for both halves."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (40, 30)).astype(float)
    A, V = rng.random((4, 30)), rng.random((40, 4))
    for zero_weight in (1.0, 0.2):
        found = [
            ExactRows().improve(half_of(given, zero_weight=zero_weight), A, V, Pool(1))[1]
            for given in (X, sparse.csr_array(X))
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


GROUPS = tuple(np.arange(12) % 3)


COUPLED = {
    "plain": {},
    "box": {"regulariser": Regulariser(region=Box(0, 0.4))},
    "simplex": {"regulariser": Regulariser(region=Simplex())},
    "elastic net penalty": {"regulariser": Regulariser(ElasticNet(1.0, 5.0))},
    "elastic net loss": {"square": 2.0},
    "graph": {"graph": Graph(ring(12), 3.0)},
    **{
        f"group {kind}, p={p}": {"regulariser": part}
        for p in (2, np.inf)
        for kind, part in (
            ("ball", Regulariser(region=GroupBall(1.5, GROUPS, p, of_rows=True))),
            ("norm", Regulariser(GroupNorm(4.0, GROUPS, p, of_rows=True))),
        )
    },
}


@pytest.mark.parametrize("case", COUPLED, ids=str)
def test_smoothing_solves_every_half(case):
    """Against CVXPY: constraint and penalty forms, (33), (40), (41), (58)."""
    parts = COUPLED[case]
    X, A, V = data(np.random.default_rng(0))
    half = half_of(X, **parts)
    W = cp.Variable(V.shape)
    E = X - W @ A
    cost = cp.sum(cp.abs(E)) + parts.get("square", 0) / 2 * cp.sum_squares(E)
    cost += cp.sum(statements.prices(half.regulariser.penalty, W))
    if case == "graph":
        cost += 1.5 * (cp.sum_squares(W[1:] - W[:-1]) + cp.sum_squares(W[0] - W[-1]))
    within = statements.constraints(half.regulariser.region, W)
    best = statements.solve(cost, [W >= 0, *within])
    V = half.prox(V, 0.0)
    solver, last = NesterovSmoothing(), np.inf
    for _ in range(60):
        V, losses = solver.improve(half, A, V, Pool(1))
        now = half.total(losses) + half.penalty(V)
        assert now <= last * (1 + 1e-12)
        last = now
    assert best * (1 - 1e-6) <= now <= best * 1.01
    assert half.regulariser.region.contains(V)


def factor_admm(X, D, C, free=None, **parts):
    codes = half_of(X, **parts)
    dictionary = replace(
        codes, samples=np.ascontiguousarray(X.T), transposed=True, free=free,
        entry_weight=None, regulariser=ORTHANT,
    )  # fmt: skip
    return FactorADMM(codes, dictionary, D, C, Pool(1))


@pytest.mark.parametrize("case", ["plain", "l1", "missing", "square"])
def test_admm_with_a_frozen_dictionary_finds_the_optimal_codes(case):
    """Its dual is that of the linear program; gaps, penalties and squares have their place."""
    X, A, V = data(np.random.default_rng(0), n=6)
    parts = {"plain": {}, "l1": CASES["l1"], "square": CASES["elastic net loss"]}.get(case, {})
    weight = np.ones(X.shape)
    if case == "missing":
        weight = (np.random.default_rng(1).random(X.shape) < 0.7) * 1.0
        parts = {"entry_weight": weight}
    method = factor_admm(X, A, V, free=np.zeros(len(A), dtype=bool), **parts)
    C, D, loss = method.run(2000)
    np.testing.assert_array_equal(D, A)
    W = cp.Variable(V.shape)
    E = cp.multiply(weight, X - W @ A)
    l1 = parts["regulariser"].penalty.l1 if case == "l1" else 0.0
    square = parts.get("square", 0.0) / 2 * cp.sum_squares(E)
    best = statements.solve(cp.sum(cp.abs(E)) + square + l1 * cp.sum(W), [W >= 0])
    assert best * (1 - 1e-6) <= loss + l1 * C.sum() <= best * 1.002


def test_graphs_reduce_differences_of_neighbours():
    """The codes of the fit of linked samples come closer the more the graph weighs."""
    rng = np.random.default_rng(0)
    X, A, V = data(rng)
    graphs = [Graph(ring(12), weight) for weight in (0.0, 10.0, 1000.0)]
    differences = []
    for graph in graphs:
        solver, C = NesterovSmoothing(), V
        for _ in range(20):
            C, _ = solver.improve(half_of(X, graph=graph), A, C, Pool(1))
        differences.append(Graph(ring(12), 1.0).value(C))
    assert differences[0] > 2 * differences[1] > 4 * differences[2]
