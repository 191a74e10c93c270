"""Frames whose columns have no plain names: the cleaner works, others work or say what to do."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from thresher import OnlineNMF, TableCleaner, TopicModel
from thresher.cli import app

NAMES = {
    "whole numbers": pd.RangeIndex(3),
    "dates": pd.date_range("2024-01-01", periods=3),
    "days": [datetime.date(2024, 1, day) for day in (1, 2, 3)],
    "tuples": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "repeated": ["a", "a", "b"],
    "empty": ["", "b", "c"],
    "None": [None, "b", "c"],
    "NaN": [np.nan, 1.0, 2.0],
    "NA": [pd.NA, "b", "c"],
    "unicode": ["é", "温度", "🙂"],
    "mixed": ["0", 0, ("0",)],
}
KINDS = pytest.mark.parametrize("kind", NAMES)


def table(n=60):
    rng = np.random.default_rng(0)
    X = np.sin(np.arange(n)[:, None] / 5 + np.arange(3)) + 0.05 * rng.normal(size=(n, 3))
    X[10, 1], X[20, 0] = np.nan, 50.0
    return X


def framed(kind, X=None):
    frame = pd.DataFrame(table() if X is None else X)
    frame.columns = NAMES[kind]
    return frame


@KINDS
@pytest.mark.parametrize("causal", [False, True])
def test_a_cleaned_frame_has_its_own_names(kind, causal):
    frame, cleaner = framed(kind), TableCleaner(random_state=0, causal=causal)
    found, plain = cleaner.clean(frame), cleaner.clean(table())
    for part, other in zip(found, plain, strict=True):
        pd.testing.assert_index_equal(part.columns, frame.columns)
        np.testing.assert_array_equal(part.to_numpy(), other)


@KINDS
@pytest.mark.filterwarnings("ignore:Glyph")  # that the font of the pictures does not have
def test_reports_and_bounds_know_columns_by_their_own_names(kind, tmp_path):
    frame = framed(kind)
    cleaner = TableCleaner(random_state=0, bounds={frame.columns[2]: (-0.5, 0.5)})
    flags = cleaner.clean(frame).flags.to_numpy()
    assert flags[np.abs(table()[:, 2]) > 0.5, 2].all()
    assert cleaner.report(tmp_path / "a.html", frame).stat().st_size > 1000


def test_a_time_is_found_by_any_name():
    frame = pd.DataFrame(table())
    frame[3] = np.arange(60) * 2.0
    found = TableCleaner(time=3, random_state=0).clean(frame)
    assert found.flags.shape == (60, 3)
    with pytest.raises(ValueError, match="time="):
        TableCleaner(time=7).clean(frame)
    frame.columns = ["t", "a", "t", "b"]
    with pytest.raises(ValueError, match="rename"):
        TableCleaner(time="t").clean(frame)


def test_repeated_names_of_arrow():
    given = pa.table([pa.array(x) for x in table().T], names=["a", "a", "b"])
    found = TableCleaner(random_state=0).clean(given)
    assert found.table.column_names == found.flags.column_names == ["a", "a", "b"]


@KINDS
def test_estimators_take_frames_or_say_what_to_do(kind):
    frame = framed(kind, np.random.default_rng(0).random((20, 3)))
    model = OnlineNMF(2, random_state=0)
    kinds = {type(name) is str for name in frame.columns}
    if len(kinds) > 1 or frame.columns.has_duplicates:
        with pytest.raises((TypeError, ValueError), match="name"):
            model.fit(frame)
    else:
        pd.testing.assert_index_equal(model.fit(frame).impute(frame).columns, frame.columns)


def test_an_empty_name_in_polars():
    frame = pl.DataFrame({"": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 2.0]})
    assert OnlineNMF(1).fit(frame).impute(frame).columns == ["", "b"]


@KINDS
def test_columns_of_words_are_named_as_the_frame_names_them(kind):
    frame = framed(kind, np.full((5, 3), "x"))
    if not frame.columns.has_duplicates:
        with pytest.raises(ValueError, match="convert") as raised:
            OnlineNMF(2).fit(frame)
        assert repr(list(frame.columns)[2]) in str(raised.value)


def test_frames_of_counts_are_tables_in_every_library():
    words, counts = [f"w{i}" for i in range(6)], np.random.default_rng(0).poisson(1.0, (30, 6))
    found = [
        TopicModel(2, vocabulary=words, random_state=0).fit_transform(table)
        for table in (
            counts,
            pd.DataFrame(counts),
            pl.DataFrame(counts),
            pa.table(list(map(pa.array, counts.T)), names=words),
        )
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def sensor_table():
    """Correlated columns with times, a run of missing values, an outlier and an empty column."""
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(400) / 9)[:, None] * np.arange(1, 6)
    made = pd.DataFrame(wave + 0.05 * rng.normal(size=wave.shape), columns=list("abcde"))
    made.insert(0, "when", pd.date_range("2026-03-01", periods=400, freq="h"))
    made.loc[60:80, "b"], made.loc[200, "d"], made["silent"] = np.nan, 40.0, np.nan
    return made


TABLES = {
    "pandas": lambda frame: frame,
    "index": lambda frame: frame.set_index("when"),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.filterwarnings("ignore:Nothing is known")
@pytest.mark.parametrize("kind", TABLES)
def test_the_report_names_the_outlier_and_the_empty_column(kind, tmp_path):
    cleaner = TableCleaner(random_state=0, verbose=0)
    path = cleaner.report(tmp_path / "page.html", TABLES[kind](sensor_table()))
    html = path.read_text(encoding="utf-8")
    assert "d, 2026-03-09 08:00:00" in html
    assert "silent" in html


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_names_columns_without_a_reading(ending, tmp_path):
    source, page = tmp_path / f"table.{ending}", tmp_path / "page.html"
    made = sensor_table()
    made.to_csv(source, index=False) if ending == "csv" else made.to_parquet(source)
    words = ["clean", source, tmp_path / f"clean.{ending}", "--report", page]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert "silent" in done.output
    assert "d, 2026-03-09 08:00:00" in page.read_text(encoding="utf-8")
