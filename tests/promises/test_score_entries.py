"""score_entries: hidden entries are scored in the unit of the data and choose what was planted."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.datasets import make_orthogonal_stream
from thresher.penalties import ElasticNet
from thresher.testing.data import planted, ready

MODELS = [
    OnlineRobustNMF(),
    OnlineRobustNMF(scale_samples="max"),
    OnlineNMF(divergence="kl"),
    BatchNMF(max_iter=10),
    ManhattanNMF(max_iter=10),
    L1Dictionary(max_iter=10),
]


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_dense_and_csr_samples_have_the_same_score(estimator):
    """Also with missing values of their own; another seed hides other entries."""
    X = planted(150)
    X[X < 0.1] = 0
    model = ready(estimator).fit(X)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    dense = model.score_entries(X, share=0.2, random_state=3)
    rows = model.score_entries(sparse.csr_array(X), share=0.2, random_state=3)
    assert rows == pytest.approx(dense, rel=1e-9)
    assert model.score_entries(X, share=0.2, random_state=4) != pytest.approx(dense, rel=1e-6)


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(), RobustNMF(), ManhattanNMF()], ids=str)
def test_the_score_is_the_mean_error_of_values_that_were_hidden(estimator):
    """All samples are equal, so that each hidden value is predicted by the others of its row."""
    row = planted(1)[0] + 0.1
    model = ready(estimator, n_components=1).fit(np.tile(row, (50, 1)))
    assert model.score_entries(np.tile(row, (50, 1))) == pytest.approx(0, abs=1e-4)
    # Half of each sample is as large again: a code cannot be right for both halves.
    other = np.tile(row * np.repeat([1.0, 2.0], 12), (50, 1))
    error = -model.score_entries(other, share=0.3)
    assert 0.1 * row.mean() < error < 1.2 * row.mean()


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(), OnlineNMF(divergence="is")], ids=str)
def test_the_score_has_the_unit_of_the_data(estimator):
    X = planted(200) + 0.01
    small = ready(estimator).fit(X).score_entries(X)
    large = ready(estimator).fit(X * 1024).score_entries(X * 1024)
    assert small < 0
    assert large == pytest.approx(1024 * small, rel=1e-5)


def test_outliers_among_the_hidden_entries_do_not_decide():
    X = planted(200)
    good, poor = (ready(OnlineRobustNMF(), n_components=K, n_passes=30).fit(X) for K in (4, 2))
    broken = X.copy()
    broken.flat[np.random.default_rng(0).permutation(X.size)[:5]] = 1e6
    before = good.score_entries(X) - poor.score_entries(X)
    after = good.score_entries(broken) - poor.score_entries(broken)
    assert before > 0
    assert after == pytest.approx(before, abs=0.8 * before)


def documents(rng, n=120, F=400, K=4, length=20):
    D = rng.dirichlet(np.full(F, 0.1), K)
    return rng.poisson(rng.dirichlet(np.full(K, 0.1), n) * length @ D).astype(float)


def test_a_model_without_codes_does_not_win_on_zeros():
    """96 % of the entries are zero, and so is their median: absolute errors of all would take it.

    A penalty that drives all codes to zero must not win.
    """
    X = documents(np.random.default_rng(0))
    assert (X == 0).mean() > 0.95
    scores, errors = [], []
    for penalty in (0.0, 100.0):
        model = OnlineNMF(
            4, divergence="kl", code_penalty=ElasticNet(l1=penalty), random_state=0, verbose=0
        ).fit(X[:80])
        scores.append(model.score_entries(sparse.csr_matrix(X[80:])))
        errors.append(np.abs(model.inverse_transform(model.transform(X[80:])) - X[80:]).mean())
    assert scores[0] > scores[1]
    assert errors[0] > errors[1]  # what would have been taken


def sums_of_parts(rng, K, n, F=30):
    """Samples of K parts with noise of 0.05, and outliers up to 5 in one of twenty entries."""
    D = rng.gamma(1.0, 1.0, (K, F)) * (rng.random((K, F)) < 0.5)
    X = rng.gamma(1.0, 1.0, (n, K)) @ D
    X = X / np.median(X[X > 0]) + 0.05 * rng.standard_normal(X.shape)
    hit = rng.random(X.shape) < 0.05
    X[hit] += 5 * rng.random(int(hit.sum()))
    return np.maximum(X, 0)


@pytest.mark.parametrize("seed", range(2))
def test_losses_are_compared_on_one_scale(seed):
    """Data with outliers are for robust losses, and hidden entries say so: each has its own unit.

    What `score` says of them cannot be compared.
    """
    X = sums_of_parts(np.random.default_rng(seed), 4, n=300)
    quiet = {"n_components": 4, "random_state": 0, "verbose": 0}
    robust = [RobustNMF(outlier_weight=0.3, **quiet), ManhattanNMF(**quiet)]
    others = [BatchNMF(divergence=name, **quiet) for name in ("squared_l2", "kl")]
    good, bad = (
        [model.fit(X[:200]).score_entries(X[200:]) for model in models]
        for models in (robust, others)
    )
    assert min(good) > 0.8 * max(bad)


def test_a_grid_search_picks_what_was_planted():
    """The planted number of parts and a λ between noise and outliers.

    On `score` the smallest λ wins, and with the best λ the most parts.
    """
    grid = [
        {"n_components": [2, 3, 4, 5, 8], "outlier_weight": [0.3]},
        {"n_components": [4, 8], "outlier_weight": [0.005, 10.0]},
    ]
    picked = []
    for seed in range(3):
        X = sums_of_parts(np.random.default_rng(seed), 4, n=200)
        search = GridSearchCV(
            OnlineRobustNMF(batch_size=32, n_passes=30, n_jobs=1, random_state=0, verbose=0),
            grid,
            scoring={"entries": OnlineRobustNMF.score_entries, "score": OnlineRobustNMF.score},
            refit=False,
            cv=2,
        ).fit(X)
        tried = [(p["n_components"], p["outlier_weight"]) for p in search.cv_results_["params"]]
        entries, score = (search.cv_results_[f"mean_test_{name}"] for name in ("entries", "score"))
        picked.append(tried[entries.argmax()])
        assert tried[score.argmax()][1] == 0.005
        assert tried[score[:5].argmax()] == (8, 0.3)
    assert tuple(np.median(picked, axis=0)) == (4, 0.3)


def test_the_score_finds_the_sparsity_of_orthogonal_codes():
    stream = make_orthogonal_stream(1500, 20, density=0.15, random_state=0)
    X = stream.data
    model = OnlineOrthogonalDictionary(n_passes=3, random_state=0, verbose=0).fit(X[:1000])
    scores = [model.set_params(n_nonzero=k).score_entries(X[1000:]) for k in (1, 3, 20)]
    assert scores[1] > max(scores[0], scores[2])
    wrong = OnlineOrthogonalDictionary(init=np.eye(20), tol=0, random_state=0, verbose=0)
    wrong.partial_fit(X[:1]).set_params(n_nonzero=3)
    assert scores[1] > wrong.score_entries(X[1000:])
