"""The Frank–Wolfe method against CVXPY, its gap as a bound, and errata of paper D."""

import cvxpy as cp
import numpy as np
import pytest

from parts import solve
from thresher.learning import StochasticFrankWolfe, exact_gradient, frank_wolfe
from thresher.learning.frank_wolfe import PUBLISHED_AVERAGING, PUBLISHED_STEP
from thresher.linalg import polar
from thresher.sets import (
    Box,
    CoveredBox,
    L1Ball,
    L2Ball,
    NonnegativeOrthant,
    NuclearBall,
    Simplex,
    SpectralBall,
)


def orthogonal(N, seed=0):
    return polar(np.random.default_rng(seed).normal(size=(N, N)))


def test_a_singular_gradient_has_a_defined_answer():
    """Errata D.3: of all minimisers the one towards the dictionary, not LAPACK's whim."""
    rng = np.random.default_rng(0)
    D = orthogonal(6, 1)
    G = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 6))
    S = SpectralBall().minimise_linear(G, D)
    assert np.sum(G * S) == pytest.approx(-np.linalg.norm(G, "nuc"))
    np.testing.assert_allclose(S @ S.T, np.eye(6), atol=1e-12)
    U, _, Vt = np.linalg.svd(-G)
    nearest = U[:, :2] @ Vt[:2] + U[:, 2:] @ polar(U[:, 2:].T @ D @ Vt[2:].T) @ Vt[2:]
    np.testing.assert_allclose(S, nearest, atol=1e-5)
    np.testing.assert_allclose(SpectralBall().minimise_linear(np.zeros((6, 6)), D), D, atol=1e-12)


