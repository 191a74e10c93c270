"""Sums, surrogates and steps of dictionary learning against their formulas and optima."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import statements
from thresher.encoding.fit import DenseFit
from thresher.learning import (
    BlockDescent,
    DictionaryProblem,
    FixedWeight,
    NoiseWeight,
    QuadraticLearner,
    QuadraticStatistics,
    RangeWeight,
)
from thresher.learning.diagonal import DiagonalStatistics, _minimiser
from thresher.learning.initialisation import (
    initial_atoms,
    mean_sample,
    median_atoms,
    sample_length,
    weighted_median,
)
from thresher.learning.orthogonal import (
    cubes_by_length,
    keep_largest,
    power_gradient,
    rank_weighted,
    rank_weights,
    tail_energies,
)
from thresher.learning.outlier_weight import weighted_quantile
from thresher.losses import Huber, L1Distance, SquaredL2
from thresher.penalties import L1, Regulariser, Tikhonov
from thresher.published.divergences import StepStatistics, StochasticGradient
from thresher.published.l1_dictionary import CodedSamples
from thresher.published.low_rank import BasisLearner, RidgeRegression
from thresher.published.outliers import DictionaryGradient, SurrogateLearner
from thresher.sets import Box, GroupBall, NonnegativeL1Ball, NonnegativeL2Ball, Reals, Simplex

K, F, N = 3, 5, 12
ALL = np.ones(K, dtype=bool)


def coded(loss=SquaredL2(), weight=None, seed=0, dtype=np.float64):  # noqa: B008 - frozen
    rng = np.random.default_rng(seed)
    X, C, D = rng.random((N, F)), rng.random((N, K)), rng.random((K, F))
    return DenseFit(loss, X.astype(dtype), C.astype(dtype), D.astype(dtype), weight)


def statistics():
    rng = np.random.default_rng(0)
    C = rng.random((N, K))
    none = np.zeros(F)
    return QuadraticStatistics(C.T @ C, C.T @ rng.random((N, F)), 12.0, none, none), C


def problem(regulariser=None):
    sums, _ = statistics()
    return DictionaryProblem(sums.A, sums.B, regulariser or Regulariser(region=Box(0, np.inf)))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.7, 0.99, 1.0])
@pytest.mark.parametrize("equal", [True, False])
def test_weighted_quantiles_invert_the_cumulative_weight(share, equal):
    rng = np.random.default_rng(0)
    values = rng.permutation(np.arange(1.0, 21))
    weights = np.full(20, 3.0) if equal else rng.integers(0, 4, 20).astype(float)
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= share * weights.sum()
    assert weighted_quantile(values, weights, share) == values[order][reached.argmax()]
    assert weighted_quantile(values[:0], weights[:0], share) == 0.0
    assert weighted_quantile(values[:1], weights[:1] + 1, share) == values[0]


@pytest.mark.parametrize(
    ("rule", "scale"),
    [(RangeWeight(), 99.0), (RangeWeight(0.5), 50.0), (FixedWeight(3.0), 0.0)],
    ids=str,
)
def test_outlier_weights_are_measured_as_quantiles(rule, scale):
    """Zeros do not count for the quantile of the data."""
    assert rule.measure(np.arange(101.0), np.ones(101)) == scale


def test_outlier_weights_from_a_measured_scale():
    assert RangeWeight().weight(6.0, 9) == 2.0  # s / √F
    assert FixedWeight(3.0).weight(6.0, 9) == 3.0
    assert NoiseWeight().weight(2.0, 9) == 5.0


@pytest.mark.parametrize("outliers", [0.0, 0.2, 0.4])
def test_the_noise_scale_is_robust_to_outliers(outliers):
    rng = np.random.default_rng(0)
    e = np.abs(rng.standard_normal(20_000) * 0.3)
    gross = rng.random(len(e)) < outliers
    e[gross] = 50
    # One correction removes most of the bias of the median.
    bound = {0.0: 0.02, 0.2: 0.05, 0.4: 0.15}[outliers]
    found = NoiseWeight().measure(e, np.ones(len(e)))
    assert found == pytest.approx(0.3, rel=bound)
    weights = np.where(gross, 0.0, 1.0)
    assert NoiseWeight().measure(e, weights) == pytest.approx(0.3, rel=0.02)
    plain = 1.4826 * np.median(e)
    assert found <= plain


@pytest.mark.parametrize("kind", ["samples", "mean", "uniform", "half-normal"])
@pytest.mark.parametrize("region", [NonnegativeL2Ball(), Simplex(2.0)])
def test_initial_atoms_are_feasible_and_have_the_given_length(kind, region):
    rng = np.random.default_rng(1)
    X, ones = rng.random((20, 6)), np.ones(20)
    D = initial_atoms(kind, 4, X, None, ones, region, np.random.default_rng(0))
    assert region.contains(D)
    assert len(np.unique(D.round(9), axis=0)) == 4
    free = Box(0, np.inf)
    long = initial_atoms(kind, 4, X, None, ones, free, np.random.default_rng(0), length=7.0)
    assert np.sqrt((long**2).sum(axis=1).mean()) == pytest.approx(7)


def test_random_initial_atoms_have_the_published_distribution():
    X, ones, free = np.zeros((2, 2000)), np.ones(2), Box(0, np.inf)
    uniform = initial_atoms("uniform", 2, X, None, ones, free, np.random.default_rng(0))
    assert 0.97 < uniform.max() <= 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.02)
    half = initial_atoms("half-normal", 2, X, None, ones, free, np.random.default_rng(0))
    assert half.min() >= 0
    assert half.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.04)
    assert (half**2).mean() == pytest.approx(1, abs=0.1)


def test_means_and_lengths_of_samples():
    X = np.array([[1.0, 2], [3, 0]])
    weight = np.array([[1.0, 1], [1, 0]])
    np.testing.assert_allclose(mean_sample(X, None, np.array([3.0, 1])), [1.5, 1.5])
    np.testing.assert_allclose(mean_sample(X, weight, np.array([3.0, 1])), [1.5, 2])
    np.testing.assert_allclose(mean_sample(X, np.zeros((2, 2)), np.ones(2)), [0, 0])
    assert sample_length(X, np.ones(2)) == pytest.approx(np.sqrt(7))
    assert sample_length(X, np.array([1.0, 0])) == pytest.approx(np.sqrt(5))
    assert sample_length(0 * X, np.ones(2)) == 1.0


def test_medians_of_sparse_rows():
    rows = np.array([[0, 1.0, 5], [0, 2, 0], [3, 3, 0], [0, 4, 7]])
    for weights in (np.ones(4), np.array([1.0, 1, 3, 1]), np.array([2.0, 2, 1, 1])):
        wanted = []
        for column in rows.T:  # the largest value that more than half of the weight reaches
            reach = [v for v in column if weights[column >= v].sum() > weights.sum() / 2]
            wanted.append(max(reach))
        found = weighted_median(sparse.csr_array(rows), weights).toarray()[0]
        np.testing.assert_array_equal(found, wanted)


def test_median_atoms_are_medians_of_clusters():
    """Two kinds of documents and two atoms: each is the median of one kind, as shares."""
    rng = np.random.default_rng(0)
    one = np.hstack([rng.integers(1, 4, (20, 3)), np.zeros((20, 3))])
    two = np.hstack([np.zeros((20, 3)), rng.integers(1, 4, (20, 3))])
    X = np.vstack([one, two, np.zeros((2, 6))])
    weight = np.ones(42)
    D = median_atoms(2, sparse.csr_array(X), weight, np.random.default_rng(0))
    shares = X[:40] / X[:40].sum(axis=1, keepdims=True)
    wanted = [weighted_median(sparse.csr_array(part), np.ones(20)).toarray()[0]
              for part in (shares[:20], shares[20:])]  # fmt: skip
    wanted = np.array([row / row.sum() for row in wanted])
    found = D[np.argsort(D[:, 0])[::-1]]
    np.testing.assert_allclose(found, wanted)
    weight[20:40] = 0
    alone = median_atoms(1, sparse.csr_array(X), weight, np.random.default_rng(0))
    np.testing.assert_allclose(alone, wanted[:1])


def test_gradients_of_sparsity_measures():
    C = np.random.default_rng(0).standard_normal((4, 6))
    h = 1e-6
    for p in (3, 4):
        slope = ((np.abs(C + h) ** p - np.abs(C - h) ** p) / (2 * h)) / p
        np.testing.assert_allclose(power_gradient(C, p), slope, atol=1e-6)
    lengths = np.linalg.norm(C, axis=1, keepdims=True)
    np.testing.assert_allclose(cubes_by_length(C), np.abs(C) * C / lengths)
    assert not cubes_by_length(np.zeros((1, 3))).any()
    np.testing.assert_allclose(rank_weights(3), [1, 2**-1.5, 3**-1.5])
    place = np.argsort(np.argsort(-np.abs(C), axis=1), axis=1)
    np.testing.assert_allclose(rank_weighted(C), (place + 1.0) ** -1.5 * C)


def test_the_largest_codes_and_the_energy_of_the_others():
    C = np.array([[3.0, -1, 2], [0, 5, -6]])
    np.testing.assert_allclose(tail_energies(C), [[5, 1, 0], [25, 0, 0]])
    np.testing.assert_array_equal(keep_largest(C, 1), [[3, 0, 0], [0, 0, -6]])
    np.testing.assert_array_equal(keep_largest(C, 2), [[3, 0, 2], [0, 5, -6]])
    np.testing.assert_array_equal(
        keep_largest(C, 1, np.array([1.0, 9, 1])), [[0, -1, 0], [0, 5, 0]]
    )


def test_statistics_of_joined_atoms_are_those_of_summed_codes():
    sums, C = statistics()
    members = np.array([[1.0, 0, 1], [0, 1, 0]])
    joined, both = sums.joined(members), C @ members.T
    np.testing.assert_allclose(joined.A, both.T @ both)
    np.testing.assert_allclose(joined.B, members @ sums.B)


def test_statistics_of_fewer_features():
    sums, _ = statistics()
    kept = sums.keep(np.array([3, 0]))
    np.testing.assert_array_equal(kept.A, sums.A)
    np.testing.assert_array_equal(kept.B, sums.B[:, [3, 0]])
    diagonal = DiagonalStatistics(np.ones((K, F)), np.arange(1.0 * K * F).reshape(K, F), 4.0)
    np.testing.assert_array_equal(diagonal.keep(np.array([1])).B, diagonal.B[:, [1]])
    assert kept.weight == sums.weight


def test_separable_quadratics_over_coupled_rows():
    """Atoms that share a budget have one step length; repeated steps reach the optimum."""
    rng = np.random.default_rng(6)
    sums = DiagonalStatistics(rng.uniform(0.5, 2, (K, F)), rng.uniform(-1, 2, (K, F)), 1.0)
    region = GroupBall(0.8, None, np.inf)
    found = region.project(rng.random((K, F)))
    for _ in range(30):  # each call is approximate and starts from the last dictionary
        found = _minimiser(sums, found, Regulariser(region=region))
    V = cp.Variable((K, F))
    cost = cp.sum(cp.multiply(sums.H, V**2)) / 2 - cp.sum(cp.multiply(sums.B, V))
    best = statements.solve(cost, statements.constraints(region, V))
    assert region.contains(found, 1e-9)
    assert (sums.H * found**2 / 2 - sums.B * found).sum() <= best + 1e-3 * abs(best)


def test_the_running_surrogate_equals_the_loss_at_its_dictionary():
    fit = coded(Huber(0.2))
    weight = np.arange(1.0, N + 1)
    learner = SurrogateLearner(DictionaryGradient())
    sums = learner.summarise(fit, weight)
    made = learner.empty(K, F) + sums.around_zero(fit.D, sharp=False)
    wanted = (Huber(0.2).value(fit.X, fit.C @ fit.D) * weight).sum() / weight.sum()
    assert made.measures(fit.D) == {"surrogate": pytest.approx(wanted)}
    twice = learner.summarise(fit, None) + learner.summarise(fit, None)
    assert twice.s == pytest.approx(2 * Huber(0.2).value(fit.X, fit.C @ fit.D).sum())


@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), L1Distance().smoothed(0.1)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_a_batch_against_their_formulas(loss, weighted):
    rng = np.random.default_rng(5)
    entry = rng.uniform(0.2, 1.5, (N, F)) if weighted else None
    sample = rng.uniform(0.5, 2, N) if weighted else None
    fit = coded(loss, entry)
    sums = QuadraticLearner(BlockDescent()).summarise(fit, sample)
    s = np.ones(N) if sample is None else sample
    w = np.ones((N, F)) if entry is None else entry
    kappa = s * loss.row_curvatures(fit.X, fit.C @ fit.D, entry)
    E, G = np.abs(fit.X - fit.C @ fit.D), loss.gradient(fit.X, fit.C @ fit.D, entry)
    energy = (fit.C**2).sum(axis=1)
    np.testing.assert_allclose(sums.A, (fit.C * kappa[:, None]).T @ fit.C)
    np.testing.assert_allclose(sums.B, -(fit.C * s[:, None]).T @ G, atol=1e-12)
    np.testing.assert_allclose(sums.curvature, (energy * s) @ (np.abs(G) / E), rtol=1e-6)
    assert sums.weight == pytest.approx(s.sum())
    assert sums.A.trace() == pytest.approx((energy * kappa).sum())
    bounded = np.isfinite(loss.curvature)
    heaviest = w / w.max(axis=1, keepdims=True)
    wanted = (energy * kappa) @ heaviest if bounded else np.zeros(F)
    np.testing.assert_allclose(sums.inlier, wanted, atol=1e-12)


def test_dictionary_problems_of_free_atoms_have_the_same_gradient():
    sums, _ = statistics()
    D, free = np.random.default_rng(1).random((K, F)), np.array([True, False, True])
    whole = DictionaryProblem.of(sums, D, Regulariser(), ALL)
    np.testing.assert_allclose(whole.A, sums.A / 12)
    part = DictionaryProblem.of(sums, D, Regulariser(), free)
    np.testing.assert_allclose(part.gradient(D[free]), whole.gradient(D)[free])
    h, way = 1e-6, np.random.default_rng(2).standard_normal((K, F))
    slope = (whole.objective(D + h * way) - whole.objective(D - h * way)) / (2 * h)
    assert slope == pytest.approx((whole.gradient(D) * way).sum(), rel=1e-6)
    priced = DictionaryProblem(whole.A, whole.B, Regulariser(L1(0.3)))
    assert priced.objective(D) - whole.objective(D) == pytest.approx(0.3 * D.sum())


def test_ridge_regression_has_zero_gradient():
    ridge = problem(Regulariser(Tikhonov(0.3), Reals()))
    exact = RidgeRegression().minimise(ridge, np.zeros((K, F)))
    np.testing.assert_allclose(ridge.gradient(exact) + 0.3 * exact, 0, atol=1e-10)


def test_a_share_of_a_quadratic_step_is_the_convex_combination():
    step = BlockDescent()
    sums, D = QuadraticLearner(step).summarise(coded(), None), coded().D
    past = QuadraticStatistics.zeros(K, F)
    whole, *_ = QuadraticLearner(step).update(past, sums, D, Regulariser(), ALL)
    half, *_ = QuadraticLearner(step, share=0.5).update(past, sums, D, Regulariser(), ALL)
    np.testing.assert_allclose(half, (D + whole) / 2)
    free = np.array([True, False, True])
    some, *_ = QuadraticLearner(step).update(past, sums, D, Regulariser(), free)
    np.testing.assert_array_equal(some[1], D[1])


def test_the_penalty_of_a_basis_is_not_divided_by_the_weight():
    learner = BasisLearner(RidgeRegression())
    sums, D = learner.summarise(coded(), None), coded().D
    past = QuadraticStatistics.zeros(K, F)
    ridge = Regulariser(Tikhonov(2.0), Reals())
    moved, *_ = learner.update(past, sums, D, ridge, ALL)
    fit = coded()
    wanted = np.linalg.solve(fit.C.T @ fit.C + 2.0 * np.eye(K), fit.C.T @ fit.X)
    np.testing.assert_allclose(moved, wanted, rtol=1e-6)


@pytest.mark.parametrize("tau", [None, 7.0])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_stochastic_steps_have_the_published_length(tau, constant, scaled):
    learner = StochasticGradient(3.0, 5.0, tau, scaled, constant)
    sums = StepStatistics(np.ones((K, F)), 6.0, 4.0)
    past, D = StepStatistics(np.empty((0, 0)), 10.0, 20.0), np.full((K, F), 2.0)
    moved, after, _ = learner.update(past, sums, D, Regulariser(region=Reals()), ALL)
    more = 4.0 if tau is None else tau
    seen, curvature = 20 + more, 10 + 6 / 4 * more
    eta = 3 / 5 if constant else 3 / (seen + 5)
    eta *= seen / curvature if scaled else 1
    np.testing.assert_allclose(moved, 2 - eta / 4)
    assert after.numbers() == {"curvature": curvature, "weight": seen}
    frozen, *_ = learner.update(past, sums, D, Regulariser(region=Reals()), ~ALL)
    np.testing.assert_array_equal(frozen, D)


def test_stochastic_sums_against_their_formulas():
    fit, weight = coded(Huber(0.2)), np.arange(1.0, N + 1)
    sums = StochasticGradient().summarise(fit, weight)
    E, G = np.abs(fit.X - fit.C @ fit.D), Huber(0.2).gradient(fit.X, fit.C @ fit.D)
    energy = (fit.C**2).sum(axis=1) * weight
    assert sums.curvature == pytest.approx((energy @ (np.abs(G) / E)).mean())
    np.testing.assert_allclose(sums.gradient, (fit.C * weight[:, None]).T @ G)
    nonsmooth = coded(L1Distance())
    found = StochasticGradient().summarise(nonsmooth, None).curvature
    wanted = (nonsmooth.C**2).sum(axis=1) @ L1Distance().row_curvatures(fit.X, fit.C @ fit.D)
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("region", [Box(0, np.inf), NonnegativeL1Ball(0.8)])
def test_separable_quadratics_are_minimised(region):
    rng = np.random.default_rng(6)
    sums = DiagonalStatistics(rng.uniform(0.5, 2, (K, F)), rng.uniform(-1, 2, (K, F)), 4.0)
    D, l2 = rng.random((K, F)), 0.3
    found = _minimiser(sums, D, Regulariser(Tikhonov(l2), region))
    H, B = sums.H / 4 + l2, sums.B / 4
    slope = H * found - B
    if isinstance(region, Box):
        np.testing.assert_allclose(found, np.maximum(B, 0) / H)
    else:  # ⟨∇, y − d⟩ ≥ 0 for every vertex y
        assert (found.sum(axis=1) <= 0.8 + 1e-9).all()
        least = np.minimum(0, 0.8 * slope.min(axis=1))
        assert (least - (slope * found).sum(axis=1) >= -1e-9).all()


def test_sums_of_coded_samples_against_their_formulas():
    weight = (np.random.default_rng(7).random((N, F)) < 0.7).astype(float)
    sample = np.arange(1.0, N + 1)
    one = CodedSamples.of(coded(L1Distance(0.5), weight), sample)
    fit = coded()
    np.testing.assert_allclose(one.residual(fit.D), fit.X - fit.C @ fit.D)
    U = np.random.default_rng(8).random((N, F))
    np.testing.assert_allclose(one.correlated(U), fit.C.T @ (U * sample[:, None]))
    assert one.loss(U) == pytest.approx((sample[:, None] * weight * U).sum())
    assert one.spectral_norm() == pytest.approx(
        np.linalg.eigvalsh((fit.C * sample[:, None]).T @ fit.C)[-1]
    )
    assert one.subgradient_norm() == pytest.approx(np.sqrt((sample[:, None] * weight**2).sum()))
    plain = CodedSamples.of(coded(L1Distance()), None)
    assert plain.subgradient_norm() == pytest.approx(np.sqrt(N * F))
