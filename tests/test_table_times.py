"""Which columns of a table tell times and stations, and that it does not matter how they do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from sensors import planted_sensors
from thresher import TableCleaner
from thresher.cli.app import app
from thresher.tasks.tables.times import Label, asked_times, found_groups, found_times

HOURS = pd.date_range("2026-03-28 20:00", periods=90, freq="h")


def cleaner(**parameters: object) -> TableCleaner:
    return TableCleaner(random_state=0, verbose=0, **parameters)


def label(name: str, cells: object) -> Label:
    return Label(name, [str(cell) for cell in cells])  # type: ignore[attr-defined]


# ------------------------------------------------------------------- times


@pytest.mark.parametrize(
    "spelling",
    [
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S+01:00",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %I:%M %p",
        "%d %b %Y %H:%M",
        "%Y/%m/%d %H:%M",
        "%Y%m%d%H%M",
    ],
)
def test_dates_in_any_usual_spelling_are_times(spelling: str) -> None:
    times = found_times([label("word", "x" * 90), label("when", HOURS.strftime(spelling))])
    assert times is not None
    assert times.names == ("when",)
    np.testing.assert_array_equal(times.seconds - times.seconds[0], 3600.0 * np.arange(90))
    shift = 3600 * ("+01:00" in spelling)
    assert times.places[0] == np.datetime64("2026-03-28T20:00:00") - shift


def test_a_change_to_summer_time_is_no_gap() -> None:
    local = HOURS.tz_localize("UTC").tz_convert("Europe/Vienna")
    times = found_times([label("when", [stamp.isoformat() for stamp in local])])
    assert times is not None
    np.testing.assert_array_equal(np.diff(times.seconds), 3600.0)


@pytest.mark.parametrize("clock", ["%H:%M", "%H:%M:%S", "%H.%M.%S"])
def test_a_date_and_a_clock_may_stand_in_two_columns(clock: str) -> None:
    columns = [label("clock", HOURS.strftime(clock)), label("day", HOURS.strftime("%d/%m/%Y"))]
    times = found_times(columns)
    assert times is not None
    assert times.names == ("day", "clock")
    np.testing.assert_array_equal(np.diff(times.seconds), 3600.0)
    assert times.cells[0] == f"28/03/2026 {HOURS[0].strftime(clock)}"


@pytest.mark.parametrize("parts", [4, 5, 6])
def test_parts_of_times_may_have_columns_of_their_own(parts: int) -> None:
    names = ["Year", "month", "DAY", "hour", "minute", "second"][:parts]
    columns = [label(name, getattr(HOURS, name.lower())) for name in names]
    times = found_times([label("no", range(90)), *columns[::-1]])
    assert times is not None
    assert times.names == tuple(names)
    assert (times.places == HOURS.to_numpy().astype("datetime64[s]")).all()
    assert times.cells[0] == "2026-03-28 20:00:00"


@pytest.mark.parametrize(
    "wrong", [{"month": 13}, {"month": 0}, {"day": 32}, {"day": 0}, {"year": 0}, {"hour": "x"}]
)
def test_what_is_no_part_of_a_time_tells_none(wrong: dict[str, object]) -> None:
    parts = {"year": 2026, "month": 3, "day": 1, "hour": 5} | wrong
    assert found_times([label(name, [part, part]) for name, part in parts.items()]) is None


def test_of_several_dates_the_one_that_tells_most_rows_apart_counts() -> None:
    day, hour = HOURS.strftime("%Y-%m-%d"), HOURS.strftime("%Y-%m-%d %H:%M")
    made = label("made", ["2020-01-01 00:00"] * 90)
    times = found_times([made, label("day", day), label("hour", hour)])
    assert times is not None
    assert times.names == ("hour",)
    times = found_times([made, label("day", day)])
    assert times is not None
    assert times.names == ("day",)


@pytest.mark.parametrize(
    ("cells", "are_times"),
    [
        (range(1, 91), True),  # numbers of rows
        (1.7e9 + 60 * np.arange(90), True),
        ([2013] * 90, False),  # a year is no time of a row
        ([1001, 1002, 1003] * 30, False),  # ids
        ([*range(89), 88], False),  # the last comes again
        (["EWR"] * 90, False),
        ([5], False),
    ],
)
def test_numbers_are_times_only_if_they_rise(cells: object, are_times: bool) -> None:
    times = found_times([label("x", cells)])
    assert (times is not None) == are_times
    if times is not None:
        assert not times.dated
        np.testing.assert_array_equal(times.places, np.asarray(cells, dtype=float))


def test_dates_count_before_numbers_of_rows() -> None:
    times = found_times([label("row", range(90)), label("day", HOURS.strftime("%Y-%m-%d"))])
    assert times is not None
    assert times.names == ("day",)


def test_one_cell_that_is_no_date_and_the_column_tells_no_times() -> None:
    cells = list(HOURS.strftime("%Y-%m-%d %H:%M"))
    assert found_times([label("when", [*cells[:-1], "later"])]) is None
    with pytest.raises(ValueError, match="'when' has no times that can be read"):
        asked_times([label("when", [*cells[:-1], "later"])], "when")
    assert asked_times([label("when", [3, 1, 2])], "when").seconds.tolist() == [3, 1, 2]


@pytest.mark.parametrize("gap", [None, np.nan, ""])
def test_dates_with_gaps_are_named_and_not_passed_over_in_silence(gap: object) -> None:
    long, _ = stations()
    long["when"] = [gap, *long["when"][1:]]
    with pytest.warns(UserWarning, match="'when' has dates, but not in every row"):
        cleaner().clean(long)


def test_a_few_dates_tell_nothing() -> None:
    """Such as when a sensor was mended: warnings are errors here."""
    cells = ["2026-01-01", "2026-01-02", "", ""]
    assert found_times([label("mended", cells), label("word", "abcd")]) is None
    assert found_groups(np.array([0.0, 0, 1, 1]), [label("place", ["a", "", "a", ""])]) is None


# ---------------------------------------------------------------- stations


def test_stations_are_told_by_the_column_with_the_fewest_words() -> None:
    seconds = np.repeat(np.arange(10.0), 3)
    place, serial = label("place", ["a", "b", "c"] * 10), label("serial", range(30))
    groups = found_groups(seconds, [serial, label("all", ["x"] * 30), place])
    assert groups is not None
    assert (groups.name, groups.names) == ("place", ["a", "b", "c"])
    np.testing.assert_array_equal(groups.number, np.tile([0, 1, 2], 10))
    assert found_groups(np.arange(30.0), [place]) is None  # every row has its own time
    assert found_groups(seconds, [label("all", ["x"] * 30)]) is None
    assert found_groups(seconds, [serial]) is None  # a table that would be nearly empty


def test_half_of_the_rows_make_a_table_of_stations() -> None:
    seconds = np.array([0.0, 0, 1, 2, 3])
    enough = label("place", ["a", "b", "a", "b", "a"])
    assert found_groups(seconds, [enough]) is not None  # 5 of 8
    assert found_groups(seconds, [label("place", ["a", "b", "c", "a", "b"])]) is None  # 5 of 12


def stations(n: int = 150) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same readings, with a row for each time and station, and with a row for each time."""
    X = planted_sensors(n, 6)
    X[40:60, 1], X[100, 4] = np.nan, 40.0
    times = pd.date_range("2026-01-01", periods=n, freq="h")
    parts = [
        pd.DataFrame(
            {"when": times.strftime("%d.%m.%Y %H:%M"), "place": place, "hour": times.hour}
            | dict(zip("abc", X[:, 3 * g : 3 * g + 3].T, strict=True))
        )
        for g, place in enumerate(["north", "south"])
    ]
    wide = pd.DataFrame(X, times, [f"{c}, {p}" for p in ("north", "south") for c in "abc"])
    return pd.concat(parts, ignore_index=True), wide


