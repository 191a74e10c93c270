"""``topics``, ``novelty`` and ``fit``: steps, streams and what is chosen; classes are stand-ins."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import thresher
from heard import Heard, Model, cells, stand_in_for
from thresher.cli import fit as fitting
from thresher.cli import novelty as novelty_module
from thresher.cli import topics as topics_module
from thresher.cli.frame import WrongUseError
from thresher.cli.novelty import _told, novelty, show_step, steps_of
from thresher.cli.pictures import opened_pictures
from thresher.cli.topics import topics
from thresher.cli.topics_over_time import follow_topics
from thresher.streams.columns import TextColumnsError
from thresher.tasks.novelty.emerging import EmergingTopic
from thresher.tasks.novelty.found import FoundInStep, NovelDocument
from thresher.tasks.novelty.results import Explanation, NoveltyStep
from thresher.tasks.text.records import Record
from thresher.tasks.topics.changes import TopicEvent
from thresher.tasks.topics.names import Topic
from thresher.tasks.topics.watching import TopicStep


@pytest.fixture
def talk():
    return Heard()


@pytest.fixture
def stand_in(monkeypatch):
    return partial(stand_in_for, monkeypatch)


# ---------------------------------------------------------------------------------- topics


@pytest.fixture
def subjects(monkeypatch, stand_in):
    names = [Topic("a[b]", ["x", "y"], [0.5, 0.25]), Topic("c", ["z"], [1.0])]
    shares = np.array([[0.25, 0.75], [0.0, 1.0]])
    kind = stand_in(
        "TopicModel", topics_=names, words_=list("xyz"), transform=lambda documents: shares,
        coherence=lambda documents: SimpleNamespace(mean=0.125),
        model_=SimpleNamespace(batch_size=64, n_starts=3),
    )  # fmt: skip
    saved = []
    monkeypatch.setattr(thresher, "save", lambda *what: saved.append(what))
    monkeypatch.setattr(topics_module, "texts_from", lambda *what: iter(["one", "two"]))
    monkeypatch.setattr("thresher.tasks.topics.report.topic_report", lambda *what: what)
    return SimpleNamespace(kind=kind, saved=saved)


def test_topics_are_told_the_largest_first(talk, subjects):
    topics(talk, "d", save=Path("m.thr"), report=Path("p.html"), random_state=None, n_components=2)
    model = subjects.kind.last
    assert model.parameters == {"random_state": 0, "n_components": 2}
    assert model.calls == [("fit", ["one", "two"])]
    assert talk.chosen["learned in batches of"] == (
        64, "the best of 3 starts, since there are few documents",
    )  # fmt: skip
    assert talk.answers == {
        "documents": 2, "words": 3, "coherence": 0.125, "model": Path("m.thr"),
        "topics": [
            {"name": "c", "words": ["z"], "weights": [1.0], "share": 0.875},
            {"name": "a[b]", "words": ["x", "y"], "weights": [0.5, 0.25], "share": 0.125},
        ],
    }  # fmt: skip
    (table,) = talk.shown
    assert table.splitlines()[0].strip() == "2 documents"
    assert cells(table) == [
        ["Topic", "share", "words"], ["c", "87.5%", "z"], ["a[b]", "12.5%", "x, y"],
    ]  # fmt: skip
    assert subjects.saved == [(model, Path("m.thr"))]
    assert talk.reports == [((model, ["one", "two"]), Path("p.html"))]


def test_more_text_than_memory_is_a_stream(talk, subjects, monkeypatch):
    monkeypatch.setattr("thresher.cli.held.MOST", 2)
    subjects.kind.about = subjects.kind.about | {
        "model_": SimpleNamespace(batch_size=256, n_starts=1)
    }
    topics(talk, "d")
    ((_, given),) = subjects.kind.last.calls
    assert list(given) == ["one", "two"]
    assert talk.chosen["read as a stream, of which is held"][0] == "1 documents"
    assert talk.chosen["learned in batches of"] == (
        256, "the best of 1 starts; documents are many",
    )  # fmt: skip
    assert talk.answers["documents"] == 1
    assert talk.reports == subjects.saved == []


def test_steps_of_time_need_over_time(talk, subjects, monkeypatch):
    for wrong in ({"size": 3}, {"date_field": "d"}, {"every": "day"}):
        with pytest.raises(WrongUseError, match=r"are steps of time; add --over-time\.$"):
            topics(talk, "d", **wrong)
    given = []
    monkeypatch.setattr(
        "thresher.cli.topics_over_time.follow_topics", lambda *what: given.append(what[1:])
    )
    topics(
        talk, "d", "body", Path("m"), Path("r"), True, 3, "when", "week", n_components=2
    )  # fmt: skip
    assert given == [("d", "body", (3, "when", "week"), Path("m"), Path("r"), {"n_components": 2})]
    assert subjects.kind.last is None


def test_the_field_of_the_text_is_chosen_only_if_none_is_given(talk, monkeypatch):
    monkeypatch.setattr("thresher.tasks.text.reading.read_documents", lambda docs: ("read", docs))
    monkeypatch.setattr("thresher.tasks.text.reading.texts_of", lambda *what: what)
    field = ["body"]
    monkeypatch.setattr(
        "thresher.tasks.text.reading.text_field", lambda documents: (field[0], ("all", documents))
    )
    assert topics_module.texts_from(talk, "d", None) == (("all", ("read", "d")), "body")
    assert talk.chosen == {"text": ("body", "the field with the most letters")}
    assert topics_module.texts_from(again := Heard(), "d", "mine") == (("read", "d"), "mine")
    field[0] = None
    assert topics_module.texts_from(again, "d", None) == (("all", ("read", "d")), None)
    assert again.chosen == {}


def test_topics_over_time_are_told_event_by_event(talk, stand_in, monkeypatch):
    event = TopicEvent("w2", "merged", (0, 1), ("a", "b"), list("uvwxyz"), 0.01)
    steps = {
        "w1": TopicStep("w1", 1000, [0, 1], ["a", "b"], np.array([0.5, 0.5]), [], np.nan, True),
        "w2": TopicStep("w2", 500, [0, 1], ["a", "b"], np.array([0.25, 0.75]), [event], 1.0, False),
    }
    kind = stand_in(
        "TopicModel", topics_=[Topic("a[1]", ["x"], [1.0]), Topic("b", ["y", "z"], [0.5, 0.5])],
        step=lambda documents, name: steps[name],
    )  # fmt: skip
    saved, asked = [], []
    monkeypatch.setattr(thresher, "save", lambda *what: saved.append(what))
    documents = [SimpleNamespace(documents=["d"], name=name) for name in steps]
    monkeypatch.setattr(
        novelty_module, "steps_of", lambda *what: asked.append(what[1:]) or documents
    )
    monkeypatch.setattr("thresher.tasks.topics.report.topic_report", lambda *what: what)
    follow_topics(talk, "d", "body", (3, "when", "week"), Path("m"), Path("r"), {"n": 1})
    assert kind.last.parameters == {"n": 1, "vocabulary": "grow"}
    assert talk.chosen["vocabulary"] == ("grow", "words enter and leave as time goes by")
    assert asked == [("d", "body", 3, "when", "week", 0.04)]
    said, table = talk.shown
    assert said == "w2  merged  a + b  (u, v, w, x, y)"
    assert table.splitlines()[0].strip() == "1,500 documents in 2 steps"
    assert cells(table) == [
        ["Topic", "share in the last step", "words"], ["b", "75.0%", "y, z"],
        ["a[1]", "25.0%", "x"],
    ]  # fmt: skip
    assert talk.answers["steps"] == ["w1", "w2"]
    assert talk.answers["documents"] == [1000, 500]
    assert [topic["name"] for topic in talk.answers["topics"]] == ["a[1]", "b"]
    assert talk.answers["model"] == Path("m")
    assert saved == [(kind.last, Path("m"))]
    ((page, path),) = talk.reports
    assert page[:2] == (kind.last, None)
    assert page[2].numbers == [0, 1]
    assert path == Path("r")
    follow_topics(quiet := Heard(), "d", None, (None, None, None), None, None, {"vocabulary": "x"})
    assert kind.last.parameters == {"vocabulary": "x"}
    assert quiet.reports == []
    assert "model" not in quiet.answers


# --------------------------------------------------------------------------------- novelty


def record(number, text="a text"):
    return Record(number, f"d{number}", f"T{number}", "", text)


def found(name="w1", n_documents=1, start=False, shift=0.0, topics=(), text="a text"):
    scores = np.array([] if start else [1.0, 2.0, 3.0])
    marks = np.arange(3) < n_documents
    step = NoveltyStep(name, scores, scores, marks, list(topics), shift, start, [])
    reason = Explanation(1.0, [(f"w{k}", 0.5) for k in range(5)], [], [])
    documents = [NovelDocument(record(k, text), 9.0 - k, 0.01, reason) for k in range(n_documents)]
    return FoundInStep(step, documents)


def test_a_step_is_told_to_people(talk):
    topic = EmergingTopic([4, 5], ["x", "y"], 0.01, [record(4), record(5)])
    show_step(talk, found(start=True, n_documents=0))
    show_step(talk, found(n_documents=1, topics=[topic], shift=0.5, text=" a \n b "))
    assert talk.shown == [
        "w1: 3 documents to start from",
        "w1: 1 of 3 documents are novel",
        "  the whole step is unlike before; what is marked stands out of the step itself",
        "  2 together: x, y",
        "  d0: a b",
        "       for w0, w1, w2, w3",
    ]
    for n, more in ((5, None), (6, "  and 1 more")):
        show_step(few := Heard(), found(n_documents=n))
        assert few.shown[0] == f"w1: {n} of 3 documents are novel"
        assert len(few.shown) == 1 + 2 * 5 + (more is not None)
        assert (few.shown[-1] == more) == (more is not None)


@pytest.mark.parametrize("n", [90, 91])
def test_excerpts_for_people_have_ninety_letters(talk, n):
    text = "ab " * 29 + "xyz" + "w" * (n - 90)
    show_step(talk, found(text=text))
    assert talk.shown[1] == "  d0: " + (text if n == 90 else ("ab " * 29).strip() + " …")


def test_a_step_is_told_to_machines():
    topics = [
        EmergingTopic([4, 5], ["x", "y"], 0.01, [record(4), record(5)]),
        EmergingTopic([6], ["z"], float("nan"), [record(6)]),
    ]
    told = _told(found(n_documents=1, topics=topics, shift=0.5))
    assert told == {
        "step": "w1", "documents": 3, "start": False, "shift": 0.5,
        "novel": [{
            **record(0)._asdict(), "score": 9.0, "p_value": 0.01,
            "unexplained": [(f"w{k}", 0.5) for k in range(5)],
        }],
        "topics": [
            {"documents": [4, 5], "ids": ["d4", "d5"], "words": ["x", "y"], "p_value": 0.01,
             "representative": "T4"},
            {"documents": [6], "ids": ["d6"], "words": ["z"], "p_value": None,
             "representative": "T6"},
        ],
    }  # fmt: skip


@pytest.fixture
def novel(monkeypatch, stand_in):
    kind = stand_in("NovelDocumentDetector", false_alarm_rate=0.05, n_steps_=1, n_documents_=7)
    state = SimpleNamespace(
        kind=kind,
        asked=[],
        saved=[],
        given=[found("w0", 0, start=True), found("w1", 1)],
        ends=False,
    )

    def explained(detector, steps):
        yield from state.given
        if state.ends:
            raise KeyboardInterrupt

    monkeypatch.setattr("thresher.tasks.novelty.found.explained_steps", explained)
    monkeypatch.setattr(
        novelty_module, "steps_of", lambda *what: state.asked.append(what[1:]) or "steps"
    )
    monkeypatch.setattr(thresher, "save", lambda *what: state.saved.append(what))
    monkeypatch.setattr("thresher.tasks.novelty.report.novelty_report", lambda *what: what)
    return state


def test_steps_are_told_saved_and_reported(talk, novel):
    novelty(
        talk, "d", "body", 5, "when", "week", "key", "name", save=Path("m"), report=Path("r"),
        random_state=None,
    )  # fmt: skip
    detector = novel.kind.last
    assert detector.parameters == {"random_state": 0}
    fields = {"id_field": "key", "title_field": "name"}
    assert novel.asked == [("d", "body", 5, "when", "week", 0.05, False, fields)]
    assert talk.answers == {
        "documents": 7, "steps": [_told(each) for each in novel.given], "model": Path("m"),
    }  # fmt: skip
    assert talk.shown[:2] == ["w0: 3 documents to start from", "w1: 1 of 3 documents are novel"]
    assert talk.lines == talk.notes == []
    assert novel.saved == [(detector, Path("m"))]
    (((model, steps), path),) = talk.reports
    assert (model, steps, path) == (detector, novel.given, Path("r"))


def test_what_has_no_end_is_told_line_by_line_until_it_is_interrupted(novel):
    novel.ends = True
    fields = {"id_field": "id", "title_field": "title"}
    for docs, follow in (("-", False), ("d", True)):
        novelty(talk := Heard(), docs, follow=follow)
        assert talk.lines == [_told(each) for each in novel.given]
        assert talk.answers == {"documents": 7, "steps": []}
        assert talk.asides == ["Interrupted; what came until now counts."]
        assert novel.asked[-1] == (docs, None, None, None, None, 0.05, follow, fields)
        novelty(talk := Heard(), docs, follow=follow, report=Path("r"))
        assert len(talk.answers["steps"]) == 2  # which the page needs
    with pytest.raises(KeyboardInterrupt):
        novelty(Heard(), "d")


def test_too_few_documents_are_told(talk, novel):
    novel.kind.about = novel.kind.about | {"n_steps_": 0}
    novelty(talk, "d")
    assert talk.notes == [
        "All documents were taken to tell what is usual; give more, or a smaller --size."
    ]
    assert talk.reports == novel.saved == []
    novel.kind.about = {"false_alarm_rate": 0.05}
    with pytest.raises(ValueError, match="There are no documents; give at least one"):
        novelty(talk, "d")


def test_novelty_is_shown_live_if_asked(talk, novel, monkeypatch):
    given = []

    @contextmanager
    def page(talk, show, title, what, **how):
        given.append((type(show).__name__, title, what, how))
        yield "watcher"

    monkeypatch.setattr(novelty_module, "live_page", page)
    monkeypatch.setattr(
        "thresher.cli.live.shows.novelty.watched_steps",
        lambda watcher, detector, steps: given.append((watcher, steps)) or novel.given,
    )
    novelty(talk, "x/d", live=True, save=Path("m"), address="h:1", stay=True)
    how = {"address": "h:1", "path": Path("m"), "stay": True}
    assert given == [
        ("NoveltyShow", "d", "NovelDocumentDetector", how), ("watcher", "steps"),
    ]  # fmt: skip
    assert len(talk.answers["steps"]) == 2


@pytest.fixture
def stepping(monkeypatch):
    state = SimpleNamespace(
        chosen=SimpleNamespace(date_field=None, size=50, every=None, why="so"),
        field="body",
        asked=[],
    )
    monkeypatch.setattr("thresher.tasks.text.reading.read_documents", lambda docs: ["read", docs])
    monkeypatch.setattr(
        "thresher.tasks.text.reading.text_field", lambda documents: (state.field, documents)
    )

    def chosen(*what):
        state.asked.append(what)
        return state.chosen

    monkeypatch.setattr("thresher.tasks.novelty.choosing.chosen_stepping", chosen)

    def steps(source, size, **how):
        return (source if isinstance(source, str) else list(source), size, how)

    monkeypatch.setattr("thresher.tasks.text.steps.document_steps", steps)
    return state


def test_steps_of_a_file_are_chosen_by_number_or_by_date(talk, stepping):
    usual = {"date_field": None, "every": "day"}
    assert steps_of(talk, "d", None, None, None, None, 0.05) == (
        ["read", "d"], 50, {"text": "body", **usual},
    )  # fmt: skip
    assert stepping.asked == [(["read", "d"], "body", None, 0.05)]
    assert talk.chosen == {"text": ("body", "the field with the most letters"), "size": (50, "so")}
    stepping.chosen = SimpleNamespace(date_field="when", size=None, every="week", why="so")
    found = steps_of(talk := Heard(), "d", "mine", None, None, None, 0.05, False, {"id_field": "k"})
    assert found == (
        ["read", "d"], 1000,
        {"text": "mine", "date_field": "when", "every": "week", "id_field": "k"},
    )  # fmt: skip
    assert talk.chosen == {
        "date_field": ("when", "it has dates, in order"), "every": ("week", "so"),
    }  # fmt: skip
    found = steps_of(talk := Heard(), "d", "mine", None, "when", None, 0.05)
    assert list(talk.chosen) == ["every"]
    assert found[2]["every"] == "week"
    found = steps_of(talk := Heard(), "d", "mine", None, None, "month", 0.05)
    assert list(talk.chosen) == ["date_field"]
    assert found[2]["every"] == "month"


def test_steps_that_are_given_are_not_chosen(talk, stepping):
    stepping.field = None
    for given in ((5, None, None), (5, "when", None), (None, "when", "month")):
        size, date_field, every = given
        found = steps_of(talk, "d", None, *given, 0.05)
        assert found[1] == (size or 1000)
        assert found[2] == {"text": "text", "date_field": date_field, "every": every or "day"}
    assert stepping.asked == []
    assert talk.chosen == {}
    with pytest.raises(WrongUseError, match=r"--every hour is not known; use day, week, month"):
        steps_of(talk, "d", None, None, None, "hour", 0.05)


def test_of_what_has_no_end_nothing_is_read_ahead(talk, stepping):
    usual = {"text": "text", "date_field": None, "every": "day"}
    assert steps_of(talk, "-", None, None, None, None, 0.05) == (
        ["read", "-"], 1000, {**usual, "follow": False},
    )  # fmt: skip
    assert talk.chosen["size"][0] == 1000
    found = steps_of(
        talk := Heard(), "d", "mine", None, "when", "week", 0.05, True, {"id_field": 1}
    )
    assert found == (
        "d", 1000,
        {"text": "mine", "date_field": "when", "every": "week", "follow": True, "id_field": 1},
    )  # fmt: skip
    assert steps_of(talk, "d", None, 7, None, None, 0.05, True)[1] == 7
    assert talk.chosen == {}
    assert stepping.asked == []


# ------------------------------------------------------------------------------------- fit


class Source:
    """Parts of samples."""

    names, sample_shape = ["a", "b"], (1, 2)

    def __init__(self, parts, live=False, once=False):
        self.parts = parts
        self.reader = SimpleNamespace(live=live, once=once)

    def __iter__(self):
        return iter(self.parts)


PARTS = [np.ones((2, 2)), np.zeros((1, 2))]


@pytest.fixture
def fitted(monkeypatch, stand_in, tmp_path):
    monkeypatch.chdir(tmp_path)
    kind = stand_in("OnlineRobustNMF", partial_fit=None, change=None)
    kind.set_params = lambda self, **to: self.calls.append(("set", to))
    state = SimpleNamespace(kind=kind, saved=[], opened=[], source=Source(PARTS))
    monkeypatch.setattr(thresher, "save", lambda *what: state.saved.append(what))
    monkeypatch.setattr(
        fitting, "opened", lambda *what: state.opened.append(what[1:]) or state.source
    )
    monkeypatch.setattr("thresher.cli.summary.show_summary", lambda talk, model: talk.show("all"))
    return state


def test_fit_learns_from_all_samples_at_once_if_they_fit(talk, fitted):
    fitting.fit(talk, "t.csv", Path("m"), columns="a", report=Path("r"), random_state=None)
    model = fitted.kind.last
    assert model.parameters == {"random_state": 0}
    assert fitted.opened == [("t.csv", "a")]
    ((_, samples),) = model.calls
    np.testing.assert_array_equal(samples, np.concatenate(PARTS))
    assert talk.chosen["read"] == ("3 samples", "into memory, as they are below 256 MB")
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert fitted.saved == [(model, Path("m"))]
    assert talk.shown == ["all"]
    assert talk.answers == {"model": Path("m")}
    ((page, path),) = talk.reports
    np.testing.assert_array_equal(page[1], samples)
    assert (page[2], path) == ((1, 2), Path("r"))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fitting.fit(talk, "t.csv", Path("no/m"))


def test_sparse_samples_and_those_without_names(talk, fitted):
    fitted.source = Source([sparse.csr_array(part) for part in PARTS])
    fitted.source.names = None
    fitting.fit(talk, "t.npz", Path("m"))
    ((_, samples),) = fitted.kind.last.calls
    np.testing.assert_array_equal(samples.toarray(), np.concatenate(PARTS))
    assert not hasattr(fitted.kind.last, "feature_names_in_")
    assert talk.reports == []
    assert fitting._bytes(sparse.csr_array(np.eye(3))) == 3 * 8 + 3 * 4
    assert fitting._bytes(np.eye(3)) == 72
    fitted.source = Source([])
    with pytest.raises(ValueError, match="There are no samples; give at least one row"):
        fitting.fit(talk, "t.npz", Path("m"))


@pytest.mark.parametrize("once", [False, True])
def test_larger_samples_and_live_ones_are_streams(talk, fitted, monkeypatch, once):
    monkeypatch.setattr("thresher.cli.held.MOST", 20)
    fitted.source = Source(PARTS, once=once)
    fitting.fit(talk, "t.csv", Path("m"), report=Path("r"))
    ((_, given),) = fitted.kind.last.calls
    assert (given is fitted.source) == (not once)
    assert [len(part) for part in given] == [2, 1]
    assert talk.chosen["read"] == (
        "as a stream", "it is live, or larger than 256 MB, and is read once",
    )  # fmt: skip
    assert len(talk.reports[0][0][1]) == 2  # the samples that were held
    fitted.source = Source(PARTS, live=True, once=once)
    fitting.fit(talk := Heard(), "t.csv", Path("m"), report=Path("r"))
    assert talk.reports[0][0][1] is None
    del fitted.kind.about["partial_fit"]
    with pytest.raises(WrongUseError, match=r"NMF needs all samples in memory.* OnlineL1"):
        fitting.fit(talk, "t.csv", Path("m"))


def test_fit_is_shown_live_if_asked(talk, fitted, monkeypatch):
    given = []

    @contextmanager
    def page(talk, show, title, what, **how):
        given.append((type(show).__name__, show._names, show._shape, title, what, how))
        yield "watcher"

    monkeypatch.setattr(fitting, "live_page", page)
    fitting.fit(talk, "x/t.csv", Path("m"), live=True, address="h:1", stay=True)
    how = {"address": "h:1", "path": Path("m"), "stay": True}
    assert given == [("ModelShow", ["a", "b"], (1, 2), "t.csv", "OnlineRobustNMF", how)]
    assert [name for name, _ in fitted.kind.last.calls] == ["set", "fit"]
    assert fitted.kind.last.calls[0][1] == {"callbacks": ["watcher"]}
    fitting.fit(talk, "x/t.csv", Path("m"))
    assert len(given) == 1


class ColumnsError(TextColumnsError):
    """Columns without numbers."""

    def __init__(self, good, bad):
        ValueError.__init__(self, "words")
        self.good, self.bad = good, bad


def test_columns_of_numbers_are_chosen_where_none_are_named(talk, monkeypatch):
    given, bad = [], ["w"]

    def opened(data, names):
        given.append((data, names))
        if names is None or data == "-":
            raise ColumnsError(["a", "b"], bad)
        return "source"

    monkeypatch.setattr(thresher, "open", opened)
    assert fitting.opened(talk, "t.csv", None) == "source"
    assert given == [("t.csv", None), ("t.csv", ["a", "b"])]
    assert talk.chosen["columns"] == ("a,b", "w has no numbers")
    bad.append("v")
    fitting.opened(talk, "t.csv", None)
    assert talk.chosen["columns"][1] == "w, v have no numbers"
    given.clear()
    for columns, known, names in (
        ("a,b", None, ["a", "b"]), ("a", None, "a"), (None, ["k"], ["k"]), ("a", ["k"], "a"),
    ):  # fmt: skip
        fitting.opened(talk, "t.csv", columns, known)
        assert given.pop() == ("t.csv", names)
    with pytest.raises(TextColumnsError):
        fitting.opened(talk, "-", None)


def test_estimators_complete_by_their_beginning():
    assert fitting._estimators("Online") == [
        "OnlineL1Dictionary", "OnlineNMF", "OnlineOrthogonalDictionary", "OnlineRobustNMF",
        "OnlineRobustPCA",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "n", "says"),
    [(None, 5, "has no pictures"), ((2, 3), 1, "is one picture, which alone tells nothing"),
     ((2, 3), 2, None), ((2, 3), None, None), ("error", 5, "has no pictures")],
)  # fmt: skip
def test_pictures_are_more_than_one(monkeypatch, tmp_path, shape, n, says):
    source, given = SimpleNamespace(sample_shape=shape, n_samples=n), []

    def opened(path, color):
        given.append(color)
        if shape == "error":
            raise ColumnsError([], ["a"])
        return source

    monkeypatch.setattr(thresher, "open", opened)
    if says is None:
        assert opened_pictures(tmp_path, True, "a video") is source
        assert given == [True]
        return
    with pytest.raises(WrongUseError, match=f"{says}.*give a video"):
        opened_pictures(tmp_path, False, "a video")
    with pytest.raises(WrongUseError, match="There is no"):
        opened_pictures(tmp_path / "x", False, "a video")
    assert Model.last is None
