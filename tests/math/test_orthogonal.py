"""Orthogonal dictionaries: planted truth, the errata of D; the published steps have references."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from thresher.datasets import make_orthogonal_stream
from thresher.estimators import OnlineOrthogonalDictionary, load, save
from thresher.learning import (
    HalfLife,
    PlainAverage,
    Progress,
    RefinedLearner,
    TrackedLearner,
    principal_directions,
)
from thresher.learning.sparsity import (
    cubes_by_length,
    keep_largest,
    left_out,
    power_gradient,
    rank_weights,
    ranked,
)
from thresher.linalg import polar
from thresher.metrics import factor_match_score, frank_wolfe_gap, orthogonal_error
from thresher.solvers import noncvx_sfw
from thresher.testing import checks_for
from thresher.testing.data import planted


def model(**parameters):
    quiet = {"batch_size": 10, "n_passes": 1, "shuffle": False, "random_state": 0, "verbose": 0}
    return OnlineOrthogonalDictionary(**{**quiet, **parameters})


def published(p, **constants):
    """The learner of Algorithm 2, with the ℓp norm."""
    return noncvx_sfw(**constants).made().make(p, False)


def power_iterations(Y, D, p, n):
    """Algorithm 2 with ρ = γ = 1 on one batch: the generalised power method."""
    ones = {"averaging_scale": 1.0, "averaging_power": 0.0, "step_scale": 1.0, "step_power": 0.0}
    learner, weight = published(p, **ones), np.ones(len(Y))
    state = learner.begin(Y, weight, D)
    for t in range(1, n + 1):
        sums = learner.summarise(state, D, Y, weight)
        D, state = learner.learn(state, sums, D, Progress(t, len(Y), t * len(Y), 1.0))
        yield D


def errors(stream, steps, **parameters):
    """Error (24) after some steps, from a random start as in the paper."""
    found = {}

    def watch(step):
        t = step.row.samples // 10
        if t in steps:
            found[t] = orthogonal_error(stream.dictionary, step.dictionary)

    model(init="random", callbacks=[watch], **parameters).fit(stream.data)
    return [found[t] for t in steps]


# ------------------------------------------------------------------ sparsity functions


@pytest.mark.parametrize(
    ("value", "gradient"),
    [
        (lambda c: np.sum(np.abs(c) ** 3) / 3, lambda C: power_gradient(C, 3)),
        (lambda c: np.sum(np.abs(c) ** 4) / 4, lambda C: power_gradient(C, 4)),
        (lambda c: 0.5 * np.sort(c * c)[::-1] @ rank_weights(len(c)), ranked),
    ],
)
def test_gradients_by_finite_differences(value, gradient):
    C = np.random.default_rng(0).normal(size=(5, 7))
    numeric = np.array([approx_fprime(c, value, 1e-7) for c in C])
    np.testing.assert_allclose(gradient(C), numeric, atol=1e-5)


def test_ranked_codes_are_compression_averaged_over_k():
    """``Σ_k (w_k − w_{k+1}) ‖k largest‖² = Σ_j w_j c_(j)²``."""
    C = np.random.default_rng(0).normal(size=(4, 9))
    w = rank_weights(9)
    captured = (C * C).sum(axis=1, keepdims=True) - left_out(C)
    averaged = captured @ -np.diff(w, append=0)
    np.testing.assert_allclose(averaged, np.sum(ranked(C) * C, axis=1))
    for k in (1, 4, 9):
        kept = keep_largest(C, k)
        assert np.all(np.count_nonzero(kept, axis=1) == k)
        np.testing.assert_allclose(((C - kept) ** 2).sum(axis=1), left_out(C)[:, k - 1], atol=1e-12)


def test_cubes_by_length_know_no_scale_but_the_square():
    C = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_allclose(cubes_by_length(7 * C), 7 * cubes_by_length(C))
    assert not cubes_by_length(np.zeros((2, 3))).any()


# -------------------------------------------------------------- the published algorithm


def test_with_weights_of_one_and_p_4_it_is_msp():
    """``polar((c∘³)ᵀ y)`` of Zhai et al.; it never lowers ‖c‖₄."""
    Y = make_orthogonal_stream(500, 5, random_state=0).data
    D = polar(np.random.default_rng(1).normal(size=(5, 5)))
    values = []
    for found in power_iterations(Y, D, 4, 15):
        D = polar(((Y @ D.T) ** 3).T @ Y)
        np.testing.assert_allclose(found, D, atol=1e-9)
        values.append(np.sum((Y @ D.T) ** 4))
    assert np.all(np.diff(values) >= -1e-9 * values[0])


def test_the_gap_is_zero_exactly_at_stationary_points():
    """Lemma 2: positive at a random point of the ball, zero where power iterations end."""
    Y = make_orthogonal_stream(2000, 5, random_state=0).data
    D = polar(np.random.default_rng(1).normal(size=(5, 5)))
    assert frank_wolfe_gap(Y, D) > 0.01
    assert frank_wolfe_gap(Y, 0.5 * D) > 0
    *_, D = power_iterations(Y, D, 3, 300)
    assert frank_wolfe_gap(Y, D) == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------------------- errata D


def test_erratum_1_weights_above_one_cost_early_accuracy():
    """Beginning at one comes closer by step 60, in the median over streams."""
    from thresher.learning import SHIFTED_AVERAGING
    from thresher.learning.orthogonal import FrankWolfeLearner

    ratios = []
    for seed in range(7):
        stream = make_orthogonal_stream(600, 10, random_state=seed)
        printed = model(solver="noncvx_sfw", init="random", random_state=seed)
        shifted = model(solver="noncvx_sfw", init="random", random_state=seed)
        better = FrankWolfeLearner(SHIFTED_AVERAGING, published(3).step)
        shifted._solver = lambda better=better: better
        before = orthogonal_error(stream.dictionary, printed.fit(stream.data).components_)
        after = orthogonal_error(stream.dictionary, shifted.fit(stream.data).components_)
        ratios.append(after / before)
    assert np.median(ratios) < 0.8


def test_erratum_2_the_gradient_has_its_factor():
    """(21) loses the 3² of the gradient's 3: the gap and the learner have it."""
    rng = np.random.default_rng(0)
    Y, D = rng.normal(size=(30, 4)), polar(rng.normal(size=(4, 4)))

    def loss(d):
        return -np.mean(np.sum(np.abs(Y @ d.reshape(4, 4).T) ** 3, axis=1))

    numeric = approx_fprime(D.ravel(), loss, 1e-7).reshape(4, 4)
    learner = published(3)
    sums = learner.summarise(learner.begin(Y, np.ones(30), D), D, Y, np.ones(30))
    np.testing.assert_allclose(sums.G / 30, numeric, atol=1e-4)
    gap = np.linalg.norm(numeric, "nuc") + np.sum(numeric * D)
    assert frank_wolfe_gap(Y, D) == pytest.approx(gap, abs=1e-4)


