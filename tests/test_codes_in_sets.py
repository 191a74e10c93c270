"""Codes in the simplex, in balls and in boxes: exact, feasible, and the same as CVXPY's."""

import cvxpy as cp
import numpy as np
import pytest

from parts import solve
from thresher.encoding import AutoEncoder, CodingProblem, Newton
from thresher.losses import BetaDivergence, Huber
from thresher.penalties import Constrained, ElasticNet, Tikhonov
from thresher.sets import (
    Box,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Reals,
    Simplex,
)

K, F = 6, 40
LAMBDA = 0.15
SETS = {
    "simplex": Simplex(2.0),
    "l1 ball": NonnegativeL1Ball(1.5),
    "l2 ball": NonnegativeL2Ball(0.9),
    "elastic-net ball": NonnegativeElasticNetBall(0.3, 0.4),
    "box": Box(0.1, 0.6),
    "signed box": Box(-0.1, 0.6),
    "reals": Reals(),
}


def dictionary_and_data(seed, n=20):
    rng = np.random.default_rng(seed)
    D = NonnegativeL2Ball().project(np.abs(rng.standard_normal((K, F))))
    X = rng.random((n, K)) @ D + 0.02 * rng.standard_normal((n, F))
    hit = rng.random(X.shape) < 0.15
    X[hit] += rng.uniform(-1, 1, int(hit.sum()))
    return D, np.maximum(X, 0)


@pytest.mark.parametrize("region", SETS)
def test_newton_is_exact_and_monotone_in_a_set(region):
    """From the member nearest to zero to machine precision; no step leaves the set, or rises."""
    for seed in range(5):
        D, X = dictionary_and_data(seed)
        problem = CodingProblem(D, Huber(LAMBDA), Constrained(Tikhonov(0.01), SETS[region]))
        start = SETS[region].project(np.zeros((20, K)))
        last = problem.objective(X, start)
        for steps in range(1, 16):
            encoding = Newton(1e-13, steps).finish(problem, X, None, start)
            now = problem.objective(X, encoding.codes)
            assert np.all(now <= last * (1 + 1e-12))
            assert SETS[region].contains(encoding.codes, 1e-12)
            last = now
        assert encoding.certificate.max() < 1e-12
        assert problem.certificate(X, encoding.codes).max() < 1e-10


@pytest.mark.parametrize("region", ["simplex", "l1 ball", "l2 ball", "elastic-net ball", "box"])
def test_codes_in_a_set_against_cvxpy(region):
    """With gaps, a price, more atoms than a sample needs, and an atom that is empty."""
    rng = np.random.default_rng(5)
    D = np.abs(rng.standard_normal((K + 3, F)))
    D[2] = 0
    X = rng.gamma(0.3, size=(3, K + 3)) @ D + 0.1 * rng.random((3, F))
    mask = (rng.random(X.shape) > 0.25).astype(float)
    problem = CodingProblem(D, Huber(LAMBDA), Constrained(ElasticNet(0.05, 0.1), SETS[region]))
    encoding = AutoEncoder(1e-9, 1000).encode(problem, X, mask)
    assert SETS[region].contains(encoding.codes)
    values = problem.objective(X, encoding.codes, mask)
    for x, m, value in zip(X, mask, values, strict=True):
        c = cp.Variable(K + 3)
        limits = {
            "simplex": [c >= 0, cp.sum(c) == 2],
            "l1 ball": [c >= 0, cp.sum(c) <= 1.5],
            "l2 ball": [c >= 0, cp.norm2(c) <= 0.9],
            "elastic-net ball": [c >= 0, 0.3 * cp.sum(c) + 0.2 * cp.sum_squares(c) <= 1],
            "box": [c >= 0.1, c <= 0.6],
        }[region]
        lost = cp.sum(cp.multiply(m, cp.huber(x - c @ D, LAMBDA))) / 2
        best = solve(lost + 0.05 * cp.sum(c) + 0.05 * cp.sum_squares(c), limits)
        assert value == pytest.approx(best, rel=1e-6)


def test_a_set_that_does_not_hold_codes_back_changes_nothing():
    D, X = dictionary_and_data(3)
    problem = CodingProblem(D, Huber(LAMBDA))
    codes = AutoEncoder(1e-12).encode(problem, X).codes
    for region in (NonnegativeL1Ball(50), NonnegativeL2Ball(50), Box(0, 50)):
        other = CodingProblem(problem.D, problem.loss, Constrained(region=region))
        np.testing.assert_allclose(AutoEncoder(1e-12).encode(other, X).codes, codes, atol=1e-9)


BOUNDED = {
    "box": Box(0.0, 2.0),
    "simplex": Simplex(1.5),
    "l1 ball": NonnegativeL1Ball(1.5),
    "wide l1 ball": NonnegativeL1Ball(40.0),
}


@pytest.mark.parametrize("region", ["simplex", "l1 ball", "wide l1 ball"])
def test_certificates_in_a_set_bound_what_can_be_gained(region):
    """Under KL they are a duality gap, in units of what the codes cost; at the optimum zero."""
    rng = np.random.default_rng(2)
    D, X = dictionary_and_data(3)
    problem = CodingProblem(D, BetaDivergence(1.0), Constrained(ElasticNet(), BOUNDED[region]))
    best = AutoEncoder(1e-9, 20_000).encode(problem, X)
    assert best.certificate.max() <= 1e-9
    for size in (1e-3, 0.3):
        codes = BOUNDED[region].project(best.codes * rng.uniform(1 - size, 1 + size, (20, K)))
        gained = problem.objective(X, codes) - problem.objective(X, best.codes)
        spent = (codes * D.sum(axis=1)).sum(axis=1)
        assert np.all(gained <= problem.certificate(X, codes) * spent * (1 + 1e-9))


@pytest.mark.parametrize("region", BOUNDED)
def test_a_steep_slope_does_not_hide_the_others(region):
    """Itakura–Saito has slopes of 1e7 where a sample is zero; the other code is 10 % off."""
    X = np.array([[0.0, 1.5]])
    problem = CodingProblem(
        np.eye(2), BetaDivergence(0.0), Constrained(ElasticNet(), BOUNDED[region])
    )
    assert problem.certificate(X, np.array([[1e-7, 1.35]]))[0] > 0.05
    assert problem.certificate(X, np.array([[0.0, 1.5]]))[0] < 1e-6