def test_a_row_for_each_station_gives_what_a_column_for_each_gives() -> None:
    long, wide = stations()
    found, expected = cleaner().clean(long), cleaner().clean(wide)
    for name in ("table", "flags", "scores", "lower", "upper"):
        part, whole = getattr(found, name)[["a", "b", "c"]], getattr(expected, name)
        np.testing.assert_array_equal(np.hstack([part[:150], part[150:]]), whole)
    assert found.flags["b"].iloc[250]
    pd.testing.assert_frame_equal(
        found.table[["when", "place", "hour"]], long[["when", "place", "hour"]]
    )
    assert list(found.flags.columns) == ["a", "b", "c"]  # hours are no readings


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_rows_of_stations_may_come_in_any_order_and_some_may_miss(library: str) -> None:
    long, _ = stations()
    some = long.drop(index=[20, 21, 190]).sample(frac=1, random_state=0)
    made = {"pandas": some, "polars": pl.from_pandas(some), "arrow": None}[library]
    given = pl.from_pandas(some).to_arrow() if library == "arrow" else made
    straight = cleaner().clean(long.drop(index=[20, 21, 190]))
    found = cleaner().clean(given)
    order = np.argsort(some.index.to_numpy())
    for name in "abc":
        np.testing.assert_array_equal(
            np.asarray(found.table[name])[order], straight.table[name].to_numpy()
        )


