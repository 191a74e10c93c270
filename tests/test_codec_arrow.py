"""Parquet in and out of the codec: types by name, columns bit by bit, what is refused."""

import sys

import numpy as np
import pytest

from thresher import SensorCodec
from thresher.tasks.compression import arrow_columns, arrow_table, arrow_types, files
from thresher.tasks.compression.arrow_table import ArrowColumn, ArrowTable, read_arrow_table
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.table import Column, SensorTable

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ROOM = 2**30

TYPES = [
    arrow.bool_(), arrow.int8(), arrow.uint8(), arrow.int16(), arrow.uint16(), arrow.int32(),
    arrow.uint32(), arrow.int64(), arrow.uint64(), arrow.float16(), arrow.float32(),
    arrow.float64(), arrow.string(), arrow.large_string(), arrow.null(), arrow.date32(),
    arrow.date64(), arrow.time32("s"), arrow.time32("ms"), arrow.time64("us"),
    arrow.timestamp("s"), arrow.timestamp("ns", "Europe/Warsaw"), arrow.duration("ms"),
    arrow.decimal128(9, 2), arrow.decimal128(5, -2),
    arrow.dictionary(arrow.int8(), arrow.string()),
    arrow.dictionary(arrow.uint16(), arrow.large_string(), ordered=True),
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type_that_is_kept_has_its_name(kind):
    assert arrow_types.type_of(str(kind)) == kind
    assert arrow_types.is_kept(str(kind))
    underneath = str(kind).startswith(("int", "uint", "date", "time", "duration"))
    assert arrow_types.is_whole(str(kind)) == underneath
    if underneath:
        assert arrow_types.bits_of(str(kind)) == kind.bit_width


@pytest.mark.parametrize(
    "name",
    ["struct<a: int8>", "list<item: int8>", "binary", "int7", "time32[s, tz=UTC]",
     "decimal128(99, 2)", "dictionary<values=string, indices=int9, ordered=0>", ""],
)  # fmt: skip
def test_other_types_are_refused(name):
    assert not arrow_types.is_kept(name)
    with pytest.raises(PacketError, match=r"which (is not kept here|there is not)"):
        arrow_types.type_of(name)


def cells(kind):
    name = str(kind)
    if name == "null":
        return arrow.nulls(5)
    if name == "bool":
        return arrow.array([True, None, False, True, None])
    if name in arrow_types.FLOATS:
        values = np.array([1.5, -0.0, np.inf, 0.25, 3.0], np.float64)
        return arrow.array(values.astype(kind.to_pandas_dtype()), kind, mask=np.arange(5) == 3)
    if arrow_types.is_whole(name):
        bits = arrow_types.bits_of(name)
        most = 86_400_000 if name.startswith(("date64",)) else 2 ** (min(bits, 16) - 2)
        sign = "u" if name.startswith("uint") else ""
        whole = np.array(
            [0, most, 5 * (name != "date64[ms]"), 0, 1 * (name != "date64[ms]")], f"{sign}int{bits}"
        )
        return arrow.array(whole, mask=np.arange(5) == 3).view(kind)
    texts = ["150.00", None, "200.00", "150.00", "700.00"]
    if name == "decimal128(5, -2)":
        texts = ["100", None, "200", "100", "700"]
    return arrow.array(texts, arrow.large_string()).cast(kind)


@pytest.mark.parametrize("kind", [t for t in TYPES if str(t) != "decimal128(5, -2)"], ids=str)
def test_columns_come_back_bit_by_bit_and_nulls_where_they_were(kind):
    column = cells(kind)
    data = arrow_columns.packed_column(column)
    again = arrow_columns.unpacked_column(data, str(kind), 5, ROOM)
    assert again.type == kind
    assert again.to_pylist() == column.to_pylist()
    chunked = arrow.chunked_array([column.slice(0, 2), column.slice(2)])
    assert arrow_columns.packed_column(chunked) == data
    with pytest.raises(PacketError, match="belong to nothing"):
        arrow_columns.unpacked_column(data + b"\0", str(kind), 5, ROOM)
    with pytest.raises(PacketError, match="max_bytes"):
        arrow_columns.unpacked_column(data, str(kind), 5, 5 * 96 - 1)


def test_a_column_of_another_type_is_refused():
    data = arrow_columns.packed_column(arrow.array(["a", "b"]))
    with pytest.raises(PacketError, match=r"not of type 'decimal128\(9, 2\)'"):
        arrow_columns.unpacked_column(data, "decimal128(9, 2)", 2, ROOM)


def written(tmp_path, table):
    parquet.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_numbers_with_a_fraction_are_measured_and_whole_ones_if_they_are_named(tmp_path):
    n = 40
    table = arrow.table({
        "count": arrow.array([None, *range(1, n)], arrow.int32()),
        "wide": arrow.array([2**50 + 1] * n, arrow.int64()),
        "edge": arrow.array([2**50] * n, arrow.int64()),
        "when": arrow.array(range(n), arrow.date32()),
        "temp": arrow.array(np.arange(n) / 10, arrow.float32()),
        "nans": arrow.array([np.nan, *np.arange(1, n) / 2]),
        "both": arrow.array([None, np.nan, *np.arange(2, n) / 2]),
        "none": arrow.array([None] * n, arrow.float64()),
        "huge": arrow.array([1.1e15] * n),
    })  # fmt: skip
    path = written(tmp_path, table)
    found = read_arrow_table(path, 0.02, None)
    assert found.names == ["temp", "nans"]
    assert found.labels == ["count", "wide", "edge", "when", "both", "none", "huge"]
    for other in ("wide", "when"):  # beyond doubles, or no numbers
        with pytest.raises(ValueError, match=f"'{other}', which is no column of measurements"):
            read_arrow_table(path, {other: 1}, None)
    named = read_arrow_table(path, {"count": 1, "edge": 1}, None)
    assert named.names == ["count", "edge", "temp", "nans"]
    assert np.isnan(named.values[0, 0])
    np.testing.assert_array_equal(named.values[1:, 0], np.arange(1, n))
    assert [c.missing for c in named.columns if c.kept is None] == ["null", "null", "nan", "nan"]
    # A float of 32 bits is the decimal fraction that it stands for.
    np.testing.assert_array_equal(named.values[:, 2], np.arange(n) / 10)
    again = ArrowTable.from_about(named.values, named.about(), named.packed(), ROOM).table()
    assert again.column_names == table.column_names
    assert again.schema.remove_metadata() == table.schema.remove_metadata()
    for name in table.column_names:
        left, right = (repr(t[name].to_pylist()) for t in (again, table))
        assert left == right, name
    limited = read_arrow_table(path, 0.02, {"count": 2})
    assert limited.names[0] == "count"


def test_values_are_those_of_the_file_that_they_make():
    columns = [ArrowColumn("a", "int32"), ArrowColumn("b", "double"), ArrowColumn("c", "float")]
    table = ArrowTable(np.zeros((2, 3)), columns, {})
    found = table.as_written(np.array([[1.4, 1.4, 0.1], [np.nan, 2.5, 1 / 3]]))
    np.testing.assert_array_equal(found[:, 0], [1, np.nan])
    np.testing.assert_array_equal(found[:, 1], [1.4, 2.5])
    assert found[1, 2] == np.float64(np.float32(1 / 3))
    assert table.about() == {
        "parquet": {
            "names": ["a", "b", "c"],
            "types": ["int32", "double", "float"],
            "missing": ["null"] * 3,
        }
    }


def test_numbers_on_no_grid_are_kept_where_no_error_is_allowed(tmp_path):
    rng = np.random.default_rng(0)
    table = arrow.table({"odd": rng.random(30), "even": np.arange(30) / 4})
    path = written(tmp_path, table)
    exact = read_arrow_table(path, 0, None)
    assert (exact.names, exact.labels) == (["even"], ["odd"])
    assert exact.values.shape == (30, 1)
    assert read_arrow_table(path, {"odd": 0.1, "even": 0}, None).names == ["odd", "even"]


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({}, True),
        ({"metadata": {"a": "b"}}, True),
        ({"names": None}, False),
        ({"names": ["x"]}, False),
        ({"names": ["x", 1]}, False),
        ({"types": ["double"]}, False),
        ({"types": ["string", "int8"]}, False),
        ({"types": ["uint8", "int8"]}, True),
        ({"missing": ["null", "null"]}, False),
        ({"missing": ["", ""]}, False),
        ({"missing": ["zero", ""]}, False),
        ({"missing": ["nan", ""]}, True),
        ({"metadata": []}, False),
        ({"metadata": {"a": 1}}, False),
    ],
)
def test_what_a_stranger_tells_of_a_table(change, passes):
    table = {"names": ["x", "y"], "types": ["double", "int8"], "missing": ["null", ""], **change}
    kept = [arrow_columns.packed_column(arrow.array([1, 2], arrow.int8()))]
    assert arrow_table._makes_sense(table, 1, 1) is passes
    if passes:
        found = ArrowTable.from_about(np.zeros((2, 1)), {"parquet": table}, kept, ROOM)
        assert found.names == ["x"]
    else:
        with pytest.raises(PacketError, match="how its table was written"):
            ArrowTable.from_about(np.zeros((2, 1)), {"parquet": table}, kept, ROOM)


