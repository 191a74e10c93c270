"""Losses with kinks, wherever a loss is taken: codes against CVXPY, and what is learned."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from parts import solve
from thresher.estimators import BatchNMF, ManhattanNMF, OnlineNMF
from thresher.losses import ElasticDistance, L1Distance
from thresher.penalties import ElasticNet
from thresher.sets import Box
from thresher.testing.data import planted

CASES = {
    "elastic": (ElasticDistance(2.0), {}, lambda c, e: (cp.sum_squares(e), [])),
    "elastic, box": (
        ElasticDistance(2.0),
        {"code_set": Box(0.0, 0.4)},
        lambda c, e: (cp.sum_squares(e), [c <= 0.4]),
    ),
    "ridge": (
        L1Distance(),
        {"code_penalty": ElasticNet(0.01, 0.1)},
        lambda c, e: (0.01 * cp.sum(c) + 0.05 * cp.sum_squares(c), []),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_codes_are_optimal(name):
    """Warnings are errors here: every code says that it is there."""
    loss, given, statement = CASES[name]
    X = planted(120)
    model = OnlineNMF(4, divergence=loss, random_state=0, verbose=0, n_passes=3, **given).fit(X)
    model.set_params(max_iter=5000)
    rows = np.ascontiguousarray(X[:8])
    got = model.objective_samples(rows)
    np.testing.assert_allclose(model.objective_samples(sparse.csr_array(rows)), got, rtol=1e-3)
    for x, value in zip(rows, got, strict=True):
        c = cp.Variable(4, nonneg=True)
        e = x - c @ model.components_
        extra, constraints = statement(c, e)
        best = solve(cp.norm1(e) + extra, constraints)
        assert best * (1 - 1e-6) - 1e-8 <= value <= best * (1 + 2e-3) + 1e-6
    assert np.isnan(model.certificates(rows, model.transform(rows))).all()  # not known, and said


def test_a_square_beside_the_kink_is_learned_as_well_as_the_kink_alone():
    X = planted(80)

    def beside_the_best(kind, loss, square):
        best = ManhattanNMF(4, square_weight=square, random_state=0, verbose=0).fit(X)
        model = kind(4, divergence=loss, random_state=0, verbose=0).fit(X)
        return model.score(X) / best.score(X)

    for kind in (OnlineNMF, BatchNMF):
        kink = beside_the_best(kind, L1Distance(), 0.0)
        assert beside_the_best(kind, ElasticDistance(2.0), 2.0) < 1.05 * kink


@pytest.mark.parametrize("loss", [L1Distance(0.3), ElasticDistance(0.7, 0.4)], ids=str)
def test_rounded_kinks_come_close_and_have_the_right_slope(loss):
    rng = np.random.default_rng(0)
    X, Y = rng.random((20, 6)), rng.random((20, 6))
    X[X < 0.2] = 0
    for width in (0.3, 1e-3):
        rounded = loss.rounded(width)
        apart = rounded.value(X, Y) - loss.value(X, Y)
        assert (apart >= -1e-12).all()
        assert (apart <= X.shape[1] * width / 2).all()
        step = np.zeros_like(Y)
        step[:, 2] = 1e-6
        slope = (rounded.value(X, Y + step) - rounded.value(X, Y - step)) / 2e-6
        np.testing.assert_allclose(slope, rounded.gradient(X, Y)[:, 2], atol=1e-6)
        positive, negative = rounded.split(X, Y)
        np.testing.assert_allclose(positive - negative, rounded.gradient(X, Y), atol=1e-12)
        assert (positive >= 0).all()
        assert (negative >= -1e-12).all()


def test_sparse_rows_under_kinks_and_a_curved_price_are_coded_exactly():
    """No method codes them on their nonzeros: they are expanded, and not left where they start."""
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.4, size=(3, 12)) * 4.0) * 1.0
    model = ManhattanNMF(3, code_penalty=ElasticNet(0.05, 0.1), random_state=0, verbose=0)
    model.fit(sparse.csr_array(X))
    of_sparse, of_dense = (model.objective_samples(rows) for rows in (sparse.csr_array(X), X))
    np.testing.assert_allclose(of_sparse, of_dense, rtol=1e-6)
