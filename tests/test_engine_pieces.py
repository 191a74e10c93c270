"""Pieces of the engine by themselves: loops, ends, histories, ranges, units, trials."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from thresher.engine import StopAfter
from thresher.engine.alternate import Ending, alternate
from thresher.engine.callbacks import Step, any_stops, begin_callbacks, list_callbacks
from thresher.engine.explained import Energies, UnexplainedWarning, mass_of
from thresher.engine.extrapolation import Extrapolation
from thresher.engine.first_batch import (
    entries,
    every,
    is_mostly_zero,
    row_weights,
    spans_decades,
    sparse_mean,
    spread_rows,
    without_gaps,
)
from thresher.engine.history import KINDS, LONGEST, Event, History, HistoryRow
from thresher.engine.loss_shift import LONGEST as LONGEST_SHIFT
from thresher.engine.loss_shift import LossShift
from thresher.engine.merging import merged
from thresher.engine.plan import Candidate, Plan
from thresher.engine.seen import SeenRange
from thresher.engine.stream import OVERFLOW, Position, check_origin
from thresher.engine.trial import WINS, Rival, Trial
from thresher.engine.trouble import told_in_words
from thresher.engine.units import (
    check_largest,
    check_size,
    check_unit,
    needs_double,
    typical_size,
    unit_of,
)
from thresher.linalg import load_stored_block, range_of_powers, stored_rows
from thresher.streams import Batch

# ------------------------------------------------------------------------------ the second loop


class Falling:
    """An alternation whose objectives are given: at the start, and after each half-step."""

    def __init__(self, *objectives):
        self.objectives, self.done = list(objectives), []

    def improve_codes(self):
        self.done.append("codes")
        self.objectives.pop(0)

    def improve_dictionary(self):
        self.done.append("dictionary")
        self.objectives.pop(0)

    def objective(self):
        return self.objectives[0]


def run(*objectives, max_rounds=10, tol=0.1, change=None, stop_at=None):
    told, method = [], Falling(*objectives)

    def report(number, after_codes, after_dictionary):
        told.append((number, after_codes, after_dictionary))
        return number == stop_at

    return alternate(method, report, max_rounds, tol, change), told, method.done


def test_rounds_are_counted_and_each_half_is_told():
    ending, told, done = run(8, 7, 6, 5, 4, 3, 2, max_rounds=3)
    assert told == [(1, 7, 6), (2, 5, 4), (3, 3, 2)]
    assert done == ["codes", "dictionary"] * 3
    assert ending == Ending(3, pytest.approx(2 / (0.1 * 4)))


def test_a_round_that_changes_by_the_tolerance_is_the_last():
    assert run(10, 9.5, 9, 8.9, 8.8)[0] == (1, 0.0)  # a change of exactly a tenth
    assert run(10, 9.5, 8.9, 8.5, 8.2, max_rounds=5)[0] == (2, 0.0)
    assert run(10, 10, 11)[0].rounds == 1  # it may rise
    assert run(-10, -10, -10.5)[0] == (1, 0.0)  # objectives may be negative
    assert run(10, 9.5, 9, change=1.0)[0] == (1, 0.0)
    assert run(10, 9.5, 9, change=0.5, max_rounds=1)[0] == (1, 2.0)


def test_what_is_not_known_ends_nothing():
    """Before the first codes the objective is infinite; without a tolerance it never settles."""
    ending, told, _ = run(np.inf, 5, 4, 4, 4, max_rounds=2)
    assert ending == (2, 0.0)
    assert len(told) == 2
    assert run(np.inf, 5, 4, max_rounds=1)[0] == (1, np.inf)
    assert run(4, 4, 4, 4, 4, max_rounds=2, tol=0.0)[0] == (2, np.inf)
    assert run(4, 4, 4, max_rounds=1, tol=0.0, change=1.0)[0] == (1, 0.0 / 1.0)
    assert run(5, 5, 4, max_rounds=0)[0] == (0, 0.0)
    assert run(9, 7, 6, 5, 4, stop_at=1)[0] == (1, 0.0)  # whoever ends it misses nothing


def test_extrapolation_finds_the_end_of_a_linear_map():
    """``D ← MD + b`` with two slow directions is at its fixed point after four rounds."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    M = V @ np.diag([0.97, 0.9, 0, 0, 0, 0]) @ V.T
    b = rng.standard_normal(6)
    end = np.linalg.solve(np.eye(6) - M, b).reshape(2, 3)
    way, D = Extrapolation(), rng.standard_normal((2, 3))
    assert way.ahead() is None
    for count in range(9):
        before, D = D, (M @ D.ravel() + b).reshape(2, 3)
        way.add(before, D)
        assert (way.ahead() is None) == (count < 1)
    assert len(way.rounds) == 6
    np.testing.assert_array_equal(way.rounds[-1][1], D)
    np.testing.assert_allclose(way.ahead(), end, atol=1e-6)
    assert np.abs(D - end).max() > 0.1
    single = Extrapolation([(a.astype(np.float32), c.astype(np.float32)) for a, c in way.rounds])
    assert single.ahead().dtype == np.float32
    way.add(D, D)
    way.add(D, D)  # two steps alike: no direction
    assert way.ahead() is None
    way.forget()
    assert way.rounds == []


