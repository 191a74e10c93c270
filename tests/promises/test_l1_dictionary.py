"""L1 dictionaries of documents: OIADMM, learning, starts, memory and saved models."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from thresher import L1Dictionary, OnlineL1Dictionary, load, save
from thresher.metrics import regret, sparse_reconstruction_error
from thresher.solvers import oiadmm
from thresher.testing import checks_for
from thresher.testing.data import planted

QUIET = {"random_state": 0, "verbose": 0}


def corpus(n=100, n_words=80, n_topics=8, seed=0):
    """Documents that sum to one, mostly of one topic each, with words of their own."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(7).dirichlet(np.full(n_words, 0.05), n_topics)
    label = rng.integers(n_topics, size=n)
    counts = np.array([rng.multinomial(40, topics[k]) for k in label]) * 1.0
    counts[np.arange(n), rng.integers(n_words, size=n)] += 4
    return counts / counts.sum(axis=1, keepdims=True), label, topics


def test_atoms_that_are_appended_learn():
    """Erratum B.5: Algorithm 4 appends zero atoms, which never move; started from data they do."""
    P, label, _ = corpus(400)
    model = OnlineL1Dictionary(4, **QUIET).partial_fit(P[label < 4])
    before = model.score(P[label == 5])
    model.grow(atoms=P[label == 5][:1])
    model.partial_fit(P[label == 5])
    assert model.components_.shape == (5, 80)
    assert model.transform(P[label == 5])[:, 4].mean() > 0.1
    assert model.score(P[label == 5]) > before


def test_a_start_from_medians_finds_topics_where_means_explain_nothing():
    P, label, _ = corpus(300, 200)
    rows = sparse.csr_array(P)

    def codes(zero_weight=1.0, **start):
        frozen = {"frozen_atoms": range(8), "zero_weight": zero_weight, **start}
        return OnlineL1Dictionary(8, **frozen, **QUIET).partial_fit(rows).transform(rows)

    medians = codes(init="medians")
    best = medians.argmax(axis=1)
    pure = sum(np.bincount(label[best == k]).max() for k in np.unique(best))
    assert pure / 300 > 0.7
    assert medians.any(axis=1).mean() > 0.8
    mean = np.abs(P.mean(axis=0) * np.random.default_rng(0).uniform(0.9, 1.1, (8, 200)))
    mean /= mean.sum(axis=1, keepdims=True)
    assert codes(init=mean).any(axis=1).mean() < 0.3
    assert codes(0.1, init=mean).sum() > 2 * codes(init=mean).sum()


# OIADMM pairs rows by their place in a batch, so its sums are ordered, and weights are copies
# only within one batch; it learns too slowly to impute.
NOT_FOR_OIADMM = (
    "check_scikit_learn_agrees",
    "check_statistics_add_up",
    "check_impute_keeps_what_was_seen",
)


KEPT = [
    c for c in checks_for(OnlineL1Dictionary(solver="oiadmm")) if c.__name__ not in NOT_FOR_OIADMM
]


@pytest.mark.parametrize("check", KEPT, ids=lambda check: check.__name__)
def test_public_checks_of_oiadmm(check):
    check(OnlineL1Dictionary(solver=oiadmm(iterations=20), n_passes=2))


@pytest.mark.parametrize("solver", ["oiadmm", oiadmm(tau=0.01, beta=2.0)], ids=str)
def test_the_dual_is_saved(solver, tmp_path):
    P, _, _ = corpus(64)
    model = OnlineL1Dictionary(4, solver=solver, **QUIET)
    for _ in range(3):
        model.partial_fit(P)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.solver == solver
    np.testing.assert_array_equal(again.statistics_.Delta, model.statistics_.Delta)
    assert again.statistics_.Delta.any()
    np.testing.assert_array_equal(again.history_.to_array(), model.history_.to_array())
    for each in (model, again):
        each.partial_fit(P[:40])
    np.testing.assert_array_equal(again.components_, model.components_)
    violation = model.history_.column("violation")
    assert (np.diff(violation) > 0).all()
    assert np.isnan(OnlineL1Dictionary(4, verbose=0).partial_fit(P).history_[-1].violation)


@pytest.mark.parametrize("solver", ["auto", oiadmm(horizon="doubling")], ids=str)
def test_held_out_documents_are_explained_better_as_the_stream_goes_on(solver):
    P, _, _ = corpus(1200)
    held_out, _, _ = corpus(200, seed=1)
    model = OnlineL1Dictionary(8, solver=solver, init="random", **QUIET)
    start = model.partial_fit(P[:100]).score(held_out)
    for first in range(100, 1200, 100):
        model.partial_fit(P[first : first + 100])
    assert model.score(held_out) > start + 0.01


@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_the_objective_of_the_batch_falls(solver):
    P, _, topics = corpus(400)
    model = L1Dictionary(8, solver=solver, max_iter=10, **QUIET).fit(P)
    losses = model.history_.column("loss")
    if solver == "auto":  # nothing keeps Algorithms 2 and 3 from rising
        assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0]
    known = OnlineL1Dictionary(8, init=topics, frozen_atoms=range(8), **QUIET).partial_fit(P)
    assert model.score(P) > 1.1 * known.score(P)
    assert -model.score(P) == pytest.approx(losses[-1], abs=0.01)


def test_score_is_the_objective_and_sre_its_mean():
    P, _, _ = corpus(50)
    model = OnlineL1Dictionary(6, code_penalty=0.2, **QUIET).partial_fit(P)
    C = model.transform(P)
    expected = np.abs(P - C @ model.components_).sum(axis=1) + 0.2 * C.sum(axis=1)
    np.testing.assert_allclose(-model.score_samples(P), expected)
    for rows in (P, sparse.csr_array(P)):
        sre = sparse_reconstruction_error(rows, C, model.components_, 0.2)
        assert sre == pytest.approx(-model.score(P))
    assert (model.score_samples(P) >= -1 - 1e-9).all()
    with pytest.raises(ValueError, match="match"):
        sparse_reconstruction_error(P, C, model.components_.T)
    with pytest.raises(ValueError, match="batch"):
        regret([P], [C], [], model.components_)


def test_a_large_vocabulary_is_never_expanded():
    """Two thousand documents over 100,000 words: a dense copy would take 1.6 GB."""
    rng = np.random.default_rng(0)
    n, width = 2000, 100_000
    words = np.minimum(rng.zipf(1.3, (n, 60)), width) - 1
    rows = sparse.csr_array((np.ones(60 * n), words.ravel(), np.arange(0, 60 * n + 1, 60)),
                            shape=(n, width))  # fmt: skip
    rows = sparse.diags_array(1 / rows.sum(axis=1)) @ rows
    model = OnlineL1Dictionary(10, n_jobs=1, **QUIET)
    model.partial_fit(rows[:100])  # compiles
    tracemalloc.start()
    try:
        model.partial_fit(rows).score(rows)
        OnlineL1Dictionary(10, n_jobs=1, **QUIET).partial_fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    dictionary = 10 * width * 8
    assert peak < 30 * dictionary + 100e6


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"solver": "admm"}, "oiadmm"),
        ({"zero_weight": -1.0}, "zero_weight"),
        ({"code_penalty": "l1"}, "code_penalty"),
        ({"init": "kmeans"}, "medians"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        OnlineL1Dictionary(4, verbose=0, **parameters).fit(planted(50))
