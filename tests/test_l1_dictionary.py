"""Paper B: Algorithms 2 and 3 against linear programs, OIADMM against its theorems, its errata."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from parts import solve
from thresher.encoding import (
    CodingProblem,
    Encoder,
    LeastAbsolute,
    LinearisedADMM,
    Never,
    Settled,
    Status,
)
from thresher.encoding.linearised_admm import _correlated, _predicted
from thresher.estimators import L1Dictionary, OnlineL1Dictionary, load, save
from thresher.kernels.block_descent import AtomSet, sweeps
from thresher.learning import (
    CodedSamples,
    DiagonalLearner,
    DiagonalStatistics,
    L1DictionaryADMM,
    OnlineInexactADMM,
    QuadraticStatistics,
    linearised_step,
    median_atoms,
)
from thresher.learning.medians import weighted_median
from thresher.losses import Huber, L1Distance, SmoothedL1
from thresher.metrics import regret, regret_bound, sparse_reconstruction_error, violation_bound
from thresher.penalties import L1, Constrained
from thresher.sets import NonnegativeL1Ball
from thresher.solvers import oiadmm
from thresher.testing import checks_for
from thresher.testing.data import planted

LAMBDA = 0.1
BALL = Constrained(region=NonnegativeL1Ball())
K, F = 5, 24


def corpus(n=100, n_words=80, n_topics=8, seed=0):
    """Documents that sum to one, mostly of one topic each, with words of their own."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(7).dirichlet(np.full(n_words, 0.05), n_topics)
    label = rng.integers(n_topics, size=n)
    counts = np.array([rng.multinomial(40, topics[k]) for k in label]) * 1.0
    counts[np.arange(n), rng.integers(n_words, size=n)] += 4
    return counts / counts.sum(axis=1, keepdims=True), label, topics


def mixtures(n=100):
    """Documents of several topics each, with words left out and words of their own."""
    rng = np.random.default_rng(0)
    D = rng.random((10, 120)) * (rng.random((10, 120)) < 0.15)
    D /= D.sum(axis=1, keepdims=True)
    P = (rng.random((n, 10)) * (rng.random((n, 10)) < 0.3)) @ D
    P = P * (rng.random(P.shape) < 0.8) + 0.02 * (rng.random(P.shape) < 0.03)
    return P / P.sum(axis=1, keepdims=True), D


def coded(rng, n=6, outliers=0.2):
    """A batch with codes that are given: planted atoms, and residuals far from normal."""
    D = BALL.region.project(np.random.default_rng(3).random((K, F)) ** 4)
    C = rng.random((n, K)) * (rng.random((n, K)) < 0.6)
    P = C @ D + outliers * (rng.random((n, F)) < 0.2) * rng.random((n, F))
    return CodedSamples(P, C, np.ones((n, F)), np.ones(n))


# --------------------------------------------------------------------------- Algorithm 2


def test_products_with_thin_atoms_are_those_with_the_same_atoms():
    rng = np.random.default_rng(0)
    D = rng.random((4, 9)) * (rng.random((4, 9)) < 0.4)
    C, U, thin = rng.random((5, 4)), rng.standard_normal((5, 9)), sparse.csr_array(D)
    np.testing.assert_allclose(_predicted(C, thin), C @ D, atol=1e-14)
    np.testing.assert_allclose(_correlated(U, thin), U @ D.T, atol=1e-14)


def test_algorithm_2_reaches_the_linear_program_of_100_documents():
    """Errata B.7: the problem of a document is a linear program, and its own words are enough."""
    P, D = mixtures()
    problem = CodingProblem(D, L1Distance(), Constrained(L1(LAMBDA)))
    encoding = Encoder(LinearisedADMM(), Settled(1e-8), 20_000, certify=False).encode(problem, P)
    assert (encoding.status == Status.CONVERGED).all()
    for p, value in zip(P, problem.objective(P, encoding.codes), strict=True):
        words = p > 0
        cost = LAMBDA + D[:, ~words].sum(axis=1)  # of the zeros, linear in the codes
        m, ones = int(words.sum()), np.ones(int(words.sum()))
        best = linprog(  # min Σ(e⁺ + e⁻) + cost·c with cD + e⁺ − e⁻ = p
            np.r_[cost, ones, ones], A_eq=np.c_[D[:, words].T, np.eye(m), -np.eye(m)], b_eq=p[words]
        ).fun
        assert abs(value - best) < 1e-6


