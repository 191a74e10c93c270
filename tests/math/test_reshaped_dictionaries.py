"""Atoms that are merged and features that are dropped keep what was learned of them."""

import numpy as np
import pytest
from scipy import sparse

from thresher import OnlineNMF

QUIET = {"random_state": 0, "verbose": 0}


@pytest.mark.parametrize("divergence", ["kl", "squared_l2"])
def test_kept_features_keep_their_dictionary_and_statistics(divergence):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 12)) * (rng.random((60, 12)) < 0.5))
    model = OnlineNMF(3, divergence=divergence, **QUIET).partial_fit(X)
    D, before = model.components_.copy(), model.statistics_.arrays()
    columns = [7, 2, 9, 10]
    model.keep_features(columns)
    np.testing.assert_array_equal(model.components_, D[:, columns])
    for name, values in model.statistics_.arrays().items():
        expected = before[name]
        if expected.ndim and expected.shape[-1] == 12:
            expected = expected[..., columns]
        np.testing.assert_array_equal(values, expected)
    assert model.partial_fit(X[:, columns]).components_.shape == (3, 4)
    with pytest.raises(ValueError, match="features"):
        model.keep_features([4])


def test_statistics_of_merged_atoms_are_sums():
    X = np.random.default_rng(0).random((50, 6))
    model = OnlineNMF(3, **QUIET).fit(X)
    A = model.statistics_.A
    model._join_atoms([[2], [0, 1]])
    np.testing.assert_allclose(model.statistics_.A[1, 1], A[:2, :2].sum())
    np.testing.assert_allclose(model.statistics_.A[0, 1], A[2, :2].sum())
    assert model.partial_fit(X).components_.shape == (2, 6)
    for wrong in ([], [[0, 5]], [[0], [0]], [[0.5]], 7):
        with pytest.raises(ValueError, match="groups"):
            model._join_atoms(wrong)
    with pytest.raises(ValueError, match="frozen_atoms"):
        OnlineNMF(3, frozen_atoms=[0], **QUIET).fit(X)._join_atoms([[0], [1]])
