"""Sums, ranges and order statistics of batches, equal for dense and sparse samples."""

import numpy as np
import pytest
from scipy import sparse

from thresher.engine.atoms import spread_rows
from thresher.engine.batch import AndersonExtrapolation
from thresher.engine.executor import tree_sum
from thresher.engine.first_batch import sparse_mean
from thresher.engine.residuals import Energies, mass_of
from thresher.engine.state import FeatureRange
from thresher.engine.units import entries, typical_size, unit_of
from thresher.linalg import load_stored_block, stored_rows
from thresher.streams import Batch


def test_extrapolation_finds_the_fixed_point_of_a_linear_map():
    """``D ← MD + b`` with two slow directions."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    M = V @ np.diag([0.97, 0.9, 0, 0, 0, 0]) @ V.T
    b = rng.standard_normal(6)
    end = np.linalg.solve(np.eye(6) - M, b).reshape(2, 3)
    extrapolation, D = AndersonExtrapolation(), rng.standard_normal((2, 3))
    for _ in range(9):
        before, D = D, (M @ D.ravel() + b).reshape(2, 3)
        extrapolation.add(before, D)
    assert np.abs(D - end).max() > 0.1
    np.testing.assert_allclose(extrapolation.extrapolated(), end, atol=1e-6)


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
    assert tree_sum(values) == tree(values)


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
    found = FeatureRange.of(Batch(given, sample_weight, entry_weight))
    np.testing.assert_array_equal(found.low, np.where(seen, X, np.inf).min(axis=0))
    np.testing.assert_array_equal(found.high, np.where(seen, X, -np.inf).max(axis=0))
    np.testing.assert_array_equal(found.observed, seen.any(axis=0))


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