# ------------------------------------------------------------------------------ plans and ends


def test_the_first_candidate_that_fits_is_chosen_and_found_again():
    def needs(wide):
        return lambda batch: None if batch.X.shape[1] >= wide else f"{wide} features"

    plan = Plan(
        (
            Candidate("wide", "a", "fast", needs(5)),
            Candidate("middle", "b", "fair", needs(3), streaming="s"),
            Candidate("any", "c", "always"),
        )
    )
    names = [plan.choose(Batch(np.ones((2, F)))).name for F in (6, 5, 4, 2)]
    assert names == ["wide", "wide", "middle", "any"]
    assert plan.common == "c"
    assert plan.begun_with(SimpleNamespace(method="middle")).streaming == "s"
    assert plan.candidates[0].streaming is None
    with pytest.raises(ValueError, match="another solver or divergence; set them back"):
        plan.begun_with(SimpleNamespace(method="other"))


def test_positions_add_up_and_passes_have_a_mean():
    batch = Batch(np.ones((4, 2)), np.array([1.0, 2, 0, 1]))
    here = Position(n_rows=9, batch_size=4)
    there = here.after(SimpleNamespace(loss=6.0), batch).after(SimpleNamespace(loss=2.0), batch)
    assert (there.batch_index, there.pass_loss, there.pass_weight) == (2, 8.0, 8.0)
    after = there.next_pass()
    assert after == Position(1, 0, 0.0, 0.0, 1.0, 9, 4)
    assert Position().next_pass().last_mean == 0.0
    assert there.untold() == replace(there, pass_loss=np.inf, last_mean=np.inf)
    assert Position().last_mean == np.inf


def test_other_data_than_a_fit_began_with_are_refused_by_name():
    then = {"rows": "1", "first": "a"}
    check_origin(then, dict(then))
    check_origin({}, then)  # old files do not tell
    with pytest.raises(ValueError, match="but first changed since"):
        check_origin(then, {"rows": "1", "first": "b"})
    with pytest.raises(ValueError, match="rows and first"):
        check_origin(then, {"rows": "2", "first": "b"})
    for other in ({"rows": "1"}, then | {"last": "z"}):
        with pytest.raises(ValueError, match="the kind of data changed"):
            check_origin(then, other)


@pytest.mark.parametrize("count", range(1, 10))
def test_sums_grow_as_a_tree_of_neighbours(count):
    """Branches of two, four, eight: the same bits whoever adds them."""

    @dataclass(frozen=True)
    class Shape:
        text: str

        def __add__(self, other):
            return Shape(f"({self.text}{other.text})")

    def tree(parts):
        if len(parts) == 1:
            return parts[0]
        size = 1
        while 2 * size < len(parts):
            size *= 2
        return f"({tree(parts[:size])}{tree(parts[size:])})"

    letters = "abcdefghi"[:count]
    assert merged([Shape(x) for x in letters]).text == tree(letters)


