"""Promises 1 and 5: scikit-learn's conventions hold, and the user's data stay as they are."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from thresher.testing.data import given_start, planted, ready, takes


def check_scikit_learn_agrees(estimator: Any) -> None:
    """scikit-learn's own `check_estimator` passes, without any expected failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit tiny, odd data on purpose
        results = check_estimator(clone(estimator), on_skip=None, on_fail=None)
    failed = [str(r["check_name"]) for r in results if r["status"] == "failed"]
    assert not failed, f"scikit-learn's checks fail: {', '.join(failed)}."


def check_dtype_stays(estimator: Any) -> None:
    """float32 data give float32 atoms and codes, float64 data float64."""
    for dtype in (np.float32, np.float64):
        X = planted().astype(dtype)
        model = ready(estimator).fit(X)
        assert model.components_.dtype == dtype, (
            f"{dtype} data gave {model.components_.dtype} atoms."
        )
        assert model.transform(X).dtype == dtype, "transform changed the dtype."


def check_pipeline_and_grid_search(estimator: Any) -> None:
    """The estimator works inside a pipeline, and a grid search can choose its parameters."""
    X = planted(120)
    pipeline = make_pipeline(MaxAbsScaler(), ready(estimator))
    scaled = MaxAbsScaler().fit_transform(X)
    np.testing.assert_allclose(
        pipeline.fit(X).transform(X), ready(estimator).fit(scaled).transform(scaled)
    )
    if not takes(estimator, "n_components"):
        sizes = {"batch_size": [32, 64]} if takes(estimator, "batch_size") else {"tol": [0.1, 0.01]}
        GridSearchCV(ready(estimator), sizes, cv=2).fit(X)
        return
    search = GridSearchCV(ready(estimator), {"n_components": [2, 4]}, cv=2).fit(X)
    assert search.best_params_["n_components"] == 4, "More parts fit better, but were not chosen."


def check_output_as_frame(estimator: Any) -> None:
    """``set_output`` gives data frames with a column for each atom."""
    X = planted(80)
    frame = ready(estimator).set_output(transform="pandas").fit(X).transform(X)
    name = type(estimator).__name__.lower()
    assert list(frame.columns) == [f"{name}{k}" for k in range(frame.shape[1])]


def check_frames_keep_index_and_names(estimator: Any) -> None:
    """`impute` gives frames like those that came in; with ``set_output``, decoding does too."""
    import pandas as pd

    X = planted(80)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    index = [f"row {i}" for i in range(len(X))]
    frame = pd.DataFrame(X, index=index, columns=[f"f{j}" for j in range(X.shape[1])])
    model = ready(estimator).fit(frame)
    filled, codes = model.impute(frame), model.transform(frame)
    model.set_output(transform="pandas")
    for got, expected in (
        (model.impute(frame), filled),
        (model.inverse_transform(model.transform(frame)), codes @ model.components_),
    ):
        assert isinstance(got, pd.DataFrame), "set_output is not heard."
        assert got.index.equals(frame.index), "The index is lost."
        assert got.columns.equals(frame.columns), "The names of the features are lost."
        np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-6, atol=1e-9)


def check_inputs_of_all_kinds(estimator: Any) -> None:
    """uint8, lists and data frames mean the same as the array they stand for."""
    import pandas as pd

    X = np.round(planted() * 255).astype(np.uint8)
    as_float = X.astype(np.float32)
    expected = ready(estimator).fit(as_float).components_
    np.testing.assert_array_equal(ready(estimator).fit(X).components_, expected)
    frame = pd.DataFrame(as_float, columns=[f"f{j}" for j in range(X.shape[1])])
    np.testing.assert_array_equal(ready(estimator).fit(frame).components_, expected)
    double = X.astype(np.float64)
    np.testing.assert_array_equal(
        ready(estimator).fit(double.tolist()).components_, ready(estimator).fit(double).components_
    )


def check_input_is_not_written(estimator: Any) -> None:
    """Arrays of the user, read-only ones too, stay as they are and are not kept."""
    X = planted()
    given = given_start(estimator, X.shape[1])
    init = given.get("init", np.zeros(0))
    kept_X, kept_init = X.copy(), init.copy()
    for writeable in (True, False):
        X.flags.writeable = init.flags.writeable = writeable
        model = ready(estimator, **given).fit(X)
        _use(model, X)
        np.testing.assert_array_equal(X, kept_X)
        np.testing.assert_array_equal(init, kept_init)
        assert not np.shares_memory(model.components_, init), "components_ is the user's own init."
    for order in ("C", "F") if given else ():
        ordered = np.array(kept_init, order=order)
        again = ready(estimator, init=ordered).fit(X).components_
        np.testing.assert_array_equal(again, model.components_)
        np.testing.assert_array_equal(ordered, kept_init)


def _use(model: Any, X: Any) -> None:
    """Call everything that only looks."""
    model.inverse_transform(model.transform(X))
    model.score(X), model.score_samples(X)
    if hasattr(model, "impute"):
        model.impute(X)


def check_getters_are_pure(estimator: Any) -> None:
    """Coding, scoring and imputing leave the model as it was."""
    X = planted()
    model = ready(estimator).fit(X)
    before = model.components_.copy()
    first = model.transform(X)
    _use(model, X)
    np.testing.assert_array_equal(model.transform(X), first)
    np.testing.assert_array_equal(model.components_, before)


def check_seed_decides(estimator: Any) -> None:
    """The same seed gives the same bits, another seed does not, if there is one."""
    X = planted()
    first, again = (ready(estimator).fit(X).components_ for _ in range(2))
    np.testing.assert_array_equal(first, again)
    if not takes(estimator, "random_state"):  # nothing is drawn
        return
    other = ready(estimator, random_state=1).fit(X).components_
    assert not np.array_equal(first, other), "random_state changes nothing."
