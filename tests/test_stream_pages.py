"""Pages of tables and documents: numbers again, sections with a reason, caps at their edge."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from blocks import blocks_of, facts_of, head_of, headings, section
from thresher import __version__
from thresher.report import Report
from thresher.tasks.novelty import beside as beside_novelty
from thresher.tasks.novelty import report as novelty_page
from thresher.tasks.novelty.emerging import EmergingTopic
from thresher.tasks.novelty.found import FoundInStep, NovelDocument
from thresher.tasks.novelty.results import Explanation, NoveltyStep
from thresher.tasks.tables import beside as beside_tables
from thresher.tasks.tables import report as tables_page
from thresher.tasks.tables.file import CleanedFile
from thresher.tasks.text.records import Record
from thresher.tasks.topics import beside as beside_topics
from thresher.tasks.topics import report as topics_page
from thresher.tasks.topics.changes import TopicEvent
from thresher.tasks.topics.timeline import TopicsOverTime
from thresher.tasks.topics.watching import TopicStep

BESIDE = "Beside a simple alternative"


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Figures that a page draws, in order; how they look is tested elsewhere."""
    figures = []
    for module in (novelty_page, tables_page, topics_page):
        monkeypatch.setattr(module, "for_page", lambda draw: figures.append(draw()) or b"png")
    return figures


# ---------------------------------------------------------------------------------- tables


def cleaned(n=8, unread=(), places=None, **changes):
    """Three sensors; a gap in b that was filled, a glitch in c that was replaced, one gap left."""
    before = np.arange(3.0 * n).reshape(n, 3)
    before[2, 1], before[3, 0] = np.nan, np.nan
    after = before.copy()
    after[2, 1], after[5, 2] = 7.25, 17.5
    flags = np.zeros((n, 3), dtype=bool)
    flags[5, 2] = True
    lower, upper = np.full((n, 3), np.nan), np.full((n, 3), np.nan)
    lower[2, 1], upper[2, 1], lower[5, 2], upper[5, 2] = 7, 7.5, 16.0, 19.0
    scores = np.zeros((n, 3))
    scores[5, 2] = 3.5
    parts = {
        "names": ["a", "<b>", "c"], "rows": [f"t{k}" for k in range(n)],
        "places": np.arange(n) if places is None else places, "unread": list(unread),
        "time_columns": (), "station_column": None, "there": np.ones((n, 3), dtype=bool),
        "before": before, "after": after, "flags": flags, "scores": scores, "lower": lower,
        "upper": upper,
    }  # fmt: skip
    return CleanedFile(**(parts | changes))


@pytest.fixture
def no_line(monkeypatch):
    calls = []
    monkeypatch.setattr(tables_page, "tell_line", lambda *given: calls.append(given))
    return calls


def test_what_was_filled_and_replaced_is_counted_and_explained(no_line, drawn):
    done = cleaned(unread=["x", "y"])
    report = tables_page.table_report(cleaner := object(), done, "t.csv")
    kicker, title, lead = head_of(report)
    assert kicker == f"Thresher {__version__} · tables"
    assert title == "t.csv, cleaned"
    assert lead.startswith("1 gaps were filled and 1 glitches replaced, among 24 entries.")
    assert facts_of(report) == [
        ("8 × 3", "rows and sensors"), ("1", "gaps filled"), ("1", "glitches replaced"),
        ("1", "entries of which nothing is known, still empty"),
    ]  # fmt: skip
    assert headings(report) == [
        "Where most was replaced", "Why they were replaced", "Each sensor",
    ]  # fmt: skip
    (picture,) = section(report, "Where most was replaced")
    assert picture[1] == "Series of <b>, c, a: readings, what was filled in, and glitches"
    assert picture[2].startswith("Rows t0 to t7. ")
    assert [axes.get_title(loc="left") for axes in drawn[0].axes] == ["<b>", "c", "a"]
    _, why = section(report, "Why they were replaced")
    assert why[1] == ["Reading", "Was", "Expected", "So far off"]
    assert why[2] == [["c, t5", "17", "16 to 19", "once in 3,162"]]
    assert why[3].startswith("The 1 least likely of 1, ")
    table, unread = section(report, "Each sensor")
    assert table[1] == ["Sensor", "Gaps filled", "Glitches", "Still empty", "Half an interval"]
    assert table[2] == [
        ["<b>", "1", "0", "0", "0.25"], ["c", "0", "1", "0", "1.5"], ["a", "0", "0", "1", "–"],
    ]  # fmt: skip
    assert table[3].endswith("in the unit of the sensor.")
    assert unread == ("p", "Columns without a single reading: x, y.")
    assert no_line[0][1:] == (cleaner, done)


