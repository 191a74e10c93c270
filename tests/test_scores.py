"""Entries are hidden fairly, told in the unit of the data, and choose what was planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
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
from thresher.encoding.newton import Newton
from thresher.estimators.scoring import hidden_entries, without_entries
from thresher.penalties import ElasticNet
from thresher.testing.data import planted

MODELS = [
    OnlineRobustNMF(4),
    OnlineRobustNMF(4, scale_samples="max"),
    OnlineNMF(4, divergence="kl"),
    BatchNMF(4, max_iter=10),
    ManhattanNMF(4, max_iter=10),
    L1Dictionary(4, max_iter=10),
]


def ready(estimator):
    return type(estimator)(**{**estimator.get_params(), "random_state": 0, "verbose": 0})


def places_of(X, share=0.1, seed=0):
    """What `score_entries` hides."""
    drawn = np.random.RandomState(seed).randint(2**31 - 1)
    return hidden_entries(X, share, np.random.default_rng(drawn))


def with_gaps_and_zeros(rng, n, F, gaps, zeros):
    X = rng.random((n, F)) + 0.1
    X[rng.random(X.shape) < zeros] = 0
    X[rng.random(X.shape) < gaps] = np.nan
    X[0] = np.arange(F) + 1.0  # so that there is something to hide
    return X


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(4, 12),
    st.integers(2, 9),
    st.floats(0, 0.8),
    st.floats(0, 0.9),
    st.floats(0.4, 0.9),
)
def test_a_share_of_what_was_observed_is_hidden(seed, n, F, gaps, zeros, share):
    """Never a gap, of every sample something stays, and zeros at most as many as others."""
    X = with_gaps_and_zeros(np.random.default_rng(seed), n, F, gaps, zeros)
    places, truth = hidden_entries(X, share, np.random.default_rng(seed))
    hidden = np.zeros(X.size, dtype=bool)
    hidden[places] = True
    assert (np.diff(places) > 0).all()
    np.testing.assert_array_equal(X.ravel()[places], truth)  # and no NaN among them
    left = ~hidden.reshape(X.shape) & ~np.isnan(X)
    had = ~np.isnan(X)
    assert left.any(axis=1)[had.any(axis=1)].all()
    seen, blank = int((had & (X != 0)).sum()), int((X == 0).sum())
    assert (truth != 0).sum() <= round(share * seen)
    assert (truth == 0).sum() <= round(share * min(seen, blank))
    whole = hidden.reshape(X.shape).any(axis=1).all()  # no sample was spared
    if whole:
        assert len(places) == round(share * seen) + round(share * min(seen, blank))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.5), st.floats(0, 0.95))
def test_dense_and_sparse_are_hidden_alike(seed, gaps, zeros):
    """Also if CSR stores zeros, twice, and in disorder; the input stays as it was."""
    rng = np.random.default_rng(seed)
    X = with_gaps_and_zeros(rng, 10, 7, gaps, zeros)
    rows, columns = np.nonzero(np.ones_like(X))
    order = rng.permutation(X.size)
    twice = sparse.coo_matrix(
        (np.tile(X.ravel()[order] / 2, 2), (np.tile(rows[order], 2), np.tile(columns[order], 2))),
        X.shape,
    )
    messy = sparse.csr_matrix(X.shape)
    messy.indptr = np.concatenate([[0], np.cumsum(np.bincount(twice.row, minlength=10))])
    by_row = np.argsort(twice.row, kind="stable")
    messy.indices, messy.data = twice.col[by_row], twice.data[by_row]
    before = messy.data.copy()
    expected, values = hidden_entries(X, 0.5, np.random.default_rng(seed))
    found, told = hidden_entries(messy, 0.5, np.random.default_rng(seed))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(told, values)
    np.testing.assert_array_equal(messy.data, before)
    np.testing.assert_allclose(
        without_entries(messy, found).toarray(), without_entries(X, expected), equal_nan=True
    )


def test_every_zero_has_the_same_chance():
    X = np.zeros((3, 40))
    X[:, ::4] = 1.0
    counts = np.zeros(X.size)
    n = 1500
    for seed in range(n):
        places, _ = hidden_entries(X, 0.2, np.random.default_rng(seed))
        counts[places] += 1
    zeros, others = counts[X.ravel() == 0], counts[X.ravel() != 0]
    for drawn, total in ((zeros, 6), (others, 6)):  # of 90 and of 30
        chance = total / len(drawn)
        spread = np.sqrt(n * chance * (1 - chance))
        assert drawn.sum() == n * total
        assert np.abs(drawn - n * chance).max() < 4.5 * spread


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_it_is_the_error_of_gaps_that_were_known(estimator):
    """Minus the mean distance between what `impute` says of the hidden entries and what they were.

    For samples with gaps of their own, dense and CSR.
    """
    X = planted(150)
    X[X < 0.1] = 0
    model = ready(estimator).fit(X)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    places, truth = places_of(X, 0.2, seed=3)
    filled = model.impute(without_entries(X, places), bounds=None).ravel()[places]
    expected = -np.abs(filled - truth).mean()
    assert model.score_entries(X, share=0.2, random_state=3) == pytest.approx(expected, rel=1e-12)
    thin = model.score_entries(sparse.csr_array(X), share=0.2, random_state=3)
    assert thin == pytest.approx(expected, rel=1e-9)
    other = model.score_entries(X, share=0.2, random_state=4)
    assert other != pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(4), OnlineNMF(4, divergence="is")], ids=str)
def test_it_has_the_unit_of_the_data(estimator):
    X = planted(200) + 0.01
    small = ready(estimator).fit(X).score_entries(X)
    large = ready(estimator).fit(X * 1024).score_entries(X * 1024)
    assert small < 0
    assert large == pytest.approx(1024 * small, rel=1e-5)


def test_glitches_among_the_hidden_entries_do_not_decide():
    """Whatever their size, two models come apart by no more than their predictions differ there."""
    X = planted(200)
    good, poor = (OnlineRobustNMF(K, random_state=0, verbose=0, n_passes=30).fit(X) for K in (4, 2))
    places, truth = places_of(X)
    rng = np.random.default_rng(0)
    hit = rng.permutation(places[truth > 0])[:5]
    broken = X.copy()
    broken.ravel()[hit] = 1e6
    gaps = without_entries(X, places)
    one, two = (model.impute(gaps, bounds=None).ravel()[hit] for model in (good, poor))
    before = good.score_entries(X) - poor.score_entries(X)
    after = good.score_entries(broken) - poor.score_entries(broken)
    allowed = 2 * np.abs(one - two).sum() / len(places)
    assert before > allowed  # so that these glitches cannot turn the order round
    assert abs(after - before) <= allowed * (1 + 1e-6)


def documents(rng, n=120, F=400, K=4, length=20):
    D = rng.dirichlet(np.full(F, 0.1), K)
    return rng.poisson(rng.dirichlet(np.full(K, 0.1), n) * length @ D).astype(float)


def test_a_model_that_says_nothing_does_not_win_on_zeros():
    """96 % of the entries are zero, and so is their median: absolute errors of all would take it.

    A price that drives all codes to zero is no choice for λ.
    """
    X = documents(np.random.default_rng(0))
    assert (X == 0).mean() > 0.95
    scores, errors = [], []
    for price in (0.0, 100.0):
        model = OnlineNMF(
            4, divergence="kl", code_penalty=ElasticNet(l1=price), random_state=0, verbose=0
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


def test_it_finds_how_sparse_the_codes_of_an_orthogonal_dictionary_are():
    stream = make_orthogonal_stream(1500, 20, density=0.15, random_state=0)
    X = stream.data
    model = OnlineOrthogonalDictionary(n_passes=3, random_state=0, verbose=0).fit(X[:1000])
    scores = [model.set_params(n_nonzero=k).score_entries(X[1000:]) for k in (1, 3, 20)]
    assert scores[1] > max(scores[0], scores[2])
    wrong = OnlineOrthogonalDictionary(init=np.eye(20), tol=0, random_state=0, verbose=0)
    wrong.partial_fit(X[:1]).set_params(n_nonzero=3)
    assert scores[1] > wrong.score_entries(X[1000:])


# ------------------------------------------------------------------ what is refused


def test_a_loss_that_cannot_leave_entries_out_says_so():
    X = planted(100)
    model = BatchNMF(
        3, divergence="mahalanobis", divergence_parameter=np.eye(24), random_state=0, verbose=0
    ).fit(X)
    with pytest.raises(ValueError, match=r"score_entries hides entries.*Mahalanobis"):
        model.score_entries(X)


@pytest.mark.parametrize("share", [0, 1, -0.1, True, "some", np.nan])
def test_a_share_is_between_none_and_all(share):
    model = RobustNMF(3, random_state=0, verbose=0).fit(planted(60))
    with pytest.raises(ValueError, match="share"):
        model.score_entries(planted(60), share=share)


def test_what_cannot_be_scored_is_said():
    X = planted(60)
    with pytest.raises(NotFittedError):
        RobustNMF(3).score_entries(X)
    model = RobustNMF(3, random_state=0, verbose=0).fit(X)
    with pytest.raises(TypeError, match=r"score_entries\(X, share=0\.2\)"):
        model.score_entries(X, 0.2)
    with pytest.raises(ValueError, match="hides nothing"):
        model.score_entries(np.zeros((5, 24)))
    alone = np.full((5, 24), np.nan)
    alone[:, 3] = 1.0  # a sample of one entry cannot spare it
    with pytest.raises(ValueError, match="hides nothing"):
        model.score_entries(alone, share=0.9)
    with pytest.raises(ValueError, match="random_state"):
        model.score_entries(X, random_state="seed")


def test_a_coding_problem_needs_a_model_that_has_learned():
    with pytest.raises(NotFittedError):
        OnlineRobustNMF(2).problem()


def test_codes_end_after_max_iter():
    X = np.random.default_rng(0).random((40, 30))
    model = OnlineRobustNMF(6, random_state=0, verbose=0).fit(X)
    encoding = Newton(tol=1e-12, max_iter=1).encode(model.problem(), X)
    assert encoding.n_iter.max() == 1