def test_algorithm_2_takes_sparse_documents():
    P, D = mixtures(20)
    problem = CodingProblem(D, L1Distance(0.5), Constrained(L1(LAMBDA)))
    encoder = Encoder(LinearisedADMM(), Settled(1e-4), 500, certify=False)
    thin = encoder.encode(problem, sparse.csr_array(P)).codes
    np.testing.assert_allclose(thin, encoder.encode(problem, P).codes, atol=1e-12)


@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
@pytest.mark.parametrize("share", [1.0, 0.05], ids=["full atoms", "thin atoms"])
def test_algorithm_2_without_e_is_as_printed(zero_weight, share):
    """With the copy E of the residual, line by line, on all words, and with entry weights."""
    P, _, D = corpus(12)
    D = np.where(np.random.default_rng(2).random(D.shape) < share, D, 0)
    weight = np.random.default_rng(1).random(P.shape)
    problem = CodingProblem(D, L1Distance(zero_weight), Constrained(L1(LAMBDA)))
    W = np.where(P == 0, zero_weight, 1.0) * weight
    phi, gamma, kappa = 5.0, 1.89, 1 / np.linalg.norm(D, 2) ** 2
    C, rho = np.zeros((12, len(D))), np.zeros(P.shape)
    for _ in range(30):
        V = P - C @ D + rho / phi
        E = V - np.clip(V, -W / phi, W / phi)
        G = (C @ D + E - P - rho / phi) @ D.T
        C = np.maximum(C - kappa * G - LAMBDA * kappa / phi, 0)
        rho = rho + gamma * phi * (P - C @ D - E)
    encoder = Encoder(LinearisedADMM(), Never(), 30, certify=False)
    np.testing.assert_allclose(encoder.encode(problem, P, weight).codes, C, atol=1e-12)
    scaled = Encoder(LinearisedADMM(phi / 1024), Never(), 30, certify=False)
    doubled = scaled.encode(problem, 1024 * P, weight).codes  # φ has the inverse unit of the data
    np.testing.assert_allclose(doubled, 1024 * C, atol=1e-9)


def test_errata_2_the_published_steps_converge_slowly_and_longer_ones_do_not():
    P, D = mixtures()
    problem = CodingProblem(D, L1Distance(), Constrained(L1(LAMBDA)))

    def excess(kappa, iterations):
        encoder = Encoder(LinearisedADMM(kappa=kappa), Never(), iterations, certify=False)
        return problem.objective(P, encoder.encode(problem, P).codes) - best

    best = problem.objective(P, LeastAbsolute().encode(problem, P).codes)
    assert 1e-4 < excess(1.0, 50).max() < 0.05
    assert excess(1.0, 3000).max() < 1e-4
    assert not excess(1.3, 3000).max() < 1e-2
    assert best.max() <= 1 + 1e-12  # zero codes are always possible: so ζ < 1


def test_other_losses_are_refused():
    P, _, D = corpus(5)
    with pytest.raises(ValueError, match="use L1Distance"):
        Encoder(LinearisedADMM()).encode(CodingProblem(D, Huber(0.1)), P)
    fit = CodingProblem(D, Huber(0.1)).fit(P, np.zeros((5, len(D))))
    with pytest.raises(ValueError, match="solver='auto'"):
        OnlineInexactADMM().summarise(fit, None)


# --------------------------------------------------------------------------- Algorithm 3


def best_dictionary(samples):
    """By an interior-point method."""
    D = cp.Variable(samples.C.shape[1:] + samples.P.shape[1:])
    loss = samples.sample_weight @ cp.sum(
        cp.multiply(samples.bound, cp.abs(samples.P - samples.C @ D)), axis=1
    )
    value = solve(loss, [D >= 0, cp.sum(D, axis=1) <= 1])
    return value, BALL.region.project(D.value)


