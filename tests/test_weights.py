"""Weights of samples and of entries, gaps, and how the past is weighed against a new batch."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from thresher.encoding import DenseFit
from thresher.engine.first_batch import spread_rows
from thresher.estimators import (
    BatchNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.learning import HalfLife, RobustApproximation
from thresher.losses import SquaredL2
from thresher.streams import Batch
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
    weighted.set_params(max_iter=1000), copies.set_params(max_iter=1000)
    # Random orders differ, so that two optima are compared, not bits.
    assert weighted.score(X[weight > 0]) == pytest.approx(copies.score(X[weight > 0]), rel=0.05)


def test_the_buffer_of_ol_guan_has_weighted_sums():
    """Steps see ``Σ w cᵀc`` and ``Σ w cᵀx``, with gaps as the model predicts them."""
    rng = np.random.default_rng(0)
    X, C, D = rng.random((12, 5)), rng.random((12, 3)), rng.random((3, 5))
    weight, mask = rng.random(12) * 3, (rng.random((12, 5)) > 0.3).astype(float)
    sums = RobustApproximation().summarise(DenseFit(SquaredL2(), X, C, D, mask), weight)
    whole = np.where(mask > 0, X, C @ D)
    np.testing.assert_allclose(sums.C.T @ sums.C, (C * weight[:, None]).T @ C)
    np.testing.assert_allclose(sums.C.T @ sums.X, (C * weight[:, None]).T @ whole)
    assert sums.weight == pytest.approx(weight.sum())
    plain = RobustApproximation(length=4).summarise(DenseFit(SquaredL2(), X, C, D), None)
    np.testing.assert_array_equal(plain.X, X[-4:])
    assert plain.weight == 12


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


# ------------------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    "estimator", [e for e in ONLINE if "solver" not in str(e)][:5] + BATCH, ids=str
)
def test_entry_weights_mean_the_same_on_csr(estimator):
    X = planted(80)
    X[X < 0.15] = 0
    weight = 0.2 + np.random.default_rng(1).random(X.shape)
    rows = sparse.csr_matrix(X)
    dense = ready(estimator).fit(X, entry_weight=weight)
    thin = ready(estimator).fit(rows, entry_weight=weight)
    np.testing.assert_array_equal(thin.components_, dense.components_)
    dense.set_params(max_iter=1000)
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


# ------------------------------------------------------------------------------ histories


def entries_weighed(kind, X):
    """Samples and entry weights: plain, with gaps, or weighted entry by entry."""
    rng = np.random.default_rng(3)
    if kind == "gaps":
        return np.where(rng.random(X.shape) < 0.2, np.nan, X), None
    return X, 0.3 + rng.random(X.shape) if kind == "entries" else None


EXACT = OnlineNMF(4, divergence="squared_l2", solver="ol_guan")  # learns from exact codes


@pytest.mark.parametrize("kind", ["plain", "gaps", "entries"])
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
    assert 0 < row.certificate < 1e-3  # far above, if gaps or weights were forgotten
    assert row.samples == model.n_samples_seen_ == 200


@pytest.mark.parametrize("estimator", ONLINE[:2], ids=str)
def test_the_change_on_record_is_that_of_the_atoms(estimator):
    model = ready(estimator).partial_fit(planted(60))
    before = model.components_.copy()
    model.partial_fit(planted(60, seed=1))
    moved = np.linalg.norm(model.components_ - before) / np.linalg.norm(before)
    assert model.history_[-1].change == pytest.approx(moved, rel=1e-6)
    assert moved > 0


# ----------------------------------------------------------------------------- forgetting


def test_a_schedule_is_told_the_weight_of_the_batch_and_of_all():
    """Not the number of samples: a weight of three is three copies."""
    told = []

    def schedule(n_batch, n_seen):
        told.append((n_batch, n_seen))
        return 0.5

    X = planted(90)
    model = ready(OnlineRobustNMF(4, outlier_weight=0.1), forgetting=schedule)
    for part, weight in ((X[:30], 2.0), (X[30:50], 1.0), (X[50:], 0.25)):
        model.partial_fit(part, sample_weight=np.full(len(part), weight))
    assert sorted(set(told)) == [(10, 90), (20, 80), (60, 60)]


@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_outlier_weight_forgets_like_everything_else(weight):
    """λ after two batches is their mean, the first discounted by what the second weighs."""
    first, second = planted(64), 8 * planted(32, seed=1)

    def given(X):
        return None if weight is None else np.full(len(X), weight)

    def fitted(*batches):
        model = ready(OnlineRobustNMF(4), forgetting=HalfLife(40.0))
        for X in batches:
            model.partial_fit(X, sample_weight=given(X))
        return model.outlier_weight_

    unit = weight or 1.0
    past, new = 64 * unit * 2 ** (-32 * unit / 40), 32 * unit
    expected = (past * fitted(first) + new * fitted(second)) / (past + new)
    assert fitted(first, second) == pytest.approx(expected, rel=1e-6)
    assert fitted(second) > 4 * fitted(first)


def test_a_half_life_halves():
    """After one half-life the past and the present weigh the same: the mean of two levels."""
    low, high = np.full((50, 6), 1.0), np.full((50, 6), 3.0)
    model = OnlineRobustNMF(1, forgetting=HalfLife(50.0), init=np.ones((1, 6)), verbose=0)
    alone = [clone(model).partial_fit(X).outlier_weight_ for X in (low, high)]
    both = clone(model).partial_fit(low).partial_fit(high).outlier_weight_
    assert both == pytest.approx((alone[0] / 2 + alone[1]) / 1.5, rel=1e-6)


# ------------------------------------------------------------------------------ dead atoms


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


def test_rows_are_drawn_by_weight():
    X = planted(50)
    weight = np.where(np.arange(50) % 5, 0.0, 1.0 + np.arange(50))
    batch = Batch(X, weight)
    drawn = np.concatenate(
        [spread_rows(batch, 3, np.random.default_rng(seed)) for seed in range(400)]
    )
    counts = np.bincount(drawn, minlength=50)
    assert counts[weight == 0].sum() == 0
    share = weight / weight.sum()
    np.testing.assert_allclose(counts / counts.sum(), share, atol=0.03)
    thin = [
        spread_rows(Batch(sparse.csr_matrix(X), weight), 3, np.random.default_rng(s))
        for s in (0, 1)
    ]
    dense = [spread_rows(batch, 3, np.random.default_rng(s)) for s in (0, 1)]
    np.testing.assert_array_equal(thin, dense)
    assert len(spread_rows(Batch(X, np.zeros(50)), 3, np.random.default_rng(0))) == 3


# ----------------------------------------------------------------------- scales and blocks


def test_gaps_are_filled_in_the_units_of_their_sample():
    """Samples of sizes from 1 to 1000, each divided by its largest entry while it is coded."""
    X = planted(200)
    size = 10.0 ** (np.arange(200) % 4)[:, None]
    gaps = np.where(np.random.default_rng(5).random(X.shape) < 0.15, np.nan, X)
    model = OnlineRobustNMF(4, scale_samples="max", random_state=0, verbose=0).fit(X)
    filled = model.impute(gaps * size, bounds=None)
    np.testing.assert_allclose(filled, model.impute(gaps, bounds=None) * size, rtol=1e-9)
    missing = np.isnan(gaps)
    # What was filled is the code's prediction in the same units.
    prediction = model.transform(gaps * size) @ model.components_
    np.testing.assert_allclose(filled[missing], prediction[missing], rtol=1e-9)
    np.testing.assert_array_equal(filled[~missing], (gaps * size)[~missing])
    parts = model.separate(gaps * size)
    np.testing.assert_allclose(parts.low_rank[missing], filled[missing], rtol=1e-9)


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
    gaps = some.copy()
    gaps[-1, 3] = np.nan
    np.testing.assert_allclose(model.impute(gaps)[-1], model.impute(gaps[-1:])[0], rtol=1e-6)
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
    model = ready(OnlineNMF(4, divergence="kl"), tol=1e-8, max_iter=5000).fit(rows[:200])
    np.testing.assert_allclose(
        model.score_samples(rows)[-1], model.score_samples(rows[-1:])[0], rtol=1e-6
    )
    np.testing.assert_allclose(model.score_samples(rows)[-1], model.score_samples(X)[-1], rtol=1e-5)