def test_bounds_of_a_column_hold_for_each_station() -> None:
    long, _ = stations()
    found = cleaner(bounds={"b": (-2, 2)}).clean(long)
    outside = long["b"].abs() > 2
    assert found.flags["b"][outside].all()
    assert found.table["b"].abs().max() <= 2


def test_a_live_cleaner_asks_for_one_row_each() -> None:
    long, _ = stations()
    with pytest.raises(ValueError, match=r"one for each 'place'.*pivot"):
        cleaner(causal=True).clean(long)


def test_a_station_of_which_nothing_is_known_is_named() -> None:
    long, _ = stations()
    long.loc[long["place"] == "south", "c"] = np.nan
    long = long[long.index != 3]  # a row that nobody gave is not missed
    with pytest.warns(UserWarning, match=r"stay empty: 'c' \(\d+ rows\)\.$"):
        found = cleaner().clean(long)
    assert found.table["c"][long["place"] == "south"].isna().any()


# ------------------------------------------------------------------- files


def run(*arguments: object) -> str:
    result = CliRunner().invoke(
        app, ["clean", *map(str, arguments), "--json", "--random-state", "0"]
    )
    assert result.exit_code == 0, result.output
    return result.output


def test_a_file_with_a_row_for_each_station(tmp_path: Path) -> None:
    long, wide = stations()
    source, out, changes = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    long.to_csv(source, index=False)
    told = run(source, out, "--changes", changes, "--report", tmp_path / "r.html")
    assert '"station_column": "place"' in told
    assert '"time_columns": ["when"]' in told
    assert '"rows": 150, "sensors": 6' in told
    found, expected = pd.read_csv(out), cleaner().clean(wide)
    assert list(found.columns) == list(long.columns)
    assert found["hour"].equals(long["hour"].astype(found["hour"].dtype))
    both = np.hstack([found[["a", "b", "c"]][:150], found[["a", "b", "c"]][150:]])
    np.testing.assert_allclose(both, expected.table, rtol=1e-12)
    listed = pd.read_csv(changes)
    assert len(listed) == int(expected.flags.to_numpy().sum()) + 20
    assert "b, south" in set(listed["column"])
    assert "b, north" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_row_that_a_station_misses_is_neither_filled_nor_empty(tmp_path: Path) -> None:
    long, _ = stations()
    long.drop(index=[7, 200]).to_csv(tmp_path / "a.csv", index=False)
    told = run(tmp_path / "a.csv", tmp_path / "b.csv")
    assert '"filled": 20' in told
    assert '"empty": 0' in told
    assert len(pd.read_csv(tmp_path / "b.csv")) == 298


