"""Pieces of the cluster layer without a cluster: rows of chunks, parts of documents, bytes."""

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from thresher.cluster.collections import CollectionReader, as_rows, n_rows_of
from thresher.cluster.documents import by_part, first_documents, sum_of_parts
from thresher.cluster.lazy import Outcome, head_of, lazily
from thresher.cluster.loading import ChunkLoader, FileLoader, loader_of
from thresher.cluster.packing import aligned, packed, shared, unpacked
from thresher.streams import Source, as_source

X = np.arange(60.0).reshape(20, 3)
CHUNKS = ((4, 0, 7, 1, 8), (2, 1))


@pytest.fixture(autouse=True)
def at_once():
    with dask.config.set(scheduler="sync"):
        yield


def reader(X=X, chunks=CHUNKS):
    return CollectionReader(da.from_array(X, chunks=chunks))


# ------------------------------------------------------------------------------ collections


def test_ranges_are_cut_at_chunks():
    """Against every row by itself: in which chunk it is, and where there."""
    found = reader()
    assert (found.lengths, found.ends) == ([4, 0, 7, 1, 8], [4, 4, 11, 12, 20])
    assert (found.n_rows, found.n_features) == (20, 3)
    owner = [(n, k) for n, length in enumerate(found.lengths) for k in range(length)]
    for start in range(21):
        for stop in range(start + 1, 21):
            places = list(found.overlapping(start, stop))
            assert all(begin < end for _, begin, end in places)
            rows = [(n, k) for n, begin, end in places for k in range(begin, end)]
            assert rows == owner[start:stop]


@pytest.mark.parametrize("start", [0, 3, 4, 11, 19, 20])
def test_rows_are_read_from_any_on(start):
    parts = list(reader().read(start, 5))
    got = np.concatenate(parts) if parts else X[:0]
    np.testing.assert_array_equal(got, X[start:])


def test_lengths_that_dask_does_not_know_are_counted():
    unknown = da.from_array(X, chunks=(7, 3))
    unknown = unknown[unknown[:, 0] >= 9]
    assert CollectionReader(unknown).lengths == [4, 7, 6]
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    found = CollectionReader(frame)
    assert sum(found.lengths) == 20
    assert found.names == ["a", "b", "c"]
    assert CollectionReader(frame.rename(columns={"a": 1})).names is None


def test_origins_tell_data_apart_by_their_first_rows_and_their_number():
    first = reader().origin()
    assert first == reader().origin()
    other = X.copy()
    other[0, 0] += 1
    assert reader(other).origin() != first
    assert reader(X[:19], ((4, 15), (3,))).origin() != first
    assert reader(X[:0], ((0,), (3,))).origin() == "nothing"


def test_chunks_of_every_kind_give_their_rows():
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(20)[::-1])
    np.testing.assert_array_equal(as_rows(frame, 2, 5), X[2:5])
    nullable = frame.convert_dtypes().astype("Float64")
    nullable.iloc[3, 1] = pd.NA
    got = as_rows(nullable, 2, 5)
    assert got.dtype == np.float64
    assert np.isnan(got[1, 1])
    for kind in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
        rows = as_rows(kind(X), 2, 5)
        assert rows.format == "csr"
        np.testing.assert_array_equal(rows.toarray(), X[2:5])
    np.testing.assert_array_equal(as_rows(X.tolist(), 2, 5), X[2:5])
    assert n_rows_of(X) == n_rows_of(frame) == n_rows_of(sparse.csr_array(X)) == 20


# ------------------------------------------------------------------------------ lazy verbs


def _twice(rows):
    return 2 * np.asarray(rows)


def _sums(rows):
    return np.asarray(rows).sum(axis=1)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_verbs_of_one_outcome_and_of_several(kind):
    index = np.arange(20) * 3
    frame = pd.DataFrame(X, columns=list("abc"), index=index)
    lazy = {
        "array": da.from_array(X, chunks=CHUNKS),
        "frame": dd.from_pandas(frame, npartitions=3),
    }[kind]
    wide, narrow = Outcome(list("uvw"), np.dtype(float)), Outcome(None, np.dtype(float))
    (doubled,) = lazily(lazy, _twice, [wide])
    (summed,) = lazily(lazy, _sums, [narrow])
    both = lazily(
        lazy,
        lambda rows: (_twice(rows), -_twice(rows)[:, :1]),
        [wide, Outcome(["z"], np.dtype(float))],
    )
    for got, expected in (
        (doubled, 2 * X), (summed, X.sum(axis=1)), (both[0], 2 * X), (both[1], -2 * X[:, :1]),
    ):  # fmt: skip
        np.testing.assert_array_equal(got.compute(), expected)
        if kind == "frame":
            np.testing.assert_array_equal(got.compute().index, index)
        else:
            assert got.shape == expected.shape
            assert got.dtype == expected.dtype
    if kind == "frame":
        assert list(doubled.columns) == list("uvw")
        assert isinstance(summed.compute(), pd.Series)
        assert list(both[1].columns) == ["z"]


def test_empty_outcomes_have_their_columns():
    assert Outcome(list("ab"), np.dtype("f4")).empty().shape == (0, 2)
    assert Outcome(None, np.dtype("f4")).empty().shape == (0,)
    assert Outcome(None, np.dtype("f4")).empty().dtype == np.float32


