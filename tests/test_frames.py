"""`set_output` reaches all that gives samples or codes, with index and names."""

import numpy as np
import pandas as pd
import pytest
import sklearn

from thresher import (
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.testing.data import planted

NAMES = [f"sensor {j}" for j in range(24)]
MODELS = [
    OnlineRobustNMF(4),
    OnlineNMF(4, divergence="kl"),
    ManhattanNMF(4, max_iter=10),
    OnlineOrthogonalDictionary(),
]


def ready(estimator):
    return type(estimator)(**{**estimator.get_params(), "random_state": 0, "verbose": 0})


def frame_with_gaps(n=60):
    X = planted(n)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame(X, index=index, columns=NAMES)


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_frames_keep_their_index_and_names(estimator):
    frame = frame_with_gaps()
    model = ready(estimator).fit(frame)
    plain = model.impute(frame), model.transform(frame)
    decoded = model.inverse_transform(plain[1])
    assert all(type(each) is np.ndarray for each in (*plain, decoded))
    model.set_output(transform="pandas")
    filled, codes = model.impute(frame), model.transform(frame)
    again = model.inverse_transform(codes)
    for got, expected in ((filled, plain[0]), (again, decoded)):
        assert list(got.columns) == NAMES
        pd.testing.assert_index_equal(got.index, frame.index)
        np.testing.assert_array_equal(got.to_numpy(), expected)
    assert list(model.inverse_transform(plain[1]).columns) == NAMES


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(4), RobustNMF(4)], ids=str)
def test_separations_are_frames_too(estimator):
    frame = frame_with_gaps()
    model = ready(estimator).fit(frame)
    plain = model.separate(frame)
    parts = model.set_output(transform="pandas").separate(frame)
    name = type(estimator).__name__.lower()
    for got, expected, columns in zip(
        parts, plain, (NAMES, NAMES, [f"{name}{k}" for k in range(4)]), strict=True
    ):
        assert type(expected) is np.ndarray
        assert list(got.columns) == columns
        pd.testing.assert_index_equal(got.index, frame.index)
        np.testing.assert_array_equal(got.to_numpy(), expected)
    streamed = list(model.separate(frame[i : i + 25] for i in range(0, 60, 25)))
    pd.testing.assert_index_equal(
        pd.concat([each.outliers for each in streamed]).index, frame.index
    )
    room = np.empty(frame.shape)
    written = model.separate(frame, low_rank=room)
    np.testing.assert_array_equal(room, plain.low_rank)
    np.testing.assert_array_equal(written.low_rank.to_numpy(), room)


def test_columns_without_names_stay_what_they_are():
    """Numbers are no feature names for scikit-learn, but they are the user's columns."""
    frame = frame_with_gaps().set_axis(range(10, 34), axis=1)
    model = ready(OnlineRobustNMF(4)).fit(frame).set_output(transform="pandas")
    assert list(model.impute(frame).columns) == list(range(10, 34))
    assert list(model.separate(frame).outliers.columns) == list(range(10, 34))
    generic = [f"x{j}" for j in range(24)]
    assert list(model.impute(frame.to_numpy()).columns) == generic
    assert list(model.inverse_transform(model.transform(frame)).columns) == generic


def test_polars_frames_come_out_of_polars_frames():
    polars = pytest.importorskip("polars")
    frame = frame_with_gaps()
    model = ready(OnlineRobustNMF(4)).fit(frame)
    expected, low_rank = model.impute(frame), model.separate(frame).low_rank
    model.set_output(transform="polars")
    given = polars.from_pandas(frame.reset_index(drop=True))
    for got, values in (
        (model.impute(given), expected),
        (model.impute(frame), expected),
        (model.separate(given).low_rank, low_rank),
        (model.inverse_transform(model.transform(given)), low_rank),
    ):
        assert isinstance(got, polars.DataFrame)
        assert got.columns == NAMES
        np.testing.assert_allclose(got.to_numpy(), values, rtol=1e-6, atol=1e-9)


def test_the_global_setting_counts_and_disturbs_nobody():
    """Also not what calls these methods inside: certificates, and why a document is novel."""
    X = planted(60)
    orthogonal = OnlineOrthogonalDictionary(random_state=0, verbose=0).fit(X)
    model = ready(OnlineRobustNMF(4)).fit(X)
    documents = ["fox hen fox hen", "fish crab fish crab", "fox hen hen", "crab fish fish"] * 5
    detector = NovelDocumentDetector(
        model=OnlineNMF(2, divergence="kl", random_state=0, verbose=0), random_state=0, verbose=0
    ).fit(documents)
    certificates = orthogonal.certificates(X, orthogonal.transform(X))
    why = detector.explain("fox hen fish owl")
    with sklearn.config_context(transform_output="pandas"):
        codes = orthogonal.transform(X)
        assert isinstance(codes, pd.DataFrame)
        np.testing.assert_array_equal(orthogonal.certificates(X, codes), certificates)
        assert isinstance(model.impute(X), pd.DataFrame)
        assert isinstance(model.separate(X).codes, pd.DataFrame)
        assert detector.explain("fox hen fish owl") == why