def test_erratum_3_a_zero_start_is_refused_and_small_batches_are_defined():
    X = make_orthogonal_stream(50, 6, random_state=0).data
    with pytest.raises(ValueError, match="zero has no gradient"):
        model(init=np.zeros((6, 6))).fit(X)
    one = model(solver="noncvx_sfw", batch_size=1).fit(X).components_
    np.testing.assert_allclose(one @ one.T, np.eye(6), atol=1e-9)
    turned = polar(np.random.default_rng(0).normal(size=(6, 6)))
    start = polar(np.random.default_rng(1).normal(size=(6, 6)))
    first = model(solver="noncvx_sfw", batch_size=2, init=start).fit(X[:8]).components_
    # Equivariance would break if ties were left to LAPACK.
    again = model(solver="noncvx_sfw", batch_size=2, init=start @ turned).fit(X[:8] @ turned)
    np.testing.assert_allclose(again.components_, first @ turned, atol=1e-6)


def test_erratum_4_refinement_is_exact_where_the_published_error_falls_slowly():
    """N = 10, θ = 0.3, B = 10: 1e-3 after 1000 steps as published, rounding with `auto`."""
    for seed in range(3):
        stream = make_orthogonal_stream(10_000, 10, random_state=seed)
        assert errors(stream, [1000], random_state=seed)[0] < 1e-10
    published = errors(stream, [500, 1000], solver="noncvx_sfw")
    assert 2e-4 < published[1] < published[0] < 1e-2


