"""Weights of samples and entries: weights are copies, in dictionaries, codes and histories."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from thresher import (
    BatchNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.metrics import relative_error
from thresher.testing.data import planted, start

ONLINE = [
    OnlineRobustNMF(4, outlier_weight=0.1),
    OnlineNMF(4),
    OnlineNMF(4, divergence="kl"),
    OnlineNMF(4, divergence="is"),
    OnlineL1Dictionary(4),
    OnlineOrthogonalDictionary(),
]
BATCH = [RobustNMF(4, outlier_weight=0.1, max_iter=5), BatchNMF(4, divergence="kl", max_iter=5)]


def ready(estimator, **parameters):
    """A quiet clone that starts from given atoms."""
    model = clone(estimator).set_params(random_state=0, verbose=0, **parameters)
    return model.set_params(init=start(estimator, 24))


def whole_weights(n, seed=0):
    return np.random.default_rng(seed).integers(0, 4, size=n)


# ------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("estimator", ONLINE, ids=str)
def test_a_weight_of_three_is_three_copies(estimator):
    """In the dictionary and in what the history says of the batch."""
    X, weight = planted(90), whole_weights(90)
    weighted, copies = ready(estimator), ready(estimator)
    for part in (slice(0, 50), slice(50, 90)):
        weighted.partial_fit(X[part], sample_weight=weight[part].astype(float))
        copies.partial_fit(np.repeat(X[part], weight[part], axis=0))
    np.testing.assert_allclose(weighted.components_, copies.components_, rtol=1e-5, atol=1e-7)
    losses = weighted.history_.column("loss"), copies.history_.column("loss")
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert not np.allclose(weighted.components_, ready(estimator).partial_fit(X).components_)


@pytest.mark.parametrize("estimator", BATCH, ids=str)
def test_a_weight_of_three_is_three_copies_in_batches(estimator):
    X, weight = planted(60), whole_weights(60)
    weighted = ready(estimator).fit(X, sample_weight=weight.astype(float))
    copies = ready(estimator).fit(np.repeat(X, weight, axis=0))
    weighted.set_params(code_max_iter=1000), copies.set_params(code_max_iter=1000)
    # Random orders differ, so that two optima are compared, not bits.
    assert weighted.score(X[weight > 0]) == pytest.approx(copies.score(X[weight > 0]), rel=0.05)


def test_ol_guan_goes_where_the_weight_is():
    """Two kinds of samples; the one without weight is not learned."""
    rng = np.random.default_rng(0)
    parts = np.eye(2, 8).repeat(150, axis=0) * (0.5 + rng.random((300, 1)))
    X = parts[rng.permutation(300)]
    second = X[:, 1] > 0
    model = OnlineNMF(1, divergence="squared_l2", solver="ol_guan", random_state=0, verbose=0)
    model.fit(X, sample_weight=second.astype(float))
    assert model.score(X[second]) > 0.05 * model.score(X[~second])
    assert np.argmax(model.components_[0]) == 1


@pytest.mark.parametrize("thin", [False, True])
def test_a_dead_atom_restarts_at_a_sample_of_its_batch(thin):
    """Without the sample's outlier, at unit length, and only from samples that have weight."""
    X = planted(60)
    X[X < 0.05] = 0
    dead = np.zeros(24)
    dead[5] = 1.0
    X[:, 5] = 0  # nobody can use the atom
    init = np.vstack([start(OnlineRobustNMF(3), 24)[:3], dead])
    init[:3, 5] = 0
    weight = np.zeros(60)
    weight[17] = 1.0
    samples = sparse.csr_matrix(X) if thin else X
    model = OnlineRobustNMF(4, init=init, outlier_weight=0.2, random_state=0, verbose=0)
    model.partial_fit(samples, sample_weight=weight)
    atom = model.components_[3]
    assert np.linalg.norm(atom) == pytest.approx(1.0, abs=1e-6)
    cosines = X @ atom / np.linalg.norm(X, axis=1)
    assert np.argmax(cosines) == 17
    assert cosines[17] > 0.97  # a tenth of noise on each entry


def test_a_first_batch_without_weight_is_no_obstacle():
    X = planted(120)
    weight = np.repeat([0.0, 1.0], [64, 56])
    fitted = OnlineRobustNMF(4, batch_size=64, shuffle=False, random_state=0, verbose=0).fit(
        X, sample_weight=weight
    )
    assert np.isfinite(fitted.components_).all()


# ------------------------------------------------------------------------------- entries


@pytest.mark.parametrize("estimator", ONLINE[:5] + BATCH, ids=str)
def test_entry_weights_mean_the_same_on_csr(estimator):
    X = planted(80)
    X[X < 0.15] = 0
    weight = 0.2 + np.random.default_rng(1).random(X.shape)
    rows = sparse.csr_matrix(X)
    dense = ready(estimator).fit(X, entry_weight=weight)
    thin = ready(estimator).fit(rows, entry_weight=weight)
    np.testing.assert_array_equal(thin.components_, dense.components_)
    dense.set_params(code_max_iter=1000)
    for call in ("transform", "score_samples", "objective_samples"):
        found = getattr(dense, call)(rows, entry_weight=weight)
        np.testing.assert_array_equal(found, getattr(dense, call)(X, entry_weight=weight))
        plain = getattr(dense, call)(rows)
        assert not np.allclose(found, plain, rtol=1e-3), f"{call} ignores entry_weight on CSR"


