"""Factorisation under the Manhattan distance: medians, descent, halves against other solvers."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from parts import solve
from thresher import ManhattanNMF, load, save
from thresher.encoding import AutoEncoder
from thresher.engine import BatchProblem, OnlineMethod, Pool
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.losses import L1Distance
from thresher.manhattan import (
    ExactRows,
    Graph,
    Half,
    NesterovSmoothing,
    RankOneSweeps,
    SmoothedLoss,
    TwoFactors,
    box_gap,
    nearest_neighbours,
    similarities,
)
from thresher.manhattan.factor_admm import FactorADMM, _is_known
from thresher.manhattan.nesterov import _Block
from thresher.penalties import Constrained, ElasticNet, GroupNorm
from thresher.sets import Box, GroupBall, NonnegativeL2Ball, Simplex
from thresher.solvers import MANHATTAN_SOLVERS, named_solver
from thresher.streams import Batch
from thresher.testing.data import planted

ORTHANT = Constrained()


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


def ring(n):
    S = sparse.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    return S


CASES = {
    "plain": {},
    "box": {"regulariser": Constrained(region=Box(0.0, 0.4))},
    "l1": {"regulariser": Constrained(ElasticNet(3.0, 0.0))},
    "elastic net penalty": {"regulariser": Constrained(ElasticNet(1.0, 5.0))},
    "elastic net loss": {"square": 2.0},
    "graph": {"graph": Graph(ring(12), 3.0)},
    "all": {
        "regulariser": Constrained(ElasticNet(0.5, 1.0), Box(0.0, 0.8)),
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


def test_theorem_3_at_kinks_and_beyond():
    """Errata C.5: |x − 1| + b(x − d)² has its minimum at the kink for d near 1, else off it."""
    X, A = np.array([[1.0]]), np.array([[1.0]])
    for d, expected in ((1.2, 1.0), (0.9, 1.0), (3.0, 2.5), (0.2, 0.7)):
        V = np.array([[0.3], [d]])  # a neighbour with the code d pulls with b = 1
        graph = Graph(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), 2.0)
        half = half_of(np.vstack([X, X]), graph=graph)
        moved, _ = RankOneSweeps().improve(half, A, V, Pool(1))
        assert moved[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_code_that_moved_meets_an_entry_exactly(dtype, monkeypatch):
    """A kink is an entry with residual zero, not nearly zero: later steps count what lies there."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 5)).astype(dtype)
    A, residuals = rng.uniform(0.5, 1.5, (1, 5)).astype(dtype), []
    losses = Half.losses
    monkeypatch.setattr(Half, "losses", lambda *args: residuals.append(args[1]) or losses(*args))
    RankOneSweeps().improve(half_of(X), A, np.zeros((200, 1), dtype), Pool(1))
    met = np.abs(X[:, None] - (X / A)[:, :, None] * A).sum(axis=2).argmin(axis=1)
    assert set(met) == set(range(5))
    np.testing.assert_array_equal(np.concatenate(residuals)[np.arange(200), met], 0)


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


def test_the_two_halves_are_one_problem():
    """Sweeping the dictionary is sweeping codes of the transposed data."""
    X = planted(60)
    first = ManhattanNMF(3, solver="rri", random_state=0, verbose=0, max_iter=1).fit(X)
    D, C = first.components_, first.transform(X)
    half = half_of(np.ascontiguousarray(X.T))
    V, losses = RankOneSweeps().improve(half, np.ascontiguousarray(C.T), D.T, Pool(1))
    assert losses.sum() <= np.abs(X - C @ D).sum()
    assert np.abs(X - C @ V.T).sum() == pytest.approx(losses.sum())