def test_algorithm_3_reaches_the_optimum():
    rng = np.random.default_rng(0)
    samples = coded(rng, 30)
    weights = np.where(rng.random((30, F)) < 0.8, rng.random((30, F)), 0)
    samples = CodedSamples(samples.P, samples.C, weights, rng.integers(0, 3, 30) * 1.0)
    best, _ = best_dictionary(samples)
    step = L1DictionaryADMM(tol=1e-9, max_iter=20_000)
    D, _, _ = step.learn(step.empty(K, F), samples, np.zeros((K, F)), BALL, np.ones(K, bool))
    assert BALL.region.contains(D)
    assert abs(samples.loss(samples.residual(D)) - best) < 1e-6 * best


def test_errata_5_atoms_without_codes_never_move():
    """Algorithm 4 appends zero atoms with zero codes; started from data they learn."""
    samples = coded(np.random.default_rng(0), 20)
    C = samples.C.copy()
    C[:, 2] = 0
    D = np.zeros((K, F))
    step = L1DictionaryADMM()
    moved, _, _ = step.learn(
        step.empty(K, F), CodedSamples(samples.P, C, samples.bound, samples.sample_weight), D,
        BALL, np.ones(K, bool),
    )  # fmt: skip
    assert not moved[2].any()
    assert moved[[0, 1, 3, 4]].any(axis=1).all()
    P, label, _ = corpus(400)
    model = OnlineL1Dictionary(4, random_state=0, verbose=0).partial_fit(P[label < 4])
    before = model.score(P[label == 5])
    model.grow(atoms=P[label == 5][:1])
    model.partial_fit(P[label == 5])
    assert model.components_.shape == (5, 80)
    assert model.transform(P[label == 5])[:, 4].mean() > 0.1
    assert model.score(P[label == 5]) > before


# -------------------------------------------------------------------------------- OIADMM


def run(learner, batches, D=None):
    """Dictionaries before every batch, the last one, and the statistics after every batch."""
    D = np.zeros((K, F)) if D is None else D
    statistics, seen, kept = learner.empty(K, F), [], []
    for samples in batches:
        seen.append(D)
        D, statistics, _ = learner.learn(statistics, samples, D, BALL, np.ones(K, bool))
        kept.append(statistics)
    return [*seen, D], kept


@pytest.mark.parametrize("horizon", ["doubling", "growing"])
def test_horizons_that_nobody_knows(horizon):
    """(2)–(4) as printed, with Γ, against the learner that has none."""
    rng = np.random.default_rng(0)
    batches = [coded(rng) for _ in range(20)]
    dictionaries, kept = run(OnlineInexactADMM(horizon=horizon), batches)
    D, Delta, violation, epoch = np.zeros((K, F)), np.zeros((6, F)), 0.0, -1
    for samples, statistics, after in zip(batches, kept, dictionaries[1:], strict=True):
        P, C, beta, tau = samples.P, samples.C, statistics.beta, statistics.tau
        if horizon == "doubling" and statistics.step == 1:
            Delta, epoch = np.zeros((6, F)), epoch + 1
            assert statistics.horizon == 2**epoch
        assert 1 / tau >= 2 * np.linalg.norm(C, 2) ** 2 * (1 - 1e-12)
        V = P - C @ D + Delta / beta
        Gamma = np.sign(V) * np.maximum(np.abs(V) - 1 / beta, 0)
        G = -C.T @ (Delta / beta + P - C @ D - Gamma)
        D = BALL.region.project(D - tau * G)
        Delta = Delta + beta * (P - C @ D - Gamma)
        violation += np.sum((Gamma - (P - C @ D)) ** 2)
        np.testing.assert_allclose(after, D, atol=1e-12)
        np.testing.assert_allclose(statistics.Delta, Delta, atol=1e-9)
        assert statistics.violation == pytest.approx(violation, rel=1e-9)
    assert epoch == (4 if horizon == "doubling" else -1)


