"""Details that users rely on: input formats, equivalent inputs, refusals with a reason."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import thresher
from sensors import planted_sensors
from thresher import (
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    TableCleaner,
)

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


def test_a_table_can_be_given_as_a_path(tmp_path):
    table = pd.DataFrame(planted_sensors(120, 3), columns=list("abc"))
    table.loc[40:50, "a"] = np.nan
    table.to_csv(tmp_path / "a.csv", index=False)
    cleaner = TableCleaner(random_state=0, verbose=0)
    found = cleaner.clean(tmp_path / "a.csv")
    np.testing.assert_allclose(np.asarray(found.table), cleaner.clean(table).table, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_an_orthogonal_dictionary_stays_orthogonal_from_any_dtype_of_init(dtype):
    init = np.array([[2, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 1], [1, 0, 0, 4]], dtype=dtype)
    model = OnlineOrthogonalDictionary(init=init, batch_size=40, random_state=0, verbose=0)
    D = model.partial_fit(X[:1, :4]).components_
    np.testing.assert_allclose(D @ D.T, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(("code_set", "bounded"), [("nonnegative", True), ("simplex", False)])
def test_atoms_are_bounded_unless_the_codes_are(code_set, bounded):
    model = OnlineNMF(3, code_set=code_set, random_state=0, verbose=0).fit(20 * X)
    assert (np.linalg.norm(model.components_, axis=1).max() <= 1 + 1e-6) == bounded


def test_equally_unexplained_words_keep_their_order():
    detector = NovelDocumentDetector(3, random_state=0, verbose=0)
    detector.fit(["rain falls on hills", "wind and rain", "dogs bark loud"] * 4)
    text = " ".join(f"w{a}{b}" for a in "qzmkd" for b in "xbtgn")
    first, second = (detector.explain(text, n_words=25).unexplained for _ in range(2))
    assert first == second
    assert len({share for _, share in first}) == 1


def test_choosing_a_half_life_needs_three_batches():
    model = OnlineRobustNMF(1, batch_size=20, random_state=0, verbose=0)
    with pytest.raises(ValueError, match="three"):
        thresher.choose(model, X, forgetting=[None, 20], verbose=0)
    model.set_params(batch_size=14)
    assert thresher.choose(model, X, forgetting=[None, 20], verbose=0).errors_.shape == (2, 2)


class CallCounter:
    """The number of calls of Python functions in a block."""

    def __enter__(self):
        self.count, self.before = 0, sys.getprofile()
        sys.setprofile(self)
        return self

    def __call__(self, frame, event, argument):
        self.count += event == "call"

    def __exit__(self, *error):
        sys.setprofile(self.before)


@pytest.mark.parametrize(("kind", "n_calls"), [(OnlineRobustNMF, 420), (OnlineNMF, 480)])
def test_a_small_step_calls_few_functions(kind, n_calls):
    """On 6 x 56 samples calls of functions take nearly all time, and their number has no noise."""
    samples = np.random.default_rng(0).random((60, 56))
    model = kind(8, random_state=0, verbose=0)
    for first in range(0, 60, 6):
        model.partial_fit(samples[first : first + 6])
    model.transform(samples[:1])
    model.partial_fit(samples[:6])  # not one of those that measure the range of the data
    with CallCounter() as counter:
        model.partial_fit(samples[:6])
    assert counter.count <= n_calls
    model.transform(samples[:1])  # prepares what single rows share
    with CallCounter() as counter:
        model.transform(samples[:1])
    assert counter.count <= 300
