"""How good fits are: compared with longer runs, other storage, other classes and no atoms."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import toeplitz

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
)
from thresher.sets import NonnegativeElasticNetBall, NonnegativeL1Ball, NonnegativeL2Ball, Simplex

pytestmark = pytest.mark.filterwarnings("ignore:The model predicts", "ignore:The model explains")
QUIET = {"random_state": 0, "verbose": 0, "n_jobs": 1}


def planted(seed, n, F, rank, noise=0.02):
    rng = np.random.default_rng(seed)
    atoms = rng.random((rank, F)) * (rng.random((rank, F)) < 0.6)
    X = rng.gamma(1.0, 1.0, (n, rank)) @ atoms + noise * rng.standard_normal((n, F))
    return np.maximum(X, 0) + 1e-6


def gamma(seed, n=300, F=20, rank=4):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, 1.0, (n, rank)) @ rng.gamma(1.0, 1.0, (rank, F))
    return 0.3 * X + 0.1 * rng.random((n, F))


def loss(model, X):
    return -float(model.score_samples(X).mean())


def penalised(model, X):
    atoms = float(np.abs(model.components_).sum())
    return float(model.objective_samples(X).mean()) + model.dictionary_penalty * atoms


# ------------------------------------------------------------------- enough passes


@pytest.mark.parametrize("kind", [OnlineNMF, OnlineRobustNMF])
@pytest.mark.parametrize(
    ("seed", "n", "F", "batch_size"),
    [
        (1, 10, 6, 1),
        (2, 10, 6, 1),
        (0, 20, 10, 3),
        (0, 30, 15, 5),
        (3, 30, 15, 5),
        (2, 30, 10, 256),
    ],
)
def test_few_samples_are_learned_as_well_as_by_many_passes(kind, seed, n, F, batch_size):
    X = planted(seed, n, F, 3)
    given = {**QUIET, "random_state": seed, "batch_size": batch_size}
    default = kind(3, **given).fit(X)
    long = kind(3, n_passes=50, tol=0.0, **given).fit(X)
    assert loss(default, X) <= 1.1 * loss(long, X)


def test_slow_progress_goes_on_past_ten_passes():
    """A badly conditioned distance falls slowly, by more than 1 % in every pass."""
    X = planted(100, 600, 25, 5)
    given = {**QUIET, "divergence": "mahalanobis"}
    given["divergence_parameter"] = toeplitz(0.9 ** np.arange(25))
    ten, long = (OnlineNMF(5, n_passes=n, tol=0.0, **given).fit(X) for n in (10, 50))
    default = OnlineNMF(5, **given).fit(X)
    assert loss(default, X) <= 0.7 * loss(ten, X)
    assert loss(default, X) <= 1.3 * loss(long, X)


def test_ten_passes_are_enough_for_many_samples():
    X = planted(0, 5000, 20, 4)
    assert OnlineNMF(4, **QUIET).fit(X).n_samples_seen_ <= 10 * len(X)


# --------------------------------------------------------------------- CSR and arrays

CSR_KINDS = [
    ManhattanNMF(),
    BatchNMF(),
    OnlineNMF(),
    OnlineRobustNMF(outlier_weight=0.5),
    RobustNMF(outlier_weight=0.5),
    OnlineL1Dictionary(),
    L1Dictionary(),
]


@pytest.mark.parametrize("estimator", CSR_KINDS, ids=str)
def test_csr_is_learned_as_well_as_an_array(estimator):
    ratios = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, F = int(rng.choice([20, 60, 150])), int(rng.choice([10, 30, 60]))
        X = planted(seed, n, F, int(rng.integers(1, 6)))
        X *= rng.random(X.shape) < rng.choice([0.95, 0.5, 0.2, 0.05])
        given = {**estimator.get_params(), **QUIET, "n_components": int(rng.integers(1, 9))}
        dense, rows = (type(estimator)(**given).fit(Y) for Y in (X, sparse.csr_array(X)))
        ratios.append(loss(rows, X) / max(loss(dense, X), 1e-3))
    assert np.median(ratios) <= 1.02
    assert max(ratios) <= 1.1


@pytest.mark.parametrize("density", [0.02, 0.15])
def test_large_csr_is_factorised_as_well_as_an_array(density):
    rng = np.random.default_rng(0)
    n, F, K = 3000, 400, 5
    share = 1.3 * np.sqrt(density / K)
    A, B = ((rng.random(shape) < share) * rng.gamma(1.0, 1.0, shape) for shape in ((n, K), (K, F)))
    X = A @ B + (rng.random((n, F)) < 0.003) * rng.random((n, F))
    dense, rows = (ManhattanNMF(K, **QUIET).fit(Y) for Y in (X, sparse.csr_array(X)))
    assert loss(rows, X) <= 1.02 * loss(dense, X)


# ------------------------------------------------------------------------ penalties


@pytest.mark.parametrize("kind", [(OnlineNMF, BatchNMF), (OnlineRobustNMF, RobustNMF)], ids=str)
@pytest.mark.parametrize(
    ("code_penalty", "dictionary_penalty"),
    [(0.1, 0.3), (0.5, 1.0), (0.5, 3.0), (2.0, 1.0), (5.0, 0.1), (20.0, 0.01)],
)
def test_atoms_pay_their_penalty(kind, code_penalty, dictionary_penalty):
    """No fit is worse than no atoms or one, and streams are as good as batches."""
    X = gamma(1)
    given = {**QUIET, "code_penalty": code_penalty, "dictionary_penalty": dictionary_penalty}
    if kind[0] is OnlineRobustNMF:
        given["outlier_weight"] = 100.0  # nothing is an outlier, so that the zero model is known
    zero = float((X**2).sum(axis=1).mean()) / 2
    online, batch = (penalised(one(6, **given).fit(X), X) for one in kind)
    single = penalised(kind[1](1, **given).fit(X), X)
    best = min(zero, single)
    assert batch <= best * (1 + 1e-3)
    assert online <= 1.03 * min(batch, best)


def test_atoms_that_no_code_uses_stay_where_the_penalty_puts_them():
    X = gamma(0)
    model = OnlineNMF(6, code_penalty=100.0, dictionary_penalty=0.1, **QUIET).fit(X)
    assert not model.components_.any()
    before = OnlineNMF(6, code_penalty=100.0, **QUIET).fit(X).components_
    after = OnlineNMF(6, code_penalty=100.0, n_passes=20, **QUIET).fit(X).components_
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("code_penalty", [8.0, 3.0])
def test_manhattan_atoms_pay_their_penalty(code_penalty):
    X = gamma(2, n=40, F=12)
    given = {**QUIET, "code_penalty": code_penalty, "dictionary_penalty": 0.2}
    assert penalised(ManhattanNMF(5, **given).fit(X), X) <= float(X.sum(axis=1).mean()) * (1 + 1e-9)


# ----------------------------------------------------------------------------- sets


@pytest.mark.parametrize("batch_size", [1, 3])
def test_atoms_stay_in_their_ball_where_most_entries_are_missing(batch_size):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.poisson(0.7, (12, 15)).astype(float)
        X[rng.random(X.shape) < 0.8] = np.nan
        model = OnlineL1Dictionary(1, **{**QUIET, "random_state": seed}, batch_size=batch_size)
        assert NonnegativeL1Ball().contains(model.fit(X).components_, 1e-9)


@pytest.mark.parametrize("divergence", ["squared_l2", "kl", "is"])
@pytest.mark.parametrize(
    "region",
    [Simplex(2.0), NonnegativeL1Ball(1.3), NonnegativeL2Ball(0.7), NonnegativeElasticNetBall(0.5)],
    ids=str,
)
def test_atoms_stay_in_their_set_when_features_come_and_go(divergence, region):
    X = planted(0, 60, 8, 3)
    model = OnlineNMF(3, divergence=divergence, dictionary_set=region, **QUIET).fit(X)
    assert region.contains(model.grow(n_features=11).components_, 1e-9)
    assert region.contains(model.keep_features(np.arange(2, 9)).components_, 1e-9)


# --------------------------------------------------- the zero model and the best rank-one model


def scaled(seed, spread):
    """Samples of four components whose features differ in scale by factors of 10^±spread."""
    X = planted(seed, 80, 16, 4)
    return X * 10.0 ** np.random.default_rng(seed).uniform(-spread, spread, X.shape[1])


RANK_ONE = [
    OnlineNMF(),
    OnlineNMF(divergence="kl"),
    OnlineNMF(divergence="l1"),
    BatchNMF(),
    BatchNMF(divergence="kl"),
    OnlineRobustNMF(outlier_weight=0.5),
    RobustNMF(outlier_weight=0.5),
    OnlineL1Dictionary(),
    L1Dictionary(),
    ManhattanNMF(),
    OnlineRobustPCA(outlier_weight=0.5),
]


@pytest.mark.parametrize("spread", [0, 3])
@pytest.mark.parametrize("estimator", RANK_ONE, ids=str)
def test_no_fit_is_worse_than_the_zero_model_or_the_best_of_rank_one(estimator, spread):
    """Whatever the scales of the features; rank one by the SVD and by the class itself."""
    ratios = []
    for seed in range(2):
        X = scaled(seed, spread)
        given = {**estimator.get_params(), **QUIET}
        model, single = (type(estimator)(**{**given, "n_components": K}).fit(X) for K in (4, 1))
        atom = np.abs(np.linalg.svd(X, full_matrices=False)[2][:1])
        atom /= atom.sum() if "L1" in type(estimator).__name__ else 1
        frozen = {**given, "init": atom, "n_components": 1}
        if "frozen_atoms" in given:
            frozen["frozen_atoms"] = [0]
        rank_one = min(loss(single, X), loss(type(estimator)(**frozen).fit(X), X))
        # Codes are optimal, so that no code is worse than zero: the zero model is a bound, too.
        ratios.append(loss(model, X) / rank_one)
    assert max(ratios) <= 1.01