def stationary(T):
    """Batches, the best fixed dictionary for the codes of the first 64, and the theorem's τ, Φ."""
    rng = np.random.default_rng(5)
    batches = [coded(rng, outliers=1.0) for _ in range(T)]
    _, best = best_dictionary(sum(batches[1:64], batches[0]))
    tau = 1 / (2 * max(samples.spectral_norm() for samples in batches))
    return batches, best, tau, np.sqrt(6 * F)


def play(batches, best, tau, phi):
    """OIADMM with the constant steps of the theorem for a known T, from D = 0."""
    beta = phi / np.linalg.norm(best) * np.sqrt(tau * len(batches))
    D, Delta, seen, violation = np.zeros((K, F)), np.zeros((6, F)), [], []
    for samples in batches:
        seen.append(D)
        D, _, Delta, gap = linearised_step(
            samples, D, samples.residual(D), Delta, beta, tau, 1.0, BALL, np.ones(K, bool)
        )
        violation.append(np.sum(gap**2))
    return seen, np.cumsum(violation)


def test_regret_and_violation_grow_like_the_root_and_stay_below_their_bounds():
    """Errata B.3: Theorem B.5 with the factor that its proof has, and B.6."""
    lost, missed = [], []
    stream, best, tau, phi = stationary(1024)
    size = float(np.linalg.norm(best))
    for T in (64, 256, 1024):
        batches = stream[:T]
        seen, violation = play(batches, best, tau, phi)
        lost.append(regret([s.P for s in batches], [s.C for s in batches], seen, best)[-1])
        missed.append(violation[-1])
        worst = max(s.loss(s.residual(best)) for s in batches)
        assert 0 < lost[-1] <= regret_bound(T, tau, phi, size)
        assert 0 < missed[-1] <= violation_bound(T, tau, phi, size, worst)
    for values in (lost, missed):  # T times 16: the root is 4, linear would be 16
        assert values[2] / values[0] < 6


def test_the_bound_is_what_the_proof_adds_up_to():
    """Errata B.3: ``Φ²T/(2β) + ‖D*‖²β/(2τ)`` at the β of the theorem, which minimises it."""
    T, tau, phi, size, worst = 50, 0.03, 7.0, 1.7, 11.0
    beta = phi / size * np.sqrt(tau * T)

    def total(beta):
        return phi**2 * T / (2 * beta) + size**2 * beta / (2 * tau)

    assert regret_bound(T, tau, phi, size) == pytest.approx(total(beta))
    assert total(beta) < min(total(0.9 * beta), total(1.1 * beta))
    expected = 2 * size**2 / tau + 4 * worst * T / beta
    assert violation_bound(T, tau, phi, size, worst) == pytest.approx(expected)


def test_errata_3_epochs_that_double_keep_the_bound_without_knowing_the_horizon():
    """Sums telescope within an epoch of constant τ, β; the bounds of the epochs add up."""
    batches, best, _, phi = stationary(100)
    dictionaries, kept = run(OnlineInexactADMM(horizon="doubling"), batches)
    R = regret([s.P for s in batches], [s.C for s in batches], dictionaries[:-1], best)
    total = 0.0
    for t, statistics in enumerate(kept):
        if statistics.step == 1:
            assert statistics.phi == pytest.approx(phi)
            beta, far = statistics.beta, np.linalg.norm(best - dictionaries[t])
            total += phi**2 * statistics.horizon / (2 * beta)
            total += far**2 * beta / (2 * statistics.tau)
        else:
            assert (statistics.tau, statistics.beta) == (kept[t - 1].tau, kept[t - 1].beta)
    assert R[-1] <= total
    assert R[-1] / R[5] < 8  # of 17 for linear growth