def test_what_no_matrix_can_hold_is_told_in_words():
    @told_in_words()
    def work(A):
        """Invert."""
        return np.linalg.inv(A)

    assert work(np.eye(2)) == pytest.approx(np.eye(2))
    assert work.__doc__ == "Invert."
    with pytest.raises(ValueError, match="too large or too small") as caught:
        work(np.zeros((2, 2)))
    assert str(caught.value) == OVERFLOW
    with pytest.raises(KeyError), told_in_words():
        raise KeyError("another")


# ------------------------------------------------------------------------------ history


def row(n):
    return HistoryRow(n, 0.5 * n, 1.0 / (n + 1), 0.1, 0.2)


def test_histories_keep_the_newest_and_thin_the_oldest():
    history = History()
    for n in range(LONGEST):
        history.append(row(n))
    assert len(history) == LONGEST
    assert [r.samples for r in history] == list(range(LONGEST))
    history.append(row(LONGEST))
    kept = [r.samples for r in history]
    half = LONGEST // 2
    assert kept == [*range(0, half, 2), *range(half, LONGEST + 1)]


def test_histories_go_to_arrays_and_back():
    history = History()
    history.append(row(3))
    history.append(replace_gap(row(5)))
    history.note([Event(3, "shift", 0.01), Event(5, "kept", np.nan)])
    again = History.from_array(history.to_array())
    np.testing.assert_array_equal(again.to_array(), history.to_array())
    assert type(again[0].samples) is int
    again.note_array(history.events_to_array())
    assert [e[:2] for e in again.events] == [(3, "shift"), (5, "kept")]
    assert again.events[0].statistic == 0.01
    np.testing.assert_array_equal(history.column("loss"), [0.25, 1 / 6])
    np.testing.assert_array_equal(history.column("gap"), [np.nan, 7.0])
    assert History().to_array().shape == (0, 9)
    assert History().events_to_array().shape == (0, 3)
    old = History.from_array(history.to_array()[:, :5])  # files that know less
    assert np.isnan(old[0].violation)
    assert old[1].change == 0.2


def replace_gap(one):
    return one._replace(gap=7.0)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (np.zeros((2, 5)), np.zeros((2, 4))),
        (np.zeros((2, 9)), np.zeros((2, 10))),
        (np.zeros((LONGEST, 5)), np.zeros((LONGEST + 1, 5))),
        (np.full((1, 5), 2.0**53 - 1), np.full((1, 5), 2.0**53)),
        (np.zeros((1, 5)), np.full((1, 5), -1.0)),
        (np.zeros((1, 5)), np.full((1, 5), np.nan)),
    ],
    ids=["narrow", "wide", "long", "many samples", "fewer than none", "no number"],
)
def test_arrays_that_are_no_history_are_refused(good, bad):
    History.from_array(good)
    with pytest.raises(ValueError, match="is no history"):
        History.from_array(bad)


def test_events_are_the_last_thousand_and_arrays_that_hold_none_are_refused():
    history = History()
    history.note(Event(n, "shift", 0.5) for n in range(1500))
    assert [e.samples for e in history.events] == list(range(500, 1500))
    History().note_array(history.events_to_array())
    most = np.array([[2.0**53 - 1, len(KINDS) - 1, 0.0]])
    History().note_array(most)
    for bad in (
        np.zeros((1001, 3)),
        [[2.0**53, 0, 0]],
        [[0, len(KINDS), 0]],
        [[-1, 0, 0]],
        [[0, -1, 0]],
    ):
        with pytest.raises(ValueError, match="has no events"):
            History().note_array(np.array(bad, dtype=float))


