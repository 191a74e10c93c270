"""Sums, certificates and steps on dense and sparse samples, against formulas and exact solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import mannwhitneyu

from thresher.encoding import CodingProblem, DenseFit
from thresher.encoding.problem import proximal_residual
from thresher.engine.drift import WINDOW_LENGTHS, _upper_tail
from thresher.learning import (
    BlockDescent,
    DictionaryProblem,
    QuadraticLearner,
    RatioLearner,
    RatioStatistics,
)
from thresher.losses import (
    AlphaDivergence,
    Hellinger,
    Huber,
    KullbackLeibler,
    L1Distance,
    SmoothedL1,
    SquaredL2,
)
from thresher.penalties import ElasticNet, Regulariser
from thresher.published.divergences import RobustApproximation
from thresher.sets import GroupBall, NonnegativeL2Ball

LOSSES = {
    "kl": KullbackLeibler(),
    "hellinger": Hellinger(),
    "alpha 0.3": AlphaDivergence(0.3),
    "alpha 2": AlphaDivergence(2.0),
    "l1": L1Distance(),
    "smoothed l1": SmoothedL1(0.3),
    "l1, light zeros": L1Distance(0.2),
    "smoothed l1, light zeros": SmoothedL1(0.3, 0.2),
    "squared": SquaredL2(),
}
OTHER_PARTS = {
    "l1",
    "l1, light zeros",
    "smoothed l1, light zeros",
}  # the same slope, split otherwise


def _samples(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 2.0, (12, 30)) * (rng.random((12, 30)) < 0.2)
    X[4] = 0
    D = rng.random((5, 30)) * (rng.random((5, 30)) < 0.7)
    D[:, 7] = 0  # a word that no atom knows
    X[2, 7] = 1.5
    C = rng.random((12, 5)) * (rng.random((12, 5)) < 0.8)
    C[5] = 0
    return X.astype(dtype), D.astype(dtype), C.astype(dtype)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_is_dense(name, dtype):
    X, D, C = _samples(dtype)
    problem = CodingProblem(D, LOSSES[name])
    assert problem.loss.stays_sparse
    dense, thin = problem.fit(X, C), problem.fit(sparse.csr_matrix(X), C)
    close = {"rtol": 1e-9 if dtype == np.float64 else 2e-4, "atol": 1e-7}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    pairs = [
        (thin.code_slopes(), dense.code_slopes()),
        (thin.dictionary_slopes(C), dense.dictionary_slopes(C)),
    ]
    for ours, theirs in pairs:
        assert all(part.min() >= 0 for part in ours)
        slope = theirs[0] - theirs[1]
        slack = 1e-5 if dtype == np.float64 else 1e-2  # where two large parts cancel
        np.testing.assert_allclose(ours[0] - ours[1], slope, rtol=slack, atol=slack)
        if name not in OTHER_PARTS:
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, **close)
    if name != "smoothed l1, light zeros":  # its certificate is made of the parts
        certificates = problem.certificate(sparse.csr_matrix(X), C), problem.certificate(X, C)
        if problem.loss.order is None:
            np.testing.assert_allclose(*certificates, rtol=1e-3, atol=1e-6)
        else:  # sparse rows have the duality gap, relative to their sum: see test_encoding
            np.testing.assert_array_equal(*(certificate > 1e-3 for certificate in certificates))
    assert thin.values().dtype == dtype


@pytest.mark.parametrize("name", ["kl", "hellinger", "alpha 2"])
def test_certificate_bounds_how_far_the_loss_is_from_its_minimum(name):
    """On convex problems, against a long run of multiplicative updates."""
    X, D, _ = _samples()
    X, D = X[[0, 1, 3, 6]], D + 0.01
    problem = CodingProblem(D, LOSSES[name])
    C = np.ones((4, 5))
    exponent = 1 / sum(problem.loss.powers)
    trace = []
    for _ in range(4000):
        positive, negative = problem.fit(X, C).code_slopes()
        trace.append((problem.objective(X, C), problem.certificate(X, C)))
        C = C * (negative / positive) ** exponent
    best = problem.objective(X, C)
    assert problem.certificate(X, C).max() < 1e-3
    for objective, certificate in trace[5:200:20]:
        scale = problem.loss.zero_slope * np.maximum(X.sum(axis=1), (C @ D).sum(axis=1))
        assert np.all(objective - best <= 2 * certificate * scale + 1e-9)


def test_certificate_of_rows_without_codes():
    """A row of zeros wants no codes and is certified; one with data is not."""
    _, D, _ = _samples()
    problem = CodingProblem(D + 0.1, KullbackLeibler())
    X = np.zeros((2, 30))
    X[1, 3] = 1
    certificate = problem.certificate(X, np.zeros((2, 5)))
    assert certificate[0] == 0
    assert certificate[1] > 1


def test_entries_that_are_met_have_the_curvature_of_an_inlier():
    """Dark pixels that are predicted dark count like others; missing ones do not count."""
    X, D, C = _samples()
    X[:, 7] = 0  # as the prediction is
    energy = np.einsum("nk,nk->n", C, C)
    dense = DenseFit(SquaredL2(), X, C, D).curvatures(energy)
    np.testing.assert_allclose(dense, energy.sum())
    thin = CodingProblem(D, SquaredL2()).fit(sparse.csr_matrix(X), C).curvatures(energy)
    np.testing.assert_allclose(thin, dense)
    seen = np.ones_like(X)
    seen[:3, 7] = 0
    missing = DenseFit(SquaredL2(), X, C, D, seen).curvatures(energy)
    assert missing[7] == pytest.approx(energy[3:].sum())


@pytest.mark.parametrize("loss", [Huber(0.3), Huber(0.3, 0.5, True), SquaredL2()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_at_once_are_the_sums(loss, weighted, dtype):
    """Against the same sums where entries have weights, all one, which are not compiled."""
    X, D, C = _samples(dtype)
    X[0] = C[0] @ D  # residuals of zero
    weights = np.random.default_rng(1).random(12).astype(dtype) if weighted else None
    fit = CodingProblem(D, loss).fit(X, C)
    ones = np.ones_like(X)
    learner = QuadraticLearner(BlockDescent())
    general = learner.summarise(CodingProblem(D, loss).fit(X, C, ones), weights)
    quick = learner.summarise(fit, weights)
    close = {"rtol": 1e-10 if dtype == np.float64 else 1e-4, "atol": 1e-12}
    for part in ("A", "B", "weight", "curvature", "inlier"):
        found, expected = getattr(quick, part), getattr(general, part)
        close["atol"] = (1e-12 if dtype == np.float64 else 1e-5) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, err_msg=part, **close)
    np.testing.assert_allclose(fit.values(), loss.value(X, C @ D), rtol=close["rtol"], atol=1e-5)
    assert "prediction" not in vars(fit)  # it was one call


def test_the_buffer_of_ol_guan_has_weighted_sums():
    """Steps see ``Σ w cᵀc`` and ``Σ w cᵀx``, with missing values as the model predicts them."""
    rng = np.random.default_rng(0)
    X, C, D = rng.random((12, 5)), rng.random((12, 3)), rng.random((3, 5))
    weight, mask = rng.random(12) * 3, (rng.random((12, 5)) > 0.3).astype(float)
    sums = RobustApproximation().summarise(DenseFit(SquaredL2(), X, C, D, mask), weight)
    whole = np.where(mask > 0, X, C @ D)
    np.testing.assert_allclose(sums.C.T @ sums.C, (C * weight[:, None]).T @ C)
    np.testing.assert_allclose(sums.C.T @ sums.X, (C * weight[:, None]).T @ whole)
    assert sums.weight == pytest.approx(weight.sum())
    plain = RobustApproximation(length=4).summarise(DenseFit(SquaredL2(), X, C, D), None)
    np.testing.assert_array_equal(plain.X, X[-4:])
    assert plain.weight == 12


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), Huber(0.2, 0.5, nonnegative=True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_certificates_are_those_of_the_formula(loss, weighted, dtype):
    rng = np.random.default_rng(1)
    D = rng.random((5, 23)).astype(dtype)
    C = np.maximum(rng.standard_normal((9, 5)), 0).astype(dtype)
    samples = (C @ D + rng.standard_normal((9, 23))).astype(dtype)
    weight = None
    if weighted:
        weight = np.maximum(rng.standard_normal((9, 23)), 0).astype(dtype)
        weight[0] = 0
    samples[-1] = 0
    problem = CodingProblem(D, loss, Regulariser(ElasticNet(0.1, 0.3)))

    def slopes(codes):
        return loss.gradient(samples, codes @ D, weight) @ D.T

    L = problem.row_lipschitz(weight, len(C))
    moved = np.maximum(C - slopes(C) / L - 0.1 / L, 0) / (1 + 0.3 / L)
    length = L[:, 0] * np.linalg.norm(C - moved, axis=1)
    with np.errstate(over="ignore"):
        unit = np.linalg.norm(slopes(np.zeros_like(C)), axis=1)
        wanted = length / np.maximum(unit, np.finfo(dtype).tiny)
    found = proximal_residual(problem, samples, C, weight)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("p", [2, np.inf])
def test_atoms_that_share_a_budget_move_together(p):
    """The step reaches the optimum of the quadratic over the whole matrix."""
    rng = np.random.default_rng(0)
    C = rng.random((50, 4))
    A, B = C.T @ C / 50, C.T @ rng.random((50, 12)) / 50
    region = GroupBall(0.8, tuple(np.arange(12) // 4), p)
    problem = DictionaryProblem(A, B, Regulariser(region=region))
    start = region.project(rng.random((4, 12)))
    D = start
    for _ in range(20):  # as in a stream, from the last dictionary
        D = BlockDescent().minimise(problem, D)
    exact, eta = start, 1 / np.linalg.norm(A, 2)
    for _ in range(20_000):
        exact = problem.regulariser.prox(exact - eta * problem.gradient(exact), eta)
    np.testing.assert_allclose(problem.objective(D), problem.objective(exact), rtol=1e-5)


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("powers", [(1.0, 0.0), (2.0, 0.0)])
def test_entries_that_vanish_can_come_back(powers, width):
    """Steps multiply: an entry that became zero would stay zero forever."""
    learner = RatioLearner(*powers)
    negative = np.random.default_rng(0).random((3, 5)) + 0.1
    negative[:, 2] = 0
    sums = RatioStatistics(negative, np.ones((3, width)), np.zeros(5), np.full(5, 3.0), 4.0)
    D = np.full((3, 5), 0.4)
    ball = Regulariser(region=NonnegativeL2Ball())
    moved, _, _ = learner.update(learner.empty(3, 5), sums, D, ball, np.ones(3, dtype=bool))
    assert (moved > 0).all()
    assert (moved[:, 2] < moved[:, [0, 1, 3, 4]].min(axis=1)).all()


@pytest.mark.parametrize("k", WINDOW_LENGTHS)
def test_tails_of_the_drift_detector_are_those_of_the_exact_mann_whitney_test(k):
    rng = np.random.default_rng(k)
    for n, shift in ((5, 1.0), (3 * k, 0.5), (8 * k, 0.3), (8 * k, 0.9)):
        later, earlier = rng.standard_normal(k) + shift, rng.standard_normal(n)
        exact = mannwhitneyu(later, earlier, alternative="greater", method="exact")
        if exact.pvalue <= 0.5:
            ours = _upper_tail(k, n, int(exact.statistic))
            assert ours == pytest.approx(exact.pvalue, rel=1e-10)


class _Counted(AlphaDivergence):
    """Counts how often its slope is asked for."""

    calls = 0

    def entry_gradient(self, x, y):
        type(self).calls += 1
        return super().entry_gradient(x, y)


def test_zeros_do_not_slow_the_proximal_map_down():
    rng = np.random.default_rng(0)
    X = rng.random((20, 8)) * (rng.random((20, 8)) < 0.5)
    V = X + 0.3 * rng.standard_normal(X.shape)
    loss = _Counted(0.7)
    Y = loss.prox(V, X, 0.5)
    assert loss.calls < 20  # halving an interval down to nothing took over 50
    zero = X == 0
    np.testing.assert_allclose(Y[zero], np.maximum(V[zero] - 0.5 / 0.7, 0), atol=1e-8)
    slope = Y - V + 0.5 * loss.gradient(X, Y)
    np.testing.assert_allclose(slope[~zero], 0, atol=1e-6)
