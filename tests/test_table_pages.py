"""Pages about tables: rows by their times, columns nobody heard of, and a line beside it."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from thresher import TableCleaner
from thresher.cli.app import app
from thresher.tasks.tables.beside import lines_through

N = 400


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(N) / 9)[:, None] * np.arange(1, 6) + 0.05 * rng.normal(size=(N, 5))
    made = pd.DataFrame(wave, columns=list("abcde"))
    made.insert(0, "when", pd.date_range("2026-03-01", periods=N, freq="h"))
    made.loc[60:80, "b"], made.loc[200, "d"], made["silent"] = np.nan, 40.0, np.nan
    return made


@pytest.mark.filterwarnings("ignore:Nothing is known")
@pytest.mark.parametrize("kind", ["pandas", "index", "polars", "arrow", "array"])
def test_the_page_tells_when_what_and_how_well(kind, tmp_path):
    given = table()
    times = given["when"]
    made = {
        "pandas": lambda: given,
        "index": lambda: given.set_index("when"),
        "polars": lambda: pl.from_pandas(given),
        "arrow": lambda: pa.Table.from_pandas(given),
        "array": lambda: given.drop(columns="when").to_numpy(),
    }[kind]()
    cleaner = TableCleaner(random_state=0, verbose=0)
    page = cleaner.report(tmp_path / "page.html", made).read_text(encoding="utf-8")
    row = "201" if kind == "array" else str(times[200])
    name = "3" if kind == "array" else "d"
    assert f'<th scope="row">{name}, {row}</th><td>40</td>' in page
    silent = "5" if kind == "array" else "silent"
    assert f"Columns without a single reading: {silent}." in page
    told = re.findall(r'<th scope="row">(TableCleaner|a line)</th><td>([\d.]+)</td>', page)
    assert [name for name, _ in told] == ["TableCleaner", "a line"]
    assert float(told[0][1]) < float(told[1][1])  # columns tell of each other


def test_a_line_goes_through_the_readings_around_a_gap():
    times = np.array([0.0, 1, 4, 5, 6])
    X = np.array([[np.nan, 1], [2, np.nan], [np.nan, np.nan], [10, np.nan], [np.nan, 7]])
    expected = [[2, 1], [2, 2], [8, 5], [10, 6], [10, 7]]
    np.testing.assert_allclose(lines_through(X, times), expected)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_names_columns_without_a_reading(ending, tmp_path):
    source = tmp_path / f"table.{ending}"
    table().to_csv(source, index=False) if ending == "csv" else table().to_parquet(source)
    given = ["clean", str(source), str(tmp_path / f"clean.{ending}"), "--report"]
    result = CliRunner().invoke(app, [*given, str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "columns without a single reading: silent" in result.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<th scope="row">d, 2026-03-09 08:00:00</th><td>40</td>' in page