def test_a_table_that_was_whole_has_neither_pictures_nor_glitches(no_line, drawn):
    X, nothing = np.ones((4, 3)), np.full((4, 3), np.nan)
    whole = cleaned()._replace(
        before=X, after=X, flags=np.zeros((4, 3), dtype=bool), lower=nothing, upper=nothing,
        scores=np.zeros((4, 3)), places=np.arange(4), rows=list("abcd"), there=X > 0,
    )  # fmt: skip
    report = tables_page.table_report(None, whole, "t")
    assert headings(report) == ["Each sensor"]
    assert len(section(report, "Each sensor")) == 1
    assert not drawn


def wide(n_rows, n_sensors):
    """Readings of which the last n were filled, in the j-th sensor j of them."""
    before, after = np.ones((n_rows, n_sensors)), np.ones((n_rows, n_sensors))
    for j in range(n_sensors):
        before[n_rows - 1 - j : n_rows, j] = np.nan
        after[n_rows - 1 - j : n_rows, j] = j
    low = np.where(np.isnan(before), after - 1, np.nan)
    high = np.where(np.isnan(before), after + 1, np.nan)
    none = np.zeros(before.shape, dtype=bool)
    names = [f"s{j}" for j in range(n_sensors)]
    rows, places = [f"t{i}" for i in range(n_rows)], np.arange(n_rows)
    about = (names, rows, places, [], (), None, ~none)
    return CleanedFile(*about, before, after, none, 1.0 * none, low, high)


@pytest.mark.parametrize(("n_rows", "first"), [(300, 0), (301, 1), (340, 40)])
def test_the_stretch_in_which_most_was_replaced_is_drawn(no_line, drawn, n_rows, first):
    report = tables_page.table_report(None, wide(n_rows, 8), "t")
    caption = section(report, "Where most was replaced")[0][2]
    assert caption.startswith(f"Rows t{first} to t{n_rows - 1}. ")
    (figure,) = drawn
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"s{j}" for j in range(7, 1, -1)
    ]
    grey = figure.axes[0].lines[0]
    np.testing.assert_array_equal(grey.get_xdata(), np.arange(first, n_rows))


def test_rows_are_drawn_in_the_order_of_their_times(no_line, drawn):
    done = cleaned(places=np.array([7, 6, 5, 4, 3, 2, 1, 0]))
    report = tables_page.table_report(None, done, "t")
    assert section(report, "Where most was replaced")[0][2].startswith("Rows t7 to t0. ")
    np.testing.assert_array_equal(drawn[0].axes[0].lines[0].get_xdata(), np.arange(8))


def test_sensors_and_glitches_beyond_the_most_are_left_out(no_line, monkeypatch):
    done = wide(50, 4)
    for most, said in ((4, ""), (3, " The 3 with most of it.")):
        monkeypatch.setattr(tables_page, "_MOST_SENSORS", most)
        table = section(tables_page.table_report(None, done, "t"), "Each sensor")[0]
        assert [row[0] for row in table[2]] == ["s3", "s2", "s1", "s0"][:most]
        assert table[3].endswith("in the unit of the sensor." + said)
    flags = np.zeros((50, 4), dtype=bool)
    flags[:10] = True
    scores = np.arange(200.0).reshape(50, 4) / 10
    glitches = done._replace(flags=flags, scores=scores)
    table = section(tables_page.table_report(None, glitches, "t"), "Why they were replaced")[1]
    assert len(table[2]) == 30
    assert table[2][0][0] == "s3, t9"  # the least likely first
    assert table[3].startswith("The 30 least likely of 40")