def test_a_copy_of_a_history_goes_its_own_way():
    from copy import copy

    history = History()
    history.append(row(1))
    other = copy(history)
    other.append(row(2))
    other.note([Event(2, "shift", 0.1)])
    assert (len(history), len(other)) == (1, 2)
    assert history.events == ()


def test_detectors_remember_as_much_as_they_compare():
    detector = LossShift(1e-9)
    for n in range(LONGEST_SHIFT + 5):
        detector.update(-float(n))
    np.testing.assert_array_equal(detector.values, -np.arange(5.0, LONGEST_SHIFT + 5))
    assert not detector.drift_detected
    assert detector.p_value == 1.0
    other = LossShift(1e-9)
    other.recall(detector.values, True, 0.5)
    assert (other.drift_detected, other.p_value) == (True, 0.5)
    other.update(3.0)
    np.testing.assert_array_equal(other.values, [3.0])  # after an alarm it starts anew
    other.recall(np.zeros(LONGEST_SHIFT), False, 1.0)
    other.recall(np.zeros(0), False, 0.0)
    for values, p in ((np.zeros(LONGEST_SHIFT + 1), 0.5), (np.zeros(1), -0.1), (np.zeros(1), 1.1)):
        with pytest.raises(ValueError, match="no detector remembers"):
            other.recall(values, False, p)


# ------------------------------------------------------------------------------ callbacks


def test_limits_are_reached_exactly():
    step = Step(HistoryRow(100, 2.0, 1.0, 0.1, 1e-3), np.ones((1, 1)), None)
    assert not StopAfter()(step)
    for name, value, beyond in (
        ("samples", 100, 101),
        ("seconds", 2.0, 2.1),
        ("change", 1e-3, 0.9e-3),
    ):
        assert StopAfter(**{name: value})(step) is True
        assert StopAfter(**{name: beyond})(step) is False
    assert StopAfter(samples=101, seconds=2.0)(step)
    assert step.events == ()
    assert step.samples is None


def test_every_callback_is_called_and_only_yes_stops():
    heard = []

    def says(answer):
        return lambda step: heard.append(answer) or answer

    assert any_stops([says(True), says(None), says(False)], "step") is True
    assert heard == [True, None, False]
    assert any_stops([says(np.True_)], "step") is True
    assert any_stops([says(1), says("yes"), says(None), says(np.False_)], "step") is False
    assert any_stops([], "step") is False


def test_callbacks_are_told_of_a_beginning_and_a_generator_is_kept():
    told = []
    with_begin = SimpleNamespace(begin=lambda model, n_seen: told.append((model, n_seen)))
    model = SimpleNamespace(callbacks=iter([with_begin, print]))
    list_callbacks(model)
    assert model.callbacks == [with_begin, print]
    begin_callbacks(model)
    begin_callbacks(model, 7)
    assert told == [(model, 0), (model, 7)]
    given = (print,)
    model.callbacks = given
    list_callbacks(model)
    assert model.callbacks is given
    begin_callbacks(SimpleNamespace(callbacks=None))


# ------------------------------------------------------------------------------ ranges, entries


def samples(seed=0, n=30, F=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, F)) * (rng.random((n, F)) < 0.4)
    X[:, 2] = np.abs(X[:, 2]) + 1  # never zero, never negative
    X[:, 3] = -np.abs(X[:, 3]) - 1
    X[:, 4] = 0
    return X


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weighted", ["", "samples", "entries", "both"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_range_of_what_was_seen(kind, gaps, weighted, sign):
    rng = np.random.default_rng(1)
    X = sign * samples()
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    sample_weight = (rng.random(len(X)) < 0.6).astype(float) if weighted in "samples both" else None
    if not weighted:
        sample_weight = None
    entry_weight = None
    if weighted in {"entries", "both"}:
        entry_weight = (rng.random(X.shape) < 0.6).astype(float)
    seen = ~np.isnan(X)
    given = X if kind == "dense" else sparse.csr_array(X)
    if kind == "stored":
        given, seen = stored_rows(given), seen & (X != 0)
    if sample_weight is not None:
        seen &= sample_weight[:, None] > 0
    if entry_weight is not None:
        seen &= entry_weight > 0
    found = SeenRange.of(Batch(given, sample_weight, entry_weight))
    np.testing.assert_array_equal(found.low, np.where(seen, X, np.inf).min(axis=0))
    np.testing.assert_array_equal(found.high, np.where(seen, X, -np.inf).max(axis=0))
    np.testing.assert_array_equal(found.known, seen.any(axis=0))


