"""Fits, gradients, certificates and bounds of coding problems against their formulas."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from thresher.encoding import (
    ActiveRows,
    AutoEncoder,
    CodingProblem,
    IterativeEncoder,
    Never,
)
from thresher.encoding.first_order import MultiplicativeUpdates
from thresher.encoding.fit import DenseFit
from thresher.encoding.least_absolute import Widened
from thresher.encoding.problem import balance
from thresher.kernels.lad_simplex import lower_bound
from thresher.linalg import load_stored_block, stored_rows
from thresher.losses import (
    AlphaDivergence,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    SquaredL2,
)
from thresher.penalties import L1, ElasticNet, GroupLasso, Regulariser
from thresher.sets import (
    Box,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Reals,
    Simplex,
)

K, F, N = 3, 7, 6
D, X = np.random.default_rng(0).random((2, N, F))
D = D[:K]
SPARSE_LOSSES = [
    SquaredL2(), KullbackLeibler(), AlphaDivergence(0.5), L1Distance(), L1Distance(0.4),
    L1Distance().smoothed(0.1), L1Distance(0.4).smoothed(0.1),
]  # fmt: skip


def problem(loss=SquaredL2(), regulariser=None):  # noqa: B008 - frozen
    return CodingProblem(D, loss, regulariser or Regulariser())


def test_even_codes_reconstruct_the_sum_of_a_row():
    rng = np.random.default_rng(1)
    weight = (rng.random((N, F)) < 0.6).astype(float)
    for w in (None, weight):
        C = ActiveRows(problem(), X, w).even_codes()
        seen = X if w is None else X * w
        np.testing.assert_allclose((C @ D).sum(axis=1), seen.sum(axis=1))
        assert np.ptp(C, axis=1).max() == 0
    np.testing.assert_allclose(ActiveRows(problem(), sparse.csr_array(X)).even_codes(),
                               ActiveRows(problem(), X).even_codes())  # fmt: skip


@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), KullbackLeibler()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_objectives_and_gradients_in_the_codes(loss, weighted):
    rng = np.random.default_rng(1)
    one = problem(loss, Regulariser(ElasticNet(0.2, 0.3)))
    C = rng.random((N, K)) + 0.1
    weight = rng.random((N, F)) if weighted else None
    wanted = loss.value(X, C @ D, weight) + 0.2 * C.sum(axis=1) + 0.15 * (C * C).sum(axis=1)
    np.testing.assert_allclose(one.objective(X, C, weight), wanted)
    gradient = loss.gradient(X, C @ D, weight) @ D.T
    np.testing.assert_allclose(one.gradient(X, C, weight), gradient)
    scale = np.linalg.norm(loss.gradient(X, 0 * X, weight) @ D.T, axis=1)
    np.testing.assert_allclose(one.gradient_scale(X, weight), scale)
    if np.isfinite(loss.curvature):
        heavy = np.ones((N, 1)) if weight is None else weight.max(axis=1, keepdims=True)
        np.testing.assert_allclose(one.row_curvature(weight, N), heavy)
        L = heavy * one.dictionary_bound
        moved = np.maximum(C - gradient / L - 0.2 / L, 0) / (1 + 0.3 / L)
        length = L[:, 0] * np.linalg.norm(C - moved, axis=1)
        np.testing.assert_allclose(one.residual(C, gradient, weight), length)


def sparse_block():
    rng = np.random.default_rng(1)
    rows = rng.random((N, F)) * (np.random.default_rng(3).random((N, F)) < 0.5)
    rows[1] = 0
    return rows, np.random.default_rng(4).random((N, K)) + 0.2


@pytest.mark.parametrize("loss", SPARSE_LOSSES, ids=str)
def test_fits_of_sparse_rows_equal_those_of_dense_rows(loss):
    rows, C = sparse_block()
    one = problem(loss)
    dense, thin = one.fit(rows, C), one.fit(sparse.csr_array(rows), C)
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    for found, wanted in ((thin.code_slopes(), dense.code_slopes()),
                          (thin.dictionary_slopes(C), dense.dictionary_slopes(C))):  # fmt: skip
        assert min(found[0].min(), found[1].min()) >= 0
        np.testing.assert_allclose(found[0] - found[1], wanted[0] - wanted[1], **close)
    np.testing.assert_allclose(
        np.broadcast_to(thin.dictionary_gradient(C), (K, F)), dense.dictionary_gradient(C), **close
    )
    np.testing.assert_array_equal(thin.feature_counts(None), dense.feature_counts(None))
    np.testing.assert_array_equal(thin.samples(slice(1, 3)), rows[1:3])
    np.testing.assert_array_equal(thin.filled_samples(slice(1, 3)), rows[1:3])
    np.testing.assert_array_equal(thin.row_curvatures(), np.ones(N))
    energy = np.arange(1.0, N + 1)
    np.testing.assert_allclose(thin.inlier_energies(energy), np.full(F, energy.sum()))
    if loss == SquaredL2() or loss.defines_irls_weights:
        np.testing.assert_allclose(thin.curvatures(energy), dense.curvatures(energy), **close)
        np.testing.assert_allclose(
            thin.dictionary_curvature(C), dense.dictionary_curvature(C), **close
        )
    sizes, at, weights = thin.residuals(1000)
    there = rows.nonzero()
    np.testing.assert_allclose(sizes, np.abs(rows - C @ D)[there], **close)
    np.testing.assert_array_equal(at, there[0])
    assert (weights == 1).all()


@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), KullbackLeibler()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_of_stored_entries_equal_those_with_missing_values(loss, weighted):
    rng = np.random.default_rng(1)
    rows, C = sparse_block()
    given = rng.uniform(0.5, 2, (N, F)) if weighted else None
    stored = stored_rows(sparse.csr_array(rows))
    block = load_stored_block(stored, slice(0, N), np.dtype(float), given, 1.0)
    weight = (rows != 0) * (1.0 if given is None else given)
    one = problem(loss)
    dense, thin = one.fit(rows, C, weight), one.fit(block, C)
    close = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    np.testing.assert_allclose(thin.row_curvatures(), dense.row_curvatures(), **close)
    for found, wanted in ((thin.code_slopes(), dense.code_slopes()),
                          (thin.dictionary_slopes(C), dense.dictionary_slopes(C))):  # fmt: skip
        np.testing.assert_allclose(found[0], wanted[0], **close)
        np.testing.assert_allclose(found[1], wanted[1], **close)
    energy = np.arange(1.0, N + 1)
    for verb, argument in (("dictionary_gradient", C), ("dictionary_curvature", C),
                           ("curvatures", energy), ("inlier_energies", energy)):  # fmt: skip
        found, wanted = (getattr(fit, verb)(argument) for fit in (thin, dense))
        np.testing.assert_allclose(found, wanted, **close)
    np.testing.assert_array_equal(thin.samples(slice(1, 4)), rows[1:4])
    np.testing.assert_allclose(thin.filled_samples(slice(1, 4)), dense.filled_samples(slice(1, 4)))
    np.testing.assert_array_equal(thin.feature_counts(None), dense.feature_counts(None))
    for found, wanted in zip(thin.energies(), dense.energies(), strict=True):
        np.testing.assert_allclose(found, wanted, **close)
    found, wanted = thin.residuals(10_000), dense.residuals(10_000)
    for one_part, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.sort(one_part), np.sort(other), **close)


@pytest.mark.parametrize("weighted", [False, True])
def test_dense_fits_against_their_formulas(weighted):
    rng = np.random.default_rng(1)
    C = rng.random((N, K))
    C[0] = 0
    weight = rng.uniform(0.3, 2, (N, F)) * (rng.random((N, F)) < 0.8) if weighted else None
    w = np.ones((N, F)) if weight is None else weight
    fit, Y = DenseFit(Huber(0.2), X, C, D, weight), C @ D
    for found, wanted in zip(
        fit.energies(), ((X * X * w), (X * Y * w), (Y * Y * w), X * w, Y * w), strict=True
    ):
        np.testing.assert_allclose(found, wanted.sum(axis=1))
    np.testing.assert_array_equal(fit.feature_counts(None), ((X != 0) & (w > 0)).sum(axis=0))
    np.testing.assert_allclose(fit.filled_samples(slice(None)), np.where(w > 0, X, Y))
    sizes, rows, weights = fit.residuals(10**6)
    left = 1 - (C > 0).sum(axis=1) / (w > 0).sum(axis=1)
    there = np.nonzero(w > 0)
    np.testing.assert_array_equal(rows, there[0])
    np.testing.assert_allclose(
        sizes, np.abs(X - Y)[there] / np.sqrt(np.where(left > 0, left, 1))[rows]
    )
    np.testing.assert_allclose(weights, w[there] * left[rows])
    R = rng.standard_normal((N, F)) * 0.1
    own = DenseFit(Huber(0.2), X, C, D, weight, R)
    np.testing.assert_allclose(
        own.gradient, np.where(w > 0, -w * (X - Y - R), own.gradient), atol=1e-12
    )
    assert (own.values() >= fit.values() - 1e-12).all()  # the best outliers cost least
    at_once = DenseFit(Huber(0.2), X, C, D).sums_at_once(None)
    np.testing.assert_allclose(at_once[0], C.T @ C)
    np.testing.assert_allclose(at_once[1], C.T @ DenseFit(Huber(0.2), X, C, D).gradient)


@pytest.mark.parametrize(
    ("loss", "regulariser"),
    [
        (SquaredL2(), Regulariser(ElasticNet(0.1, 0.2))),
        (Huber(0.2), Regulariser(region=Box(0, 0.4))),
        (Huber(0.2), Regulariser(GroupLasso(0.1))),
        (KullbackLeibler(), Regulariser(L1(0.1))),
        (KullbackLeibler(), Regulariser(region=Box(0.05, 0.4))),
        (KullbackLeibler(), Regulariser(region=Simplex(0.7))),
        (KullbackLeibler(), Regulariser(region=NonnegativeL1Ball(0.7))),
        (KullbackLeibler(), Regulariser(region=NonnegativeL2Ball(0.5))),
        (KullbackLeibler(), Regulariser(GroupLasso(0.1))),
        (L1Distance(), Regulariser(L1(0.1))),
        (L1Distance(), Regulariser(region=Box(-0.2, 0.4))),
        (L1Distance(), Regulariser(region=Reals())),
        (L1Distance(), Regulariser(region=Simplex(0.7))),
    ],
    ids=str,
)
def test_certificates_vanish_only_at_the_optimum(loss, regulariser):
    rng = np.random.default_rng(1)
    one = problem(loss, regulariser)
    best = AutoEncoder(1e-8, 20_000).encode(one, X)
    assert one.certificate(X, best.codes).max() < 1e-5
    away = regulariser.prox(best.codes + 0.05 * rng.random(best.codes.shape), 0.0)
    worse = one.objective(X, away) > one.objective(X, best.codes) + 1e-4
    assert (one.certificate(X, away)[worse] > 1e-5).all()
    assert (one.objective(X, away) >= one.objective(X, best.codes) - 1e-6).all()


@pytest.mark.parametrize(
    "region",
    [
        Box(-0.3, 0.4),
        Box(0.1, 0.5),
        Reals(),
        Simplex(0.8),
        NonnegativeL1Ball(0.5),
        Box(-0.3, np.inf),
    ],
    ids=str,
)
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_polyhedral_constraints_become_l1_features(region, l1):
    """At feasible codes the augmented problem has the same objective up to a constant."""
    rng = np.random.default_rng(1)
    one = problem(L1Distance(), Regulariser(L1(l1), region))
    wide = Widened.of(one, X, np.empty((0, 0)))
    C = region.project(rng.standard_normal((N, K)))
    other = region.project(rng.standard_normal((N, K)))

    def cost(codes):
        given = wide.start(codes)
        value = wide.problem.loss.value(wide.X, given @ wide.problem.D, wide.weight)
        return value + wide.problem.regulariser.value(given)

    rise = one.objective(X, other) - one.objective(X, C)
    np.testing.assert_allclose(cost(other) - cost(C), rise, atol=1e-9)
    np.testing.assert_allclose(wide.codes(wide.start(C)), C, atol=1e-12)
    if np.isfinite(region.bounds[0]):  # infeasible codes cost more
        far = np.maximum(C + 1, region.bounds[0])
        near = region.project(far)
        assert (cost(far) >= cost(near) - 1e-9).all()


@pytest.mark.parametrize("loss", [SquaredL2(), KullbackLeibler(), ItakuraSaito(),
                                  AlphaDivergence(-1.0)], ids=str)  # fmt: skip
def test_a_multiplicative_update_is_the_ratio_to_its_power(loss):
    rng = np.random.default_rng(1)
    one = problem(loss, Regulariser(ElasticNet(0.05, 0.1)))
    solver, C = MultiplicativeUpdates(), rng.random((N, K)) + 0.3
    block = ActiveRows(one, X)
    state = solver.start(block, C)
    np.testing.assert_array_equal(state["C"], C)
    up, down = one.fit(X, C).code_slopes()
    power = 1.0 if loss.powers is None else 1 / sum(loss.powers)
    solver.steps(block, state, 1)
    np.testing.assert_allclose(state["C"], C * (down / (up + 0.05 + 0.1 * C)) ** power, rtol=1e-6)
    np.testing.assert_allclose(solver.objective(block, state), one.objective(X, state["C"]))
    values = [state["value"]]
    for _ in range(5):
        solver.steps(block, state, 3)
        values.append(state["value"])
    assert (np.diff(values, axis=0) <= 1e-9).all()


def test_the_balance_is_zero_where_codes_and_samples_are_zero():
    one = problem(KullbackLeibler())
    assert not balance(one, np.zeros((2, F)), np.zeros((2, K))).any()
    assert balance(one, X[:1], np.zeros((1, K)))[0] > 1


def test_multiplicative_updates_of_a_signed_dictionary_reach_the_optimum():
    one = CodingProblem(D - 0.5, SquaredL2())
    found = IterativeEncoder(MultiplicativeUpdates(), Never(), 300).encode(one, X)
    best = AutoEncoder(1e-9).encode(one, X).codes
    assert (one.objective(X, found.codes) <= one.objective(X, best) * (1 + 1e-2) + 1e-9).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_lower_bound_is_below_the_optimum_and_tight_at_its_dual(seed):
    """Every θ gives a bound; the dual of linear programming gives the optimum itself."""
    rng = np.random.default_rng(seed)
    K, F, l1 = 3, 8, 0.3
    D, x, w = rng.random((K, F)), rng.random(F), 0.5 + rng.random(F)
    # min w(p + q) + l1·c,  D'c + p − q = x
    program = linprog(
        np.r_[np.full(K, l1), w, w], A_eq=np.hstack([D.T, np.eye(F), -np.eye(F)]), b_eq=x
    )
    at_zero, at_bottom = np.full(K, l1), l1 + D @ w
    penalty = 2 * (l1 + w.max() * D.sum(axis=1))

    def bound(dual):
        z = l1 - D @ dual
        return lower_bound.py_func(x, w, dual, z, penalty, at_zero, at_bottom)

    assert bound(program.eqlin.marginals) == pytest.approx(program.fun, rel=1e-9)
    for _ in range(20):
        dual = rng.uniform(-w, w)
        z = l1 - D @ dual
        wrong = z < 0
        # From θ to 0 and to −w, reduced costs rise linearly: take the last zero.
        ways = []
        for goal, costs in ((np.zeros(F), at_zero), (-w, at_bottom)):
            share = max([z[k] / (z[k] - costs[k]) for k in np.flatnonzero(wrong)], default=0.0)
            ways.append((dual + share * (goal - dual)) @ x)
        assert bound(dual) == pytest.approx(max(ways), rel=1e-9, abs=1e-12)
        assert bound(dual) <= program.fun + 1e-9