def test_the_gap_bounds_the_suboptimality():
    """Matrix completion: convex, exact gradients, so ``F(X) − min F ≤ gap``."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 7))
    seen = rng.random(truth.shape) < 0.6
    ball = NuclearBall(0.8 * np.linalg.norm(truth, "nuc"))

    def loss(X):
        return 0.5 * float(np.sum(np.where(seen, X - truth, 0) ** 2))

    X = cp.Variable(truth.shape)
    best = solve(
        0.5 * cp.sum_squares(cp.multiply(seen.astype(float), X - truth)),
        [cp.normNuc(X) <= ball.radius],
    )
    values, gaps = [], []

    def watch(state):
        values.append(loss(state.X))
        gaps.append(state.gap)

    end = frank_wolfe(
        lambda X, t: np.where(seen, X - truth, 0),
        ball,
        np.zeros(truth.shape),
        averaging=exact_gradient,
        step=lambda t: 2 / (t + 2),
        n_steps=1500,
        callback=watch,
    )
    before = np.array([loss(np.zeros(truth.shape)), *values[:-1]])
    assert np.all(before - best <= np.array(gaps) + 1e-6)
    assert values[-1] - best < 0.01 * best + 0.02
    assert ball.contains(end.X)
    stopped = frank_wolfe(
        lambda X, t: np.where(seen, X - truth, 0),
        ball,
        np.zeros(truth.shape),
        averaging=exact_gradient,
        step=lambda t: 2 / (t + 2),
        tol=1.0,
    )
    assert stopped.gap <= 1.0
    assert stopped.t < 1000


def test_multinomial_regression_over_a_nuclear_ball_against_cvxpy():
    """Nothing of dictionaries in it: a convex loss, stochastic gradients, published schedules."""
    rng = np.random.default_rng(0)
    n, F, K = 400, 6, 4
    X = rng.normal(size=(n, F))
    labels = (
        X @ rng.normal(size=(F, 1)) @ rng.normal(size=(1, K)) + rng.gumbel(size=(n, K))
    ).argmax(1)
    onehot = np.eye(K)[labels]
    ball = NuclearBall(2.0)

    def loss(W):
        scores = X @ W
        return float(np.mean(np.logaddexp.reduce(scores, axis=1) - np.sum(scores * onehot, axis=1)))

    def gradient(W, t):
        rows = np.random.default_rng([1, t]).integers(n, size=20)
        scores = np.exp(X[rows] @ W)
        shares = scores / scores.sum(axis=1, keepdims=True)
        return X[rows].T @ (shares - onehot[rows]) / 20

    W = cp.Variable((F, K))
    objective = (cp.sum(cp.log_sum_exp(X @ W, axis=1)) - cp.sum(cp.multiply(X @ W, onehot))) / n
    best = solve(objective, [cp.normNuc(W) <= 2.0])
    start = np.zeros((F, K))
    end = frank_wolfe(gradient, ball, start, n_steps=3000)
    assert loss(end.X) - best < 0.05 * (loss(start) - best)
    assert ball.contains(end.X, 1e-9)


def test_a_loss_that_is_not_convex_over_an_l1_ball():
    """Sparse regression with a fifth of outliers: what was planted is found, and is stationary."""
    rng = np.random.default_rng(0)
    A, truth = rng.normal(size=(2000, 50)), np.r_[1, -1, 0.5, 0.5, np.zeros(46)]
    y = A @ truth + 0.1 * rng.normal(size=2000)
    y[:400] += 20 * rng.normal(size=400)

    def gradient(X, t, size=20):
        rows = np.random.default_rng(t).integers(2000, size=size) if size else np.arange(2000)
        r = A[rows] @ X[0] - y[rows]
        return (A[rows].T @ (r / (1 + r**2) ** 2) / len(rows))[None]

    ball, start = L1Ball(3.0), np.zeros((1, 50))
    end = frank_wolfe(gradient, ball, start, n_steps=3000)
    assert ball.contains(end.X)
    assert np.linalg.norm(end.X - truth) < 0.1
    assert np.linalg.norm(np.linalg.lstsq(A, y)[0] - truth) > 1
    gaps = []
    for X in (start, end.X):
        G = gradient(X, 0, size=0)
        gaps.append(np.sum(G * (X - ball.minimise_linear(G))))
    assert gaps[1] < 0.25 * gaps[0]


@pytest.mark.parametrize(
    "region", [L1Ball(2.0), L2Ball(1.5), Box(-1, 1), Simplex(), NuclearBall(2.0), SpectralBall()]
)
def test_projections_by_frank_wolfe(region):
    """``½‖X − V‖²`` over the set is minimised by the projection."""
    V = np.random.default_rng(0).normal(size=(4, 5))
    end = frank_wolfe(
        lambda X, t: X - V,
        region,
        region.project(np.zeros((4, 5))),
        averaging=exact_gradient,
        step=lambda t: 2 / (t + 2),
        n_steps=3000,
    )
    nearest = region.project(V)
    assert 0.5 * np.sum((end.X - V) ** 2) - 0.5 * np.sum((nearest - V) ** 2) < 0.02


def test_points_are_improved_after_each_step():
    V = np.random.default_rng(0).normal(size=(3, 4))
    found = frank_wolfe(
        lambda X, t: X - V, L2Ball(), np.zeros((3, 4)), averaging=exact_gradient, n_steps=3,
        improve=lambda X: L2Ball().project(V),
    )  # fmt: skip
    np.testing.assert_allclose(found.X, L2Ball().project(V))


def test_the_printed_weights_exceed_one_before_step_15():
    """Errata D.1."""
    assert [t for t in range(1, 40) if PUBLISHED_AVERAGING(t) > 1] == list(range(1, 15))
    assert PUBLISHED_STEP(1) == pytest.approx(2 * 3**-0.75)


def test_invalid_runs_are_refused():
    with pytest.raises(ValueError, match="minimise_linear"):
        StochasticFrankWolfe(CoveredBox())
    with pytest.raises(ValueError, match="project"):
        frank_wolfe(lambda X, t: X, Simplex(), np.ones((1, 3)))
    with pytest.raises(ValueError, match="bounds"):
        frank_wolfe(lambda X, t: X, NonnegativeOrthant(), np.ones((1, 3)))
    with pytest.raises(ValueError, match="finite"):
        frank_wolfe(lambda X, t: X * np.nan, L2Ball(2.0), np.ones((1, 3)))