@pytest.mark.parametrize("horizon", [None, 8, "doubling"])
def test_errata_3_zero_is_a_fixed_point_and_zero_codes_leave_the_dictionary(horizon):
    P, _, _ = corpus(30, F)
    zero = CodingProblem(np.zeros((K, F)), L1Distance(), Constrained(L1(LAMBDA)))
    codes = Encoder(LinearisedADMM(), Settled(), 100, certify=False).encode(zero, P).codes
    assert not codes.any()
    learner = OnlineInexactADMM(horizon=horizon)
    D = BALL.region.project(np.random.default_rng(0).random((K, F)))
    first, kept = run(learner, [coded(np.random.default_rng(1))], D)
    nothing = CodedSamples(P, codes, np.ones(P.shape), np.ones(30))
    moved, after, _ = learner.learn(kept[0], nothing, first[1], BALL, np.ones(K, bool))
    np.testing.assert_allclose(moved, first[1], atol=1e-15)
    if horizon == 8:  # there is no τ to make the theorem's β from
        assert after is kept[0]
    else:  # (2) and (4) go on
        before = np.zeros((30, F))
        if horizon is None:
            before[:6] = kept[0].Delta
        expected = np.clip(after.beta * P + before, -1, 1)
        np.testing.assert_allclose(after.Delta, expected, atol=1e-12)
    alone, _, _ = learner.learn(learner.empty(K, F), nothing, D, BALL, np.ones(K, bool))
    np.testing.assert_allclose(alone, D, atol=1e-15)


@pytest.mark.parametrize("steps", [OnlineInexactADMM(horizon="growing"), OnlineInexactADMM()])
def test_errata_4_batches_of_any_size(steps):
    """Rows without a partner start at zero, those out of reach wait, and nothing is dropped."""
    rng = np.random.default_rng(2)
    batches = [coded(rng, n) for n in (4, 9, 2, 9)]
    dictionaries, kept = run(steps, batches)
    assert [len(s.Delta) for s in kept] == [4, 9, 9, 9]
    np.testing.assert_array_equal(kept[2].Delta[2:], kept[1].Delta[2:])
    second, before = kept[1], np.vstack([kept[0].Delta, np.zeros((5, F))])
    start = dictionaries[1]
    D, residual, Delta, _ = linearised_step(
        batches[1], start, batches[1].residual(start), before, second.beta, second.tau, 1.0, BALL,
        np.ones(K, bool),
    )  # fmt: skip
    np.testing.assert_allclose(residual, batches[1].residual(D), atol=1e-12)
    np.testing.assert_allclose(second.Delta, Delta)
    np.testing.assert_allclose(dictionaries[2], D)
    turned = batches[3]
    turned = CodedSamples(*(part[::-1] for part in (turned.P, turned.C, turned.bound)), np.ones(9))
    other, _, _ = steps.learn(kept[2], turned, dictionaries[3], BALL, np.ones(K, bool))
    assert np.abs(other - dictionaries[4]).max() > 1e-6  # order within a batch matters


def test_a_larger_batch_begins_a_new_epoch():
    """β was made for a smaller Φ, so it would no longer be that of the theorem."""
    large = coded(np.random.default_rng(2), 12)
    parts = (large.P, large.C, large.bound, large.sample_weight)
    small, tiny = (CodedSamples(*(part[:n] for part in parts)) for n in (6, 3))
    _, kept = run(OnlineInexactADMM(horizon="doubling"), [small, small, small, tiny, large, large])
    assert [s.step for s in kept] == [1, 1, 2, 1, 1, 2]
    assert kept[4].phi == pytest.approx(np.sqrt(12 * F))


def test_weights_count_as_copies_and_gaps_for_nothing():
    samples = coded(np.random.default_rng(4))
    twice = CodedSamples(samples.P, samples.C, samples.bound, np.array([2.0, 1, 1, 1, 1, 0]))
    rows = [0, 0, 1, 2, 3, 4]
    copies = CodedSamples(samples.P[rows], samples.C[rows], samples.bound, np.ones(6))
    (_, one), (_, two) = (run(OnlineInexactADMM(), [s])[0] for s in (twice, copies))
    np.testing.assert_allclose(one, two, atol=1e-12)
    bound = samples.bound.copy()
    bound[:, 3] = 0
    P = samples.P.copy()
    P[:, 3] = 1e3
    gaps = (CodedSamples(X, samples.C, bound, np.ones(6)) for X in (samples.P, P))
    (_, one), (_, two) = (run(OnlineInexactADMM(), [s])[0] for s in gaps)
    np.testing.assert_array_equal(one, two)


# ----------------------------------------------------------------------------- the start