def test_heads_have_columns_and_kind_but_no_rows():
    dense = head_of(da.from_array(X.astype("f4"), chunks=5))
    assert dense.shape == (0, 3)
    assert dense.dtype == np.float32
    thin = da.from_array(X, chunks=(5, 3)).map_blocks(sparse.csr_array)
    assert sparse.issparse(head_of(thin))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    assert list(head_of(frame).columns) == list("abc")
    with pytest.raises(ValueError, match="two dimensions"):
        head_of(da.ones(3))


# ------------------------------------------------------------------------------ documents

TEXTS = [f"text {n}" for n in range(10)]


def _lengths(documents):
    if not isinstance(documents, list):
        return np.asarray(documents.sum(axis=1), float).ravel()
    return np.array([float(text.split()[1]) for text in documents])


def test_documents_are_worked_on_part_by_part():
    """Also where a part has none left."""
    bag = db.from_sequence(TEXTS, npartitions=4).filter(lambda text: text != "text 9")
    got = by_part(bag, _lengths)
    np.testing.assert_array_equal(got.compute(), np.arange(9))
    wide = by_part(bag, lambda d: np.column_stack([_lengths(d)] * 2), width=2)
    np.testing.assert_array_equal(wide.compute(), np.column_stack([np.arange(9)] * 2))
    assert wide.shape[1] == 2
    thin = by_part(bag, lambda d: sparse.csr_array(_lengths(d)[:, None]), width=1, thin=True)
    assert sparse.issparse(thin._meta)
    np.testing.assert_array_equal(thin.compute().toarray().ravel(), np.arange(9))
    table = by_part(da.from_array(X, chunks=(6, 2)), _lengths)
    np.testing.assert_array_equal(table.compute(), X.sum(axis=1))
    assert sum_of_parts(bag, lambda d: _lengths(d).sum()) == 36


def test_the_first_documents_are_of_as_few_parts_as_suffice():
    bag = db.from_sequence(TEXTS, npartitions=5)  # two each
    assert first_documents(bag, 1) == TEXTS[:2]
    assert first_documents(bag, 2) == TEXTS[:2]
    assert first_documents(bag, 3) == TEXTS[:4]
    assert first_documents(bag, 99) == TEXTS
    assert first_documents(bag.filter(lambda text: text > "text 3"), 1) == TEXTS[4:6]
    with pytest.raises(ValueError, match="no documents"):
        first_documents(bag.filter(lambda text: False), 1)
    np.testing.assert_array_equal(first_documents(da.from_array(X, chunks=(6, 3)), 7), X[:6])
    series = dd.from_pandas(pd.Series(TEXTS), npartitions=5)
    assert first_documents(series, 1)[:2] == TEXTS[:2]


# ------------------------------------------------------------------------------ bytes and loaders


def test_what_travels_comes_back_and_is_shared():
    value = {"X": X, "verb": _twice}
    data = packed(value)
    assert isinstance(data, bytes)
    again = unpacked(data)
    np.testing.assert_array_equal(again["X"], X)
    np.testing.assert_array_equal(again["verb"](X), 2 * X)
    assert shared(data) is shared(data)
    assert unpacked(data) is not unpacked(data)


def test_rows_that_begin_at_an_odd_byte_are_copied():
    def odd(values):
        raw = np.empty(values.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
        found = raw[1:].view(values.dtype).reshape(values.shape)
        assert not found.flags.aligned
        return found

    got = aligned(odd(X))
    assert got.flags.aligned
    np.testing.assert_array_equal(got, X)
    assert aligned(X) is X
    rows = sparse.csr_array(np.where(X % 3 == 0, X, 0))
    last_columns_empty = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(20, 7))
    thin = sparse.csr_array(last_columns_empty)
    thin.data = odd(thin.data)
    got = aligned(thin)
    assert got.shape == (20, 7)
    assert got.data.flags.aligned
    np.testing.assert_array_equal(got.toarray()[:, :3], rows.toarray())


class Here:
    """A client that computes at once, and counts."""

    def __init__(self):
        self.computed = 0

    def compute(self, parts):
        self.computed += len(parts)
        return list(dask.compute(*parts))

    def submit(self, function, *arguments, pure):
        assert pure is False
        return function(*arguments)


def test_chunks_stay_with_the_workers_as_long_as_they_are_needed():
    client = Here()
    source = Source(reader())
    loader = loader_of(client, source)
    assert isinstance(loader, ChunkLoader)
    assert loader.longest == 8
    loader.need(0, 10)
    assert client.computed == 2
    loader.need(2, 12)
    assert client.computed == 3
    for start, stop in ((2, 3), (2, 10), (4, 11), (3, 12)):
        parts, cuts = loader.parts(0, start, stop)
        rows = [part[begin:end] for part, (begin, end) in zip(parts, cuts, strict=True)]
        np.testing.assert_array_equal(np.concatenate(rows), X[start:stop])
    loader.need(12, 20)
    loader.need(0, 4)
    assert client.computed == 5  # what was not needed any more is computed again


def test_files_are_read_by_whoever_needs_them():
    loader = loader_of(Here(), as_source(X))
    assert isinstance(loader, FileLoader)
    assert loader.longest > 10**12
    loader.need(0, 5)
    (rows,), ((begin, end),) = loader.parts(0, 3, 9)
    np.testing.assert_array_equal(rows[begin:end], X[3:9])
