"""Sums, ranges and order statistics of batches, equal for dense and sparse samples."""

import numpy as np
import pytest
from scipy import sparse

from thresher.engine.explained import Energies, mass_of
from thresher.engine.extrapolation import Extrapolation
from thresher.engine.first_batch import entries, sparse_mean, spread_rows
from thresher.engine.merging import merged
from thresher.engine.seen import SeenRange
from thresher.engine.units import typical_size, unit_of
from thresher.estimators.scoring import hidden_entries, without_entries
from thresher.estimators.usual import column_scales, threshold_at
from thresher.linalg import load_stored_block, stored_rows, with_gaps
from thresher.streams import Batch


def test_extrapolation_finds_the_fixed_point_of_a_linear_map():
    """``D ← MD + b`` with two slow directions."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    M = V @ np.diag([0.97, 0.9, 0, 0, 0, 0]) @ V.T
    b = rng.standard_normal(6)
    end = np.linalg.solve(np.eye(6) - M, b).reshape(2, 3)
    extrapolation, D = Extrapolation(), rng.standard_normal((2, 3))
    for _ in range(9):
        before, D = D, (M @ D.ravel() + b).reshape(2, 3)
        extrapolation.add(before, D)
    assert np.abs(D - end).max() > 0.1
    np.testing.assert_allclose(extrapolation.ahead(), end, atol=1e-6)


@pytest.mark.parametrize("count", range(1, 10))
def test_partial_sums_are_added_as_a_balanced_tree(count):
    """The order of additions is fixed, so every number of workers gives the same bits."""

    def tree(parts):
        if len(parts) == 1:
            return parts[0]
        size = 1
        while 2 * size < len(parts):
            size *= 2
        return tree(parts[:size]) + tree(parts[size:])

    values = list(10.0 ** np.random.default_rng(count).uniform(-9, 9, count))
    assert merged(values) == tree(values)


def samples(seed=0, n=30, F=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, F)) * (rng.random((n, F)) < 0.4)
    X[:, 2] = np.abs(X[:, 2]) + 1  # never zero, never negative
    X[:, 3] = -np.abs(X[:, 3]) - 1
    X[:, 4] = 0
    return X


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weighted", ["", "samples", "entries", "both"])
@pytest.mark.parametrize("sign", [1, -1])
def test_ranges_of_features_skip_missing_values_and_zero_weights(kind, gaps, weighted, sign):
    rng = np.random.default_rng(1)
    X = sign * samples()
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    sample_weight = (rng.random(len(X)) < 0.6).astype(float) if weighted in "samples both" else None
    if not weighted:
        sample_weight = None
    entry_weight = None
    if weighted in {"entries", "both"}:
        entry_weight = (rng.random(X.shape) < 0.6).astype(float)
    seen = ~np.isnan(X)
    given = X if kind == "dense" else sparse.csr_array(X)
    if kind == "stored":
        given, seen = stored_rows(given), seen & (X != 0)
    if sample_weight is not None:
        seen &= sample_weight[:, None] > 0
    if entry_weight is not None:
        seen &= entry_weight > 0
    found = SeenRange.of(Batch(given, sample_weight, entry_weight))
    np.testing.assert_array_equal(found.low, np.where(seen, X, np.inf).min(axis=0))
    np.testing.assert_array_equal(found.high, np.where(seen, X, -np.inf).max(axis=0))
    np.testing.assert_array_equal(found.known, seen.any(axis=0))


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
def test_the_unit_is_a_power_of_two_near_the_median_nonzero(kind):
    X = np.array([[0, 3.0, 0], [5, 0, np.nan], [-4, 0, 40]])
    given = {"dense": X, "csr": sparse.csr_array(X), "stored": stored_rows(sparse.csr_array(X))}
    batch = Batch(given[kind])
    assert typical_size(batch) in {4.0, 5.0}
    heavy = Batch(given[kind], np.array([0.0, 0, 1]))
    assert typical_size(heavy) in {4.0, 40.0}
    assert typical_size(Batch(given[kind], np.array([1.0, 0, 0]))) == 3
    if kind == "dense":
        weight = np.zeros_like(X)
        weight[2, 2] = 1
        assert typical_size(Batch(X, None, weight)) == 40
    assert typical_size(Batch(np.zeros((2, 2)))) == 0
    assert [unit_of(size) for size in (0.0, 1.0, 3.0, 0.3, 1000.0)] == [1, 1, 4, 0.25, 1024]


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_are_sampled_by_weight_in_any_order(kind):
    X = np.abs(samples(3))
    given = X if kind == "dense" else sparse.csr_array(X)
    weight = np.zeros(len(X))
    weight[[2, 5, 9]] = [1, 5, 1]
    drawn = spread_rows(Batch(given, weight), 700, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=len(X))
    assert set(np.flatnonzero(counts)) == {2, 5, 9}
    np.testing.assert_allclose(counts[[2, 5, 9]], [100, 500, 100], atol=1)
    order = np.random.default_rng(4).permutation(len(X))
    moved = spread_rows(Batch(given[order], weight[order]), 50, np.random.default_rng(0))
    first = spread_rows(Batch(given, weight), 50, np.random.default_rng(0))
    np.testing.assert_array_equal(X[order][moved], X[first])


def test_sparse_means_and_weighted_entries():
    X = np.array([[1.0, np.nan, 0], [0, 2, 3]])
    mean = sparse_mean(Batch(sparse.csr_array(X[1:].repeat(2, 0)), np.array([3.0, 1])))
    np.testing.assert_array_equal(mean, [0, 2, 3])
    values, weights = entries(X, np.array([[1.0, 0, 2], [1, 1, 1]]), np.array([1.0, 3]), 100)
    np.testing.assert_array_equal(values, [1, 0, 0, 2, 3])
    np.testing.assert_array_equal(weights, [1, 2, 3, 3, 3])


@pytest.mark.parametrize("kind", ["dense", "weighted", "csr", "stored"])
@pytest.mark.parametrize("by_sample", [False, True])
def test_the_weighted_mass_of_a_block(kind, by_sample):
    X = samples(5)
    weight = np.random.default_rng(6).random(X.shape) * (samples(7) != 0)
    given = np.arange(1.0, len(X) + 1) if by_sample else None
    by_row = np.ones(len(X)) if given is None else given
    if kind == "stored":
        stored = stored_rows(sparse.csr_array(X))
        block = load_stored_block(stored, slice(0, len(X)), np.dtype(float), None, 1.0)
        found, counted = mass_of(block, None, given), by_row[:, None] * (X != 0)
    elif kind == "weighted":
        found, counted = mass_of(X, weight, given), by_row[:, None] * weight
    else:
        found = mass_of(sparse.csr_array(X) if kind == "csr" else X, None, given)
        counted = by_row[:, None] * np.ones_like(X)
    assert found == pytest.approx(((np.abs(X) * counted).sum(), counted.sum()))


def test_explained_shares_of_the_energy():
    x, y = np.array([3.0, 4]), np.array([3.0, 2])

    def energies(y):
        return Energies(x @ x, x @ y, y @ y, x.sum(), y.sum())

    one = energies(y)
    assert one.explained == pytest.approx(1 - 4 / 25)
    best = (x @ y) / (y @ y)
    assert one.explained_at_best_size == pytest.approx(1 - ((x - best * y) ** 2).sum() / 25)
    assert Energies().explained == 1.0
    assert Energies().explained_at_best_size == 0.0
    assert one + one == Energies(*(2 * part for part in (25.0, 17.0, 13.0, 7.0, 5.0)))


def test_thresholds_are_order_statistics():
    losses = np.random.default_rng(0).permutation(np.arange(1.0, 100))
    assert threshold_at(losses, None, 0.01) == 99
    assert threshold_at(losses, None, 0.05) == 95
    assert threshold_at(losses, None, 0.5) == 50
    assert threshold_at(losses, None, 0.001) == 99  # too few: the largest
    assert threshold_at(losses, None, 0.01, strict=True) == 99
    twice = np.concatenate([losses, losses])
    assert threshold_at(losses, np.full(99, 2.0), 0.3) == threshold_at(twice, None, 0.3)
    assert threshold_at(losses, np.where(losses == 7, 1e6, 0.0), 0.05) == 7


def test_robust_scales_of_columns():
    rng = np.random.default_rng(1)
    E = np.abs(rng.standard_normal((4001, 4))) * [1, 3, 0.5, 2]
    np.testing.assert_allclose(column_scales(E), [1, 3, 0.5, 2], rtol=0.06)
    E[:, 1] = np.nan  # all missing
    E[:, 2] = 0  # all zero
    E[1000:, 3] = 0  # most are zero: the mean
    found = column_scales(E)
    assert found[0] == pytest.approx(1.4826 * np.median(E[:, 0]))
    assert found[3] == pytest.approx(1.2533 * E[:, 3].mean())
    others = np.median(found[[0, 3]])
    np.testing.assert_allclose(found[[1, 2]], others)
    assert column_scales(np.zeros((3, 2))).tolist() == [1, 1]
    gaps = np.array([[1.0], [np.nan], [3], [2], [np.nan]])
    assert column_scales(gaps)[0] == pytest.approx(1.4826 * 2)
    even = np.array([[1.0], [2], [3], [4]])
    assert column_scales(even)[0] == pytest.approx(1.4826 * 2)


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_hidden_entries_are_the_same_for_dense_and_sparse_samples(kind, share):
    rng = np.random.default_rng(2)
    X = rng.random((40, 15)) * (rng.random((40, 15)) < 0.4)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = np.nan
    X[0, 3] = 1.0  # something has to stay of every sample
    given = {"dense": X, "csr": sparse.csr_array(X), "stored": stored_rows(sparse.csr_array(X))}[
        kind
    ]
    places, truth = hidden_entries(given, share, np.random.default_rng(3))
    flat = X.ravel()
    assert (np.diff(places) > 0).all()
    np.testing.assert_array_equal(flat[places], truth)
    assert not np.isnan(truth).any()
    assert 3 not in places
    n_full = np.count_nonzero(np.nan_to_num(X))
    n_zero = np.count_nonzero(X == 0)
    hidden_zeros = np.count_nonzero(truth == 0)
    assert hidden_zeros == (0 if kind == "stored" else hidden_zeros)
    assert hidden_zeros <= round(share * min(n_full, n_zero))
    assert len(truth) - hidden_zeros <= round(share * n_full)
    assert len(truth) >= 0.8 * share * n_full
    if kind != "stored":
        other = hidden_entries(X, share, np.random.default_rng(3))
        np.testing.assert_array_equal(places, other[0])  # dense and CSR alike
    without = without_entries(given, places)
    expanded = with_gaps(without, np.dtype(float)) if kind == "stored" else without
    expanded = expanded.toarray() if sparse.issparse(expanded) else expanded
    assert np.isnan(expanded.ravel()[places]).all()
    left = np.delete(np.arange(X.size), places)
    seen = left[~np.isnan(flat[left])] if kind != "stored" else left[np.nan_to_num(flat[left]) > 0]
    np.testing.assert_array_equal(expanded.ravel()[seen], flat[seen])
    assert not np.isnan(X[1:].ravel()[places[places >= 15] - 15]).any()  # the samples stay