def smoothed(rng, width=0.1, weighted=False, **parts):
    X, A, V = data(rng, **parts)
    weight = rng.random(X.shape) if weighted else None
    return SmoothedLoss(X, weight, A, width), V


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [1e-3, 0.1, 10.0])
def test_theorem_1_bounds_the_smoothed_loss(width, weighted):
    """``f_λ ≤ f ≤ f_λ + λ/2 Σ w q``, touched below where all residuals are small."""
    loss, V = smoothed(np.random.default_rng(0), width, weighted)
    for scale in (0.0, 0.1, 1.0, 10.0):
        E = loss.residual(scale * V)
        w = 1.0 if loss.weight is None else loss.weight
        true = (w * np.abs(E)).sum(axis=1)
        assert (loss.values(E) <= true * (1 + 1e-12)).all()
        assert (true <= loss.values(E) + width / 2 * loss.spread + 1e-9).all()


@pytest.mark.parametrize("square", [0.0, 1.5])
def test_gradient_of_the_smoothed_loss(square):
    """Against differences; and no two points are steeper than L allows."""
    rng = np.random.default_rng(0)
    loss, V = smoothed(rng, weighted=True)
    loss = replace(loss, square=square)

    def value(V):
        return loss.values(loss.residual(V))

    slope = loss.gradient(loss.residual(V))
    for k in range(V.shape[1]):
        step = np.zeros_like(V)
        step[:, k] = 1e-6
        np.testing.assert_allclose(
            (value(V + step) - value(V - step)) / 2e-6, slope[:, k], rtol=1e-4, atol=1e-5
        )
    for _ in range(50):
        other = V + rng.standard_normal(V.shape) * 10.0 ** rng.uniform(-4, 1)
        change = np.linalg.norm(loss.gradient(loss.residual(other)) - slope, axis=1)
        assert (change <= loss.lipschitz[:, 0] * np.linalg.norm(other - V, axis=1)).all()


@pytest.mark.parametrize("monotone", [False, True])
def test_warm_start_is_kept(monotone):
    """Errata C.3: from the optimum the loss does not rise; as printed it rises at once."""
    rng = np.random.default_rng(0)
    X, A, V = data(rng)
    half = half_of(X)
    best, losses = ExactRows().improve(half, A, V, Pool(1))
    loss = SmoothedLoss(X, None, A, 1e-3)
    piece = _Block(half, loss)
    for n_iter in (1, 3, 10, 30):
        method = NesterovSmoothing(monotone=monotone, max_iter=n_iter)
        moved = method._minimise(piece, best, 0.0)
        now = np.abs(loss.residual(moved)).sum(axis=1)
        assert (now <= losses + 1e-3 / 2 * loss.spread).all()  # what rounding off may hide
    centred_at_zero = np.maximum(0 * best - loss.gradient(loss.residual(best)) / loss.lipschitz, 0)
    assert np.abs(loss.residual(centred_at_zero)).sum() > 1.5 * losses.sum()


def test_gradients_are_summed_where_they_were_taken():
    """Errata C.2: the three sequences in plain NumPy, and what line 6 of Algorithm 2 prints."""
    rng = np.random.default_rng(0)
    X, A, start = data(rng)
    loss = SmoothedLoss(X, None, A, 0.05)
    L = loss.lipschitz

    def sequences(as_printed):
        V, gradients = start, []
        for k in range(6):
            gradients.append((loss.dual(V @ A - X)) @ A.T)
            Y = np.maximum(V - gradients[k] / L, 0)
            terms = [gradients[k if as_printed else i] * (i + 1) / 2 for i in range(k + 1)]
            Z = np.maximum(start - sum(terms) / L, 0)
            V = 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y
        return Y

    moved = NesterovSmoothing(max_iter=6)._minimise(_Block(half_of(X), loss), start, 0.0)
    np.testing.assert_allclose(moved, sequences(False), rtol=1e-10, atol=1e-12)
    assert np.abs(moved - sequences(True)).max() > 1e-3 * np.abs(moved).max()