def test_refinement_holds_under_noise():
    """Noise of 0.05: a tenth of the published error from step 400 on."""
    ratios = []
    for seed in range(5):
        stream = make_orthogonal_stream(6000, 10, noise=0.05, random_state=seed)
        steps = [400, 600]
        ours = errors(stream, steps, random_state=seed)
        theirs = errors(stream, steps, solver="noncvx_sfw", random_state=seed)
        ratios.append(np.divide(ours, theirs))
    assert np.all(np.median(ratios, axis=0) < 0.1)


def test_empty_samples_do_not_make_a_dictionary_look_exact():
    """θ = 0.1: a third of the samples are zero, and fit any dictionary."""
    found = []
    for seed in range(5):
        stream = make_orthogonal_stream(6000, 10, 0.1, random_state=seed)
        assert not stream.data.any(axis=1).all()
        found += errors(stream, [600], random_state=seed)
    assert np.median(found) < 1e-10
    now = model().fit(stream.data).statistics_
    Y = stream.data[:40]
    more = np.vstack([Y, np.zeros((60, 10))])
    alone, among = (
        RefinedLearner().summarise(now, now.shown, Z, np.ones(len(Z))) for Z in (Y, more)
    )
    assert among.n_zero == pytest.approx(alone.n_zero)
    assert among.n_other == pytest.approx(alone.n_other)


def test_dense_codes_fall_back_to_the_first_stage():
    """Nothing is zero here: the refined dictionary must not be shown for it."""
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(4000, 6)) @ polar(rng.normal(size=(6, 6)))
    fitted = model().fit(X)
    assert not fitted.statistics_.chosen
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(6), atol=1e-9)


def test_a_refined_dictionary_that_got_worse_is_dropped():
    stream = make_orthogonal_stream(4000, 6, random_state=0)
    fitted = model().fit(stream.data)
    learner, now = RefinedLearner(), fitted.statistics_
    assert now.chosen
    bad = learner._decided(_with(now, lead=-10.0, spread=1.0), now.weight)
    assert not bad.chosen
    np.testing.assert_array_equal(bad.refined, now.first)
    good = learner._decided(_with(now, lead=-1.0, spread=1.0), now.weight)
    assert good.chosen  # within chance


def _with(statistics, **changes):
    from dataclasses import replace

    return replace(statistics, **changes)


# ------------------------------------------------------------------------------- drift


def test_a_half_life_follows_a_change():
    first, second = (make_orthogonal_stream(3000, 8, random_state=s) for s in (0, 1))
    tracking = model(forgetting=400).fit(first.data)
    assert orthogonal_error(first.dictionary, tracking.components_) < 0.02
    rigid = model().fit(first.data)
    for start in range(0, 3000, 10):
        tracking.partial_fit(second.data[start : start + 10])
        rigid.partial_fit(second.data[start : start + 10])
    assert orthogonal_error(second.dictionary, tracking.components_) < 0.05
    assert orthogonal_error(second.dictionary, rigid.components_) > 0.1