def test_chances_are_told_as_people_say_them():
    told = [tables_page._chance(score) for score in (2.0, 6.99, 7.0, np.inf)]
    assert told == [
        "once in 100", "once in 9,772,372", "less than once in 10,000,000", "never: out of bounds",
    ]  # fmt: skip
    assert tables_page._number(np.nan) == "–"
    assert tables_page._number(1234.56) == "1235"


class Zeros(BaseEstimator):
    """A cleaner that fills gaps with zeros, and remembers what it was given."""

    seen = None

    def __init__(self, time=None, bounds="x", random_state=None, verbose=1, causal=False):
        self.time, self.bounds, self.random_state = time, bounds, random_state
        self.verbose, self.causal = verbose, causal

    def clean(self, table):
        type(self).seen = (self.time, self.bounds, self.random_state, self.verbose, table)
        return SimpleNamespace(table=np.nan_to_num(table))


def sines(n=900, places=None):
    X = np.column_stack([np.sin(np.arange(n) / 5), 40 + 3 * np.cos(np.arange(n) / 7), np.ones(n)])
    flags = np.zeros(X.shape, dtype=bool)
    flags[::50, 1] = True
    before = np.where(flags, 99.0, X)
    places = np.arange(n) * 2 if places is None else places
    none = np.full(X.shape, np.nan)
    rows = [str(k) for k in range(n)]
    about = (list("abc"), rows, places, [], (), None, np.isnan(none))
    return CleanedFile(*about, before, X, flags, 0 * X, none, none)


def test_hidden_readings_are_told_by_the_cleaner_and_by_a_line():
    done = sines()
    beside_tables.tell_line(report := Report("t"), Zeros(), done)
    time, bounds, seed, verbose, table = Zeros.seen
    assert (time, bounds, seed, verbose) == (0, None, 0, 0)
    np.testing.assert_array_equal(table[:, 0], done.places)
    spoiled = table[:, 1:]
    X = np.where(done.flags, np.nan, done.before)
    hidden = np.isnan(spoiled) & ~np.isnan(X)
    assert 0.03 < hidden.mean() < 0.07
    assert np.isnan(spoiled[done.flags]).all()
    scale = np.array([np.nanstd(X[:, 0]), np.nanstd(X[:, 1]), 1.0])
    line = beside_tables.lines_through(spoiled, done.places.astype(float))
    expected = [
        np.sqrt(np.mean(((told - X) / scale)[hidden] ** 2)) for told in (np.zeros_like(X), line)
    ]
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head == ["", "error", "seconds"]
    assert [row[:2] for row in rows] == [
        ["TableCleaner", f"{expected[0]:.3f}"], ["a line", f"{expected[1]:.3f}"],
    ]  # fmt: skip
    assert how.startswith(f"{hidden.sum():,} single readings of 900 rows were hidden")


def test_a_line_is_not_compared_where_it_would_look_ahead_or_little_is_hidden(monkeypatch):
    done = sines()
    beside_tables.tell_line(report := Report("t"), Zeros(causal=True), done)
    assert headings(report) == []
    n = int((np.isnan(Zeros.seen[4][:, 1:]) & ~done.flags).sum())
    for fewest, sections in ((n, 1), (n + 1, 0)):
        monkeypatch.setattr(beside_tables, "_FEWEST", fewest)
        beside_tables.tell_line(report := Report("t"), Zeros(), done)
        assert len(headings(report)) == sections
    monkeypatch.setattr(beside_tables, "_FEWEST", 1)
    monkeypatch.setattr(beside_tables, "_MOST_ENTRIES", 302)
    times = np.arange(900)[::-1].copy()
    beside_tables.tell_line(Report("t"), Zeros(), sines(places=times))
    np.testing.assert_array_equal(Zeros.seen[4][:, 0], np.arange(100))  # the first in time


# --------------------------------------------------------------------------------- novelty


def record(number, text="a text"):
    return Record(number, f"d{number}", f"T{number}", "", text)