def test_files_that_cannot_be_read(tmp_path):
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"no parquet")
    with pytest.raises(ValueError, match="not a Parquet file that can be read"):
        read_arrow_table(bad, 0.1, None)
    for table in (arrow.table({"a": arrow.array([], arrow.float64())}), arrow.table({})):
        with pytest.raises(ValueError, match="has no rows"):
            read_arrow_table(written(tmp_path, table), 0.1, None)
    nested = arrow.table({"deep": [[1], [2]], "x": [0.5, 1.5]})
    with pytest.raises(ValueError, match=r"Column 'deep' of .* has type list"):
        read_arrow_table(written(tmp_path, nested), 0.1, None)


def test_tables_change_their_kind_of_file(tmp_path):
    columns = [Column("when", cells=["a", "b"]), Column("temp", decimals=1)]
    table = SensorTable(np.array([[1.5], [np.nan]]), columns)
    (tmp_path / "t.parquet").write_bytes(table.parquet())
    found = parquet.read_table(tmp_path / "t.parquet")
    assert found.to_pydict() == {"when": ["a", "b"], "temp": [1.5, None]}
    lines = ArrowTable(
        np.array([[1.5], [np.nan]]),
        [ArrowColumn("n", "int8", arrow.array([1, 2], arrow.int8())), ArrowColumn("x", "double")],
        {},
    ).csv()
    assert lines == b'"n","x"\n1,1.5\n2,\n'