def test_tracking_compresses_better_than_causal_principal_directions():
    """Correlated sensors that drift and blips, coded before they are learned from, over all k."""
    rng = np.random.default_rng(0)
    N, n = 16, 2400
    slow = np.cumsum(rng.normal(size=(n, 3)), axis=0) / 20
    loads = rng.normal(size=(3, N)) * (rng.random((3, N)) < 0.5)
    X = slow @ loads + 0.3 * rng.laplace(size=(n, N)) * (rng.random((n, N)) < 0.1)
    X += 0.02 * rng.normal(size=(n, N))
    fitted = model(forgetting=100).partial_fit(X[:100])
    S = X[:100].T @ X[:100]
    ours, theirs = np.zeros(N), np.zeros(N)
    for start in range(100, n, 6):
        Y = X[start : start + 6]
        ours += left_out(fitted.transform(Y)).sum(axis=0)
        theirs += left_out(Y @ principal_directions(S).T).sum(axis=0)
        fitted.partial_fit(Y)
        S = HalfLife(100)(6, 0) * S + Y.T @ Y
    assert np.mean(np.log(ours[:-1] / theirs[:-1])) < -0.3


def test_tracked_dictionaries_wait_for_samples():
    """N/16 and N/64 samples: with N = 40, three batches of one, and every batch."""
    X = make_orthogonal_stream(300, 40, random_state=0).data
    fitted = model(forgetting=100, batch_size=1).partial_fit(X[:200])
    learned, mixed = [], []
    for y in X[200:212]:
        before = fitted.statistics_
        after = fitted.partial_fit(y[None]).statistics_
        learned.append(not np.array_equal(before.learned, after.learned))
        mixed.append(not np.array_equal(before.mixed, after.mixed))
        np.testing.assert_allclose(after.S, HalfLife(100)(1, 0) * before.S + np.outer(y, y))
    assert learned == [False, False, True] * 4
    assert all(mixed)


def test_the_mixed_dictionary_turns_principal_directions_within_their_span():
    """Beyond the strongest quarter it leaves out exactly what principal directions do."""
    rng = np.random.default_rng(0)
    Y = rng.laplace(size=(500, 8)) @ rng.normal(size=(8, 8))
    S, D = Y.T @ Y, polar(rng.normal(size=(8, 8)))
    V, mixed = principal_directions(S), TrackedLearner()._turned(S, D)
    np.testing.assert_allclose(mixed[:2].T @ mixed[:2], V[:2].T @ V[:2], atol=1e-9)
    np.testing.assert_allclose(mixed[2:], V[2:], atol=1e-9)


def test_principal_directions_where_samples_never_went():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6))
    V = principal_directions(Y.T @ Y)
    np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(Y @ V[3:].T, 0, atol=1e-8)
    energies = np.sum((Y @ V.T) ** 2, axis=0)
    assert np.all(np.diff(energies) <= 1e-8)


# --------------------------------------------------------------- what only this one does


def test_codes_are_one_product_and_the_largest_are_kept():
    X = make_orthogonal_stream(300, 7, noise=0.1, random_state=0).data
    fitted = model().fit(X)
    np.testing.assert_allclose(fitted.transform(X), X @ fitted.components_.T, atol=1e-12)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-12)
    few = fitted.set_params(n_nonzero=3).transform(X)
    assert np.all(np.count_nonzero(few, axis=1) == 3)
    rest = X - few @ fitted.components_
    np.testing.assert_allclose(-fitted.score_samples(X), 0.5 * np.sum(rest**2, axis=1), atol=1e-12)
    inside = model(solver="sfw", n_nonzero=3).fit(X)
    rest = X - inside.transform(X) @ inside.components_
    np.testing.assert_allclose(-inside.score_samples(X), 0.5 * np.sum(rest**2, axis=1), atol=1e-12)