@pytest.mark.parametrize("solver", ["auto", "rri", "ogm"])
def test_units_of_the_data_do_not_matter(solver):
    """Errata C.4: tolerances and smoothing are relative, so a power of two changes no atom."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)) @ rng.random((3, 15)) + 0.1 * rng.random((40, 15))
    one, large = (
        ManhattanNMF(3, solver=solver, max_iter=20, random_state=0, verbose=0).fit(scale * X)
        for scale in (1.0, 1024.0)
    )
    np.testing.assert_allclose(large.components_, one.components_, rtol=1e-9, atol=1e-12)
    loss = SmoothedLoss(X, None, one.components_, 0.1)
    assert (loss.lipschitz[:, 0] <= loss.spread / 0.1 * (1 + 1e-12)).all()  # the tighter one


def test_smoothing_reaches_the_linear_program():
    rng = np.random.default_rng(0)
    X, A, V = data(rng)
    half, solver = half_of(X), NesterovSmoothing()
    last = np.inf
    for _ in range(300):
        V, losses = solver.improve(half, A, V, Pool(1))
        assert losses.sum() <= last * (1 + 1e-12)  # Theorem 2
        last = losses.sum()
    best = [least_absolute_optimum(x, A) for x in X]
    np.testing.assert_allclose(losses, best, rtol=5e-3)


def test_box_gap_is_a_bound_that_closes():
    """(25) against CVXPY; a column of A that is zero costs nothing (errata C.1)."""
    rng = np.random.default_rng(0)
    X, A, V = data(rng, n=5)
    A[:, 3] = 0
    box = Constrained(region=Box(0.0, 0.3))
    half = half_of(X, box)
    V = box.region.project(V)
    best = []
    for x in X:
        c = cp.Variable(len(A))
        best.append(solve(cp.norm1(x - c @ A), [c >= 0, c <= 0.3]))
    loss = SmoothedLoss(X, None, A, 1e-3)
    piece = _Block(half, loss)
    moved = NesterovSmoothing(max_iter=4096)._minimise(piece, V, 1e-2)
    gap = box_gap(loss, moved, piece.mean_dual, 0.3)
    above = np.abs(loss.residual(moved)).sum(axis=1) - best
    assert (above <= gap + 1e-8).all()
    assert (gap < 0.02 * np.array(best)).all()
    for _ in range(20):  # any dual gives a bound
        mu = rng.uniform(-1, 1, X.shape)
        assert (box_gap(loss, moved, mu, 0.3) >= above - 1e-8).all()


def test_both_factors_move_together_where_atoms_are_in_balls_not_codes():
    X, ball = np.ones((4, 5)), Constrained(region=NonnegativeL2Ball())
    assert _is_known(half_of(X, ball, transposed=True))
    assert not _is_known(half_of(X, ball))


def test_the_published_step_is_that_of_the_paper():
    X, A, _ = data(np.random.default_rng(0), n=5)
    weight = np.random.default_rng(1).random(X.shape)
    loss = SmoothedLoss(X, weight, A, 0.1, square=0.5)
    norm = np.linalg.norm((A * weight.max(axis=0)) @ A.T, 2)
    expected = (weight @ np.linalg.norm(A, axis=0) / 0.1 + 0.5 * norm)[:, None]
    np.testing.assert_allclose(loss.published_lipschitz, expected)


def test_box_gap_counts_the_price_of_codes():
    """With the dual 0 the bound is 0, and the gap the whole objective."""
    X, A, V = data(np.random.default_rng(0), n=5)
    loss = SmoothedLoss(X, None, A, 1e-3)
    objective = np.abs(loss.residual(V)).sum(axis=1) + 0.2 * V.sum(axis=1)
    np.testing.assert_allclose(box_gap(loss, V, np.zeros_like(X), 0.3, l1=0.2), objective)


def test_columns_without_atoms_have_a_dual():
    """Errata C.1: their U is the sign of −x, so that the gap does not keep |x|."""
    X, A = np.array([[2.0, 1.0]]), np.array([[1.0, 0.0]])
    loss = SmoothedLoss(X, None, A, 0.1)
    U = loss.dual(loss.residual(np.array([[1.0]])))
    assert U[0, 1] == -1
    assert box_gap(loss, np.array([[1.0]]), U, 1.0)[0] == pytest.approx(0, abs=1e-12)


GROUPS = tuple(np.arange(12) % 3)
COUPLED = {
    "plain": ({}, lambda V: (0, [])),
    "box": ({"regulariser": Constrained(region=Box(0, 0.4))}, lambda V: (0, [V <= 0.4])),
    "simplex": (
        {"regulariser": Constrained(region=Simplex())},
        lambda V: (0, [cp.sum(V, axis=1) == 1]),
    ),
    "elastic net penalty": (
        {"regulariser": Constrained(ElasticNet(1.0, 5.0))},
        lambda V: (cp.sum(V) + 2.5 * cp.sum_squares(V), []),
    ),
    "elastic net loss": ({"square": 2.0}, lambda V: (0, [])),
    "graph": (
        {"graph": Graph(ring(12), 3.0)},
        lambda V: (1.5 * cp.sum_squares(V[1:] - V[:-1]) + 1.5 * cp.sum_squares(V[0] - V[-1]), []),
    ),
} | {
    f"{name}, p={p}": (
        {"regulariser": part},
        lambda V, p=p, penalty=penalty: _groups(V, 2 if p == 2 else "inf", penalty),
    )
    for p in (2, np.inf)
    for name, penalty, part in (
        ("group ball", False, Constrained(region=GroupBall(1.5, GROUPS, p, of_rows=True))),
        ("group norm", True, Constrained(GroupNorm(4.0, GROUPS, p, of_rows=True))),
    )
}


def _groups(V, norm, penalty):
    sums = [
        sum(cp.norm(V[np.flatnonzero(np.equal(GROUPS, g)), k], norm) for k in range(V.shape[1]))
        for g in range(3)
    ]
    return (4.0 * sum(sums), []) if penalty else (0, [s <= 1.5 for s in sums])


@pytest.mark.parametrize("case", COUPLED, ids=str)
def test_smoothing_solves_every_half(case):
    """Against CVXPY: constraint and penalty forms, (33), (40), (41), (58)."""
    parts, statement = COUPLED[case]
    X, A, V = data(np.random.default_rng(0))
    half = half_of(X, **parts)
    W = cp.Variable(V.shape)
    E = X - W @ A
    extra, constraints = statement(W)
    loss = cp.sum(cp.abs(E)) + parts.get("square", 0) / 2 * cp.sum_squares(E)
    best = solve(loss + extra, [W >= 0, *constraints])
    V = half.prox(V, 0.0)
    solver, last = NesterovSmoothing(), np.inf
    for _ in range(60):
        V, losses = solver.improve(half, A, V, Pool(1))
        now = half.total(losses) + half.penalty(V)
        assert now <= last * (1 + 1e-12)
        last = now
    assert best * (1 - 1e-6) <= now <= best * 1.01
    assert half.regulariser.region.contains(V)


def quick(X, D, C, free=None, **parts):
    codes = half_of(X, **parts)
    dictionary = replace(
        codes, samples=np.ascontiguousarray(X.T), transposed=True, free=free,
        entry_weight=None, regulariser=ORTHANT,
    )  # fmt: skip
    return FactorADMM(codes, dictionary, D, C, Pool(1))


@pytest.mark.parametrize("case", ["plain", "l1", "gaps", "square"])
def test_quick_start_on_a_frozen_dictionary_finds_the_optimal_codes(case):
    """Its dual is that of the linear program; gaps, penalties and squares have their place."""
    X, A, V = data(np.random.default_rng(0), n=6)
    parts = {"plain": {}, "l1": CASES["l1"], "square": CASES["elastic net loss"]}.get(case, {})
    weight = np.ones(X.shape)
    if case == "gaps":
        weight = (np.random.default_rng(1).random(X.shape) < 0.7) * 1.0
        parts = {"entry_weight": weight}
    method = quick(X, A, V, free=np.zeros(len(A), dtype=bool), **parts)
    C, D, loss = method.burst(2000)
    np.testing.assert_array_equal(D, A)
    W = cp.Variable(V.shape)
    E = cp.multiply(weight, X - W @ A)
    l1 = parts["regulariser"].penalty.l1 if case == "l1" else 0.0
    square = parts.get("square", 0.0) / 2 * cp.sum_squares(E)
    best = solve(cp.sum(cp.abs(E)) + square + l1 * cp.sum(W), [W >= 0])
    assert best * (1 - 1e-6) <= loss + l1 * C.sum() <= best * 1.002


def test_quick_start_is_lower_than_sweeps():
    """On random data, where medians stall."""
    X = np.random.default_rng(0).random((60, 40))
    fits = {s: model(s, init="random", max_iter=300).fit(X).history_[-1].loss for s in SOLVERS}
    assert fits["auto"] < fits["rri"]


SOLVERS = ["auto", "rri", "ogm"]


def model(solver="auto", **parameters):
    defaults = {"n_components": 4, "random_state": 0, "verbose": 0, "max_iter": 40}
    return ManhattanNMF(solver=solver, **{**defaults, **parameters})


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["dense", "gaps", "weights", "sparse", "zero weight"])
def test_objective_is_the_loss_and_never_rises(solver, kind):
    X, fit, parameters = planted(120), {}, {}
    rng = np.random.default_rng(0)
    if kind == "gaps":
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    if kind == "weights":
        fit = {"sample_weight": rng.integers(0, 4, 120), "entry_weight": rng.random(X.shape)}
    if kind in ("sparse", "zero weight"):
        X[X < 0.2] = 0
    if kind == "zero weight":
        parameters = {"zero_weight": 0.1}
    given = sparse.csr_array(X) if kind == "sparse" else X
    fitted = model(solver, **parameters).fit(given, **fit)
    losses = np.array([row.loss for row in fitted.history_])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert (fitted.components_ >= 0).all()
    if solver != "ogm":  # which sees the scale, and leaves it
        np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    # Exact codes are at least as good as those that the fit ended with.
    C = fitted.transform(given, entry_weight=fit.get("entry_weight"))
    w = fit.get("entry_weight", np.ones(X.shape)) * ~np.isnan(X)
    w = np.where(X == 0, parameters.get("zero_weight", 1.0) * w, w)
    rows = (w * np.abs(np.nan_to_num(X) - C @ fitted.components_)).sum(axis=1)
    loss = np.average(rows, weights=fit.get("sample_weight"))
    assert loss <= losses[-1] * (1 + 1e-6)
    assert loss >= 0.8 * losses[-1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_planted_parts_are_found_under_gross_outliers(solver):
    """A tenth of the entries is anything; ℓ1 does not see them, squares would."""
    rng = np.random.default_rng(0)
    D = np.kron(np.eye(4), np.ones(10)) + 0.01
    clean = rng.random((200, 4)) @ D
    X = clean.copy()
    hit = rng.random(X.shape) < 0.1
    X[hit] = 10 * rng.random(hit.sum())
    fitted = model(solver, max_iter=200, tol=1e-6).fit(X)
    error = np.median(np.abs(fitted.inverse_transform(fitted.transform(X)) - clean))
    assert error < 0.01 * np.median(clean)


@pytest.mark.parametrize("solver", SOLVERS)
def test_frozen_atoms_stay(solver):
    X = planted(80)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    fitted = model(solver, init=init, frozen_atoms=[1, 3]).fit(X)
    np.testing.assert_array_equal(fitted.components_[[1, 3]], init[[1, 3]])
    losses = [row.loss for row in fitted.history_]
    assert (np.diff(losses) <= 1e-9).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_objective_is_that_of_the_factors(solver):
    """After every half-step, and after the scale was shared out."""
    X = planted(40)
    loss = L1Distance()
    method = OnlineMethod(AutoEncoder(), lambda _: loss, QuadraticLearner(BlockDescent()))
    problem = BatchProblem(method, Batch(X), loss, X.dtype)
    rng = np.random.default_rng(0)
    D, C = rng.random((4, X.shape[1])), rng.random((40, 4))
    chosen = named_solver(solver, MANHATTAN_SOLVERS)
    work = TwoFactors(problem, D, C, chosen.choose, Pool(1), quick_start=1e-2 * chosen.quick_start)
    for _ in range(12):
        for step in (work.improve_codes, work.improve_dictionary):
            step()
            assert work.objective() == pytest.approx(np.abs(X - work.C @ work.D).sum() / 40)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sample_weights_are_repetitions(solver):
    X = planted(40)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    weighted = model(solver, init=init, max_iter=2).fit(X, sample_weight=counts)
    repeated = model(solver, init=init, max_iter=2).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-7)
    assert weighted.history_[-1].loss == pytest.approx(repeated.history_[-1].loss)


def test_sets_that_only_bound_lengths_cost_nothing():
    """With free codes the balls and the simplex have the same optimum, in other units.

    So has (40) when it bounds the dictionary alone, as in the paper's experiment (errata C.10).
    """
    X = planted(80)
    init = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    views = tuple(np.arange(X.shape[1]) % 3)
    sets = ("l2_ball", "l1_ball", "simplex", "nonnegative", GroupBall(4.0, views, np.inf))
    fits = {s: model("rri", init=init, dictionary_set=s, max_iter=3).fit(X) for s in sets}
    for fitted in fits.values():
        assert fitted.dictionary_set_.contains(fitted.components_)
        assert fitted.history_[-1].loss == pytest.approx(
            fits["l2_ball"].history_[-1].loss, rel=1e-6
        )


def test_groups_are_dropped_when_both_factors_are_bounded():
    """Two things seen in one view each: under tight budgets (40) an atom serves one of them."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 20))
    X[:30, :10] = rng.random((30, 1)) * rng.random(10)
    X[30:, 10:] = rng.random((30, 1)) * rng.random(10)
    views = tuple(np.repeat([0, 1], 10))
    atoms, codes = GroupBall(1.0, views, np.inf), GroupBall(1.0, None, np.inf, of_rows=True)
    fitted = model("auto", n_components=4, dictionary_set=atoms, code_set=codes).fit(X)
    assert atoms.contains(fitted.components_)
    used = np.column_stack([fitted.components_[:, :10].max(axis=1),
                            fitted.components_[:, 10:].max(axis=1)])  # fmt: skip
    assert used.sum(axis=0).max() <= 1 + 1e-6
    assert (used > 1e-3).sum() < used.size