def test_ranges_merge_grow_and_lose_features():
    one = SeenRange(np.array([0.0, 1]), np.array([2.0, 3]))
    other = SeenRange(np.array([-1.0, 2]), np.array([1.0, 5]))
    both = one | other
    assert (both.low.tolist(), both.high.tolist()) == ([-1, 1], [2, 5])
    wide = one.grow(4)
    assert wide.known.tolist() == [True, True, False, False]
    assert wide.keep(np.array([1, 2])).low.tolist() == [1, np.inf]
    nothing = SeenRange.of(Batch(np.ones((0, 3))))
    assert not nothing.known.any()
    assert not SeenRange.of(Batch(np.ones((2, 3)), np.zeros(2))).known.any()


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
def test_the_unit_is_a_power_of_two_near_the_median_of_what_is_not_zero(kind):
    X = np.array([[0, 3.0, 0], [5, 0, np.nan], [-4, 0, 40]])
    given = {"dense": X, "csr": sparse.csr_array(X), "stored": stored_rows(sparse.csr_array(X))}
    batch = Batch(given[kind])
    assert typical_size(batch) in {4.0, 5.0}
    heavy = Batch(given[kind], np.array([0.0, 0, 1]))
    assert typical_size(heavy) in {4.0, 40.0}
    assert typical_size(Batch(given[kind], np.array([1.0, 0, 0]))) == 3
    if kind == "dense":
        weight = np.zeros_like(X)
        weight[2, 2] = 1
        assert typical_size(Batch(X, None, weight)) == 40
    assert typical_size(Batch(np.zeros((2, 2)))) == 0
    assert [unit_of(size) for size in (0.0, 1.0, 3.0, 0.3, 1000.0)] == [1, 1, 4, 0.25, 1024]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_beyond_the_range_are_refused_at_its_ends(dtype):
    kind = np.dtype(dtype)
    least, most = range_of_powers(kind)
    check_size(0.0, kind)
    for size in (least, most):
        check_size(size, kind)
    for size in (least * 0.99, most * 1.01):
        with pytest.raises(ValueError, match="too large or too small to compute with"):
            check_size(size, kind)
    with pytest.raises(ValueError, match="too large or too small"):
        check_size(most, kind, power=3)
    info = np.finfo(kind)
    check_unit(float(info.tiny), 1.0, 4, kind)
    check_unit(float(info.max) / 4, 1.0, 4, kind)
    for unit in (float(info.tiny) / 2, float(info.max) / 3):
        with pytest.raises(ValueError, match="Rescale the data"):
            check_unit(unit, 1.0, 4, kind)
    check_unit(2.0**511, 2.0, 1, np.dtype(np.float64))
    with pytest.raises(ValueError, match="Rescale the data"):
        check_unit(2.0**512, 2.0, 1, np.dtype(np.float64))
    check_unit(2.0**-511, 2.0, 1, np.dtype(np.float64))
    with pytest.raises(ValueError, match="Rescale the data"):
        check_unit(2.0**-512, 2.0, 1, np.dtype(np.float64))


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_glitches_are_refused_and_gaps_may_hold_anything(kind):
    most = range_of_powers(np.dtype(np.float64))[1]

    def batch(value, weight=None):
        X = np.array([[1.0, np.nan], [value, 1.0]])
        return Batch(X if kind == "dense" else sparse.csr_array(X), None, weight)

    for sign in (1, -1):
        check_largest(batch(sign * most), 1.0, np.dtype(np.float64))
        check_largest(batch(sign * most * 8), 8.0, np.dtype(np.float64))
        with pytest.raises(ValueError, match="Mark glitches as missing"):
            check_largest(batch(sign * most * 1.01), 1.0, np.dtype(np.float64))
    with pytest.raises(ValueError, match="square overflows"):
        check_largest(batch(most), 1.0, np.dtype(np.float64), power=3)
    if kind == "dense":
        hidden = np.array([[1.0, 0], [0, 1]])
        check_largest(batch(1e300, hidden), 1.0, np.dtype(np.float64))
    check_largest(Batch(np.array([[2**62]])), 1.0, np.dtype(np.float32))  # integers are no floats


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_that_single_precision_would_lose(kind):
    least = range_of_powers(np.dtype(np.float32))[0]

    def batch(*rows):
        X = np.array(rows)
        return Batch(X if kind == "dense" else sparse.csr_array(X))

    assert not needs_double(batch([1.0, 0], [least, 0]), 1.0)
    assert needs_double(batch([1.0, 0], [0.9 * least, 0]), 1.0)
    assert needs_double(batch([1.0, 0], [-0.9 * least, 0]), 1.0)
    assert needs_double(batch([1.0, 0], [least, 0]), 2.0)
    assert not needs_double(batch([1.0, 0], [0, 0]), 1.0)
    assert not needs_double(batch([1.0, 0.1 * least], [0, 1]), 1.0)  # beside a large one
    assert not needs_double(batch([np.nan, 1.0]), 1.0)


