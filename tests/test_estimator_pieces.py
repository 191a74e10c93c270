"""Pieces of estimators by themselves: inputs, hidden entries, what is usual, guards, gaps."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import thresher
from thresher import OnlineRobustNMF
from thresher.engine import History
from thresher.engine.history import HistoryRow
from thresher.engine.seen import SeenRange
from thresher.estimators.agreed_names import names_agree, names_were_compared
from thresher.estimators.by_batch import Results, _some, all_of
from thresher.estimators.frames import columns_of, is_frame, like, numbers_of, refuse_lazy
from thresher.estimators.guard import unchanged_if_refused
from thresher.estimators.imputing import filled
from thresher.estimators.inputs import (
    as_matrix,
    computing_dtype,
    dense_copy,
    is_plain,
    refuse_mask,
    unmasked,
)
from thresher.estimators.scoring import hidden_entries, without_entries
from thresher.estimators.unfinished import warn_unfinished
from thresher.estimators.usual import (
    RecentSamples,
    Usual,
    column_scales,
    rows_to_measure,
    thinned,
    threshold_at,
)
from thresher.linalg import is_only_stored, stored_rows, with_gaps
from thresher.streams import Batch

MODEL = OnlineRobustNMF()

# ------------------------------------------------------------------------------ inputs


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("f4", "f4"), ("f2", "f4"), ("u1", "f4"), ("i1", "f4"), ("u2", "f4"), ("i2", "f4"),
     ("?", "f4"), ("f8", "f8"), ("i4", "f8"), ("u4", "f8"), ("i8", "f8")],
)  # fmt: skip
def test_small_numbers_are_computed_with_in_single_precision(kind, wanted):
    assert computing_dtype(np.zeros(1, dtype=kind)) == np.dtype(wanted)


def test_plain_arrays_need_no_checks_and_others_do():
    good = np.ones((2, 3))
    assert is_plain(good)
    assert is_plain(good.astype(np.float32))
    for other in (
        good.tolist(), good.astype(int), good[0], good[:0], good[:, :0], np.ma.array(good),
        np.where(good > 0, np.nan, 0), good * np.inf, good.astype(">f8"),
    ):  # fmt: skip
        assert not is_plain(other)


def test_masks_become_gaps():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(unmasked(X), [[1, np.nan], [3, 4]])
    small = np.ma.array(np.ones((1, 2), np.uint8), mask=[[0, 1]])
    assert unmasked(small).dtype == np.float32
    np.testing.assert_array_equal(unmasked([X[0], X[1]]), [[1, np.nan], [3, 4]])
    bare = np.ma.array([[1, 2]])
    assert type(unmasked(bare)) is np.ndarray
    assert unmasked(bare).dtype == bare.dtype
    plain = np.ones(3)
    assert unmasked(plain) is plain
    refuse_mask("init", bare)
    with pytest.raises(ValueError, match=r"init has masked entries; fill them .* init\.filled"):
        refuse_mask("init", X)


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (np.ones(3), ValueError, r"got 1D array.*X\.reshape\(1, -1\)"),
        (np.ones((2, 3, 4)), ValueError, r"dim 3, of the shape \(2, 3, 4\).*X\.reshape\(len"),
        (np.float64(3), ValueError, "got scalar array"),
        ([[1, 2], [3]], ValueError, "these lists are ragged"),
        ("data.csv", TypeError, r"give thresher\.open\('data\.csv'\)"),
        (np.array([["2020"]], dtype="M8[D]"), ValueError, "takes numbers, not times"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"frame\.collect\(\)"),
        (pl.DataFrame({"a": [1], "b": ["x"]}), ValueError, r"columns to float: 'b' \(String\)"),
        (pl.DataFrame({f"c{k}": ["x"] for k in range(7)}), ValueError, r"'c4' \(String\), \.\.\."),
    ],
)
def test_what_is_no_matrix_is_told_how_to_become_one(bad, error, words):
    with pytest.raises(error, match=words):
        as_matrix(bad, MODEL, ensure_all_finite="allow-nan")


def test_sources_where_an_array_is_needed_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(TypeError, match=r"takes an array here, not a source.*source\.load\(\)"):
        as_matrix(thresher.open(tmp_path / "x.npy"), MODEL)


def test_frames_of_any_library_are_numbers():
    frame = pl.DataFrame(
        {
            "small": pl.Series([1.5, None], dtype=pl.Float32),
            "flags": [True, None],
            "sure": [True, False],
            "nothing": pl.Series([None, None], dtype=pl.String),
            "exact": pl.Series(["1.25", "2.5"]).cast(pl.Decimal(10, 2)),
            "whole": [3, 4],
        }
    )
    X = numbers_of(frame, "it")
    assert X.dtype == np.float64
    np.testing.assert_array_equal(
        X, [[1.5, 1, 1, np.nan, 1.25, 3], [np.nan, np.nan, 0, np.nan, 2.5, 4]]
    )
    single = numbers_of(frame.select("small", "flags", "nothing"), "it")
    assert single.dtype == np.float32
    assert numbers_of(pl.DataFrame(), "it").shape == (0, 0)
    assert is_frame(frame)
    assert not is_frame(X)
    assert list(columns_of(frame)) == frame.columns
    refuse_lazy(frame, "it")
    objects = pd.DataFrame({"a": pd.Series([1, None, pd.NA], dtype=object)})
    assert numbers_of(objects, "it") is objects
    with pytest.raises(ValueError, match="'a'"):
        numbers_of(pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}), "it")
    with pytest.raises(ValueError, match="Two columns have the same name"):
        numbers_of(pd.DataFrame(np.ones((1, 2)), columns=["a", "a"]), "it")


def test_results_are_frames_like_what_came_in():
    values = np.arange(4.0).reshape(2, 2)
    pandas = like(pd.DataFrame({"x": [1, 2]}, index=[7, 9]), values, ["a", "b"])
    assert list(pandas.index) == [7, 9]
    assert list(pandas.columns) == ["a", "b"]
    polars = like(pl.DataFrame({"x": [1, 2]}), values, [0, 1])
    assert polars.columns == ["0", "1"]
    np.testing.assert_array_equal(polars.to_numpy(), values)


def test_copies_are_of_their_own():
    X = np.ones((2, 2), order="F")
    copy = dense_copy(X)
    assert not np.shares_memory(copy, X)
    assert copy.flags.c_contiguous
    rows = stored_rows(sparse.csr_array(np.array([[1.0, 0]])))
    np.testing.assert_array_equal(dense_copy(rows), [[1, np.nan]])


# ------------------------------------------------------------------------------ what is usual


def test_thresholds_are_order_statistics():
    losses = np.random.default_rng(0).permutation(np.arange(1.0, 100))
    assert threshold_at(losses, None, 0.01) == 99
    assert threshold_at(losses, None, 0.05) == 95
    assert threshold_at(losses, None, 0.5) == 50
    assert threshold_at(losses, None, 0.001) == 99  # too few: the largest
    assert threshold_at(losses, None, 0.01, strict=True) == 99
    with pytest.raises(ValueError, match=r"98 samples are too few.*0\.01; give at least 99"):
        threshold_at(losses[:98], None, 0.01, strict=True)
    twice = np.concatenate([losses, losses])
    assert threshold_at(losses, np.full(99, 2.0), 0.3) == threshold_at(twice, None, 0.3)
    assert threshold_at(losses, np.where(losses == 7, 1e6, 0.0), 0.05) == 7


def test_scales_of_columns():
    rng = np.random.default_rng(1)
    E = np.abs(rng.standard_normal((4001, 4))) * [1, 3, 0.5, 2]
    np.testing.assert_allclose(column_scales(E), [1, 3, 0.5, 2], rtol=0.06)
    E[:, 1] = np.nan  # nothing is known
    E[:, 2] = 0  # nothing differs
    E[1000:, 3] = 0  # most are zero: the mean
    found = column_scales(E)
    assert found[0] == pytest.approx(1.4826 * np.median(E[:, 0]))
    assert found[3] == pytest.approx(1.2533 * E[:, 3].mean())
    others = np.median(found[[0, 3]])
    np.testing.assert_allclose(found[[1, 2]], others)
    assert column_scales(np.zeros((3, 2))).tolist() == [1, 1]
    gaps = np.array([[1.0], [np.nan], [3], [2], [np.nan]])
    assert column_scales(gaps)[0] == pytest.approx(1.4826 * 2)
    even = np.array([[1.0], [2], [3], [4]])
    assert column_scales(even)[0] == pytest.approx(1.4826 * 2)


def test_rows_to_measure_are_spread_and_weigh_something():
    X = np.arange(3000.0)[:, None] * np.ones((1, 600))
    few = rows_to_measure(Batch(X))
    assert few.n_samples <= 436  # entries are bounded: 2^18 over 600
    assert np.unique(np.diff(few.X[:, 0])).size == 1
    assert not np.shares_memory(few.X, X)
    weight = np.zeros(3000)
    weight[[5, 7]] = [1, 2]
    chosen = rows_to_measure(Batch(X, weight, X))
    assert chosen.X[:, 0].tolist() == [5, 7]
    assert chosen.sample_weight.tolist() == [1, 2]
    assert chosen.entry_weight[:, 0].tolist() == [5, 7]


def test_recent_samples_forget_the_oldest_and_are_measured_once():
    recent = RecentSamples()
    assert recent.usual("state", None) is None
    for k in range(5):
        recent = recent.after(Batch(np.full((200, 3), float(k))))
    kept = [batch.X[0, 0] for batch in recent._batches]
    assert kept == [2, 3, 4]  # 512 rows are allowed, and the last batches that reach them
    calls = []

    def measure(batch):
        calls.append(batch)
        return batch.X[:, 0], np.abs(batch.X)

    state = object()
    first = recent.usual(state, measure)
    assert recent.usual(state, measure) is first
    assert len(calls) == 3
    recent.usual(object(), measure)
    assert len(calls) == 6
    assert first.threshold == pytest.approx(4 * (1 + 1e-5))
    assert first.threshold > 4
    assert first.scales.shape == (3,)
    sparse_rows = recent.usual(object(), lambda batch: (batch.X[:, 0], None))
    assert sparse_rows.scales is None
    known = Usual(1.0, None)
    assert RecentSamples((), known).usual(state, measure) is known


def test_rows_of_parts_are_thinned_to_what_is_allowed():
    parts = [np.arange(k, k + 700.0)[:, None] for k in range(0, 7000, 700)]
    kept = thinned(parts)
    assert 512 <= len(kept) <= 1024
    assert kept[0] == 0
    steps = np.diff(kept[:, 0])
    assert steps.min() > 0
    assert len(np.unique(steps)) <= 3
    assert thinned([]) is None
    np.testing.assert_array_equal(thinned(parts[:1]), parts[0])


# ------------------------------------------------------------------------------ hidden entries


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_hidden_entries_are_told_with_their_values(kind, share):
    rng = np.random.default_rng(2)
    X = rng.random((40, 15)) * (rng.random((40, 15)) < 0.4)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = np.nan
    X[0, 3] = 1.0  # something has to stay of every sample
    given = {"dense": X, "csr": sparse.csr_array(X), "stored": stored_rows(sparse.csr_array(X))}[
        kind
    ]
    places, truth = hidden_entries(given, share, np.random.default_rng(3))
    flat = X.ravel()
    assert (np.diff(places) > 0).all()
    np.testing.assert_array_equal(flat[places], truth)
    assert not np.isnan(truth).any()
    assert 3 not in places
    n_full = np.count_nonzero(np.nan_to_num(X))
    n_zero = np.count_nonzero(X == 0)
    hidden_zeros = np.count_nonzero(truth == 0)
    assert hidden_zeros == (0 if kind == "stored" else hidden_zeros)
    assert hidden_zeros <= round(share * min(n_full, n_zero))
    assert len(truth) - hidden_zeros <= round(share * n_full)
    assert len(truth) >= 0.8 * share * n_full
    if kind != "stored":
        other = hidden_entries(X, share, np.random.default_rng(3))
        np.testing.assert_array_equal(places, other[0])  # dense and CSR alike
    without = without_entries(given, places)
    expanded = with_gaps(without, np.dtype(float)) if kind == "stored" else without
    expanded = expanded.toarray() if sparse.issparse(expanded) else expanded
    assert np.isnan(expanded.ravel()[places]).all()
    left = np.delete(np.arange(X.size), places)
    seen = left[~np.isnan(flat[left])] if kind != "stored" else left[np.nan_to_num(flat[left]) > 0]
    np.testing.assert_array_equal(expanded.ravel()[seen], flat[seen])
    assert is_only_stored(without) == (kind == "stored")
    assert not np.isnan(X[1:].ravel()[places[places >= 15] - 15]).any()  # the samples stay


def test_where_nothing_can_be_hidden_it_is_said():
    with pytest.raises(ValueError, match=r"share=0\.1 of these samples hides nothing"):
        hidden_entries(np.ones((3, 1)), 0.1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="two observed entries at least"):
        hidden_entries(np.zeros((9, 9)), 0.5, np.random.default_rng(0))


# ------------------------------------------------------------------------------ gaps filled


def test_gaps_are_filled_within_what_was_seen():
    X = np.array([[1.0, np.nan, np.nan], [np.nan, np.nan, np.nan], [np.nan, 5, 6]])
    told = np.array([[9.0, 9, 9], [9, 9, 9], [-9, 9, 9]])
    seen = SeenRange(np.array([0.0, 0, np.inf]), np.array([2.0, 4, -np.inf]))

    def fill(seen, bounds):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = filled(
                X.copy(), [(slice(0, 2), told[:2]), (slice(2, 3), told[2:])], seen, bounds
            )
        return found, [str(each.message) for each in said]

    found, said = fill(seen, "seen")
    np.testing.assert_array_equal(found[[0, 2]], [[1, 4, np.nan], [0, 5, 6]])
    assert np.isnan(found[1]).all()
    assert "4 gaps stay NaN" in said[0]
    assert "1 samples have no entry at all, and 1 features were never seen" in said[0]
    np.testing.assert_array_equal(fill(None, "seen")[0][0], [1, 9, 9])
    np.testing.assert_array_equal(fill(None, None)[0][2], [-9, 5, 6])
    np.testing.assert_array_equal(fill(None, (0, [3, 4, 5]))[0][0], [1, 4, 5])
    assert fill(None, (2, 2))[0][2, 0] == 2
    for bad in ((1, 0), (0, [1, 2]), 3, "range", (0, 1, 2)):
        with pytest.raises(ValueError, match="use 'seen' for the range that was learned from"):
            fill(None, bad)
    whole = filled(np.ones((1, 3)), [(slice(0, 1), told[:1])], None, None)
    np.testing.assert_array_equal(whole, np.ones((1, 3)))


# ------------------------------------------------------------------------------ guards and ends


def test_a_refused_call_gives_back_what_was_there():
    model = SimpleNamespace(a=1, history_=History())
    model.history_.append(HistoryRow(1, 0, 0, 0, 0))

    def fail(error, keep=False):
        with unchanged_if_refused(model) as attempt:
            model.a, model.b = 2, 3
            model.history_.append(HistoryRow(2, 0, 0, 0, 0))
            attempt.keep = keep
            raise error

    with pytest.raises(ValueError):
        fail(ValueError())
    assert model.a == 1
    assert not hasattr(model, "b")
    assert len(model.history_) == 1
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())
    assert (model.a, model.b, len(model.history_)) == (2, 3, 2)
    model.a = 1
    with pytest.raises(ValueError):
        fail(ValueError(), keep=True)
    assert model.a == 2

    def ask(callback, error=None):
        with unchanged_if_refused(model) as attempt:
            model.a = 6
            attempt.stops([callback], None)
            raise error

    with pytest.raises(RuntimeError):  # callbacks were asked and did not fail
        ask(lambda step: None, RuntimeError())
    assert model.a == 2
    with pytest.raises(ZeroDivisionError):  # a callback that fails loses nothing
        ask(lambda step: 1 / 0)
    assert model.a == 6


def test_names_are_compared_once():
    assert not names_were_compared()
    with names_agree(True):
        assert names_were_compared()
        with names_agree(False):
            assert not names_were_compared()
        assert names_were_compared()
    assert not names_were_compared()


def test_results_of_batches_come_as_often_as_the_source_is_read():
    class Source(list):
        names = None
        n_samples = 5

    agreed = []
    results = Results(
        Source([np.ones(2), np.ones(3)]), lambda x: agreed.append(names_were_compared()) or 2 * x
    )
    for _ in range(2):
        assert all_of(results).tolist() == [2] * 5
    assert results.n_samples == 5
    assert agreed == [False] * 4
    list(Results(Source([np.ones(2)]), lambda x: agreed.append(names_were_compared()), True))
    assert agreed[-1]
    values = np.ones(3)
    assert all_of(values) is values
    assert _some(list("abcde")) == "'a', 'b', 'c', 'd', 'e'"
    assert _some(list("abcdef")).endswith("'e', ...")


@pytest.mark.parametrize(
    ("missed", "tol", "words"),
    [
        (1.0, 0.1, None),
        (1.01, 0.1, "1 times as far from its end as tol=0.1 allows; raise max_iter, or tol"),
        (np.inf, 0.1, "too few to tell whether tol=0.1 is met"),
        (5.0, 0.0, None),
        (0.0, 0.1, None),
        (np.nan, 0.1, None),
    ],
)
def test_fits_that_were_cut_short_say_so(missed, tol, words, recwarn):
    model = SimpleNamespace(tol=tol, max_iter=7)
    warn_unfinished(model, missed, unit="sweeps", stacklevel=2)
    assert len(recwarn) == (words is not None)
    if words:
        assert words in str(recwarn[0].message)
        assert "ended after max_iter=7 sweeps" in str(recwarn[0].message)
        assert recwarn[0].category is ConvergenceWarning