@pytest.mark.parametrize("estimator", ONLINE[1:4], ids=str)
def test_a_weight_for_all_entries_is_a_weight_of_the_sample(estimator):
    """Losses are linear in the weights; codes of a sample do not see a common factor."""
    X = planted(40)
    factor = 0.5 + np.random.default_rng(2).random((40, 1))
    model = ready(estimator, tol=1e-8).fit(X)
    weight = np.broadcast_to(factor, X.shape)
    np.testing.assert_allclose(
        model.score_samples(X, entry_weight=weight),
        model.score_samples(X) * factor[:, 0],
        rtol=1e-4,
    )


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
def test_uneven_entry_weights_do_not_hold_the_learner_back(kind):
    """One feature a hundred times as certain, or weights over decades: parts are still found."""
    X = planted(600)
    plain = kind(4, random_state=0, verbose=0).fit(X)
    best = relative_error(X, plain.separate(X).low_rank)
    one_sure = np.ones(X.shape)
    one_sure[:, 0] = 100
    decades = np.exp(np.random.default_rng(0).normal(size=X.shape))
    for weight in (one_sure, decades, np.full(X.shape, 100.0)):
        fitted = kind(4, random_state=0, verbose=0).fit(X, entry_weight=weight)
        assert relative_error(X, fitted.separate(X).low_rank) < 1.5 * best


@pytest.mark.parametrize("value", [1e6, 0.0, np.nan])
def test_entries_of_weight_zero_do_not_scale_samples(value):
    rng = np.random.default_rng(0)
    X = rng.random((40, 6)) + 0.1
    missing = rng.random(X.shape) < 0.2
    weight = (~missing).astype(float)
    missing_values, other = np.where(missing, np.nan, X), np.where(missing, value, X)
    start = rng.random((3, 6))
    model = OnlineRobustNMF(3, scale_samples="max", init=start, random_state=0, verbose=0)
    atoms = model.fit(missing_values).components_.copy()
    np.testing.assert_array_equal(model.transform(other, weight), model.transform(missing_values))
    np.testing.assert_array_equal(model.fit(other, entry_weight=weight).components_, atoms)


# ----------------------------------------------------------------------------- histories


def entries_weighed(kind, X):
    """Samples and entry weights: plain, with missing, or weighted entry by entry."""
    rng = np.random.default_rng(3)
    if kind == "missing":
        return np.where(rng.random(X.shape) < 0.2, np.nan, X), None
    return X, 0.3 + rng.random(X.shape) if kind == "entries" else None


EXACT = OnlineNMF(4, divergence="squared_l2", solver="ol_guan")  # learns from exact codes


@pytest.mark.parametrize("kind", ["plain", "missing", "entries"])
def test_the_record_is_of_the_weighted_batch_before_the_step(kind):
    """Loss: the weighted mean, observed entries only. Certificate: that of exact codes."""
    model = ready(EXACT, tol=1e-8).partial_fit(planted(60))
    X, entry_weight = entries_weighed(kind, planted(140, seed=1))
    weight = np.random.default_rng(4).random(140) * 2
    before = copy.deepcopy(model)
    model.partial_fit(X, sample_weight=weight, entry_weight=entry_weight)
    losses = before.objective_samples(X, entry_weight=entry_weight)
    row = model.history_[-1]
    assert row.loss == pytest.approx(weight @ losses / weight.sum(), rel=1e-3)
    assert 0 < row.certificate < 1e-3
    assert row.samples == model.n_samples_seen_ == 200


@pytest.mark.parametrize("estimator", ONLINE[:2], ids=str)
def test_the_change_on_record_is_that_of_the_atoms(estimator):
    model = ready(estimator).partial_fit(planted(60))
    before = model.components_.copy()
    model.partial_fit(planted(60, seed=1))
    moved = np.linalg.norm(model.components_ - before) / np.linalg.norm(before)
    assert model.history_[-1].change == pytest.approx(moved, rel=1e-6)
    assert moved > 0


# ---------------------------------------------------------------- single rows of a block


@pytest.mark.parametrize("n", [1, 129, 257])
@pytest.mark.parametrize("estimator", [*ONLINE[:3], *ONLINE[4:]], ids=str)
def test_a_last_block_of_one_row_is_a_row_like_any_other(estimator, n):
    """Blocks of narrow samples have 128 rows."""
    X = planted(300)
    model = ready(estimator).fit(X)
    some = X[:n]
    codes = model.transform(some)
    np.testing.assert_allclose(codes[-1:], model.transform(some[-1:]), rtol=1e-6, atol=1e-9)
    scores = model.score_samples(some)
    assert len(scores) == n
    np.testing.assert_allclose(scores[-1], model.score_samples(some[-1:])[0], rtol=1e-6)
    missing = some.copy()
    missing[-1, 3] = np.nan
    np.testing.assert_allclose(model.impute(missing)[-1], model.impute(missing[-1:])[0], rtol=1e-6)
    # What is learned does not depend on which row stands alone.
    turned = ready(estimator).partial_fit(np.roll(some, 1, axis=0))
    straight = ready(estimator).partial_fit(some)
    np.testing.assert_allclose(turned.components_, straight.components_, rtol=1e-6, atol=1e-8)
    assert turned.history_[0].loss == pytest.approx(straight.history_[0].loss, rel=1e-6)


def test_a_last_block_of_one_sparse_row():
    """Blocks of sparse samples have 512 rows."""
    X = planted(513)
    X[X < 0.2] = 0
    rows = sparse.csr_matrix(X)
    model = ready(OnlineNMF(4, divergence="kl"), tol=1e-8, code_max_iter=5000).fit(rows[:200])
    np.testing.assert_allclose(
        model.score_samples(rows)[-1], model.score_samples(rows[-1:])[0], rtol=1e-6
    )
    np.testing.assert_allclose(model.score_samples(rows)[-1], model.score_samples(X)[-1], rtol=1e-5)