@pytest.mark.parametrize("kind", ["dense", "csr", "stored"])
def test_mostly_zero_is_a_quarter_of_what_was_seen(kind):
    def batch(X, *given):
        X = np.array(X, dtype=float)
        if kind == "dense":
            return Batch(X, *given)
        rows = sparse.csr_array(X)
        return Batch(stored_rows(rows) if kind == "stored" else rows, *given)

    if kind == "stored":  # zeros count only if they are stored
        assert not is_mostly_zero(batch([[1, 0, 0, 0]]))
        rows = sparse.csr_array((np.array([1.0, 0, 0, 0]), np.arange(4), [0, 4]), shape=(1, 9))
        assert is_mostly_zero(Batch(stored_rows(rows)))
        return
    assert is_mostly_zero(batch([[1, 0, 0, 0]]))
    assert not is_mostly_zero(batch([[1, 0, 0]]))
    assert not is_mostly_zero(batch([[1, 0, 0, np.nan]]))
    assert is_mostly_zero(batch([[1, 0, 0, 0, np.nan]]))
    assert not is_mostly_zero(batch([[1, 0], [0, 0]], np.array([2.0, 1])))
    assert is_mostly_zero(batch([[1, 0], [0, 0]], np.array([1.0, 1])))
    weight = np.array([[0.0, 1, 1, 1]])
    assert is_mostly_zero(batch([[1, 0, 0, 0]], None, weight))
    assert not is_mostly_zero(batch([[0, 1, 0, 0]], None, weight))