EXTENSIONS = [
    {"code_set": Box(0.0, 0.5), "dictionary_set": "box"},
    {"graph": 5, "graph_weight": 0.1},
    {"graph": ring(100), "graph_weight": 0.1, "solver": "rri", "dictionary_set": "box"},
    {"graph": ring(100), "graph_weight": 0.1, "solver": "ogm"},
    {"square_weight": 2.0},
    {"dictionary_set": GroupBall(3.0, tuple(np.arange(24) % 3))},
    {
        "dictionary_set": "nonnegative",
        "dictionary_penalty": GroupNorm(0.001, tuple(np.arange(24) % 3), np.inf),
        "code_set": "box",
    },
    {"code_penalty": 0.01},
    {"code_set": GroupBall(2.0, tuple(np.arange(100) % 5), of_rows=True), "solver": "ogm"},
    {"code_penalty": GroupNorm(0.001, tuple(np.arange(100) % 5), np.inf, of_rows=True)},
    {"code_set": "box", "solver": "rri", "dictionary_set": "box"},
]


@pytest.mark.parametrize("parameters", EXTENSIONS, ids=str)
def test_extensions_learn_descend_and_stay_feasible(parameters, tmp_path):
    X = planted(100)
    fitted = model(**{"max_iter": 15, **parameters}).fit(X)
    losses = np.array([row.loss for row in fitted.history_])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]
    assert fitted.dictionary_set_.contains(fitted.components_)
    if "graph" in parameters:
        return
    fitted.set_params(max_iter=1000)
    assert np.isfinite(fitted.transform(X)).all()
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(X), fitted.transform(X))