def novel(number, score, text="the comet and the Comets", words=("comet", "tail"), p=0.01234):
    reason = Explanation(score, [(word, 0.5) for word in words], [], [])
    return NovelDocument(record(number, text), score, p, reason)


def step(name, scores=(), n_novel=0, start=False, shift=0.0, topics=(), n=None):
    scores = np.array(scores, dtype=float)
    marks = np.zeros(len(scores) if n is None else n, dtype=bool)
    marks[:n_novel] = True
    records = [record(k, f"words number{k}") for k in range(len(marks))]
    return NoveltyStep(name, scores, scores, marks, list(topics), shift, start, records)


DETECTOR = SimpleNamespace(n_documents_=1234, words_=list("abc") * 700)


def test_novel_documents_are_counted_ranked_and_marked(drawn):
    topic = EmergingTopic(
        documents=[0, 1], words=["comet", "tail"], p_value=0.00123, records=[record(1), record(0)],
        n_before=3,
    )  # fmt: skip
    found = [
        FoundInStep(step("w0", n=5, start=True), []),
        FoundInStep(step("w1", [1.0, 2.0, 0.5, 0.1], 1, topics=[topic]), [novel(1, 2.0)]),
        FoundInStep(step("w2", [9.0, 1.0], 1, shift=0.5), [novel(2, 9.0, "<i> tail", p=0.5)]),
    ]
    report = novelty_page.novelty_report(DETECTOR, found)
    assert head_of(report)[:2] == (f"Thresher {__version__} · novelty", "2 novel documents")
    assert facts_of(report) == [
        ("1,234", "documents learned from"), ("6", "scored, in 2 steps"),
        ("33.3%", "marked as novel"), ("2,100", "different words"),
    ]  # fmt: skip
    assert headings(report) == ["What emerged", "The most novel documents", "Step by step"]
    assert section(report, "What emerged")[0][1:3] == (
        ["step", "words in common", "documents", "before", "the most typical", "chance"],
        [["w1", "comet, tail", "2", "3", "T1", "0.0012"]],
    )
    assert section(report, "The most novel documents") == [
        ("passage", "d2, step w2, score 9.00, p-value 0.500", "&lt;i&gt; <mark>tail</mark>"),
        ("passage", "d1, step w1, score 2.00, p-value 0.012",
         "the <mark>comet</mark> and the Comets"),
    ]  # fmt: skip
    picture, table = section(report, "Step by step")
    assert picture[1] == "w1: 25.0%; w2: 50.0%"
    assert table[1:] == (
        ["step", "documents", "novel", "largest score", ""],
        [["w0", "5", "", "", "the start"], ["w1", "4", "1", "2.00", ""],
         ["w2", "2", "1", "9.00", "unlike before, beyond chance"]],
        "",
    )  # fmt: skip
    (figure,) = drawn
    assert [text.get_text() for text in figure.axes[0].texts] == ["50.0%", "25.0%"]


def test_sections_of_novelty_need_something_to_tell(drawn, monkeypatch):
    calls = []
    monkeypatch.setattr(novelty_page, "tell_nearest", lambda *given: calls.append(given))
    start = FoundInStep(step("0", n=5, start=True), [])
    one = FoundInStep(step("1", [1.0]), [])
    assert headings(novelty_page.novelty_report(DETECTOR, [], 1.0)) == []
    assert facts_of(novelty_page.novelty_report(DETECTOR, []))[2] == ("0.0%", "marked as novel")
    only = novelty_page.novelty_report(DETECTOR, [start])
    assert headings(only) == ["Step by step"]
    both = [start, one]
    report = novelty_page.novelty_report(DETECTOR, both, 2.5)
    assert headings(report) == ["The most novel documents", "Step by step"]
    assert not drawn  # of one step there is nothing to compare
    ((_, found, seconds),) = calls
    assert (found, seconds) == (both, 2.5)
    novelty_page.novelty_report(DETECTOR, [one, one], 2.5)  # what is usual is not among these
    novelty_page.novelty_report(DETECTOR, both)
    assert len(calls) == 1