def test_weighted_median_has_the_least_distance():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (9, 30)) * (rng.random((9, 30)) < 0.7) * 1.0
    weights = rng.integers(1, 4, 9) * 1.0
    median = weighted_median(sparse.csr_array(rows), weights).toarray()[0]

    def cost(values):
        return weights @ np.abs(rows - values)

    for value in range(4):
        assert (cost(median) <= cost(np.full(30, value)) + 1e-12).all()
    copies = np.repeat(rows, weights.astype(int), axis=0)
    again = weighted_median(sparse.csr_array(copies), np.ones(len(copies))).toarray()[0]
    np.testing.assert_array_equal(again, median)


def test_medians_find_topics_where_means_explain_nothing():
    P, label, _ = corpus(300, 200)
    rows = sparse.csr_array(P)
    D = median_atoms(8, rows, np.ones(300), np.random.default_rng(0))
    np.testing.assert_allclose(D.sum(axis=1), 1)
    mean = np.abs(P.mean(axis=0) * np.random.default_rng(0).uniform(0.9, 1.1, (8, 200)))
    mean /= mean.sum(axis=1, keepdims=True)

    def codes(atoms, zero_weight=1.0):
        fixed = {"init": atoms, "frozen_atoms": range(8), "zero_weight": zero_weight}
        return OnlineL1Dictionary(8, **fixed, verbose=0).partial_fit(rows).transform(rows)

    best = codes(D).argmax(axis=1)
    pure = sum(np.bincount(label[best == k]).max() for k in np.unique(best))
    assert pure / 300 > 0.7
    assert codes(D).any(axis=1).mean() > 0.9
    assert codes(mean).any(axis=1).mean() < 0.3
    assert codes(mean, zero_weight=0.1).sum() > 2 * codes(mean).sum()


@pytest.mark.parametrize("seed", range(4))
def test_documents_without_a_word_of_any_group_belong_to_none(seed):
    """Three groups, two atoms: the third has no say in the medians, which are shared words."""
    topic, n = np.arange(30) // 10, 3 + np.arange(30)
    P = np.zeros((30, 33))
    P[np.arange(30), topic], P[np.arange(30), n] = 100, 1
    D = median_atoms(2, sparse.csr_array(P), np.ones(30), np.random.default_rng(seed))
    assert D[:, :3].sum(axis=1).tolist() == [1, 1]
    assert sorted(D.max(axis=0)[:3]) == [0, 1, 1]


def test_the_start_knows_neither_order_nor_repetition_and_survives_odd_documents():
    P, _, _ = corpus(60)
    rng = np.random.default_rng(1)
    weight, order = rng.integers(0, 3, 60) * 1.0, rng.permutation(60)

    def atoms(rows, weights, count=6):
        return median_atoms(count, sparse.csr_array(rows), weights, np.random.default_rng(5))

    expected = atoms(P, weight)
    np.testing.assert_allclose(atoms(P[order], weight[order]), expected)
    copies = np.repeat(P, weight.astype(int), axis=0)
    np.testing.assert_allclose(atoms(copies, np.ones(len(copies))), expected)
    for rows in (P[:2], np.zeros((3, 80)), np.repeat(P[:1], 5, axis=0)):
        found = atoms(rows, np.ones(len(rows)))
        assert found.shape == (6, 80)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert len(np.unique(found.round(12), axis=0)) == 6


# ------------------------------------------------------------------------- the estimators

# OIADMM pairs rows by their place in a batch, so its sums are ordered, and weights are copies
# only within one batch; its φ and β have the data's own unit, and it learns too slowly to impute.
NOT_FOR_OIADMM = (
    "check_scikit_learn_agrees",
    "check_statistics_add_up",
    "check_scale_of_data_does_not_matter",
    "check_impute_keeps_what_was_seen",
)


KEPT = [c for c in checks_for(OnlineL1Dictionary()) if c.__name__ not in NOT_FOR_OIADMM]


@pytest.mark.parametrize("check", KEPT, ids=lambda check: check.__name__)
def test_promise_of_oiadmm(check):
    check(OnlineL1Dictionary(solver=oiadmm(iterations=20), n_passes=2))


