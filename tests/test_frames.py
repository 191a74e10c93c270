"""Frames of any library come back as such; `set_output` reaches all that gives samples or codes."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn

from pages import run_page
from thresher import (
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.estimators.inputs import as_matrix
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        plain = model.impute(frame.to_numpy()), model.transform(frame.to_numpy())
    decoded = model.inverse_transform(plain[1])
    assert all(type(each) is np.ndarray for each in (*plain, decoded, model.transform(frame)))
    pd.testing.assert_frame_equal(
        model.impute(frame), pd.DataFrame(plain[0], frame.index, frame.columns)
    )
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        plain = model.separate(frame.to_numpy())
    by_itself = model.separate(frame)
    assert type(by_itself.codes) is np.ndarray  # as transform gives them
    for got, expected in zip(by_itself[:2], plain[:2], strict=True):
        pd.testing.assert_frame_equal(got, pd.DataFrame(expected, frame.index, frame.columns))
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
    frame = frame_with_gaps()
    model = ready(OnlineRobustNMF(4)).fit(frame)
    expected, low_rank = model.impute(frame), model.separate(frame).low_rank
    model.set_output(transform="polars")
    given = pl.from_pandas(frame.reset_index(drop=True))
    for got, values in (
        (model.impute(given), expected),
        (model.impute(frame), expected),
        (model.separate(given).low_rank, low_rank),
        (model.inverse_transform(model.transform(given)), low_rank),
    ):
        assert isinstance(got, pl.DataFrame)
        assert got.columns == NAMES
        np.testing.assert_allclose(got.to_numpy(), values, rtol=1e-6, atol=1e-9)


KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns, index=range(7, 67)),
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas on Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": pa.table,
    "chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 20), pa.table(columns).slice(20)]
    ),
}


def as_array(frame):
    return np.column_stack([np.asarray(frame[name], dtype=float) for name in NAMES])


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_any_library_give_frames_of_that_library(kind):
    """Null and NaN are gaps; what comes out has kind, names and index of what went in."""
    X = frame_with_gaps().to_numpy()
    lists = {
        name: [None if np.isnan(v) else v for v in X[:, j].tolist()] for j, name in enumerate(NAMES)
    }
    frame = KINDS[kind](lists)
    model = ready(OnlineRobustNMF(4)).fit(frame)
    plain = ready(OnlineRobustNMF(4)).fit(X)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.components_, plain.components_)
    codes = plain.transform(X)
    np.testing.assert_array_equal(model.transform(frame), codes)
    np.testing.assert_array_equal(model.score_samples(frame), plain.score_samples(X))
    apart, expected = model.separate(frame), plain.separate(X)
    coded = type(frame)(codes) if isinstance(frame, pd.DataFrame) else None
    for got, values in (
        (model.impute(frame), plain.impute(X)),
        (apart.low_rank, expected.low_rank),
        (apart.outliers, expected.outliers),
        *(() if coded is None else [(model.inverse_transform(coded), codes @ plain.components_)]),
    ):
        assert type(got) is type(frame)
        np.testing.assert_allclose(as_array(got), values, rtol=1e-12)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_index_equal(apart.outliers.index, frame.index)
    streamed = list(model.separate(iter([frame[:25], frame[25:]])))
    assert [type(each.outliers) for each in streamed] == [type(frame)] * 2
    np.testing.assert_allclose(as_array(streamed[1].outliers), expected.outliers[25:], rtol=1e-12)


def test_codes_in_a_frame_are_decoded_into_one_of_its_kind():
    frame = frame_with_gaps()
    model = ready(OnlineRobustNMF(4)).fit(frame)
    codes = model.transform(frame)
    names = model.get_feature_names_out()
    columns = {name: codes[:, k] for k, name in enumerate(names)}
    for made in (pl.DataFrame, pa.table):
        decoded = model.inverse_transform(made(columns))
        assert type(decoded) is type(made(columns))
        np.testing.assert_allclose(as_array(decoded), codes @ model.components_, rtol=1e-12)


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_all_kinds_of_numbers_are_numbers(made):
    small = {
        "whole": [1, 2, None, 4],
        "byte": np.array([1, 2, 3, 4], dtype=np.uint8),
        "flag": [True, None, False, True],
        "money": [Decimal("1.25"), Decimal("2.50"), None, Decimal("0.75")],
        "single": np.array([0.5, 1.5, 2.5, np.nan], dtype=np.float32),
        "nothing": [None] * 4,
    }
    expected = [
        [1, 1, 1, 1.25, 0.5, np.nan],
        [2, 2, np.nan, 2.5, 1.5, np.nan],
        [np.nan, 3, 0, np.nan, 2.5, np.nan],
        [4, 4, 1, 0.75, np.nan, np.nan],
    ]
    got = as_matrix(made(small), OnlineNMF(), ensure_all_finite="allow-nan")
    np.testing.assert_array_equal(np.asarray(got, dtype=float), expected)
    bytes_only = as_matrix(made({"byte": small["byte"]}), OnlineNMF())
    assert bytes_only.dtype == np.uint8


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_without_numbers_are_named(made):
    day = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[us]")
    columns = {"speed": [1.0, 2.0], "street": ["a", "b"], "day": day, "flow": [3.0, 4.0]}
    model = OnlineNMF(2, verbose=0)
    with pytest.raises(ValueError, match=r"convert these columns .*'street' \(.*'day' \(Datetime"):
        model.fit(made(columns))
    assert not hasattr(model, "components_")


def test_what_is_no_table_of_numbers_is_told():
    with pytest.raises(TypeError, match=r"collect\(\), or, .*sink_parquet"):
        OnlineNMF(2).fit(pl.LazyFrame({"a": [1.0, 2.0]}))
    mixed = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, "two"]})
    with pytest.raises(ValueError, match="'b' "):
        OnlineNMF(2).fit(mixed)
    twice = ["a", "a"]
    for frame in (
        pd.DataFrame(np.ones((4, 2)), columns=twice),
        pa.table([pa.array([1.0, 2.0])] * 2, names=twice),
    ):
        with pytest.raises(ValueError, match="same name"):
            OnlineNMF(2).fit(frame)


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


def test_the_page_on_frames_runs():
    page = run_page("docs/guide/frames.md")
    assert page["roads"]["road 0"].null_count() > 0
    assert page["filled"].null_count().sum_horizontal().item() == 0
    assert page["glitches"].columns == page["roads"].columns
