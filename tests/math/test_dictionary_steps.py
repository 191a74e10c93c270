"""Dictionary steps: the same optimum by three methods and CVXPY, frozen atoms, forgetting."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import statements
from parts import SETS, solve
from thresher.encoding import (
    CodingProblem,
    DenseFit,
)
from thresher.learning import (
    BlockDescent,
    DictionaryProblem,
    HalfLife,
    PlainAverage,
    PowerForgetting,
    QuadraticLearner,
    QuadraticStatistics,
    RatioLearner,
    initial_atoms,
)
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
)
from thresher.penalties import ElasticNet, Regulariser
from thresher.published.outliers import DictionaryADMM
from thresher.sets import (
    Box,
    GroupBall,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Simplex,
)

K, F = 4, 6
STEPS = {
    "admm": DictionaryADMM(tol=1e-15, max_iter=50_000, rho=0.1),
    "block descent": BlockDescent(max_sweeps=5000, tol=1e-13),
}
NONNEGATIVE = [name for name, (region, _) in SETS.items() if region.nonnegative]


def statistics(seed=0, n=50):
    rng = np.random.default_rng(seed)
    C, X = rng.random((n, K)), rng.random((n, F))
    none = np.zeros(F)
    return QuadraticStatistics(C.T @ C, C.T @ X, float(n), none, none), C, X


def start(region, seed=1):
    return region.project(np.random.default_rng(seed).random((K, F)))


@pytest.mark.parametrize("name", NONNEGATIVE)
@pytest.mark.parametrize("penalty", [ElasticNet(), ElasticNet(0.05, 0.1)])
def test_steps_agree_with_each_other_and_with_cvxpy(name, penalty):
    region, constraints = SETS[name]
    stats, C, X = statistics()
    regulariser = Regulariser(penalty, region)
    D0 = start(region)
    problem = DictionaryProblem.of(stats, D0, regulariser, np.ones(K, bool))
    V = cp.Variable((K, F))
    fit = cp.sum_squares(X - C @ V) / (2 * len(X)) - np.sum(X * X) / (2 * len(X))
    cost = penalty.l1 * cp.sum(cp.abs(V)) + penalty.l2 / 2 * cp.sum_squares(V)
    best = solve(fit + cost, [limit for k in range(K) for limit in constraints(V[k])])
    for step in STEPS.values():
        D = step.minimise(problem, D0)
        assert region.contains(D, tol=1e-8)
        assert problem.objective(D) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("p", [2, np.inf])
def test_atoms_that_share_a_budget_move_together(p):
    stats, C, X = statistics()
    region = GroupBall(0.6, (0, 0, 1, 1, 2, 2), p)
    D = start(region)
    problem = DictionaryProblem.of(stats, D, Regulariser(region=region), np.ones(K, bool))
    V = cp.Variable((K, F))
    fit = cp.sum_squares(X - C @ V) / (2 * len(X)) - np.sum(X * X) / (2 * len(X))
    best = solve(fit, statements.constraints(region, V))
    for _ in range(20):
        D = BlockDescent().minimise(problem, D)
    assert region.contains(D)
    assert problem.objective(D) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("name", NONNEGATIVE)
def test_block_descent_never_rises(name):
    region = SETS[name][0]
    stats, _, _ = statistics(3)
    D = start(region)
    problem = DictionaryProblem.of(stats, D, Regulariser(region=region), np.ones(K, bool))
    last = problem.objective(D)
    for _ in range(20):
        D = BlockDescent(max_sweeps=1, tol=0).minimise(problem, D)
        now = problem.objective(D)
        assert now <= last + 1e-14
        last = now


@pytest.mark.parametrize("step", STEPS)
def test_frozen_atoms_stay_and_the_rest_is_optimal(step):
    stats, C, X = statistics(2)
    region = NonnegativeL2Ball()
    D0 = start(region)
    free = np.array([True, False, True, False])
    problem = DictionaryProblem.of(stats, D0, Regulariser(region=region), free)
    D = D0.copy()
    D[free] = STEPS[step].minimise(problem, D0[free])
    V = cp.Variable((2, F), nonneg=True)
    fit = cp.sum_squares(X - C[:, ~free] @ D0[~free] - C[:, free] @ V)
    solve(fit, [cp.norm2(V[k]) <= 1 for k in range(2)])
    np.testing.assert_allclose(D[free], V.value, atol=1e-4)
    np.testing.assert_array_equal(D[~free], D0[~free])


@pytest.mark.parametrize("step", STEPS)
def test_without_samples_the_dictionary_stays(step):
    D0 = start(NonnegativeL2Ball())
    empty = QuadraticStatistics.zeros(K, F)
    regulariser = Regulariser(region=NonnegativeL2Ball())
    problem = DictionaryProblem.of(empty, D0, regulariser, np.ones(K, bool))
    np.testing.assert_array_equal(STEPS[step].minimise(problem, D0), D0)


def test_statistics_are_a_monoid():
    (a, _, _), (b, _, _), (c, _, _) = statistics(1), statistics(2), statistics(3)
    left, right = (a + b) + c, a + (b + c)
    np.testing.assert_allclose(left.B, right.B, rtol=1e-14)
    zero = QuadraticStatistics.zeros(K, F)
    np.testing.assert_array_equal((a + zero).A, a.A)
    np.testing.assert_allclose((a + b).discounted(0.5).A, a.discounted(0.5).A + b.A / 2)


def test_surrogate_majorises_the_envelope():
    """It lies above the loss for every D and touches it at the current one: errata A.1."""
    rng = np.random.default_rng(0)
    D, C, X = rng.random((K, F)), rng.random((30, K)), 2 * rng.random((30, F))
    mask = (rng.random(X.shape) > 0.3).astype(float)
    loss = Huber(0.2, bound=0.5)
    sums = QuadraticLearner(BlockDescent()).summarise(DenseFit(loss, X, C, D, mask), None)
    stats = sums.around_zero(D, sharp=False)

    def surrogate(E):
        return np.vdot(E, stats.A @ E) / 2 - np.vdot(E, stats.B)

    constant = loss.value(X, C @ D, mask).sum() - surrogate(D)
    for _ in range(50):
        E = D + rng.normal(size=D.shape) * rng.choice([0.01, 0.3, 2])
        assert surrogate(E) + constant >= loss.value(X, C @ E, mask).sum() - 1e-9


def test_sharp_surrogate_has_the_gradient_of_the_loss_and_less_curvature():
    """At the current D it has the slope of the plain one, and it moves further along it."""
    rng = np.random.default_rng(0)
    D, C, X = rng.random((K, F)), rng.random((200, K)), rng.random((200, F))
    X[:, 2] += 50  # a feature that changed: all its residuals are outliers of one sign
    gaps = np.ones_like(X)
    gaps[rng.random(200) < 0.5, 4] = 0  # a feature that is seen half the time

    def stretch(mask):
        gradient = Huber(0.2).gradient(X, C @ D, mask)
        fit = DenseFit(Huber(0.2), X, C, D, mask)
        sums = QuadraticLearner(BlockDescent()).summarise(fit, None)
        plain, sharp = sums.around_zero(D, sharp=False), sums.around_zero(D, sharp=True)
        np.testing.assert_allclose(plain.A @ D - plain.B, C.T @ gradient)
        return (sharp.A @ D - sharp.B) / (plain.A @ D - plain.B)

    full, half = stretch(None), stretch(gaps)
    assert np.all(full >= 1 - 1e-12)
    assert np.all(np.ptp(full, axis=0) < 1e-9)
    assert full[0, 2] == pytest.approx(50, rel=0.01)  # bounded: the least curvature is 0.02
    assert half[0, 4] / full[0, 4] == pytest.approx(2, rel=0.3)


def test_forgetting_counts_samples_not_batches():
    for schedule in (PlainAverage(), HalfLife(100)):
        one = schedule(64, 640)
        assert schedule(32, 608) * schedule(32, 640) == pytest.approx(one)
    power = PowerForgetting(10)
    assert power(32, 608) * power(32, 640) == pytest.approx(power(64, 640))
    assert power(10, 10) == 0
    assert HalfLife(100)(100, 5000) == pytest.approx(0.5)
    assert PowerForgetting(0)(10, 100) == 1
    with pytest.raises(ValueError, match="half-life"):
        HalfLife(0)


def test_samples_are_chosen_by_weight_not_by_row():
    """A weight of three equals three copies, in any order; weight zero is never chosen."""
    rng = np.random.default_rng(0)
    X, weight = rng.random((10, F)), rng.integers(0, 4, 10).astype(float)
    copies = np.repeat(X, weight.astype(int), axis=0)
    copies = copies[rng.permutation(len(copies))]
    region = NonnegativeL2Ball()
    one = initial_atoms("samples", 4, X, None, weight, region, np.random.default_rng(5))
    two = initial_atoms(
        "samples", 4, copies, None, np.ones(len(copies)), region, np.random.default_rng(5)
    )
    np.testing.assert_allclose(one, two)


@pytest.mark.parametrize("region", [NonnegativeL2Ball(), NonnegativeL1Ball(), NonnegativeOrthant()])
@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_the_compiled_kl_step_is_the_general_one(region, prior, monkeypatch):
    rng = np.random.default_rng(0)
    X, C, D = rng.poisson(0.5, (40, 30)).astype(float), rng.random((40, 4)), rng.random((4, 30))
    learner, codes = RatioLearner(1.0, 0.0, prior=prior), Regulariser(region=region)
    C[:, 2] = 0  # an atom that nobody uses
    free = np.array([True, True, True, False])
    problem = CodingProblem(D, KullbackLeibler())
    sums = learner.summarise(problem.fit(sparse.csr_array(X), C), None)

    def twice():
        D1, past, _ = learner.update(learner.empty(4, 30), sums, D, codes, free)
        return learner.update(past.discounted(0.5), sums, D1, codes, free)

    compiled = twice()
    monkeypatch.setattr(RatioLearner, "_is_compiled", lambda *_: False)
    slow = twice()
    np.testing.assert_allclose(compiled[0], slow[0], rtol=1e-10)
    np.testing.assert_allclose(compiled[2], slow[2], rtol=1e-10)
    for name, values in compiled[1].arrays().items():
        np.testing.assert_allclose(values, getattr(slow[1], name), rtol=1e-10, err_msg=name)
    assert compiled[1].numbers() == pytest.approx(slow[1].numbers())


def test_dense_samples_with_gaps_take_the_general_kl_step():
    rng = np.random.default_rng(0)
    X, C, D = rng.random((40, 9)), rng.random((40, 3)), rng.random((3, 9))
    weight = (rng.random((40, 9)) < 0.5) * np.linspace(0.1, 1, 9)
    learner, codes = RatioLearner(1.0, 0.0), Regulariser(region=NonnegativeOrthant())
    sums = learner.summarise(CodingProblem(D, KullbackLeibler()).fit(X, C, weight), None)
    moved, _, _ = learner.update(learner.empty(3, 9), sums, D, codes, np.ones(3, bool))
    expected = D * (C.T @ (weight * X / (C @ D))) / (C.T @ weight)  # Lee and Seung
    np.testing.assert_allclose(moved, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [KullbackLeibler(), Hellinger(), AlphaDivergence(2.5), AlphaDivergence(-0.8), ItakuraSaito(),
     BetaDivergence(0.5), BetaDivergence(1.3), BetaDivergence(2.7)],
    ids=str,
)  # fmt: skip
def test_ratio_statistics_majorise_the_divergence(loss):
    """Slopes agree at the dictionary where they were taken, and the function lies above."""
    rng = np.random.default_rng(0)
    X, C, D = planted(30), rng.random((30, K)) + 0.1, rng.random((K, F)) + 0.1
    a, b = loss.powers
    fit = DenseFit(loss, X, C, D)
    positive, negative = fit.dictionary_slopes(C)

    def bound(E):
        t = E / D
        rising = positive * D * (t ** (b + 1) - 1) / (b + 1)
        falling = np.log(t) if a == 1 else (t ** (1 - a) - 1) / (1 - a)
        return fit.values().sum() + (rising - negative * D * falling).sum()

    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            E = D * np.exp(size * rng.normal(size=D.shape))
            assert bound(E) >= loss.value(X, C @ E).sum() * (1 - 1e-9) - 1e-9
    h = 1e-5
    for _ in range(5):
        direction = rng.normal(size=D.shape) * D
        slope = (bound(D + h * direction) - bound(D - h * direction)) / (2 * h)
        exact = ((positive - negative) * direction).sum()
        assert slope == pytest.approx(exact, rel=1e-5, abs=1e-6)


REGIONS = {
    "orthant": (NonnegativeOrthant(), []),
    "box": (Box(0, 0.5), []),
    "simplex": (Simplex(), [{"type": "eq", "fun": lambda d: d.sum() - 1}]),
    "l1 ball": (NonnegativeL1Ball(0.8), [{"type": "ineq", "fun": lambda d: 0.8 - d.sum()}]),
    "l2 ball": (NonnegativeL2Ball(0.7), [{"type": "ineq", "fun": lambda d: 0.49 - d @ d}]),
    "elastic-net ball": (
        NonnegativeElasticNetBall(0.7, 1.5),
        [{"type": "ineq", "fun": lambda d: 1 - 0.7 * d.sum() - 0.75 * d @ d}],
    ),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("powers", [(1.0, 0.0), (0.5, 0.0), (2.0, 0.0), (0.6, 0.4), (0.0, 1.7)])
@pytest.mark.parametrize(
    "penalty",
    [ElasticNet(), ElasticNet(0.3, 0.2), ElasticNet(300.0, 20.0)],
    ids=["bare", "penalised", "oppressed"],
)
def test_constrained_dictionary_step_against_scipy(region, powers, penalty):
    """The exact minimiser of the majoriser over the set, atom by atom."""
    a, b = powers
    region, limits = REGIONS[region]
    rng = np.random.default_rng(0)
    N, P = rng.random((2, 5)) + 0.1, rng.random((2, 5)) + 0.1
    learner = RatioLearner(a, b, rescale=False)
    D = learner._constrained(N, P, 1.0, Regulariser(penalty, region))
    assert region.contains(D, 1e-6)
    upper = 0.5 if isinstance(region, Box) and np.isfinite(region.upper) else None
    for n, p, d in zip(N, P, D, strict=True):

        def objective(v, n=n, p=p):
            falling = np.log(v) if a == 1 else v ** (1 - a) / (1 - a)
            value = (p * v ** (b + 1) / (b + 1) - n * falling).sum()
            return value + penalty.l1 * v.sum() + penalty.l2 / 2 * v @ v

        best = minimize(
            objective, np.full(5, 0.1), bounds=[(1e-9, upper)] * 5, constraints=limits,
            method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
        )  # fmt: skip
        assert objective(np.maximum(d, 1e-9)) <= best.fun + 1e-6 * (1 + abs(best.fun))


@pytest.mark.parametrize("region", [name for name in REGIONS if name not in ("orthant", "box")])
@pytest.mark.parametrize("powers", [(1.0, 0.0), (0.6, 0.4), (0.0, 1.7)])
@pytest.mark.parametrize("penalty", [ElasticNet(), ElasticNet(0.3, 0.2)], ids=["bare", "penalised"])
def test_features_driven_to_zero_do_not_change_the_others(region, powers, penalty):
    """Entries that may as well be zero leave the step of the others as it is without them."""
    region, _ = REGIONS[region]
    rng = np.random.default_rng(1)
    N, P = rng.random((3, 6)) + 0.1, rng.random((3, 6)) + 0.1
    P[:, [0, 4]] *= 1e25
    learner, parts = RatioLearner(*powers, rescale=False), Regulariser(penalty, region)
    D = learner._constrained(N, P, 1.0, parts)
    assert D[:, [0, 4]].max() < 1e-9
    others = [1, 2, 3, 5]
    alone = learner._constrained(N[:, others], P[:, others], 1.0, parts)
    np.testing.assert_allclose(D[:, others], alone, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("loss", [KullbackLeibler(), Hellinger(), BetaDivergence(1.3)], ids=str)
@pytest.mark.parametrize("region", [NonnegativeL2Ball(), Simplex()], ids=str)
def test_rescaling_changes_no_prediction(loss, region):
    """Two batches on a ball give the atoms of two batches on the orthant, up to their lengths."""
    rng = np.random.default_rng(0)
    first, second = planted(30), planted(30, seed=1)
    C, D = rng.random((30, K)) + 0.1, rng.random((K, F)) + 0.1
    free, learner = np.ones(K, bool), RatioLearner(*loss.powers)
    results = []
    for place in (NonnegativeOrthant(), region):
        codes, atoms, statistics = C, D, learner.empty(K, F)
        for X in (first, second):
            sums = learner.summarise(DenseFit(loss, X, codes, atoms), None)
            atoms, statistics, gain = learner.update(
                statistics, sums, atoms, Regulariser(region=place), free
            )
            codes = codes * gain  # what the atoms lost in length
        results.append(codes @ atoms)
        assert place.contains(atoms, 1e-9)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-8)


def planted(n=240, seed=0):
    rng = np.random.default_rng(seed)
    D, C = rng.gamma(0.6, 1.0, (K, F)), rng.gamma(0.6, 1.0, (n, K))
    return C @ D * rng.gamma(50, 1 / 50, (n, F)) + 0.02