def test_steps_topics_and_documents_beyond_the_most_are_left_out():
    topics = [
        EmergingTopic(documents=[0], words=[f"w{k}"], p_value=np.nan if k else 1e-5,
                      records=[record(k)])
        for k in range(13)
    ]  # fmt: skip
    many = [novel(k, float(k)) for k in range(31)]
    found = [FoundInStep(step(f"s{k}", [1.0]), []) for k in range(60)]
    found.append(FoundInStep(step("s60", [1.0, 2.0], 1, topics=topics), many))
    report = novelty_page.novelty_report(DETECTOR, found)
    emerged = section(report, "What emerged")[0][2]
    assert [row[1] for row in emerged] == [f"w{k}" for k in range(1, 13)]
    assert {row[5] for row in emerged} == {""}
    *passages, rest = section(report, "The most novel documents")
    assert [block[1].split(",")[0] for block in passages] == [f"d{k}" for k in range(30, 0, -1)]
    assert rest == ("p", "The first 30 of 31.")
    table = section(report, "Step by step")[1]
    assert [row[0] for row in table[2]] == [f"s{k}" for k in range(1, 61)]
    assert table[3] == "The last 60 steps."
    fewer = [FoundInStep(step("s", [1.0], topics=topics[:1]), many[:30])]
    few = novelty_page.novelty_report(DETECTOR, fewer)
    assert len(section(few, "The most novel documents")) == 30
    assert section(few, "What emerged")[0][2][0][5] == "under 1 in 10,000"


@pytest.mark.parametrize("n", [1200, 1201])
def test_long_documents_end_with_a_word(n):
    text = "ab " * 399 + "xyz" + "w" * (n - 1200)
    found = [FoundInStep(step("s", [1.0]), [novel(1, 1.0, text, words=[str(k) for k in range(9)])])]
    report = novelty_page.novelty_report(DETECTOR, found)
    shown = section(report, "The most novel documents")[0][2]
    assert shown == (text if n == 1200 else ("ab " * 399).strip() + " …")


def test_eight_words_are_marked():
    text = " ".join(f"w{k}" for k in range(10))
    found = [
        FoundInStep(step("s", [1.0]), [novel(1, 1.0, text, words=[f"w{k}" for k in range(10)])])
    ]
    shown = section(novelty_page.novelty_report(DETECTOR, found), "The most novel documents")[0][2]
    assert shown.count("<mark>") == 8
    assert shown.endswith("w8 w9")


def test_marks_are_compared_with_the_farthest_of_each_step(monkeypatch):
    found = [
        FoundInStep(step("0", n=3, start=True), []),
        FoundInStep(step("1", [5.0, 1.0, 2.0, 1.0], 2), []),
        FoundInStep(step("2", [1.0, 4.0], 1), []),
    ]
    far = [np.array([0.9, 0.1, 0.8, 0.2]), np.array([0.1, 0.7])]
    monkeypatch.setattr(beside_novelty, "_distances", lambda texts: far)
    monkeypatch.setattr(beside_novelty, "timed", lambda work: (work(), 0.5))
    beside_novelty.tell_nearest(report := Report("t"), found, 2.0)
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head == ["", "documents a second", "what it keeps"]
    assert rows == [
        ["NovelDocumentDetector", "3", "directions"],
        ["nearest document before", "12", "all documents"],
    ]
    assert "of 6 documents in the first 2 steps" in how
    assert "It agrees in 1 of 3 marks." in how


def test_only_the_first_documents_are_compared(monkeypatch):
    seen = []
    monkeypatch.setattr(
        beside_novelty, "_distances",
        lambda texts: seen.append([len(t) for t in texts]) or [np.ones(len(t)) for t in texts[1:]],
    )  # fmt: skip
    found = [FoundInStep(step("0", n=3, start=True), [])]
    found += [FoundInStep(step(str(k), [1.0, 1.0], 1), []) for k in range(1, 5)]
    for most, sizes in ((7, [3, 2, 2]), (8, [3, 2, 2]), (9, [3, 2, 2, 2])):
        monkeypatch.setattr(beside_novelty, "_MOST_DOCUMENTS", most)
        beside_novelty.tell_nearest(Report("t"), found, 1.0)
        assert seen.pop() == sizes
    for few in (found[:1], [found[0], FoundInStep(step("1", [1.0]), [])]):  # nothing is marked
        beside_novelty.tell_nearest(report := Report("t"), few, 1.0)
        assert headings(report) == []


