"""Codes against closed forms for one atom, and convergence of Newton steps on bounded sets."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from thresher import ManhattanNMF, OnlineNMF, OnlineRobustNMF

N, F = 12, 9
rng = np.random.default_rng(0)
ATOM = rng.random(F) + 0.1
DATA = rng.gamma(1.0, size=(N, 1)) * ATOM * rng.gamma(3.0, size=(N, F)) + 0.01
MISSING = np.where(rng.random((N, F)) < 0.3, np.nan, DATA)


def least_squares(x, d, penalty):
    return max((x @ d - penalty) / (d @ d), 0.0)


def kl(x, d, penalty):
    return x.sum() / (d.sum() + penalty)


def itakura_saito(x, d, penalty):
    assert penalty == 0
    return np.mean(x / d)


def hellinger(x, d, penalty):
    """``4√(xd)`` is linear in √c, and the rest in c: the slope vanishes at their ratio."""
    return (np.sqrt(x * d).sum() / (d.sum() + penalty / 2)) ** 2


def weighted_median(x, d, penalty):
    assert penalty == 0
    order = np.argsort(x / d)
    place = np.searchsorted(np.cumsum(d[order]), d.sum() / 2)
    return (x / d)[order[place]]


def huber(x, d, penalty, weight):
    """Root of the slope, which only rises."""

    def slope(c):
        return penalty - np.clip(x - c * d, -weight, weight) @ d

    return 0.0 if slope(0.0) >= 0 else brentq(slope, 0.0, 1.1 * (x / d).max(), xtol=1e-300)


CASES = [
    ("squared_l2", least_squares, 0.0),
    ("squared_l2", least_squares, 0.5),
    ("kl", kl, 0.0),
    ("kl", kl, 0.5),
    ("is", itakura_saito, 0.0),
    ("hellinger", hellinger, 0.0),
    ("hellinger", hellinger, 0.5),
]


def close(found, expected, rtol):
    np.testing.assert_allclose(found[:, 0], expected, rtol=rtol, atol=1e-12 * expected.max())


def expected(optimum, X, D, *more):
    """The closed form of every row on the entries that were observed."""
    seen = [~np.isnan(x) for x in X]
    return np.array([optimum(x[s], D[0][s], *more) for x, s in zip(X, seen, strict=True)])


def coded(model, X):
    """Codes of X on one atom that never moved."""
    model.set_params(
        init=ATOM[None], frozen_atoms=[0], code_tol=1e-8, code_max_iter=1000, verbose=0
    )
    model.fit(np.nan_to_num(X, nan=1.0))
    return model.transform(X), model.components_.astype(float)


@pytest.mark.parametrize("samples", [DATA, MISSING], ids=["whole", "missing"])
@pytest.mark.parametrize(("name", "optimum", "penalty"), CASES)
def test_one_atom_has_its_optimum_in_closed_form(name, optimum, penalty, samples):
    model = OnlineNMF(1, divergence=name, code_penalty=penalty or None)
    C, D = coded(model, samples)
    # Where predictions must be positive, the floor of 1e-8 moves the optimum.
    close(C, expected(optimum, samples, D, penalty), 1e-5)


@pytest.mark.parametrize("name", ["squared_l2", "kl"])
def test_sparse_rows_have_it_too(name):
    optimum = {"squared_l2": least_squares, "kl": kl}[name]
    counts = np.round(3 * DATA)
    model = OnlineNMF(1, divergence=name)
    _, D = coded(model, counts)
    close(model.transform(sparse.csr_array(counts)), expected(optimum, counts, D, 0.0), 1e-6)


@pytest.mark.parametrize("samples", [DATA, MISSING], ids=["whole", "missing"])
def test_one_atom_under_the_manhattan_distance_is_a_weighted_median(samples):
    C, D = coded(ManhattanNMF(1, dictionary_set="l2_ball"), samples)
    close(C, expected(weighted_median, samples, D, 0.0), 1e-9)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("penalty", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("weight", [1e-9, 1e-3, 0.3, 1e3])
def test_one_atom_with_outliers_is_the_root_of_its_slope(weight, penalty, size):
    weight, penalty = weight * size, penalty * size * min(weight, 1.0)
    model = OnlineRobustNMF(1, outlier_weight=weight, code_penalty=penalty or None)
    C, D = coded(model, size * MISSING)
    close(C, expected(huber, size * MISSING, D, penalty, weight), 1e-6)


@pytest.mark.parametrize("region", ["nonnegative", "simplex", "box", "l1_ball", "l2_ball"])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [("kl", None), ("is", None), ("hellinger", None), ("alpha", 2.0), ("beta", 1.5), ("beta", 0.5)],
)
def test_few_iterations_lead_to_codes_in_any_set(name, parameter, region):
    """First-order steps take hundreds of iterations to such a tolerance."""
    data = np.random.default_rng(1).gamma(1.0, size=(80, 3)) + 1e-3
    model = OnlineNMF(
        3,
        divergence=name,
        divergence_parameter=parameter,
        code_set=region,
        n_passes=30,
        random_state=0,
    )
    model.fit(data).set_params(code_tol=1e-6, code_max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        C = model.transform(data)
    assert model.certificates(data, C).max() <= 1e-6
