"""`model.problem()` is what `transform` solves, in the unit of the data, for anyone to evaluate."""

import cvxpy as cp
import numpy as np
import pytest

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
)
from thresher.penalties import ElasticNet, GroupNorm
from thresher.sets import NonnegativeOrthant
from thresher.testing.data import planted

MODELS = [
    OnlineRobustNMF(4, code_penalty=ElasticNet(l1=1e-5, l2=0.1), tol=1e-9),
    # Rounding ends one of its codes at 1.02e-9 on some processors.
    OnlineRobustNMF(4, code_set="simplex", outlier_weight="mad", tol=2e-9),
    OnlineNMF(4, divergence="kl", tol=1e-7),
    BatchNMF(4, divergence="huber", max_iter=200, tol=1e-8),
    ManhattanNMF(4, max_iter=50),
    L1Dictionary(4, max_iter=50),
]


def ready(estimator):
    return type(estimator)(**{**estimator.get_params(), "random_state": 0, "verbose": 0})


@pytest.mark.parametrize("estimator", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("unit", [1e-3, 700.0])
def test_objectives_and_certificates_agree_with_the_model(estimator, unit):
    """Of its own codes and of others, with gaps too: objectives and certificates, in any unit."""
    X = planted(80) * unit
    model = ready(estimator).fit(X)
    problem, codes = model.problem(), model.transform(X)
    np.testing.assert_array_equal(problem.D, model.components_)
    size = np.abs(model.objective_samples(X)).max()
    np.testing.assert_allclose(
        problem.objective(X, codes), model.objective_samples(X), rtol=1e-6, atol=1e-9 * size
    )
    other = codes * np.random.default_rng(0).uniform(0.5, 1.0, codes.shape)
    np.testing.assert_allclose(
        problem.certificate(X, other), model.certificates(X, other), rtol=1e-5, atol=1e-9
    )
    inside = problem.regulariser.region.project(other)
    worse = problem.objective(X, inside) - problem.objective(X, codes)
    assert worse.min() >= -1e-5 * size
    assert worse.max() > 0
    mask = np.random.default_rng(1).random(X.shape) < 0.8
    gaps = np.where(mask, X, np.nan)
    np.testing.assert_allclose(
        problem.objective(X, model.transform(gaps), mask.astype(float)),
        model.objective_samples(gaps),
        rtol=1e-6,
        atol=1e-9 * size,
    )


def test_losses_and_penalties_are_in_the_unit_of_the_data():
    """The same problem, written out for CVXPY with λ and the price as the user gave them."""
    X = planted(12) * 50
    weight, price = 2.0, 3.0
    model = OnlineRobustNMF(
        3,
        outlier_weight=weight,
        code_penalty=ElasticNet(l1=price),
        tol=1e-10,
        random_state=0,
        verbose=0,
    ).fit(X)
    C = cp.Variable((12, 3), nonneg=True)
    rest = cp.huber(X - C @ model.components_, weight) / 2
    best = cp.Problem(cp.Minimize(cp.sum(rest) + price * cp.sum(C))).solve(solver="CLARABEL")
    assert model.problem().objective(X, model.transform(X)).sum() == pytest.approx(best, rel=1e-6)


def test_gradients_are_those_of_the_objective():
    X = planted(5) * 20
    model = OnlineNMF(3, divergence="kl", random_state=0, verbose=0).fit(X)
    problem, C = model.problem(), model.transform(X) + 0.5
    slope, step = problem.gradient(X, C), 1e-6
    for k in range(3):
        move = step * np.eye(3)[k]
        rise = problem.objective(X, C + move) - problem.objective(X, C - move)
        np.testing.assert_allclose(slope[:, k], rise / (2 * step), rtol=1e-5, atol=1e-6)


def test_penalties_that_couple_samples_are_left_out():
    X = planted(40)
    groups = GroupNorm(0.001, tuple(np.arange(40) % 5), np.inf, of_rows=True)
    model = ManhattanNMF(3, code_penalty=groups, max_iter=10, random_state=0, verbose=0).fit(X)
    model.set_params(code_max_iter=1000)
    assert isinstance(model.problem().regulariser.region, NonnegativeOrthant)
    np.testing.assert_allclose(
        model.problem().objective(X, model.transform(X)), model.objective_samples(X), rtol=1e-6
    )


@pytest.mark.parametrize("whiten", [False, True])
def test_codes_on_an_orthogonal_dictionary_solve_it(whiten):
    X = np.random.default_rng(0).standard_normal((200, 6)) * np.arange(1, 7)
    model = OnlineOrthogonalDictionary(whiten=whiten, random_state=0, verbose=0).fit(X)
    problem, codes = model.problem(), model.transform(X)
    assert problem.objective(X, codes).max() < 1e-20 * (X**2).sum()
    np.testing.assert_allclose(problem.gradient(X, codes), 0, atol=1e-9)


def test_changed_parameters_are_refused():
    model = OnlineRobustNMF(3, random_state=0, verbose=0).fit(planted(50))
    model.set_params(outlier_sign="nonnegative")
    with pytest.raises(ValueError, match="outlier_sign"):
        model.problem()