@pytest.mark.parametrize("case", ["square", "simplex", "elastic net", "box"])
def test_codes_of_new_samples_against_cvxpy(case):
    parameters, statement = {
        "square": ({"square_weight": 2.0}, lambda c, e: (cp.sum_squares(e), [])),
        "simplex": ({"code_set": "simplex"}, lambda c, e: (0, [cp.sum(c) == 1])),
        "elastic net": (
            {"code_penalty": ElasticNet(0.01, 0.1)},
            lambda c, e: (0.01 * cp.sum(c) + 0.05 * cp.sum_squares(c), []),
        ),
        "box": ({"code_set": Box(0.0, 0.5)}, lambda c, e: (0, [c <= 0.5])),
    }[case]
    X = planted(60)
    fitted = model(max_iter=1000, **parameters).fit(X)
    D = fitted.components_
    C = fitted.transform(X[:8])
    got = fitted.objective_samples(X[:8])
    for x, value in zip(X, got, strict=False):
        c = cp.Variable(4, nonneg=True)
        extra, constraints = statement(c, x - c @ D)
        best = solve(cp.norm1(x - c @ D) + extra, constraints)
        assert best * (1 - 1e-6) - 1e-8 <= value <= best * (1 + 2e-3) + 1e-6
    assert fitted.problem().regulariser.region.contains(C)