@pytest.mark.parametrize("column", ["when", "seconds"])
def test_times_that_are_asked_for_may_be_any_column(column: str, tmp_path: Path) -> None:
    table = pd.DataFrame(planted_sensors(120, 3), columns=list("abc"))
    table.loc[30:33, "a"] = np.nan
    rng = np.random.default_rng(0)
    table["seconds"] = rng.permutation(120) + 0.5
    table["when"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(table["seconds"], unit="h")
    table["when"] = table["when"].dt.strftime("%Y-%m-%d %H:%M")
    table.to_csv(tmp_path / "a.csv", index=False)
    run(tmp_path / "a.csv", tmp_path / "b.csv", "--time", column)
    found, expected = pd.read_csv(tmp_path / "b.csv"), cleaner(time=column).clean(table).table
    if column == "when":  # seconds are then readings like any other
        assert found["when"].equals(table["when"])
    else:
        np.testing.assert_allclose(found["seconds"], table["seconds"])
    np.testing.assert_allclose(found[["a", "b", "c"]], expected[["a", "b", "c"]], rtol=1e-9)


def test_ids_and_years_are_not_taken_for_times(tmp_path: Path) -> None:
    """The first column has years, which a computer could read as dates."""
    table = pd.DataFrame(planted_sensors(120, 3), columns=list("abc"))
    table.loc[30:33, "a"] = np.nan
    expected = cleaner().clean(table).table
    table.insert(0, "year", np.repeat([2014, 2013], 60))
    table.to_csv(tmp_path / "a.csv", index=False)
    run(tmp_path / "a.csv", tmp_path / "b.csv")
    found = pd.read_csv(tmp_path / "b.csv")
    np.testing.assert_allclose(found[["a", "b", "c"]], expected, rtol=1e-9)
    in_memory = cleaner().clean(table).table
    np.testing.assert_array_equal(in_memory[["a", "b", "c"]], expected)
    assert in_memory["year"].equals(table["year"])


# ------------------------------------------------- what stands for no reading


def with_marks() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table with gaps, and the same with numbers in their place."""
    hours = pd.date_range("2026-01-01", periods=150, freq="h")
    table = pd.DataFrame(planted_sensors(150, 3), hours, list("abc"))
    table.iloc[40:70, 0], table.iloc[100:103, 2] = np.nan, np.nan
    marked = table.copy()
    marked.iloc[40:70, 0], marked.iloc[100:103, 2] = -200.0, -9999.0
    return table, marked


def test_numbers_may_stand_for_no_reading() -> None:
    table, marked = with_marks()
    expected = cleaner().clean(table)
    found = cleaner(no_reading=[-200, -9999]).clean(marked)
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert (marked.iloc[40:70, 0] == -200).all()  # what was given stays as it was
    only = cleaner(no_reading=-200).clean(marked)
    assert only.flags["c"].iloc[100:103].all()  # a glitch, if nobody says what it means
    live = cleaner(causal=True, no_reading=(-200, -9999)).clean(marked)
    pd.testing.assert_frame_equal(live.table, cleaner(causal=True).clean(table).table)


@pytest.mark.parametrize("wrong", ["-200", [], [1, None], np.inf, True])
def test_what_stands_for_no_reading_must_be_numbers(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"no_reading=.* must be a finite number, or a list"):
        cleaner(no_reading=wrong).clean(np.ones((4, 2)))


def test_a_file_of_a_spreadsheet(tmp_path: Path) -> None:
    """Decimal commas, a day and a clock, columns without a name, and empty rows at the end."""
    table, marked = with_marks()
    lines = ["Day;Clock;a;b;c;;"]
    for when, row in marked.iterrows():
        numbers = ";".join(f"{number:.3f}".replace(".", ",") for number in row)
        lines.append(f"{when:%d/%m/%Y};{when:%H.%M.%S};{numbers};;")
    lines += [";;;;;;"] * 7
    source, out = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_bytes("\r\n".join([*lines, ""]).encode())
    told = run(source, out, "--no-reading", "[-200, -9999]", "--report", tmp_path / "r.html")
    assert '"time_columns": ["Day", "Clock"]' in told
    assert '"rows": 150, "sensors": 3, "filled": 33' in told
    assert '"unread": ["(no name)", "(no name)"]' in told
    made = out.read_text().splitlines()
    assert made[0] == lines[0]
    assert made[151:] == lines[151:]
    expected = cleaner().clean(table.round(3)).table
    numbers = [[float(c.replace(",", ".")) for c in line.split(";")[2:5]] for line in made[1:151]]
    np.testing.assert_allclose(numbers, expected, atol=5.1e-4)


def test_rows_in_which_all_sensors_are_off_are_filled(tmp_path: Path) -> None:
    table = pd.DataFrame(planted_sensors(150, 2), columns=list("ab"))
    table.iloc[60:63] = np.nan
    table.to_csv(tmp_path / "a.csv", index=False)
    assert '"rows": 150, "sensors": 2, "filled": 6' in run(tmp_path / "a.csv", tmp_path / "b.csv")
