"""Files of samples: dialects of JSON lines and CSV, vectors in Parquet, damaged archives."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import thresher

X = np.random.default_rng(0).random((40, 3)) @ np.random.default_rng(1).random((3, 6))


def write_lines(path, records):
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records))
    return path


def test_json_lines_are_objects_or_lists_with_missing_values(tmp_path):
    for records, expected in (
        (
            [{"a": 1, "b": None}, "", {"b": 2.5}, {"a": True, "c": "x"}],
            [[1, None], [None, 2.5], [1, None]],
        ),
        ([[1, 2], [3, None]], [[1, 2], [3, None]]),
    ):
        found = thresher.open(write_lines(tmp_path / "a.jsonl", records)).load()
        np.testing.assert_array_equal(found, np.array(expected, dtype=float))


@pytest.mark.parametrize(
    ("records", "keyword"),
    [
        ([""], "no line"),
        (["3"], "neither"),
        ([[1, 2], [1]], "Line 2"),
        ([[1, 2], {"a": 1}], "Line 2"),
        ([{"t": "x"}, "", {"u": "y"}], "Line 3"),
        ([{"a": 1}, {"a": "x"}], "Line 2"),
        ([{"a": 1, "b": "x"}], "'b'"),
    ],
    ids=str,
)
def test_json_lines_of_different_kinds_are_refused(records, keyword, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", records)
    with pytest.raises(ValueError, match=keyword):
        list(thresher.open(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1,2\n3,\n", [[1, 2], [3, np.nan]]),
        (b"a\tb\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n3;4", [[1, 2], [3, 4]]),
    ],
    ids=["no header", "tabs", "byte order mark"],
)
def test_dialects_of_csv_files(content, expected, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    np.testing.assert_array_equal(thresher.open(tmp_path / "a.csv").load(), expected)


def test_vectors_in_one_parquet_column_are_rows(tmp_path):
    path = tmp_path / "a.parquet"
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 6)
    pq.write_table(pa.table({"v": vectors}), path)
    np.testing.assert_array_equal(thresher.open(path).load(), X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indices", lambda values: values + 6),
        ("indptr", lambda values: values[::-1]),
        ("indptr", lambda values: values * 3),
    ],
)
def test_sparse_files_with_indices_out_of_range_are_refused(name, change, tmp_path):
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.csr_array(X * (X > 0.5)))
    arrays = dict(np.load(path))
    np.savez(path, **(arrays | {name: change(arrays[name])}))
    with pytest.raises(ValueError, match="damaged"):
        thresher.open(path).load()


@pytest.mark.parametrize("name", ["a.parquet", "a.npz"])
def test_files_of_another_format_are_refused(name, tmp_path):
    (tmp_path / name).write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="damaged"):
        thresher.open(tmp_path / name).load()


def test_files_of_different_width_are_refused(tmp_path):
    for number, width in enumerate((6, 5)):
        np.save(tmp_path / f"{number}.npy", X[:, :width])
    with pytest.raises(ValueError, match="features"):
        thresher.open([tmp_path / "0.npy", tmp_path / "1.npy"]).load()


def test_a_stack_of_images_is_a_source_of_rows():
    source = thresher.open(np.arange(24.0).reshape(2, 3, 4), batch_size=1)
    assert source.sample_shape == (3, 4)
    assert [len(batch) for batch in source] == [1, 1]


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match="'a'"):
        thresher.open(tmp_path / "a.csv")


def test_arrays_that_are_not_rows_of_numbers_are_refused(tmp_path):
    np.savez(tmp_path / "columns.npz", x=np.asfortranarray(X))
    np.save(tmp_path / "complex.npy", X * 1j)
    (tmp_path / "text.npy").write_bytes(b"\x93NUMPY nothing")
    for name in ("columns.npz", "complex.npy", "text.npy"):
        with pytest.raises(ValueError, match=r"array|columns|numbers"):
            thresher.open(tmp_path / name)
    np.savez(tmp_path / "rows.npz", x=X)
    np.testing.assert_array_equal(thresher.open(tmp_path / "rows.npz").load(), X)


def test_results_need_a_place_of_their_own(tmp_path):
    model = thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(X)
    source, path = thresher.open(X, batch_size=16), tmp_path / "a.npy"
    for write in (path, {"parts": path}, {}):
        with pytest.raises(ValueError, match=r"write|results|use"):
            model.separate(source, write=write)
    with pytest.raises(ValueError, match="one result"):
        model.transform(source, write={"codes": path})
    with pytest.raises(TypeError, match="paths"):
        model.transform(source, write=3)
    assert not list(tmp_path.iterdir())
