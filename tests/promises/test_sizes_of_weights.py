"""Outlier weights and penalties of any size: codes cost no more than zeros, all numbers finite."""

import itertools

import numpy as np
import pytest

from thresher import OnlineRobustNMF, RobustNMF

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e8, 1e9, 1e16, 1e20])
def test_codes_cost_no_more_than_zeros_whatever_the_outlier_weight(kind, dtype, size):
    X = (np.random.default_rng(0).random((30, 15)) * size).astype(dtype)
    model = kind(2, code_penalty=10.0, outlier_weight=0.1, random_state=0).fit(X)
    C = model.transform(X).astype(float)
    D, data = model.components_.astype(float), X.astype(float)

    def cost(codes):
        e = np.abs(data - codes @ D)
        return np.where(e > 0.1, 0.1 * e - 0.005, e * e / 2).sum(axis=1) + 10 * codes.sum(axis=1)

    assert (cost(C) <= cost(0 * C) * (1 + 1e-6)).all()
    wrong = np.full_like(C, size)
    assert (model.certificates(X, wrong.astype(dtype)) > 0.1).all()


WEIGHTS = list(
    itertools.product(
        ["box", "simplex", "l2_ball", "nonnegative"], [0.5, 1e30, 1e-30], ["auto", 1e20, 1e-30]
    )
)


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("size", [1e-20, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objectives_are_finite_whatever_the_weights(kind, dtype, size):
    X = np.full((3, 4), size, dtype)
    for code_set, penalty, weight in WEIGHTS:
        model = kind(
            2, code_penalty=penalty, code_set=code_set, outlier_weight=weight, random_state=0
        ).fit(X)
        assert np.isfinite(model.objective_samples(X)).all()
        assert np.isfinite(model.history_.column("loss")).all()