def test_gaps_are_filled_by_the_best_linear_prediction():
    """On correlated data near the conditional mean of the true covariance."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5)) * [3, 2, 1, 0.3, 0.1]
    covariance = root @ root.T
    X = rng.multivariate_normal(np.zeros(5), covariance, size=6000)
    fitted = model(batch_size=100).fit(X[:5000])
    gaps = X[5000:].copy()
    gaps[:, 2] = np.nan
    seen = [0, 1, 3, 4]
    weights = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen, 2])
    best = np.mean((gaps[:, seen] @ weights - X[5000:, 2]) ** 2)
    ours = np.mean((fitted.impute(gaps)[:, 2] - X[5000:, 2]) ** 2)
    assert ours < 1.1 * best


def test_learning_from_gaps_still_finds_the_atoms():
    stream = make_orthogonal_stream(10_000, 6, random_state=0)
    gaps = stream.data.copy()
    gaps[np.random.default_rng(1).random(gaps.shape) < 0.02] = np.nan
    fitted = model().fit(gaps)
    assert orthogonal_error(stream.dictionary, fitted.components_) < 0.02


def test_whitening_finds_complete_dictionaries_that_are_not_orthogonal():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(6, 6))
    X = (rng.normal(size=(20_000, 6)) * (rng.random((20_000, 6)) < 0.3)) @ atoms
    white, plain = (model(whiten=w, batch_size=50).fit(X) for w in (True, False))
    assert factor_match_score(atoms, white.components_) > 0.999
    assert factor_match_score(atoms, plain.components_) < 0.9
    np.testing.assert_allclose(white.inverse_transform(white.transform(X)), X, atol=1e-9)
    few = white.set_params(n_nonzero=2)
    rest = X - few.transform(X) @ few.components_
    np.testing.assert_allclose(-few.score_samples(X), 0.5 * np.sum(rest**2, axis=1), atol=1e-9)


# After whitening all directions are as loud as another, and what a tenth of the codes leave out
# tells little of a sample's kind.
WHITE = [c for c in checks_for(OnlineOrthogonalDictionary()) if "false_alarm" not in c.__name__]


@pytest.mark.parametrize("check", WHITE, ids=lambda check: check.__name__)
def test_promise_with_whitening(check):
    # After more passes over 15 samples, rounding exceeds what the check of weights allows.
    check(OnlineOrthogonalDictionary(whiten=True, n_passes=10))


@pytest.mark.parametrize("whiten", [False, True])
def test_the_codes_that_are_kept_contribute_most(whiten):
    """By ``|c|·‖atom‖``: whitened atoms have other lengths, and the largest codes are others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)) @ np.diag([8.0, 4.0, 2.0, 1.0, 0.5, 0.25])
    X = X @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    once = {"whiten": whiten, "n_passes": 1, "random_state": 0, "verbose": 0}
    whole = OnlineOrthogonalDictionary(**once).fit(X)
    C = whole.transform(X)
    lengths = np.linalg.norm(whole.components_, axis=1)
    np.testing.assert_allclose(C @ whole.components_, X, atol=1e-6)
    few = OnlineOrthogonalDictionary(n_nonzero=2, **once).fit(X)
    kept = few.transform(X)
    contribution = np.abs(C) * lengths
    expected = np.zeros_like(C)
    rows = np.arange(len(X))[:, None]
    largest = np.argsort(contribution, axis=1)[:, -2:]
    expected[rows, largest] = C[rows, largest]
    np.testing.assert_allclose(kept, expected, atol=1e-8)
    by_size = np.argsort(np.abs(C), axis=1)[:, -2:]
    differs = (np.sort(by_size, axis=1) != np.sort(largest, axis=1)).any(axis=1).mean()
    assert differs > 0.2 if whiten else differs == 0
    rest = X - kept @ few.components_
    np.testing.assert_allclose(few.score_samples(X), -0.5 * (rest**2).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(few.objective_samples(X), 0.5 * (rest**2).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(few.certificates(X, kept), 0, atol=1e-12)
    assert few.certificates(X, 1.1 * kept) == pytest.approx(0.1)


@pytest.mark.parametrize("whiten", [False, True])
def test_energies_are_mean_squares_of_codes(whiten):
    X = make_orthogonal_stream(600, 6, random_state=0).data * [1, 2, 3, 4, 5, 6]
    fitted = model(whiten=whiten).fit(X)
    np.testing.assert_allclose(fitted.energies_, np.mean(fitted.transform(X) ** 2, axis=0))


def test_the_start_is_made_feasible():
    X = make_orthogonal_stream(30, 5, random_state=0).data
    given = np.random.default_rng(0).normal(size=(5, 5))
    before = model(init=given)._begin
    from thresher.streams import Batch

    np.testing.assert_allclose(before(Batch(X), 0).D, polar(given), atol=1e-12)
    for init in ("random", "pca", "samples"):
        D = model(init=init)._begin(Batch(X), 0).D
        np.testing.assert_allclose(D @ D.T, np.eye(5), atol=1e-9)


@pytest.mark.parametrize(
    "parameters", [{}, {"forgetting": HalfLife(50.0)}, {"solver": "sfw"}, {"whiten": True}], ids=str
)
def test_saved_models_go_on(parameters, tmp_path):
    X = make_orthogonal_stream(2000, 5, random_state=0).data
    fitted = model(**parameters).fit(X)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    for each in (fitted, again):
        each.partial_fit(X[:20])
    np.testing.assert_array_equal(again.components_, fitted.components_)
    assert again.solver_ == fitted.solver_


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"solver": "magic"}, "'noncvx_sfw'"),
        ({"p": 5}, "use 3, or 4"),
        ({"p": 4}, "leave p out"),
        ({"init": "zero"}, "'samples'"),
        ({"init": np.ones((3, 3))}, r"\(24, 24\)"),
        ({"init": np.ones((24, 24))}, "singular"),
        ({"n_nonzero": 0}, "positive integer"),
        ({"batch_size": 0}, "positive integer"),
        ({"tol": -1e-4}, "0 or more"),
        ({"forgetting": PlainAverage()}, "half-life in samples"),
        ({"forgetting": -3.0}, "half-life"),
        ({"callbacks": print}, "brackets"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_what_would_work(parameters, says):
    with pytest.raises(ValueError, match=says):
        model(**parameters).fit(planted(40))


def test_misuse_is_explained():
    X = planted(60)
    with pytest.raises(ValueError, match="Complex"):
        model().fit(X * 1j)
    fitted = model().fit(X)
    with pytest.raises(ValueError, match=r"0 \(missing\) or 1"):
        fitted.partial_fit(X, entry_weight=np.full(X.shape, 0.5))
    with pytest.raises(ValueError, match="belongs to"):
        fitted.set_params(solver="sfw").partial_fit(X)
    with pytest.raises(ValueError, match="square"):
        orthogonal_error(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="orthonormal"):
        make_orthogonal_stream(10, dictionary=np.ones((3, 3)))


# ---------------------------------------------------------------- data and measures


def test_the_error_knows_neither_order_nor_sign():
    rng = np.random.default_rng(0)
    D = polar(rng.normal(size=(7, 7)))
    same = D[rng.permutation(7)] * rng.choice([-1, 1], 7)[:, None]
    assert orthogonal_error(D, same) == pytest.approx(0, abs=1e-12)
    angle = 1e-3
    turned = D.copy()
    turned[0] = np.cos(angle) * D[0] + np.sin(angle) * D[1]
    turned[1] = np.cos(angle) * D[1] - np.sin(angle) * D[0]
    assert orthogonal_error(D, turned) == pytest.approx(2 * 2 * angle**2 / 7, rel=1e-3)


def test_the_planted_stream_is_bernoulli_gaussian():
    stream = make_orthogonal_stream(20_000, 6, 0.3, 0.1, random_state=0)
    np.testing.assert_allclose(stream.dictionary @ stream.dictionary.T, np.eye(6), atol=1e-12)
    assert np.mean(stream.codes != 0) == pytest.approx(0.3, abs=0.01)
    assert np.var(stream.codes[stream.codes != 0]) == pytest.approx(1, abs=0.03)
    noise = stream.data - stream.codes @ stream.dictionary
    assert noise.std() == pytest.approx(0.1, rel=0.02)
    again = make_orthogonal_stream(50, dictionary=stream.dictionary, random_state=1)
    np.testing.assert_array_equal(again.dictionary, stream.dictionary)