def test_a_graph_draws_neighbours_together():
    """The codes of the fit of linked samples come closer the more the graph weighs."""
    rng = np.random.default_rng(0)
    X, A, V = data(rng)
    graphs = [Graph(ring(12), weight) for weight in (0.0, 10.0, 1000.0)]
    rough = []
    for graph in graphs:
        solver, C = NesterovSmoothing(), V
        for _ in range(20):
            C, _ = solver.improve(half_of(X, graph=graph), A, C, Pool(1))
        rough.append(Graph(ring(12), 1.0).value(C))
    assert rough[0] > 2 * rough[1] > 4 * rough[2]


def test_graph_of_nearest_neighbours():
    X = np.array([[0.0], [0.1], [0.3], [5.0], [5.2], [np.nan]])
    S = nearest_neighbours(X, 1).toarray()
    assert (S == S.T).all()
    assert S.diagonal().sum() == 0
    assert S[0, 1] == S[3, 4] == 1
    assert S[0, 3] == 0
    graph = Graph(similarities(S), 2.0)
    V = np.random.default_rng(0).random((6, 2))
    pairs = sum(S[i, j] * np.sum((V[i] - V[j]) ** 2) for i in range(6) for j in range(6))
    assert graph.value(V) == pytest.approx(2.0 / 4 * pairs)
    assert graph.curvature >= 2.0 * np.linalg.eigvalsh(graph.laplacian.toarray())[-1] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"solver": "magic"}, "'auto'"),
        ({"solver": "rri", "code_set": Simplex()}, "solver='ogm'"),
        ({"zero_weight": -1}, "0 or more"),
        ({"square_weight": -1.0}, "0 or more"),
        ({"graph": 500}, "from 1 to 29"),
        ({"graph": "near"}, "number of neighbours"),
        ({"graph": -ring(30)}, "not negative"),
        ({"graph": 3, "graph_weight": -1}, "0 or more"),
        (
            {
                "solver": "rri",
                "dictionary_set": "nonnegative",
                "code_set": "box",
                "dictionary_penalty": GroupNorm(1.0),
            },
            "solver='ogm'",
        ),
        ({"dictionary_set": "nonnegative", "dictionary_penalty": 1.0}, "code_set"),
        ({"dictionary_set": "nonnegative", "graph": 3}, "dictionary_set"),
        ({"dictionary_set": GroupBall(1.0), "frozen_atoms": [0]}, "share one budget"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_what_would_work(parameters, says):
    with pytest.raises(ValueError, match=says):
        model(**parameters).fit(planted(30))


def test_a_graph_of_one_sample_is_refused_with_what_would_work():
    with pytest.raises(ValueError, match="only one sample"):
        ManhattanNMF(1, graph=2, dictionary_set="l2_ball").fit(np.ones((1, 4)))
