"""A fit that is ended by ``max_iter`` says so, and how far it is; others say nothing."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import thresher

SAID = r"ended after max_iter=2 (rounds|sweeps), (.*); raise max_iter, or tol"
KINDS = {
    "BatchNMF": {"n_components": 3},
    "GoDec": {"n_components": 3},
    "L1Dictionary": {"n_components": 3, "solver": "admm"},
    "ManhattanNMF": {"n_components": 3},
    "RobustNMF": {"n_components": 3, "outlier_weight": 0.1},
    "RobustPCA": {},
    "SymmetricManhattanNMF": {"n_components": 3},
}


def _samples(name):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((60, 12))
    return X @ X.T if name == "SymmetricManhattanNMF" else X


def _model(name, **changed):
    kind = getattr(thresher, name)
    given = {**KINDS[name], **changed, "verbose": 0}
    if name != "RobustPCA":
        given["random_state"] = 0
    return kind(**given)


def _warnings_of(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    return [w for w in caught if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.parametrize("name", KINDS)
def test_few_rounds_are_told_once_in_the_line_that_called_fit(name):
    (told,) = _warnings_of(_model(name, max_iter=2, tol=1e-9), _samples(name))
    assert re.search(SAID, str(told.message))
    assert told.filename == __file__


@pytest.mark.parametrize("name", KINDS)
def test_a_fit_that_ends_by_itself_says_nothing(name):
    model = _model(name, tol=1e-2)
    assert not _warnings_of(model, _samples(name))
    assert model.n_iter_ < model.max_iter


@pytest.mark.parametrize("name", KINDS)
def test_without_a_tolerance_rounds_are_counted_and_nothing_is_missed(name):
    assert not _warnings_of(_model(name, max_iter=2, tol=0.0), _samples(name))


@pytest.mark.parametrize("name", KINDS)
def test_who_ends_a_fit_by_a_callback_is_not_told_to_go_on(name):
    model = _model(name, max_iter=2, tol=1e-9, callbacks=[lambda step: True])
    assert not _warnings_of(model, _samples(name))


@pytest.mark.parametrize("name", ["BatchNMF", "RobustNMF", "ManhattanNMF", "L1Dictionary"])
def test_how_far_it_was_is_the_last_change_of_the_objective(name):
    X, tol = _samples(name), 1e-9
    model = _model(name, max_iter=4, tol=tol)
    (told,) = _warnings_of(model, X)
    loss = model.history_.column("loss")
    missed = abs(loss[-2] - loss[-1]) / (tol * loss[-2])
    said = float(re.search(r"rounds, (\S+) times", str(told.message))[1])
    assert said == pytest.approx(missed, rel=0.06)


def test_how_far_a_pursuit_was_is_its_certificate():
    model = _model("RobustPCA", max_iter=3)
    (told,) = _warnings_of(model, _samples("RobustPCA"))
    assert f"{model.history_[-1].certificate:.2g} times" in str(told.message)


def test_one_round_is_too_few_to_tell():
    (told,) = _warnings_of(_model("BatchNMF", max_iter=1), _samples("BatchNMF"))
    assert "too few to tell" in str(told.message)