# ---------------------------------------------------------------------------------- topics


def topic_step(name, numbers, shares, events=(), n=10, start=False, score=0.5):
    names = [f"topic {number}" for number in numbers]
    return TopicStep(name, n, list(numbers), names, np.array(shares), list(events), score, start)


def event(name, kind, *numbers):
    names = tuple(f"topic {number}" for number in numbers)
    return TopicEvent(name, kind, numbers, names, ["w1", "w2"], 0.00123)


STEPS = [
    topic_step("mon", [0, 1], [0.75, 0.25], start=True, score=np.nan),
    topic_step("tue", [0, 1, 4], [0.5, 0.25, 0.25], [event("tue", "born", 4)], n=20),
    topic_step("wed", [0, 4], [0.4, 0.6], [event("wed", "merged", 0, 1)], n=30, score=0.25),
]


def test_topics_over_time_are_told_for_people_and_machines():
    over = TopicsOverTime(STEPS)
    assert over.numbers == [0, 1, 4]
    np.testing.assert_array_equal(over.shares, [[0.75, 0.25, 0], [0.5, 0.25, 0.25], [0.4, 0, 0.6]])
    assert repr(over) == "TopicsOverTime(3 steps, 3 topics, 2 events)"
    told = over.to_dict()
    assert told["steps"] == ["mon", "tue", "wed"]
    assert told["documents"] == [10, 20, 30]
    assert told["scores"] == [None, 0.5, 0.25]
    assert told["shares"] == {
        "topic 0": [0.75, 0.5, 0.4], "topic 1": [0.25, 0.25, 0], "topic 4": [0, 0.25, 0.6],
    }  # fmt: skip
    assert told["events"][0]["kind"] == "born"
    with pytest.raises(ValueError, match="no documents"):
        TopicsOverTime([])


def test_the_timeline_shows_the_largest_topics_and_those_with_events(monkeypatch):
    given = []
    monkeypatch.setattr("thresher.plotting.share_rows", lambda *what: given.append(what))
    TopicsOverTime(STEPS).plot()
    names, steps, shares, marks = given.pop()
    assert names == ["topic 0", "topic 1", "topic 4"]
    assert steps == ["mon", "tue", "wed"]
    np.testing.assert_array_equal(shares, TopicsOverTime(STEPS).shares.T)
    assert marks == [(2, 1, "born"), (0, 2, "merged"), (1, 2, "merged")]
    many = list(range(20))
    largest = np.arange(20.0) / 190
    steps = [
        topic_step("a", many, largest, start=True),
        topic_step("b", many, largest, [event("b", "died", 2)]),
    ]
    TopicsOverTime(steps).plot()
    names, _, _, marks = given.pop()
    assert names == ["topic 2", *(f"topic {k}" for k in range(5, 20))]  # in the order they came
    assert marks == [(0, 1, "died")]


def test_events_are_listed_the_last_hundred(drawn):
    topics_page._tell_time(report := Report("t"), TopicsOverTime(STEPS))
    facts, picture, table = section(report, "Topics over time")
    assert facts[1] == [
        ("60", "documents"), ("3", "steps, from mon to wed"), ("3", "topics ever"), ("2", "events"),
    ]  # fmt: skip
    assert picture[1] == (
        "Shares of topics over time. tue: topic 4 born; wed: topic 0 and topic 1 merged"
    )
    assert table[1:3] == (
        ["Step", "What happened, and the words that weigh most", "Chance"],
        [["tue", "topic 4 born: w1, w2", "0.0012"],
         ["wed", "topic 0 + topic 1 merged: w1, w2", "0.0012"]],
    )  # fmt: skip
    assert "events." not in table[3]
    assert len(drawn[0].axes[0].get_yticklabels()) == 3
    events = [event("tue", "born", k) for k in range(101)]
    over = SimpleNamespace(
        steps=STEPS, events=events, n_documents=np.array([1]), names=[], plot=lambda: None
    )
    topics_page._tell_time(report := Report("t"), over)
    table = section(report, "Topics over time")[2]
    assert len(table[2]) == 100
    assert table[2][0][1].startswith("topic 1 born")
    assert table[3].endswith(" The last 100 events.")


