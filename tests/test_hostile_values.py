"""Numbers that once slipped through: each was found by `tests/fuzz`."""

import numpy as np
import pytest
from scipy import sparse

from thresher import (
    L1Dictionary,
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
)
from thresher.engine.first_batch import is_mostly_zero, spread_rows
from thresher.losses import AlphaDivergence
from thresher.solvers import admm, batch_impl
from thresher.streams import Batch


@pytest.mark.parametrize("garbage", [1e6, 0.0, np.nan])
def test_scaled_samples_do_not_see_entries_of_weight_zero(garbage):
    rng = np.random.default_rng(0)
    X = rng.random((40, 6)) + 0.1
    missing = rng.random(X.shape) < 0.2
    weight = (~missing).astype(float)
    gaps, other = np.where(missing, np.nan, X), np.where(missing, garbage, X)
    start = rng.random((3, 6))
    model = OnlineRobustNMF(3, scale_samples="max", init=start, random_state=0, verbose=0)
    atoms = model.fit(gaps).components_.copy()
    np.testing.assert_array_equal(model.transform(other, weight), model.transform(gaps))
    np.testing.assert_array_equal(model.fit(other, entry_weight=weight).components_, atoms)


def test_scaled_samples_may_be_larger_than_their_precision():
    rng = np.random.default_rng(0)
    X = rng.random((40, 6))
    model = OnlineRobustNMF(3, scale_samples="max", random_state=0, verbose=0)
    model.fit(X.astype(np.float32))
    np.testing.assert_allclose(model.transform(X * 2.0**500) / 2.0**500, model.transform(X))
    model.partial_fit(X * 2.0**500)  # on float32 atoms
    assert model.components_.dtype == np.float32


@pytest.mark.filterwarnings("ignore:The model explains only")  # codes and atoms are both bounded
def test_atoms_without_a_root_stay_in_their_set():
    # At β > 2 a feature that no code pays for wants an infinite entry; the ℓ1 ball bounds it.
    X = np.zeros((22, 4))
    X[:, 0] = 1.0
    X[3:, 1] = 5.0
    model = OnlineNMF(
        1,
        divergence="beta",
        divergence_parameter=2.5,
        code_set="l1_ball",
        dictionary_set="l1_ball",
        shuffle=False,
        random_state=0,
        verbose=0,
    ).fit(X)
    assert model.components_.sum() == pytest.approx(1)


def test_weights_that_are_missing_are_named():
    X = np.ones((4, 3))
    with pytest.raises(ValueError, match="entry_weight contains NaN"):
        OnlineNMF(2, verbose=0).fit(X, entry_weight=np.full(X.shape, np.nan))


@pytest.mark.parametrize("mode", ["auto", "online", "batch_impl", "l2_batch"])
def test_a_document_without_words_is_explained_by_nothing(mode):
    texts = ["rain wind snow", "rain wind ice", "sun sea sand", "sun sea fish"] * 5
    detector = NovelDocumentDetector(2, mode=mode, random_state=0, verbose=0).fit(texts)
    found = detector.explain("")
    assert found.unexplained == []
    assert np.isfinite(found.score)


def test_counts_without_end_are_refused():
    counts = np.ones((6, 4))
    counts[2, 1] = np.inf
    with pytest.raises(ValueError, match="finite"):
        NovelDocumentDetector(2, verbose=0).fit(counts)


@pytest.mark.parametrize("model", [OnlineOrthogonalDictionary(verbose=0), OnlineNMF(2, verbose=0)])
@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_times_are_not_numbers(model, kind):
    with pytest.raises(ValueError, match="not times"):
        model.partial_fit(np.arange(12).reshape(4, 3).astype(kind))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("garbage", [0.0, 1e6])
def test_first_looks_see_no_entries_of_weight_zero(form, garbage):
    rng = np.random.default_rng(3)
    X = rng.random((30, 6)) * (rng.random((30, 6)) < 0.35)
    missing = rng.random(X.shape) < 0.5
    weight = (~missing).astype(float)
    gaps = Batch(form(np.where(missing, np.nan, X)))
    other = Batch(form(np.where(missing, garbage, X)), entry_weight=weight)
    for seed in range(5):
        first, second = (spread_rows(b, 8, np.random.default_rng(seed)) for b in (gaps, other))
        np.testing.assert_array_equal(first, second)
    # Of the entries that were seen, more than a quarter are not zero.
    assert np.count_nonzero(X[~missing]) > 0.25 * np.count_nonzero(~missing)
    assert not is_mostly_zero(gaps)
    assert not is_mostly_zero(other)


def test_documents_are_told_by_their_weights():
    X = np.array([[1.0, 1, 1, 1], [1.0, 0, 0, 0]])
    copies = np.repeat(X, [1, 40], axis=0)
    assert is_mostly_zero(Batch(copies)) == is_mostly_zero(Batch(X, np.array([1.0, 40.0])))
    assert is_mostly_zero(Batch(X, np.array([0.0, 1.0])))
    assert not is_mostly_zero(Batch(X))


@pytest.mark.parametrize(
    "chosen",
    [
        {"mode": batch_impl(iterations=50, rounds=3)},
        {"model": L1Dictionary(6, solver=admm(), max_iter=3, verbose=0)},
    ],
    ids=str,
)
def test_dead_atoms_are_survived(chosen):
    """A model of one's own has new documents in their place; published modes keep them."""
    texts = ["rain wind snow", "rain wind ice", "sun sea sand", "sun sea fish"] * 3
    detector = NovelDocumentDetector(
        6, **chosen, n_new_atoms=1, max_words=4, random_state=0, verbose=0
    ).fit(texts)
    for words in ("piano drum", "vote party law", "engine wheel road train"):
        detector.step([words] * 3 + [""])
    assert np.isfinite(detector.novelty_scores(["piano drum"])).all()


class _Counted(AlphaDivergence):
    """Counts how often its slope is asked for."""

    calls = 0

    def entry_gradient(self, x, y):
        type(self).calls += 1
        return super().entry_gradient(x, y)


def test_zeros_do_not_slow_the_proximal_map_down():
    rng = np.random.default_rng(0)
    X = rng.random((20, 8)) * (rng.random((20, 8)) < 0.5)
    V = X + 0.3 * rng.standard_normal(X.shape)
    loss = _Counted(0.7)
    Y = loss.prox(V, X, 0.5)
    assert loss.calls < 20  # halving an interval down to nothing took over 50
    zero = X == 0
    np.testing.assert_allclose(Y[zero], np.maximum(V[zero] - 0.5 / 0.7, 0), atol=1e-8)
    slope = Y - V + 0.5 * loss.gradient(X, Y)
    np.testing.assert_allclose(slope[~zero], 0, atol=1e-6)
