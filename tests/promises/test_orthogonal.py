"""Online orthogonal dictionaries: planted truth, errata of paper D, drift, missing values."""

import numpy as np
import pytest

from thresher.datasets import make_orthogonal_stream
from thresher.estimators import OnlineOrthogonalDictionary, load, save
from thresher.learning import (
    HalfLife,
    PlainAverage,
)
from thresher.metrics import factor_match_score, orthogonal_error
from thresher.testing import checks_for
from thresher.testing.data import planted


def model(**parameters):
    quiet = {"batch_size": 10, "n_passes": 1, "shuffle": False, "random_state": 0, "verbose": 0}
    return OnlineOrthogonalDictionary(**{**quiet, **parameters})


def orthogonal(N, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(N, N)))[0]


def errors(stream, steps, **parameters):
    """Error (24) after some steps, from a random start as in the paper."""
    found = {}

    def watch(step):
        t = step.row.samples // 10
        if t in steps:
            found[t] = orthogonal_error(stream.dictionary, step.dictionary)

    model(init="random", callbacks=[watch], **parameters).fit(stream.data)
    return [found[t] for t in steps]


def test_erratum_3_batches_smaller_than_the_dictionary_are_defined():
    X = make_orthogonal_stream(50, 6, random_state=0).data
    one = model(solver="noncvx_sfw", batch_size=1).fit(X).components_
    np.testing.assert_allclose(one @ one.T, np.eye(6), atol=1e-9)
    turned = orthogonal(6, 0)
    start = orthogonal(6, 1)
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
    for seed in range(3):
        stream = make_orthogonal_stream(6000, 10, noise=0.05, random_state=seed)
        steps = [400, 600]
        ours = errors(stream, steps, random_state=seed)
        theirs = errors(stream, steps, solver="noncvx_sfw", random_state=seed)
        ratios.append(np.divide(ours, theirs))
    assert np.all(np.median(ratios, axis=0) < 0.1)


def test_refinement_is_exact_with_empty_samples():
    """At θ = 0.1 a third of the samples is zero, and fits any dictionary."""
    found = []
    for seed in range(3):
        stream = make_orthogonal_stream(6000, 10, 0.1, random_state=seed)
        assert not stream.data.any(axis=1).all()
        found += errors(stream, [600], random_state=seed)
    assert np.median(found) < 1e-10


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


def energy_left(C):
    """Energy of all but the k largest codes, for each k, summed over rows."""
    falling = -np.sort(-(C**2), axis=1)
    return (falling.sum(axis=1, keepdims=True) - np.cumsum(falling, axis=1)).sum(axis=0)


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
        ours += energy_left(fitted.transform(Y))
        theirs += energy_left(Y @ np.linalg.eigh(S)[1])
        fitted.partial_fit(Y)
        S = 2 ** (-6 / 100) * S + Y.T @ Y
    assert np.mean(np.log(ours[:-1] / theirs[:-1])) < -0.3


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


def test_missing_values_are_imputed_by_the_best_linear_prediction():
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


def test_learning_with_missing_values_finds_the_atoms():
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
def test_public_checks_with_whitening(check):
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


@pytest.mark.parametrize(
    "parameters", [{}, {"forgetting": HalfLife(50.0)}, {"solver": "sfw"}, {"whiten": True}], ids=str
)
def test_saved_models_continue(parameters, tmp_path):
    X = make_orthogonal_stream(2000, 5, random_state=0).data
    fitted = model(**parameters).fit(X)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    for each in (fitted, again):
        each.partial_fit(X[:20])
    np.testing.assert_array_equal(again.components_, fitted.components_)
    assert again.solver_ == fitted.solver_


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"solver": "magic"}, "noncvx_sfw"),
        ({"p": 5}, "p"),
        ({"p": 4}, "p"),
        ({"init": "zero"}, "samples"),
        ({"init": np.zeros((24, 24))}, "zero"),
        ({"init": np.ones((3, 3))}, "24"),
        ({"init": np.ones((24, 24))}, "singular"),
        ({"n_nonzero": 0}, "n_nonzero"),
        ({"batch_size": 0}, "batch_size"),
        ({"tol": -1e-4}, "tol"),
        ({"forgetting": PlainAverage()}, "forgetting"),
        ({"forgetting": -3.0}, "forgetting"),
        ({"callbacks": print}, "callbacks"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        model(**parameters).fit(planted(40))


def test_invalid_input_is_refused():
    X = planted(60)
    with pytest.raises(ValueError, match="Complex"):
        model().fit(X * 1j)
    fitted = model().fit(X)
    with pytest.raises(ValueError, match="entry_weight"):
        fitted.partial_fit(X, entry_weight=np.full(X.shape, 0.5))
    with pytest.raises(ValueError, match="solver"):
        fitted.set_params(solver="sfw").partial_fit(X)
    with pytest.raises(ValueError, match="square"):
        orthogonal_error(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="orthonormal"):
        make_orthogonal_stream(10, dictionary=np.ones((3, 3)))


def test_the_error_is_invariant_to_order_and_sign():
    rng = np.random.default_rng(0)
    D = orthogonal(7, 0)
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


def test_dense_codes_still_give_an_orthogonal_dictionary():
    """Nothing is zero here: the refined dictionary must not be shown for it."""
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(4000, 6)) @ orthogonal(6, 0)
    fitted = model().fit(X)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(6), atol=1e-9)