def test_quiet_times_are_told_in_a_sentence():
    topics_page._tell_time(report := Report("t"), TopicsOverTime(STEPS[:1]))
    _, picture, said = section(report, "Topics over time")
    assert picture[1] == "Shares of topics over time. Nothing happened to topics"
    assert said == ("p", "No topic was born, died, merged, split or took a turn beyond chance.")


@pytest.mark.parametrize("n", [160, 161])
def test_excerpts_have_160_letters_and_end_with_a_word(n):
    text = "ab " * 52 + "wxyz" + "v" * (n - 160)
    shares = np.array([[0.25, 0.75]])
    topics_page._tell_examples(report := Report("t"), [text], shares, ["x", "y"], [1, 0])
    shown = text if n == 160 else ("ab " * 52).strip() + " …"
    assert [block[1] for block in blocks_of(report)[1:]] == [
        f"y (75%): “{shown}”", f"x (25%): “{shown}”",
    ]  # fmt: skip


def test_topics_of_a_model_alone_have_no_shares(drawn):
    about = SimpleNamespace(name="a", words=["w", "v"], weights=[0.75, 0.25])
    model = SimpleNamespace(
        topics_=[about], components_=np.ones((1, 2)), words_=["w", "v"], model_=SimpleNamespace()
    )
    report = topics_page.topic_report(model)
    assert head_of(report)[:2] == (f"Thresher {__version__} · topics", "1 topic")
    assert headings(report) == ["The words of each topic"]
    picture, said = section(report, "The words of each topic")
    assert picture[1] == "a: w, v"
    assert said == ("p", "2 words; SimpleNamespace with 1 components.")
    over = topics_page.topic_report(model, None, TopicsOverTime(STEPS))
    assert headings(over) == ["Topics over time", "The words of each topic"]
    with pytest.raises(ValueError, match="more than once"):
        topics_page.topic_report(model, iter(["a"]))


def test_plain_topics_are_compared_on_some_documents(monkeypatch):
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    from thresher.metrics import topic_coherence

    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(1.0, (30, 12)))
    topics = rng.random((3, 12))
    model = SimpleNamespace(components_=topics, model_=SimpleNamespace())
    beside_topics.tell_plain_topics(report := Report("t"), model, counts)
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head[1:] == ["mean coherence", "coherence of the worst", "seconds of learning"]
    plain = NMF(3, init="nndsvda", max_iter=200, random_state=0)
    plain.fit(TfidfTransformer().fit_transform(counts))
    for row, name, parts in zip(
        rows, ("TopicModel", "NMF of tf-idf"), (topics, plain.components_), strict=True
    ):
        found = topic_coherence(parts, counts)
        expected = [f"{v:.2f}".replace("-", "−") for v in (found.mean, found.per_topic.min())]
        assert row[:3] == [name, *expected]
    assert rows[0][3] == "–"
    assert rows[1][3].endswith(" for 30 documents")
    assert "at most 200 rounds on at most 2,000 documents" in how
    monkeypatch.setattr(beside_topics, "_MOST_DOCUMENTS", 10)
    model.model_.history_ = [SimpleNamespace(seconds=9.0), SimpleNamespace(seconds=1.5)]
    beside_topics.tell_plain_topics(report := Report("t"), model, counts)
    ours, theirs = section(report, BESIDE)[0][2]
    assert ours[3] == "1.5 for 30 documents"
    assert theirs[3].endswith(" for 10 documents")
    some = counts[np.linspace(0, 29, 10).astype(int)]
    assert ours[1] == f"{topic_coherence(topics, some).mean:.2f}".replace("-", "−")
    for few in (counts[:3], sparse.csr_array((30, 12))):
        beside_topics.tell_plain_topics(report := Report("t"), model, few)
        assert headings(report) == []
