"""Files at their edges: parts, vectors, gaps, broken lines, and what a refusal says."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import thresher
from thresher.streams import as_source
from thresher.streams.arrow_files import ArrowReader
from thresher.streams.chain import ChainReader, _told
from thresher.streams.columns import TextColumnsError, common_dtype, matrix, refuse_text
from thresher.streams.csv_files import CsvReader, _After
from thresher.streams.csv_records import read_records, split_cells
from thresher.streams.growing_file import growing_lines
from thresher.streams.json_lines import JsonLinesReader
from thresher.streams.reader import Reader
from thresher.streams.video import camera_reader


def rows_of(reader, start=0, rows=1000):
    return np.concatenate(list(reader.read(start, rows)))


# ------------------------------------------------------------------------------- JSON lines


def lines(tmp_path, *records):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records))
    return path


def test_fields_are_numbers_gaps_or_texts(tmp_path):
    path = lines(tmp_path, {"a": 1, "b": None}, "", {"b": 2.5}, "  ", {"a": True, "b": 3, "c": "x"})
    reader = JsonLinesReader(path)
    assert reader.names == ["a", "b"]
    assert reader.n_features == 2
    assert reader.once is False
    np.testing.assert_array_equal(rows_of(reader), [[1, np.nan], [np.nan, 2.5], [1, 3]])
    np.testing.assert_array_equal(rows_of(reader, 1), [[np.nan, 2.5], [1, 3]])
    assert [len(part) for part in reader.read(0, 2)] == [2, 1]
    assert JsonLinesReader(path, "b").names == ["b"]
    texts = JsonLinesReader(lines(tmp_path, {"t": "x", "n": 1}, {"t": "y"}, {"t": "z"}), "t")
    assert texts.texts
    assert texts.names is texts.n_features is None
    assert list(texts.read(0, 2)) == [["x", "y"], ["z"]]
    assert list(texts.read(1, 5)) == [["y", "z"]]


def test_lists_of_numbers_are_rows(tmp_path):
    reader = JsonLinesReader(lines(tmp_path, [1, 2], [3, None]))
    assert reader.names is None
    assert reader.n_features == 2
    np.testing.assert_array_equal(rows_of(reader), [[1, 2], [3, np.nan]])


@pytest.mark.parametrize(
    ("records", "columns", "says"),
    [
        ([""], None, "has no line to read"),
        ([[1, 2]], "a", "are no objects; leave columns= out"),
        (["3"], None, "are neither objects nor lists of numbers"),
        ([["x"]], None, "are neither objects nor lists of numbers"),
        ([[1, 2], [1]], None, "Line 2 of .* has 1 numbers, the first has 2: make them as many"),
        ([[1, 2], {"a": 1}], None, "Line 2 of .* has 0 numbers"),
        ([{"t": "x"}, "", {"u": "y"}], None, "Line 3 of .* has no text in 't'"),
        ([{"t": "x"}, [1]], None, "Line 2 of .* has no text in 't'"),
        ([{"a": 1}, {"a": "x"}], None, "Line 2 of .* has 'x' for a number"),
        ([{"a": 1}, [2]], None, "Line 2 of .* has '' for a number"),
        ([{"a": 1}, "", "{"], None, "Line 3 of .* is not JSON"),
        ([{"a": 1, "b": "x"}], None, "The column 'b' of .* has no numbers"),
    ],
)
def test_lines_that_do_not_fit_are_named(tmp_path, records, columns, says):
    with pytest.raises(ValueError, match=says):
        rows_of(JsonLinesReader(lines(tmp_path, *records), columns))


def test_open_lines_are_read_once(tmp_path):
    content = b'{"a": 1}\n\n{"a": 2}\n{"a": 3}\n'
    reader = JsonLinesReader(io.BytesIO(content))
    assert reader.once
    assert reader.paths == ()
    assert reader.origin() == ""
    np.testing.assert_array_equal(rows_of(reader), [[1], [2], [3]])
    np.testing.assert_array_equal(rows_of(JsonLinesReader(io.BytesIO(content)), 2), [[3]])
    with pytest.raises(ValueError, match="Standard input has no line to read"):
        JsonLinesReader(io.BytesIO(b""))
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(content))
    np.testing.assert_array_equal(rows_of(JsonLinesReader(packed)), [[1], [2], [3]])


# -------------------------------------------------------------------------------------- CSV


def test_columns_without_a_header_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3,\n")
    reader = CsvReader(path)
    assert reader.names is None
    np.testing.assert_array_equal(rows_of(reader), [[1, 2], [3, np.nan]])
    np.testing.assert_array_equal(rows_of(CsvReader(path, "1")), [[2], [np.nan]])
    path.write_text("a,a\n1,2\n")
    with pytest.raises(ValueError, match="has two columns 'a'; rename one"):
        CsvReader(path)
    for wrong in (b"\xff\xfe1,2\n", b"a\0b\n1\n"):
        path.write_bytes(wrong)
        for read in (CsvReader, read_records):
            with pytest.raises(ValueError, match="not a text file in UTF-8; save it as CSV"):
                read(path)
    path.write_text(" \n\n")
    for read in (CsvReader, read_records):
        with pytest.raises(ValueError, match="is empty; there is nothing to read"):
            read(path)


def test_an_open_table_is_read_from_its_first_byte():
    reader = CsvReader(io.BytesIO(b"a,b\n1,2\n3,4\n"))
    assert reader.once
    np.testing.assert_array_equal(rows_of(reader), [[1, 2], [3, 4]])
    after = _After(b"abc", io.BytesIO(b"def"))
    assert after.readable()
    assert not after.closed
    assert (after.read(2), after.read(2), after.read(2)) == (b"ab", b"c", b"de")
    assert after.read() == b"f"
    again = _After(b"abc", io.BytesIO(b"def"))
    assert (again.read(), again.read()) == (b"abc", b"def")
    again.close()
    assert again.closed


def test_records_know_their_lines_blanks_and_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf\r\n\r\na;b\r\n1;2\r\n\r\n3;4")
    found = read_records(path)
    assert found.header == ["a", "b"]
    assert found.rows == [["1", "2"], ["3", "4"]]
    assert found.blank == [0, 1, 4]
    dialect = found.dialect
    assert (dialect.delimiter, dialect.newline, dialect.bom) == (";", "\r\n", True)
    path.write_text("a\n1\n\n2")
    assert read_records(path).rows == [["1"], [""], ["2"]]  # in one column, a gap
    assert read_records(path).blank == []
    path.write_text("a,b\n\n1,2,3\n")
    with pytest.raises(ValueError, match=r"Line 3 of .* has 3 cells, the header has 2 .* commas"):
        read_records(path)
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="has no rows below its header"):
        read_records(path)


def test_the_delimiter_is_the_one_that_gives_equal_rows():
    assert split_cells("x", "a;b\n1,5;2\n")[0] == ";"
    assert split_cells("x", "a,b;c\n1,2;3\n")[0] in ",;"
    assert split_cells("x", "a\tb\n1\t2\n")[0] == "\t"
    assert split_cells("x", "a\n1\n")[0] == ","
    assert split_cells("x", 'a,b\n"1\n2",3\n4,5\n')[1] == [
        (1, ["a", "b"]), (2, ["1\n2", "3"]), (4, ["4", "5"]),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="quotes of the record at line 2 of x do not match"):
        split_cells("x", 'a,b\n"1,2\n3,4\n')


# ------------------------------------------------------------------------------ Arrow files


def test_parts_and_vectors_of_parquet_files(tmp_path):
    path = tmp_path / "a.parquet"
    X = np.arange(20.0).reshape(10, 2)
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, row_group_size=3)
    reader = thresher.open(path).reader
    for start in (0, 2, 3, 7, 9):
        np.testing.assert_array_equal(rows_of(reader, start, 2), X[start:])
    assert (reader.n_rows, reader.n_features) == (10, 2)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)
    pq.write_table(pa.table({"v": vectors}), path)
    reader = thresher.open(path).reader
    assert (reader.n_features, reader.names) == (4, None)
    np.testing.assert_array_equal(rows_of(reader), X.reshape(5, 4))
    gap = pa.array([[1.0, 2.0], None], type=pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"v": gap}), path)
    with pytest.raises(ValueError, match="has rows without a vector in 'v'"):
        rows_of(thresher.open(path).reader)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="is no Parquet file, or it is damaged"):
        thresher.open(path)
    bare = ArrowReader.__new__(ArrowReader)
    for call in (bare._schema, lambda: bare._lengths, lambda: bare._part(0, 1)):
        with pytest.raises(NotImplementedError):
            call()


def test_columns_with_gaps_are_floats():
    whole = [pa.array([1, 2], pa.int8()), pa.array([3, 4], pa.int8())]
    assert matrix(whole, np.dtype(np.int8)).dtype == np.int8
    for kind, dtype in ((pa.int16(), np.float32), (pa.int64(), np.float64)):
        found = matrix([pa.array([1, None], kind)], np.dtype(kind.to_pandas_dtype()))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [[1], [np.nan]])
    flags = matrix([pa.array([True, None, False])], np.dtype(bool))
    np.testing.assert_array_equal(flags, [[1], [np.nan], [0]])
    assert common_dtype([]) == np.float64
    assert common_dtype([np.int8, np.float32]) == np.float32
    refuse_text([], ["a"], "x", "text")
    good = [f"c{k}" for k in range(7)]
    with pytest.raises(TextColumnsError, match=r"'c4', 'c5', \.\.\.\]") as caught:
        refuse_text(["w", "v"], good, "x", "text")
    assert (caught.value.bad, caught.value.good) == (["w", "v"], good)
    with pytest.raises(TextColumnsError, match=r"'c5'\]\.$"):
        refuse_text(["w"], good[:6], "x", "text")


# ------------------------------------------------------------------------------------ chains


class Rows(Reader):
    """Rows of an array, of which perhaps nobody knows how many there are."""

    def __init__(self, X, known=True, names=None, shape=None, rate=None, jumps=True):
        self.X, self.known, self.names, self.shape = X, known, names, shape
        self.rate, self.jumps, self.paths, self.asked = rate, jumps, (f"f{len(X)}",), []

    @property
    def n_rows(self):
        return len(self.X) if self.known else None

    @property
    def n_features(self):
        return self.X.shape[1]

    def read(self, start, rows):
        self.asked.append(start)
        for at in range(start, len(self.X), rows):
            yield self.X[at : at + rows]

    def origin(self):
        return ""


X = np.arange(14.0).reshape(7, 2)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("start", [0, 1, 2, 3, 5, 6])
def test_a_chain_is_read_from_any_row(known, start):
    parts = [Rows(X[:3], known), Rows(X[3:5]), Rows(X[5:], known)]
    chain = ChainReader(parts)
    np.testing.assert_array_equal(rows_of(chain, start, 2), X[start:])
    if known and start >= 3:
        assert parts[0].asked == []  # what is not needed is not opened
    assert chain.n_rows == (7 if known else None)
    assert chain.n_features == 2
    assert chain.paths == ("f3", "f2", "f2")


def test_parts_of_a_chain_agree():
    assert ChainReader([Rows(X), Rows(X)]).jumps is True
    assert ChainReader([Rows(X), Rows(X, jumps=False)]).jumps is False
    for other in (
        Rows(X[:, :1]), Rows(X[:5], names=["a", "b"]), Rows(X[:5], shape=(1, 2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"{other.paths[0]} has other features \("):
            ChainReader([Rows(X), other])
    with pytest.raises(ValueError, match="f5 has 8 samples in a second, and f7 has 4; resample"):
        ChainReader([Rows(X, rate=4), Rows(X[:5], rate=8)])
    video = [Rows(part, rate=rate, shape=(1, 2)) for part, rate in ((X, 4), (X[:5], 8))]
    assert ChainReader(video).rate == 4
    assert _told(Rows(X, names=["a", "b"])) == "a, b"
    assert _told(Rows(np.zeros((1, 8)), names=list("abcdefgh"))) == "a, b, c, d, e, f, g, h"
    assert _told(Rows(np.zeros((1, 9)), names=list("abcdefghi"))) == "9"
    assert _told(Rows(X, shape=(1, 2))) == "(1, 2)"


# ------------------------------------------------------------------------------- sparse files


def test_sparse_files_are_read_in_parts_and_damage_is_told(tmp_path):
    path = tmp_path / "a.npz"
    S = sparse.random_array((9, 5), density=0.4, rng=np.random.default_rng(0), format="csr")
    sparse.save_npz(path, S)
    reader = thresher.open(path).reader
    assert (reader.n_rows, reader.n_features) == (9, 5)
    for start in (0, 1, 4, 8):
        parts = list(reader.read(start, 4))
        assert [part.shape[0] for part in parts[:-1]] == [4] * (len(parts) - 1)
        np.testing.assert_array_equal(sparse.vstack(parts).toarray(), S.toarray()[start:])
    assert list(reader.read(9, 4)) == []
    whole = dict(np.load(path, allow_pickle=False))
    for name, wrong, says in (
        ("indices", whole["indices"] + 5, "has entries in columns that are not"),
        ("indices", whole["indices"] - 5, "has entries in columns that are not"),
        ("indptr", whole["indptr"][::-1], "its rows do not end where they could"),
        ("indptr", whole["indptr"] * 3, "its rows do not end where they could"),
    ):
        np.savez(path, **(whole | {name: wrong}))
        with pytest.raises(ValueError, match=f"is damaged: .*{says[4:]}"):
            list(thresher.open(path).reader.read(0, 100))


def test_columns_first_arrays_are_read_in_rows(tmp_path):
    path = tmp_path / "a.npy"
    F = np.asfortranarray(np.arange(30.0).reshape(10, 3))
    np.save(path, F)
    reader = thresher.open(path).reader
    np.testing.assert_array_equal(rows_of(reader, 0, 4), F)
    np.testing.assert_array_equal(rows_of(reader, 7, 4), F[7:])
    np.save(path, np.arange(5.0))
    with pytest.raises(ValueError, match=r"a\.npy"):
        thresher.open(path).load()
    (tmp_path / "b.npz").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"is no \.npz file, or it is damaged"):
        thresher.open(tmp_path / "b.npz")


# ----------------------------------------------------------------------------------- sources


def test_arrays_of_pictures_are_rows_with_a_shape():
    pictures = np.arange(24.0).reshape(2, 3, 4)
    source = as_source(pictures)
    assert source.sample_shape == (3, 4)
    np.testing.assert_array_equal(source.load(), pictures.reshape(2, 12))
    with pytest.raises(ValueError, match=r"an array of the shape \(5,\) has none"):
        as_source(np.arange(5.0))
    again = thresher.open(source, batch_size=1)
    assert [len(part) for part in again] == [1, 1]
    assert thresher.open(source) is source
    assert as_source(source) is source
    with pytest.raises(ValueError, match="columns= chooses columns of files"):
        thresher.open(np.ones((2, 2)), "a")


def test_a_growing_file_is_followed_and_begun_anew(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntw")
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 1:
            path.write_bytes(b"one\ntwo\n")
        elif len(naps) == 2:
            path.write_bytes(b"new\n")
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("thresher.streams.growing_file.time.sleep", nap)
    followed, found = growing_lines(path), []
    with pytest.raises(KeyboardInterrupt):
        found.extend(followed)
    assert naps[0] == 0.2
    followed = growing_lines(path, 0.5)
    assert next(followed) == b"new\n"
    for name in ("a.gz", "a.zst"):
        with pytest.raises(ValueError, match="is compressed, and cannot be followed"):
            next(growing_lines(tmp_path / name))


def test_cameras_have_the_names_of_their_system(monkeypatch):
    made = []
    monkeypatch.setattr(
        "thresher.streams.video.VideoReader", lambda *what, **how: made.append((what, how))
    )
    monkeypatch.setattr("thresher.streams.video.sys.platform", "linux")
    camera_reader("camera:2", True, (3, 4))
    camera_reader("camera:", False, None)
    camera_reader("rtsp://x", True, None)
    (first, how), (usual, _), (address, live) = made
    assert first[0] == "/dev/video2"
    assert usual[0] == "/dev/video0"
    assert first[1:3] == (True, (3, 4))
    assert how == live == {"live": True}
    assert address == ("rtsp://x", True, None)
