"""Which columns of a table are measurements, and how their numbers are written."""

from types import SimpleNamespace

import numpy as np
import pytest

from thresher.tasks.compression.columns import (
    cell_of,
    decimals_of,
    label_columns,
    value_of,
)


def records(header, *columns, decimal="."):
    dialect = SimpleNamespace(decimal=decimal)
    rows = [list(row) for row in zip(*columns, strict=True)]
    return SimpleNamespace(header=list(header), rows=rows, dialect=dialect)


MIXED = ["1.5", "0.5", "2.5", "1.0"]


@pytest.mark.parametrize(
    ("name", "cells", "is_label"),
    [
        ("x", ["1.5", "0.5", "2.5", "1.5"], False),
        ("x", ["01", "12", "30", "4"], True),  # zeros in front are a spelling
        ("x", ["0", "10", "0.5", "-0.5"], False),
        ("x", ["-01", "12", "30", "4"], True),
        ("x", ["123456789012345", "1", "7", "5"], False),
        ("x", ["1234567890123456", "1", "7", "5"], True),  # more digits than a double
        ("start time", ["5", "1", "7", "5"], True),
        ("startTime", ["5", "1", "7", "5"], True),
        ("start_time", ["5.5", "1", "7", "5"], False),
        ("timer", ["5", "1", "7", "5"], False),
        ("Station ", ["5", "1", "+7", ""], True),
        ("station 7", ["5", "1", "7", "5"], False),
        ("x", ["5", "5", "", "5"], True),  # all alike
        ("x", ["5", "5", "5", "6"], False),  # two states, of which each needs four rows
    ],
)
def test_which_columns_are_labels(name, cells, is_label):
    table = records(["y", name], MIXED, cells)
    assert label_columns(table, [True, True])[1] == is_label
    if name == "x" or is_label:
        assert not label_columns(table, [True, True], {name})[1]
        assert label_columns(table, [True, False], {name})[1]


@pytest.mark.parametrize(
    ("states", "rows", "is_label"),
    [(8, 32, True), (8, 31, False), (9, 90, False), (2, 8, True), (2, 7, False)],
)
def test_a_few_whole_numbers_again_and_again_are_states(states, rows, is_label):
    cells = [f"{i % states}" for i in range(rows)]
    other = [f"{(i * 7) % 13}.5" for i in range(rows)]
    assert label_columns(records("yx", other, cells), [True, True])[1] == is_label
    fractions = [f"{cell}.5" for cell in cells]
    assert not label_columns(records("yx", other, fractions), [True, True])[1]


@pytest.mark.parametrize(
    ("cells", "is_label"),
    [(["1,5", "2", "3"], True), (["3", "2", "1,5"], True), (["1,5", "1,5", "3"], False),
     (["1,5", "", "3"], False), (["1", "3", "2"], False)],
)  # fmt: skip
def test_a_first_column_that_only_rises_or_falls_names_rows(cells, is_label):
    other = ["1,5", "0,5", "2,5"]
    table = records("xy", cells, other, decimal=",")
    assert label_columns(table, [True, True])[0] == is_label
    alone = records("x", cells, decimal=",")
    assert not label_columns(alone, [True])[0]


def test_digits_of_cells_come_back():
    assert decimals_of(["1.5", "2.25", ""], ".") == 2
    assert decimals_of(["1,5", "2"], ",") == 1
    assert decimals_of(["1", ""], ".") == 0
    assert decimals_of(["1e5"], ".") is None
    assert decimals_of(["0." + "1" * 15], ".") == 15
    assert decimals_of(["0." + "1" * 16], ".") is None
    assert cell_of(1.25, 1, ".") == "1.2"
    assert cell_of(-0.01, 1, ",") == "0,0"
    assert cell_of(-0.06, 1, ",") == "-0,1"
    assert cell_of(0.1, None, ".") == "0.1"
    assert cell_of(float("nan"), 2, ".") == ""
    assert value_of(" 1,5 ", ",") == 1.5
    assert np.isnan(value_of("", "."))