@pytest.mark.parametrize("solver", ["oiadmm", oiadmm(tau=0.01, beta=2.0)], ids=str)
def test_the_dual_is_saved(solver, tmp_path):
    P, _, _ = corpus(64)
    model = OnlineL1Dictionary(4, solver=solver, random_state=0, verbose=0)
    for _ in range(3):
        model.partial_fit(P)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.solver == solver
    np.testing.assert_array_equal(again.statistics_.Delta, model.statistics_.Delta)
    assert again.statistics_.Delta.any()
    np.testing.assert_array_equal(again.history_.to_array(), model.history_.to_array())
    for each in (model, again):
        each.partial_fit(P[:40])
    np.testing.assert_array_equal(again.components_, model.components_)
    violation = model.history_.column("violation")
    assert (np.diff(violation) > 0).all()
    assert np.isnan(OnlineL1Dictionary(4, verbose=0).partial_fit(P).history_[-1].violation)


@pytest.mark.parametrize("solver", ["auto", oiadmm(horizon="doubling")], ids=str)
def test_held_out_documents_are_explained_better_as_the_stream_goes_on(solver):
    P, _, _ = corpus(1200)
    held_out, _, _ = corpus(200, seed=1)
    model = OnlineL1Dictionary(8, solver=solver, init="random", random_state=0, verbose=0)
    start = model.partial_fit(P[:100]).score(held_out)
    for first in range(100, 1200, 100):
        model.partial_fit(P[first : first + 100])
    assert model.score(held_out) > start + 0.01


@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_the_objective_of_the_batch_falls(solver):
    P, _, topics = corpus(400)
    model = L1Dictionary(8, solver=solver, random_state=0, verbose=0, max_iter=10).fit(P)
    losses = model.history_.column("loss")
    if solver == "auto":  # nothing keeps Algorithms 2 and 3 from rising
        assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0]
    known = OnlineL1Dictionary(8, init=topics, frozen_atoms=range(8), verbose=0).partial_fit(P)
    assert model.score(P) > 1.1 * known.score(P)
    assert -model.score(P) == pytest.approx(losses[-1], abs=0.01)


def test_score_is_the_objective_and_sre_its_mean():
    P, _, _ = corpus(50)
    model = OnlineL1Dictionary(6, code_penalty=0.2, random_state=0, verbose=0).partial_fit(P)
    C = model.transform(P)
    expected = np.abs(P - C @ model.components_).sum(axis=1) + 0.2 * C.sum(axis=1)
    np.testing.assert_allclose(-model.score_samples(P), expected)
    for rows in (P, sparse.csr_array(P)):
        sre = sparse_reconstruction_error(rows, C, model.components_, 0.2)
        assert sre == pytest.approx(-model.score(P))
    assert (model.score_samples(P) >= -1 - 1e-9).all()
    with pytest.raises(ValueError, match="do not match"):
        sparse_reconstruction_error(P, C, model.components_.T)
    with pytest.raises(ValueError, match="for every batch"):
        regret([P], [C], [], model.components_)


def test_a_large_vocabulary_is_never_expanded():
    """Two thousand documents over 100,000 words: a dense copy would take 1.6 GB."""
    rng = np.random.default_rng(0)
    n, width = 2000, 100_000
    words = np.minimum(rng.zipf(1.3, (n, 60)), width) - 1
    rows = sparse.csr_array((np.ones(60 * n), words.ravel(), np.arange(0, 60 * n + 1, 60)),
                            shape=(n, width))  # fmt: skip
    rows = sparse.diags_array(1 / rows.sum(axis=1)) @ rows
    model = OnlineL1Dictionary(10, random_state=0, verbose=0, n_jobs=1)
    model.partial_fit(rows[:100])  # compiles
    tracemalloc.start()
    try:
        model.partial_fit(rows).score(rows)
        OnlineL1Dictionary(10, random_state=0, verbose=0, n_jobs=1).partial_fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    dictionary = 10 * width * 8
    assert peak < 30 * dictionary + 100e6


