"""Mathematics of the tasks, compared with direct solutions and with SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import BayesianRidge

from thresher.tasks.images.repair import told
from thresher.tasks.sound.convolutive import (
    better_codes,
    better_parts,
    divergence_of,
    gathered,
    laid_out,
    model_of,
    slopes_of_parts,
)
from thresher.tasks.spectra.vertices import cone_codes
from thresher.tasks.tables.blending import nonnegative_solutions
from thresher.tasks.tables.committee import likeliest_weights
from thresher.tasks.tables.correlation import Correlation
from thresher.tasks.tables.factors import Factors
from thresher.tasks.tables.kriging import kriged
from thresher.tasks.video.memory import remembered_sizes
from thresher.tasks.video.windows import median_of_pictures

every_divergence = pytest.mark.parametrize("divergence", ["kl", "is"])


# ------------------------------------------------------------------- factor analysis


@pytest.mark.parametrize("n_missing", [0, 1, 3, 4, 8, 11, 12])
def test_an_entry_given_its_row_has_the_conditional_normal_distribution(n_missing):
    rng = np.random.default_rng(n_missing)
    factors = Factors(rng.normal(size=(12, 3)), 0.05 + rng.random(12))
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.own)
    Z, observed = rng.normal(size=(3, 12)), np.ones((3, 12), dtype=bool)
    for row in (0, 2):  # the second of them comes after a complete row
        observed[row, rng.permutation(12)[:n_missing]] = False
    found = factors.without_itself(Z, observed)
    for t, j in np.ndindex(3, 12):
        others = np.flatnonzero(observed[t] & (np.arange(12) != j))
        weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, j])
        variance = covariance[j, j] - weights @ covariance[others, j]
        assert found.mean[t, j] == pytest.approx(weights @ Z[t, others], abs=1e-9)
        assert found.variance[t, j] == pytest.approx(variance)


def test_moments_of_factors_are_sums_over_rows():
    rng = np.random.default_rng(0)
    n, F, K = 12, 7, 3
    factors = Factors(rng.normal(size=(F, K)), 0.2 + rng.random(F))
    observed = rng.random((n, F)) > 0.3
    observed[4:6], observed[7] = observed[3], False
    Z = np.where(observed, rng.normal(size=(n, F)), 0.0)
    codes, total, where_missing = factors.expected(Z, observed)
    expected_total, expected_missing = np.zeros((K, K)), np.zeros((F, K, K))
    for t in range(n):
        L, own = factors.loadings[observed[t]], factors.own[observed[t]]
        covariance = np.linalg.inv(np.eye(K) + L.T @ (L / own[:, None]))
        mean = covariance @ L.T @ (Z[t, observed[t]] / own)
        np.testing.assert_allclose(codes[t], mean, atol=1e-10)
        expected_total += covariance + np.outer(mean, mean)
        expected_missing[~observed[t]] += covariance + np.outer(mean, mean)
    np.testing.assert_allclose(total, expected_total, atol=1e-9)
    np.testing.assert_allclose(where_missing, expected_missing, atol=1e-9)


def test_factor_analysis_finds_a_planted_covariance():
    rng = np.random.default_rng(1)
    L = rng.normal(size=(8, 2))
    Z = rng.normal(size=(1500, 2)) @ L.T + 0.3 * rng.normal(size=(1500, 8))
    scale = Z.std(0)
    found = Factors.learned(Z / scale, rng.random(Z.shape) > 0.2, 2)
    covariance = (found.loadings @ found.loadings.T + np.diag(found.own)) * np.outer(scale, scale)
    truth = L @ L.T + 0.09 * np.eye(8)
    assert np.abs(covariance - truth).max() < 0.15 * np.abs(truth).max()


# ------------------------------------------------------------------- kriging


def neighbours(observed, t, period, causal):
    """Two readings on each side, or four before; and the nearest one or more periods away."""
    before = np.flatnonzero(observed[:t])[::-1]
    after = t + 1 + np.flatnonzero(observed[t + 1 :])
    near = [*before[:4]] if causal else [*before[:2], *after[:2]]
    for stride in (-period, period)[: 1 if causal else 2] if period else ():
        away = [p for p in (t + stride, t + 2 * stride, t + 3 * stride) if 0 <= p < len(observed)]
        there = [p for p in away if observed[p]]
        if there and there[0] not in near:
            near.append(there[0])
    return [int(place) for place in near]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("period", [0, 2, 12])
@pytest.mark.parametrize("even", [True, False])
def test_kriging_solves_the_equations_of_every_entry(causal, period, even):
    rng = np.random.default_rng(period)
    n, ranges = 60, np.array([3.0, 40.0])
    times = np.arange(n) * 1.0 if even else np.cumsum(rng.integers(1, 4, n)) * 1.0
    weights = np.zeros((3, 8 if period else 4))
    weights[0, [0, 3]], weights[2, [1, -1]] = (0.5, 0.4), (0.3, 0.6)
    correlation = Correlation(weights, ranges, float(period))
    U, observed = rng.normal(size=(n, 3)), rng.random((n, 3)) > 0.15
    found = kriged(U, observed, times, correlation, causal)
    later = kriged(U, observed, times, correlation, causal, first=25)
    for whole, part in zip(found, later, strict=True):
        np.testing.assert_allclose(whole[25:], part, rtol=1e-12)
    assert not found.mean[:, 1].any()  # a column without correlation
    for t, j in np.ndindex(n, 3):
        others = np.flatnonzero(observed[:, j] & (np.arange(n) < (t if causal else n)))
        distances = np.abs(times[others[others != t]] - times[t])
        assert found.reach[t, j] == distances.min(initial=np.inf)
        near = neighbours(observed[:, j], t, period, causal)
        if j == 1 or not near:
            continue
        d = times[near] - times[t]
        R = correlation.of_column(j, d[:, None] - d)
        np.fill_diagonal(R, 1 + 1e-6)
        r = correlation.of_column(j, d)
        w = np.linalg.solve(R, r)
        assert found.mean[t, j] == pytest.approx(w @ U[near, j], abs=1e-8)
        assert found.left[t, j] == pytest.approx(np.clip(1 - w @ r, 1e-6, 1), abs=1e-8)


def test_the_correlation_of_an_autoregression_is_found():
    rng = np.random.default_rng(2)
    u = np.zeros(4000)
    for t in range(1, 4000):
        u[t] = 0.9 * u[t - 1] + rng.normal()
    found = Correlation.learned(u[:, None], np.ones((4000, 1), bool), np.arange(4000.0), 0)
    lags = np.arange(1.0, 12.0)
    np.testing.assert_allclose(found.of_column(0, lags), 0.9**lags, atol=0.08)


# ------------------------------------------------------------------- small least squares


def test_weights_of_predictors_are_nonnegative_least_squares():
    rng = np.random.default_rng(0)
    B, y = rng.normal(size=(20, 30, 4)), rng.normal(size=(20, 30))
    found = nonnegative_solutions(np.einsum("gea,geb->gab", B, B), np.einsum("gea,ge->ga", B, y))
    expected = [nnls(*problem)[0] for problem in zip(B, y, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_codes_in_a_cone_are_nonnegative_least_squares():
    rng = np.random.default_rng(0)
    E, Y = rng.standard_normal((4, 4)), rng.standard_normal((40, 4))
    np.testing.assert_allclose(cone_codes(E, Y), [nnls(E.T, y)[0] for y in Y], atol=1e-4)


def test_ridge_weights_are_those_of_the_largest_evidence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 80, 6)) @ rng.normal(size=(3, 6, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=(3, 80)) * np.array([[0.1], [1.0], [5.0]])
    X, y = X - X.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    grams, sides = np.einsum("rna,rnb->rab", X, X), np.einsum("rna,rn->ra", X, y)
    weights, ridge = likeliest_weights(grams, sides, (y**2).sum(1), np.full(3, 80))
    for k in range(3):
        expected = BayesianRidge(max_iter=1000, tol=1e-10, fit_intercept=False).fit(X[k], y[k])
        np.testing.assert_allclose(weights[k], expected.coef_, rtol=1e-3, atol=1e-4)
        assert ridge[k] == pytest.approx(expected.lambda_ / expected.alpha_, rel=1e-2)


@pytest.mark.parametrize("colours", [(), (3,)])
def test_pixels_are_predicted_by_least_squares_over_sound_pixels(colours):
    rng = np.random.default_rng(0)
    shape = (2, 7, 8, *colours)
    filled, model = rng.random(shape), rng.random(shape)
    sound = (rng.random((2, 7, 8)) < 0.8).reshape(2, 7, 8, *[1] * len(colours))
    sound = np.broadcast_to(sound, shape)

    def mean_of(pictures, moves):
        padded = np.pad(pictures, [(0, 0), (1, 1), (1, 1), (0, 0)][: len(shape)], mode="edge")
        return sum(padded[:, 1 + y : 8 + y, 1 + x : 9 + x] for y, x in moves) / len(moves)

    sides, corners = ((-1, 0), (1, 0), (0, -1), (0, 1)), ((-1, -1), (-1, 1), (1, -1), (1, 1))
    beside, diagonal = mean_of(filled, sides), mean_of(filled, corners)
    model_beside, model_diagonal = mean_of(model, sides), mean_of(model, corners)
    terms = [diagonal - beside, model - model_beside, model_diagonal - model_beside]
    A = np.stack(terms, axis=-1)
    found = told(filled, model, sound)
    for n in range(2):
        weights = np.linalg.lstsq(A[n][sound[n]], (filled - beside)[n][sound[n]], rcond=None)[0]
        np.testing.assert_allclose(found[n], beside[n] + A[n] @ weights, atol=1e-5)


# ------------------------------------------------------------------- convolutive NMF


def spectra(T=30, K=3, L=5, F=8):
    """Positive spectra, and codes and components that do not fit them."""
    rng = np.random.default_rng(0)
    return rng.gamma(0.5, size=(T, F)) + 1e-6, rng.random((T, K)), rng.random((K, L, F))


@pytest.mark.parametrize("T", [3, 12])
def test_gathering_is_the_transpose_of_laying_out(T):
    rng = np.random.default_rng(0)
    C, G = rng.random((T, 2)), rng.random((T, 2 * 5))
    np.testing.assert_allclose(np.sum(laid_out(C, 5) * G), np.sum(C * gathered(G, 5)))


@every_divergence
@pytest.mark.parametrize(("T", "L"), [(30, 1), (30, 5), (4, 5)])
def test_multiplicative_steps_never_increase_the_divergence(divergence, T, L):
    V, C, D = spectra(T=T, L=L)
    values = [divergence_of(V, model_of(C, D), divergence)]
    for _ in range(20):
        C = better_codes(V, C, D, divergence)
        values.append(divergence_of(V, model_of(C, D), divergence))
        D = better_parts(V, C, D, divergence)
        values.append(divergence_of(V, model_of(C, D), divergence))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert values[-1] < 0.7 * values[0]


@every_divergence
def test_gradients_of_components_are_finite_differences(divergence):
    V, C, D = spectra()
    up, down = slopes_of_parts(V, C, D, divergence)
    for at in [(0, 0, 0), (1, 2, 3), (2, 4, 7)]:
        step = np.zeros_like(D)
        step[at] = 1e-6
        higher, lower = (divergence_of(V, model_of(C, D + s * step), divergence) for s in (1, -1))
        np.testing.assert_allclose((higher - lower) / 2e-6, (down - up)[at], rtol=1e-5)


# ------------------------------------------------------------------- windows of video


def test_medians_of_frames_are_those_of_numpy():
    for n in (1, 2, 5, 9):
        frames = np.random.default_rng(n).random((n, 40, 7, 3))
        expected = np.quantile(frames, 0.5, axis=0, method="lower")
        np.testing.assert_array_equal(median_of_pictures(list(frames)), expected)


def test_a_residual_is_at_most_the_third_smallest_distance_to_remembered_frames():
    rng = np.random.default_rng(0)
    picture = rng.uniform(0, 200, (12, 18, 3)).astype(np.float32)
    light = rng.uniform(0.5, 2, (4, 6, 3)).astype(np.float32)
    memory = rng.uniform(0, 200, (7, 12, 18, 3)).astype(np.float32)
    sizes, typical = rng.uniform(0, 90, (2, 12, 18)).astype(np.float32)
    seen = memory * np.repeat(np.repeat(light, 3, axis=0), 3, axis=1)
    third = np.sort(np.abs(picture - seen).max(axis=3), axis=0)[2]
    expected = np.where(sizes > typical, np.minimum(sizes, third), sizes)
    found = remembered_sizes(sizes, typical, picture, light, memory)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    few = remembered_sizes(sizes, typical, picture, light, memory[:2])
    np.testing.assert_array_equal(few, sizes)