@pytest.mark.parametrize("module", ["pyarrow", "pyarrow.parquet", "pyarrow.csv", "pyarrow.compute"])
def test_without_pyarrow_the_extra_is_named(module, monkeypatch, tmp_path):
    one = SensorTable(np.array([[1.5]]), [Column("x", decimals=1)])
    two = ArrowTable(np.array([[1.5]]), [ArrowColumn("x", "double")], {})
    asks = {
        "pyarrow": [one.parquet, two.table, lambda: read_arrow_table(tmp_path, 0.1, None),
                    lambda: arrow_columns.unpacked_column(b"", "int8", 0, ROOM),
                    lambda: arrow_types.type_of("int8")],
        "pyarrow.parquet": [one.parquet, two.parquet,
                            lambda: read_arrow_table(tmp_path, 0.1, None)],
        "pyarrow.csv": [two.csv],
        "pyarrow.compute": [lambda: arrow_columns.packed_column(arrow.array([1]))],
    }[module]  # fmt: skip
    monkeypatch.setitem(sys.modules, module, None)
    for ask in asks:
        with pytest.raises(ImportError, match=r'^Parquet needs pyarrow, .* "thresher\[files\]"'):
            ask()


def test_paths_that_cannot_be_meant(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("x\n1.5\n2.5\n")
    with pytest.raises(ValueError, match="is not a file"):
        files.compress_file(tmp_path, tmp_path / "a.thr", SensorCodec())
    with pytest.raises(ValueError, match="There is no folder"):
        files.compress_file(source, tmp_path / "no" / "a.thr", SensorCodec())
    with pytest.raises(ValueError, match="write to another one"):
        files.compress_file(source, source, SensorCodec())


def test_an_edge_without_patience_sends_at_once():
    assert len(SensorCodec().edge(1).send(np.zeros((3, 1)))) >= 2  # a keyframe and the rows
    bounds = SensorCodec().edge(1)._bounds
    from thresher.tasks.compression.edge import Edge

    assert len(Edge(SensorCodec(), 1, bounds).send(np.zeros((3, 1)))) >= 2