def test_exact_residuals_have_the_curvature_of_their_neighbours():
    """Where exact codes meet an entry, |∇|/|e| would be a quotient of two roundings."""
    loss = SmoothedL1(0.1)
    x, y = np.array([1.0, 1.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0 + 1e-17, 0.5, 0.0, 1e-18])
    np.testing.assert_allclose(loss.entry_bend(x, y), [10, 10, 2, 0, 0])


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"solver": "admm"}, "'auto' or 'oiadmm'"),
        ({"zero_weight": -1.0}, "0 or more"),
        ({"code_penalty": "l1"}, "a number"),
        ({"init": "kmeans"}, "'medians'"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        OnlineL1Dictionary(4, verbose=0, **parameters).fit(planted(50))


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_separable_surrogate_lies_above_the_smoothed_loss(sparse_rows):
    """And touches it at the current dictionary; its minimiser is the best in the ball."""
    P, _, topics = corpus(60)
    rng = np.random.default_rng(0)
    # Codes are so small that atoms want to leave the ball, and predictions within the rounding.
    C, D = 0.1 * rng.random((60, 8)), BALL.region.project(topics + 0.05)
    rows = sparse.csr_array(P) if sparse_rows else P
    weights = rng.integers(1, 3, 60) * 1.0
    loss, learner = SmoothedL1(0.3, 0.01), DiagonalLearner()

    def value(atoms):
        return weights @ CodingProblem(atoms, loss).fit(rows, C).values()

    def above(sums, atoms):
        step = atoms - D
        return value(D) + np.vdot(sums.gradient, step) + np.vdot(sums.H, step**2) / 2

    sums = learner.summarise(CodingProblem(D, loss).fit(rows, C), weights)
    for size in (0.01, 0.1, 1.0):
        alone = BALL.region.project(D + size * rng.standard_normal(D.shape))
        for other in (alone, (1 - size) * D):  # atom by atom, and all together
            assert value(other) <= above(sums, other) + 1e-9
    free = np.ones(8, dtype=bool)
    moved, _, _ = learner.learn(learner.empty(*D.shape), sums, D, BALL, free)
    assert BALL.region.contains(moved)
    atoms = cp.Variable(D.shape)
    B = sums.H * D - sums.gradient
    best = solve(
        cp.sum(cp.multiply(sums.H, atoms**2)) / 2 - cp.sum(cp.multiply(B, atoms)),
        [atoms >= 0, cp.sum(atoms, axis=1) <= 1],
    )
    found = np.vdot(sums.H, moved**2) / 2 - np.vdot(B, moved)
    assert found <= best + 1e-6 * abs(best)
    assert moved.sum(axis=1).max() > 0.999
    assert value(moved) < value(D)


def test_random_order_takes_the_separable_surrogate_and_the_order_of_time_does_not():
    P, _, _ = corpus(200)
    model = OnlineL1Dictionary(8, random_state=0, verbose=0, n_passes=2)
    assert isinstance(model.fit(P).statistics_, DiagonalStatistics)
    model.partial_fit(P)  # goes on as it began
    assert isinstance(model.statistics_, DiagonalStatistics)
    in_order, dense = model.set_params(shuffle=False).fit(P), L1Dictionary(4, verbose=0)
    for other in (in_order, dense.fit(planted(60))):
        assert isinstance(other.statistics_, QuadraticStatistics)


def test_compiled_sums_are_those_of_the_projection():
    rng = np.random.default_rng(0)
    C = rng.random((50, 6)) * (rng.random((50, 6)) < 0.5)
    A, B = C.T @ C, 3 * rng.standard_normal((6, 40))
    A[2], A[:, 2], B[2] = 0, 0, 0
    D = BALL.region.project(rng.random((6, 40)))
    expected = D.copy()
    for k in (0, 1, 3, 4, 5):
        target = expected[k] + (B[k] - A[k] @ expected - 0.1) / (A[k, k] + 0.2)
        target -= 0.2 * expected[k] / (A[k, k] + 0.2)
        expected[k] = BALL.region.project(target[None])[0]
    moved = sweeps(A, B, D, AtomSet(0.1, 0.2, 1.0, True), 0.0, 1)
    np.testing.assert_allclose(D, expected, atol=1e-12)
    assert moved > 0