def test_decades_are_told_by_the_median_feature():
    rng = np.random.default_rng(0)
    wide = 10.0 ** rng.uniform(-2, 2, (200, 3))
    narrow = rng.uniform(1, 2, (200, 3))
    assert spans_decades(Batch(wide), 1.0)
    assert not spans_decades(Batch(narrow), 1.0)
    assert spans_decades(Batch(np.hstack([wide, narrow[:, :1]])), 1.0)
    assert not spans_decades(Batch(np.hstack([narrow, wide[:, :1]])), 1.0)
    middle = rng.uniform(1, 6, (200, 3))  # ratios of about four: above √10, below 10
    assert not spans_decades(Batch(middle), 1.0)
    assert spans_decades(Batch(middle), 3.0)
    some = np.vstack([narrow, wide])
    half = np.repeat([1.0, 0], 200)
    assert not spans_decades(Batch(some, half), 1.0)
    assert spans_decades(Batch(some, half[::-1]), 1.0)
    assert not spans_decades(Batch(some, None, np.repeat(half, 3).reshape(-1, 3)), 1.0)
    assert not spans_decades(Batch(np.zeros((5, 2))), 1.0)
    assert spans_decades(Batch(np.vstack([np.zeros((40, 1)), np.ones((160, 1))])), 1.0)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_are_spread_by_weight_and_not_by_order(kind):
    X = np.abs(samples(3))
    given = X if kind == "dense" else sparse.csr_array(X)
    weight = np.zeros(len(X))
    weight[[2, 5, 9]] = [1, 5, 1]
    drawn = spread_rows(Batch(given, weight), 700, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=len(X))
    assert set(np.flatnonzero(counts)) == {2, 5, 9}
    np.testing.assert_allclose(counts[[2, 5, 9]], [100, 500, 100], atol=1)
    order = np.random.default_rng(4).permutation(len(X))
    moved = spread_rows(Batch(given[order], weight[order]), 50, np.random.default_rng(0))
    first = spread_rows(Batch(given, weight), 50, np.random.default_rng(0))
    np.testing.assert_array_equal(X[order][moved], X[first])
    nobody = spread_rows(Batch(given, np.zeros(len(X))), 40, np.random.default_rng(0))
    assert len(nobody) == 40
    assert set(nobody) == set(range(len(X)))


def test_small_looks_at_a_batch():
    X = np.array([[1.0, np.nan, 0], [0, 2, 3]])
    rows = without_gaps(Batch(sparse.csr_array(X), None, np.array([[1.0, 1, 1], [1, 0, 1]])))
    np.testing.assert_array_equal(rows.toarray(), [[1, 0, 0], [0, 0, 3]])
    assert rows.nnz == 2
    mean = sparse_mean(Batch(sparse.csr_array(X[1:].repeat(2, 0)), np.array([3.0, 1])))
    np.testing.assert_array_equal(mean, [0, 2, 3])
    assert not sparse_mean(Batch(sparse.csr_array(X[1:]), np.zeros(1))).any()
    np.testing.assert_array_equal(row_weights(Batch(X)), [1, 1])
    assert every(None, 2) is None
    np.testing.assert_array_equal(every(np.arange(5), 2), [0, 2, 4])
    values, weights = entries(X, np.array([[1.0, 0, 2], [1, 1, 1]]), np.array([1.0, 3]), 100)
    np.testing.assert_array_equal(values, [1, 0, 0, 2, 3])
    np.testing.assert_array_equal(weights, [1, 2, 3, 3, 3])
    assert len(entries(np.ones((10, 10)), None, None, 50)[0]) in range(25, 52)


# ------------------------------------------------------------------------------ shares explained


@pytest.mark.parametrize("kind", ["dense", "weighted", "csr", "stored"])
@pytest.mark.parametrize("by_sample", [False, True])
def test_the_mass_of_a_block(kind, by_sample):
    X = samples(5)
    weight = np.random.default_rng(6).random(X.shape) * (samples(7) != 0)
    given = np.arange(1.0, len(X) + 1) if by_sample else None
    by_row = np.ones(len(X)) if given is None else given
    if kind == "stored":
        stored = stored_rows(sparse.csr_array(X))
        block = load_stored_block(stored, slice(0, len(X)), np.dtype(float), None, 1.0)
        found, counted = mass_of(block, None, given), by_row[:, None] * (X != 0)
    elif kind == "weighted":
        found, counted = mass_of(X, weight, given), by_row[:, None] * weight
    else:
        found = mass_of(sparse.csr_array(X) if kind == "csr" else X, None, given)
        counted = by_row[:, None] * np.ones_like(X)
    assert found == pytest.approx(((np.abs(X) * counted).sum(), counted.sum()))


