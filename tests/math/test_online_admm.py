"""TODO."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from parts import solve
from thresher.encoding import CodingProblem, IterativeEncoder, LeastAbsolute, Never, Status
from thresher.learning import DiagonalLearner, median_atoms
from thresher.losses import L1Distance, SmoothedL1
from thresher.metrics import regret, regret_bound, violation_bound
from thresher.penalties import L1, Regulariser
from thresher.published.l1_dictionary import (
    CodedSamples,
    L1DictionaryADMM,
    LinearisedADMM,
    OnlineInexactADMM,
    SmallSplitResiduals,
    linearised_step,
)
from thresher.sets import NonnegativeL1Ball
from thresher.solvers import admm, oiadmm

LAMBDA = 0.1


BALL = Regulariser(region=NonnegativeL1Ball())


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


def test_algorithm_2_reaches_the_linear_program_of_100_documents():
    """Errata B.7: the problem of a document is a linear program, and its own words are enough."""
    P, D = mixtures()
    problem = CodingProblem(D, L1Distance(), Regulariser(L1(LAMBDA)))
    encoding = IterativeEncoder(LinearisedADMM(), SmallSplitResiduals(1e-8), 20_000).encode(
        problem, P
    )
    assert (encoding.status == Status.CONVERGED).all()
    for p, value in zip(P, problem.objective(P, encoding.codes), strict=True):
        words = p > 0
        cost = LAMBDA + D[:, ~words].sum(axis=1)  # of the zeros, linear in the codes
        m, ones = int(words.sum()), np.ones(int(words.sum()))
        best = linprog(  # min Σ(e⁺ + e⁻) + cost·c with cD + e⁺ − e⁻ = p
            np.r_[cost, ones, ones], A_eq=np.c_[D[:, words].T, np.eye(m), -np.eye(m)], b_eq=p[words]
        ).fun
        assert abs(value - best) < 1e-6


@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
@pytest.mark.parametrize("share", [1.0, 0.05], ids=["full atoms", "thin atoms"])
def test_algorithm_2_without_e_is_as_printed(zero_weight, share):
    """With the copy E of the residual, line by line, on all words, and with entry weights."""
    P, _, D = corpus(12)
    D = np.where(np.random.default_rng(2).random(D.shape) < share, D, 0)
    weight = np.random.default_rng(1).random(P.shape)
    problem = CodingProblem(D, L1Distance(zero_weight), Regulariser(L1(LAMBDA)))
    W = np.where(P == 0, zero_weight, 1.0) * weight
    phi, gamma, kappa = 5.0, 1.89, 1 / np.linalg.norm(D, 2) ** 2
    C, rho = np.zeros((12, len(D))), np.zeros(P.shape)
    for _ in range(30):
        V = P - C @ D + rho / phi
        E = V - np.clip(V, -W / phi, W / phi)
        G = (C @ D + E - P - rho / phi) @ D.T
        C = np.maximum(C - kappa * G - LAMBDA * kappa / phi, 0)
        rho = rho + gamma * phi * (P - C @ D - E)
    encoder = IterativeEncoder(LinearisedADMM(), Never(), 30)
    np.testing.assert_allclose(encoder.encode(problem, P, weight).codes, C, atol=1e-12)
    scaled = IterativeEncoder(LinearisedADMM(admm(phi=phi / 1024)), Never(), 30)
    doubled = scaled.encode(problem, 1024 * P, weight).codes  # φ has the inverse unit of the data
    np.testing.assert_allclose(doubled, 1024 * C, atol=1e-9)


def test_errata_2_the_published_steps_converge_slowly_and_longer_ones_do_not():
    P, D = mixtures()
    problem = CodingProblem(D, L1Distance(), Regulariser(L1(LAMBDA)))

    def excess(kappa, iterations):
        encoder = IterativeEncoder(LinearisedADMM(admm(kappa=kappa)), Never(), iterations)
        return problem.objective(P, encoder.encode(problem, P).codes) - best

    best = problem.objective(P, LeastAbsolute().encode(problem, P).codes)
    assert 1e-4 < excess(1.0, 50).max() < 0.05
    assert excess(1.0, 3000).max() < 1e-4
    assert not excess(1.3, 3000).max() < 1e-2
    assert best.max() <= 1 + 1e-12  # zero codes are always possible: so ζ < 1


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
    step = L1DictionaryADMM(admm(tol=1e-9, iterations=20_000))
    D, _, _ = step.update(step.empty(K, F), samples, np.zeros((K, F)), BALL, np.ones(K, bool))
    assert BALL.region.contains(D)
    assert abs(samples.loss(samples.residual(D)) - best) < 1e-6 * best


def run(learner, batches, D=None):
    """Dictionaries before every batch, the last one, and the statistics after every batch."""
    D = np.zeros((K, F)) if D is None else D
    statistics, seen, kept = learner.empty(K, F), [], []
    for samples in batches:
        seen.append(D)
        D, statistics, _ = learner.update(statistics, samples, D, BALL, np.ones(K, bool))
        kept.append(statistics)
    return [*seen, D], kept


@pytest.mark.parametrize("horizon", ["doubling", "growing"])
def test_unknown_horizons(horizon):
    """(2)–(4) as printed, with Γ, against the learner that has none."""
    rng = np.random.default_rng(0)
    batches = [coded(rng) for _ in range(20)]
    dictionaries, kept = run(OnlineInexactADMM(oiadmm(horizon=horizon)), batches)
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


def test_errata_3_epochs_that_double_keep_the_bound_without_knowing_the_horizon():
    """Sums telescope within an epoch of constant τ, β; the bounds of the epochs add up."""
    batches, best, _, phi = stationary(100)
    dictionaries, kept = run(OnlineInexactADMM(oiadmm(horizon="doubling")), batches)
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


def test_weights_are_copies_and_missing_values_have_none():
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


@pytest.mark.parametrize("seed", range(4))
def test_documents_without_shared_words_do_not_change_the_medians(seed):
    """Three groups, two atoms: the third has no say in the medians, which are shared words."""
    topic, n = np.arange(30) // 10, 3 + np.arange(30)
    P = np.zeros((30, 33))
    P[np.arange(30), topic], P[np.arange(30), n] = 100, 1
    D = median_atoms(2, sparse.csr_array(P), np.ones(30), np.random.default_rng(seed))
    assert D[:, :3].sum(axis=1).tolist() == [1, 1]
    assert sorted(D.max(axis=0)[:3]) == [0, 1, 1]


def test_the_start_is_invariant_to_order_and_repetition():
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
        return value(D) + np.vdot(sums.H * D - sums.B, step) + np.vdot(sums.H, step**2) / 2

    sums = learner.summarise(CodingProblem(D, loss).fit(rows, C), weights)
    for size in (0.01, 0.1, 1.0):
        alone = BALL.region.project(D + size * rng.standard_normal(D.shape))
        for other in (alone, (1 - size) * D):  # atom by atom, and all together
            assert value(other) <= above(sums, other) + 1e-9
    free = np.ones(8, dtype=bool)
    moved, _, _ = learner.update(learner.empty(*D.shape), sums, D, BALL, free)
    assert BALL.region.contains(moved)
    atoms = cp.Variable(D.shape)
    B = sums.B
    best = solve(
        cp.sum(cp.multiply(sums.H, atoms**2)) / 2 - cp.sum(cp.multiply(B, atoms)),
        [atoms >= 0, cp.sum(atoms, axis=1) <= 1],
    )
    found = np.vdot(sums.H, moved**2) / 2 - np.vdot(B, moved)
    assert found <= best + 1e-6 * abs(best)
    assert moved.sum(axis=1).max() > 0.999
    assert value(moved) < value(D)
