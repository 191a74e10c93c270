"""A fit that is ended by ``max_iter`` warns once, where it was called; others do not."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import thresher
from thresher.datasets import make_surveillance_scene

KINDS = {
    "BatchNMF": {"n_components": 3},
    "GoDec": {"n_components": 3},
    "L1Dictionary": {"n_components": 3, "solver": "admm"},
    "ManhattanNMF": {"n_components": 3},
    "RobustNMF": {"n_components": 3, "outlier_weight": 0.1},
    "RobustPCA": {},
    "SymmetricManhattanNMF": {"n_components": 3},
}
every_class = pytest.mark.parametrize("name", KINDS)


def fitted(name, **parameters):
    """A fitted model, and the warnings on its convergence."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((60, 12))
    model = getattr(thresher, name)(**KINDS[name], verbose=0).set_params(**parameters)
    if name != "RobustPCA":
        model.set_params(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X @ X.T if name == "SymmetricManhattanNMF" else X)
    return model, [w for w in caught if issubclass(w.category, ConvergenceWarning)]


@every_class
def test_too_few_iterations_are_a_warning_where_fit_was_called(name):
    _, (warning,) = fitted(name, max_iter=2, tol=1e-9)
    assert "max_iter" in str(warning.message)
    assert warning.filename == __file__


@every_class
def test_a_fit_that_converges_does_not_warn(name):
    model, found = fitted(name, tol=1e-2)
    assert not found
    assert model.n_iter_ < model.max_iter


@every_class
def test_without_a_tolerance_iterations_are_counted(name):
    model, found = fitted(name, max_iter=2, tol=0.0)
    assert not found
    assert model.n_iter_ == 2


@every_class
def test_a_fit_that_a_callback_ends_does_not_warn(name):
    assert not fitted(name, max_iter=2, tol=1e-9, callbacks=[lambda step: True])[1]


def test_a_callback_ends_a_video():
    frames = make_surveillance_scene(40, random_state=0).frames
    seen = []
    separator = thresher.VideoSeparator(callbacks=[lambda s: seen.append(s) or True], verbose=0)
    parts = list(separator.separate(frames[start : start + 10] for start in range(0, 40, 10)))
    assert len(parts) == len(seen) == 1
    np.testing.assert_array_equal(seen[0].frames, frames[:10])
    assert separator.n_frames_seen_ == 10