def test_shares_that_are_explained():
    x, y = np.array([3.0, 4]), np.array([3.0, 2])

    def energies(y):
        return Energies(x @ x, x @ y, y @ y, x.sum(), y.sum())

    one = energies(y)
    assert one.explained == pytest.approx(1 - 4 / 25)
    best = (x @ y) / (y @ y)
    assert one.explained_at_best_size == pytest.approx(1 - ((x - best * y) ** 2).sum() / 25)
    assert Energies().explained == 1.0
    assert Energies().explained_at_best_size == 0.0
    assert one + one == Energies(*(2 * part for part in (25.0, 17.0, 13.0, 7.0, 5.0)))


@pytest.mark.parametrize(
    ("size", "bounded", "words"),
    [
        (1.0, True, None),
        (0.3, False, None),  # explains just more than half of the square
        (0.28, False, "too tight"),
        (0.28, True, "too tight"),
        (2.5, False, None),  # too large may be meant
        (2.5, True, "too tight"),
        (0.0, False, "next to nothing"),
    ],
)
def test_warnings_of_size_come_where_size_is_to_blame(size, bounded, words, recwarn):
    x = np.array([3.0, 4])
    Energies(25.0, 25 * size, 25 * size**2, x.sum(), size * x.sum()).warn_of_size(bounded)
    said = [str(warning.message) for warning in recwarn]
    assert len(said) == (words is not None)
    if words:
        assert words in said[0]
        assert recwarn[0].category is UnexplainedWarning


# ------------------------------------------------------------------------------ trials


@dataclass(frozen=True)
class State:
    """What a trial needs of a state."""

    name: str
    n_samples: int = 100
    scale: float = 1.0
    scale_weight: float = 9.0
    weight_seen: float = 5.0
    watch: object = None


def trial(losses, wins=(0, 0), n_batches=0, replaced=False, own=1.0):
    """One round: the losses of the rivals in order, and that of the dictionary in use."""
    given = iter(losses)

    def learn(state):
        return replace(state, n_samples=state.n_samples + 1), SimpleNamespace(loss=next(given))

    rivals = tuple(Rival(State(f"rival {k}"), won) for k, won in enumerate(wins))
    begun = Trial(rivals, n_batches, replaced)
    in_use = State("in use", 200, scale=3.0, scale_weight=7.0, watch="watch")
    return begun.round(in_use, SimpleNamespace(loss=own), learn)


def test_wins_are_counted_in_a_row():
    state, after, events = trial([0.5, 1.0], wins=(2, 3))
    assert state.name == "in use"
    assert events == ()
    assert [rival.wins for rival in after.rivals] == [3, 0]  # a draw is no win
    assert after.n_batches == 1
    assert not after.replaced
    assert all(rival.state.n_samples == 101 for rival in after.rivals)


def test_eight_wins_take_over_and_the_others_go_on():
    state, after, events = trial([0.5, 0.4], wins=(WINS - 1, WINS - 1))
    assert state.name == "rival 1"  # the better of two
    assert (state.scale, state.scale_weight, state.watch) == (3.0, 5.0, "watch")
    assert events == (Event(101, "replaced", 0.4),)
    assert [rival.state.name for rival in after.rivals] == ["rival 0"]
    assert after.rivals[0].wins == 0
    assert after.replaced
    assert trial([0.5], wins=(WINS - 2,))[0].name == "in use"
    assert trial([0.5], wins=(WINS - 1,))[1] is None  # nobody is left


def test_a_trial_ends_after_its_batches_and_says_what_it_found():
    _, after, events = trial([1.2, 1.5], n_batches=30)
    assert after.n_batches == 31
    assert events == ()
    state, after, events = trial([1.2, 1.5], n_batches=31)
    assert after is None
    assert state.name == "in use"
    assert events == (Event(200, "kept", pytest.approx(1.2)),)
    assert trial([1.2, 1.5], n_batches=31, replaced=True)[2] == ()
    assert trial([1.2, 1.5], n_batches=31, own=0.0)[2][0].statistic == 1.0
