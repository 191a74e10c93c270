"""The live page with a clock of its own: what is told when, what readers may ask, how it ends."""

import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thresher
from heard import Heard, stand_in_for
from thresher.cli.frame import WrongUseError
from thresher.cli.live import command, documents, session
from thresher.cli.live import watcher as watching
from thresher.cli.live.board import Board, event, with_point
from thresher.cli.live.shows.base import Control, Fact, Show
from thresher.cli.live.watcher import Watcher
from thresher.cli.live.wishes import VERBS, Wish, Wishes

# --------------------------------------------------------------------------------- watcher


class Clock:
    """A clock that goes when it is told to; ``seconds`` of the processor go by themselves."""

    def __init__(self):
        self.now = self.used = 100.0

    def monotonic(self):
        return self.now

    def thread_time(self):
        return self.used


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(watching, "time", found)
    monkeypatch.setattr(watching.os, "getloadavg", lambda: (0.0, 0, 0))
    return found


class Plain(Show):
    """Counts, and says what it is told to."""

    unit, curve, sample_title, parts_title = "things", "loss", "s", "p"
    facts = (Fact("samples", "n"), Fact("loss", "l"))

    def __init__(self, clock=None, cost=0.0):
        self.clock, self.cost, self.said, self.changes = clock, cost, [], []

    def model(self, step):
        return f"model {step}"

    def numbers(self, step):
        return {"samples": step, "loss": 0.5}

    def noticed(self, step):
        said, self.said = self.said, []
        return said

    def view(self, step):
        if self.clock:
            self.clock.used += self.cost
        return {"of": step}

    def controls(self, step):
        return [Control("rate", "The rate", "help", str(len(self.changes)))]

    def change(self, step, name, value):
        if value == "bad":
            raise ValueError("so.")
        self.changes.append((step, name, value))


class Posted(Board):
    """Remembers what was posted."""

    def __init__(self, readers=1):
        super().__init__({})
        self.posts, self.readers = [], readers

    n_readers = property(lambda self: self.readers)

    def post(self, kind, content):
        self.posts.append((kind, content))

    def all(self, kind):
        return [content for one, content in self.posts if one == kind]


def watcher_of(show, readers=1, rate=None, path=Path("m.thr")):
    board, wishes = Posted(readers), Wishes()
    return Watcher(board, wishes, show, path, rate), board, wishes


def test_numbers_are_told_four_times_and_views_once_a_second(clock):
    watcher, board, _ = watcher_of(Plain(clock))
    for step in range(1, 201):
        clock.now += 1 / 16
        watcher(step)
    gaps = np.diff([point["samples"] for point in board.all("numbers")])
    assert set(gaps) == {4}
    assert set(np.diff([view["of"] for view in board.all("view")])) == {16}
    assert len(board.all("controls")) == 1  # again only if they change
    first = board.all("numbers")[0]
    assert first["point"] == [1, 0.5]
    assert np.isnan(first["rate"])
    assert board.all("numbers")[-1]["rate"] == pytest.approx(16)


@pytest.mark.parametrize(
    ("cost", "load", "every"), [(0.02, 0.0, 2.0), (0.02, 3.0, None), (1.0, 0.0, 5.0)]
)
def test_what_takes_long_is_shown_less_often(clock, monkeypatch, cost, load, every):
    monkeypatch.setattr(watching.os, "getloadavg", lambda: (load, 0, 0))
    monkeypatch.setattr(watching.os, "cpu_count", lambda: 2)
    watcher, board, _ = watcher_of(Plain(clock, cost))
    for step in range(1, 401):
        clock.now += 0.05
        watcher(step)
    gaps = 0.05 * np.diff([view["of"] for view in board.all("view")])
    assert gaps.min() >= (every or 3.0) - 0.01
    assert gaps.max() <= (every or 3.0) + 0.3


def test_sending_that_takes_long_is_done_less_often(clock):
    watcher, board, _ = watcher_of(Plain())
    for step in range(1, 101):
        clock.now += 0.05
        board.spent += 0.0002  # less than a hundredth of the time
        watcher(step)
    few = len(board.all("numbers"))
    watcher, board, _ = watcher_of(Plain())
    for step in range(1, 201):
        clock.now += 0.05
        board.spent += 0.5
        watcher(step)
    assert few > 15
    gaps = 0.05 * np.diff([point["samples"] for point in board.all("numbers")])
    assert gaps[1:] == pytest.approx(2.0, abs=0.06)


def test_crowding_is_programs_for_a_processor(monkeypatch):
    monkeypatch.setattr(watching.os, "cpu_count", lambda: 2)
    for load, crowd in ((0.5, 1.0), (2.0, 1.0), (6.0, 3.0)):
        monkeypatch.setattr(watching.os, "getloadavg", lambda load=load: (load, 9, 9))
        assert watching._crowding() == crowd
    monkeypatch.setattr(watching.os, "cpu_count", lambda: None)
    assert watching._crowding() == 6.0
    monkeypatch.delattr(watching.os, "getloadavg")
    assert watching._crowding() == 1.0


def test_without_readers_only_the_first_view_is_made(clock):
    watcher, board, _ = watcher_of(Plain(clock), readers=0)
    for step in range(1, 100):
        clock.now += 0.5
        watcher(step)
    assert board.all("view") == [{"of": 1}]


def test_the_speed_is_that_of_the_last_five_seconds(clock):
    watcher, board, _ = watcher_of(Plain())
    samples = 0
    for second in range(1, 31):
        clock.now += 1
        samples += 100 if second <= 20 else 10
        watcher(samples)
    assert board.all("numbers")[18]["rate"] == pytest.approx(100)
    assert board.all("numbers")[-1]["rate"] == pytest.approx(10)


def test_what_is_noticed_is_posted_and_the_end_is_told(clock):
    show = Plain()
    watcher, board, _ = watcher_of(show)
    show.said = ["one", "two"]
    watcher(1)
    watcher(2)  # too early to be told of
    assert board.all("noticed") == ["one", "two"]
    assert [point["samples"] for point in board.all("numbers")] == [1]
    watcher.finish()
    assert board.all("state") == ["done"]
    assert [point["samples"] for point in board.all("numbers")] == [1, 2]
    assert board.all("view")[-1] == {"of": 2}
    none, board, _ = watcher_of(show)
    none.finish()
    assert board.posts == [("state", "done")]


def test_wishes_are_answered_in_sentences(clock, monkeypatch):
    saved = []
    monkeypatch.setattr(thresher, "save", lambda *what: saved.append(what))
    show = Plain()
    watcher, board, wishes = watcher_of(show, path=Path("a/m.thr"))
    assert watcher.saved is watcher.interrupted is False
    wishes.put(Wish("save"))
    watcher._grant(None)
    assert board.all("note") == ["Nothing is learned yet; wait for the first step."]
    for wish in (
        Wish("save"), Wish("change", "rate", " 0.5 "), Wish("change", "rate", "bad"),
        Wish("change", "other", "1"),
    ):  # fmt: skip
        wishes.put(wish)
    show.said = ["heard"]
    watcher(1234)
    assert saved == [("model 1234", Path("a/m.thr"))]
    assert watcher.saved
    assert show.changes == [(1234, "rate", 0.5)]
    assert board.all("note")[1:] == [
        "Saved after 1,234 things, as m.thr.", "The rate is 0.5 from the next step on.",
        "Not done: so.", "Not done: there is no such control.",
    ]  # fmt: skip
    assert [c[0]["value"] for c in board.all("controls")] == ["0", "1"]
    assert "heard" in board.all("noticed")


def test_a_pause_shows_what_is_and_ends_with_a_wish(clock):
    watcher, board, wishes = watcher_of(Plain())
    watcher(1)
    clock.now += 0.01
    wishes.put(Wish("pause"))
    wishes.put(Wish("resume"))
    watcher(2)
    assert board.all("state") == ["paused", "learning"]
    assert board.all("note") == ["Paused after this step.", "Learning goes on."]
    assert [point["samples"] for point in board.all("numbers")] == [1, 2]
    assert board.all("view")[-1] == {"of": 2}


def test_a_rate_makes_steps_wait_until_they_are_due(clock, monkeypatch):
    waited = []

    def granted(self, step, seconds=0.0):
        waited.append(round(seconds, 3))
        clock.now += seconds

    monkeypatch.setattr(Watcher, "_grant", granted)
    watcher, _, _ = watcher_of(Plain(), rate=100.0)
    watcher(50)  # from here on it is counted
    began = clock.now
    watcher(120)
    assert clock.now - began == pytest.approx(0.7)
    assert waited == [0.0, 0.0, 0.25, 0.25, pytest.approx(0.2)]
    clock.now += 5  # behind: there is nothing to wait for
    before = clock.now
    watcher(130)
    assert clock.now == before


# ----------------------------------------------------------------------- board and wishes


def test_wishes_wait_in_a_queue_and_have_short_words():
    wishes = Wishes()
    assert not wishes
    assert wishes.next() is None
    assert all(wishes.put(Wish("save", str(k))) for k in range(16))
    assert not wishes.put(Wish("save"))
    assert wishes
    assert wishes.next(0.01) == Wish("save", "0")
    began = time.monotonic()
    assert Wishes().next(0.02) is None
    assert time.monotonic() - began >= 0.015
    assert Wish.of({"verb": "change", "name": "a", "text": "x" * 100}).text == "x" * 100
    assert [Wish.of({"verb": verb}).verb for verb in VERBS] == list(VERBS)
    for wrong in (
        None, [], {}, {"verb": "run"}, {"verb": "save", "name": 3},
        {"verb": "change", "text": "x" * 101},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^$"):
            Wish.of(wrong)


def test_a_curve_that_is_too_long_loses_every_second_of_its_older_half():
    curve = []
    for n in range(400):
        curve = with_point(curve, [n, 0.0])
    assert len(curve) == 400
    assert with_point(curve, [399, 1.0]) is curve
    longer = with_point(curve, [400, 0.0])
    assert [n for n, _ in longer] == [*range(0, 200, 2), *range(200, 401)]


def test_events_have_a_number_if_they_are_news():
    assert event("beat", {"quiet": 1.0}) == b'event: beat\ndata: {"quiet":1.0}\n\n'
    assert event("state", ("a", [float("inf")]), 3) == (
        b'id: 3\nevent: state\ndata: ["a",[null]]\n\n'
    )


def test_a_board_counts_silence_and_keeps_fifty_events():
    board = Board({"title": "t"})
    for n in range(51):
        board.post("noticed", n)
    board._look()
    assert board._picture["noticed"] == list(range(1, 51))
    assert board._picture["state"] == "learning"
    assert board._picture["about"] == {"title": "t"}
    board._last_word = time.monotonic() - 7
    assert board.beat().startswith(b'event: beat\ndata: {"quiet":7.')
    assert board.ended is False
    board._end()
    assert board.ended is True


# --------------------------------------------------------------------- session and command


@contextmanager
def no_server(monkeypatch, log):
    class Server:
        url = "http://x/"

        def __init__(self, board, wishes, address):
            if address == "bad":
                raise ValueError("no address")
            log.append(("served", board._picture["about"], address))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            log.append("closed")

    monkeypatch.setattr("thresher.cli.live.server.Server", Server)
    monkeypatch.setattr(Watcher, "stay", lambda self: log.append("stays"))
    yield


@pytest.mark.parametrize("stay", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_page_is_served_while_it_runs_and_perhaps_stays(monkeypatch, stay, interrupted):
    talk, log = Heard(), []
    with no_server(monkeypatch, log):
        page = session.live_page(
            talk, Plain(), "T", "W", address="h:1", path=Path("a/m.thr"), rate=5.0, stay=stay
        )
        with page as watcher:
            assert watcher._rate == 5.0
            assert watcher._path == Path("a/m.thr")
            watcher.interrupted, watcher.saved = interrupted, stay
    about = {"title": "T", "what": "W", "file": "m.thr", **Plain().about()}
    assert log[0] == ("served", about, "h:1")
    assert ("stays" in log) == (stay and not interrupted)
    assert log[-1] == "closed"
    assert talk.answers == {"live": "http://x/"}
    assert talk.asides[0] == "Live page: http://x/"
    told = "All is read. The page stays until you press Ctrl-C."
    assert (told in talk.asides) == (stay and not interrupted)
    assert (talk.asides[-1] == "A reader of the page saved the model: a/m.thr") == stay


def test_a_page_without_a_file_saves_under_the_time(monkeypatch):
    talk, log = Heard(), []
    with no_server(monkeypatch, log):
        with session.live_page(talk, Plain(), "T", "W") as watcher:
            assert watcher._path.name.startswith("live-20")
            assert watcher._rate is None
        assert log[0][2] == "127.0.0.1:0"
        assert "stays" not in log
        with (
            pytest.raises(WrongUseError, match="no address"),
            session.live_page(talk, Plain(), "T", "W", address="bad"),
        ):
            pass


def test_an_interrupt_ends_a_live_run_and_keeps_it():
    talk, watcher = Heard(), SimpleNamespace(interrupted=False)
    with session.until_interrupted(talk, watcher):
        raise KeyboardInterrupt
    assert watcher.interrupted
    assert talk.asides == ["Interrupted; what came until now counts."]
    with pytest.raises(WrongUseError, match=r"BatchNMF learns from all samples at once.* use one"):
        session.checked_online(thresher.BatchNMF())
    assert session.checked_online(thresher.OnlineNMF()) == "OnlineNMF"


@pytest.fixture
def paged(monkeypatch):
    """A page that only remembers what it was asked for."""
    given = []

    @contextmanager
    def page(talk, show, title, what, **how):
        given.append((type(show).__name__, title, what, how))
        yield "watcher"

    for module in (command, documents):
        monkeypatch.setattr(module, "live_page", page)
    return given


@pytest.fixture
def learner(monkeypatch):
    kind = stand_in_for(monkeypatch, "OnlineRobustNMF", components_=np.ones((1, 1)), change=None)
    kind.set_params = lambda self, **to: self.calls.append(("set", to)) or self
    monkeypatch.setattr("thresher.tasks.text.reading.has_documents", lambda path: path == "d.jsonl")
    monkeypatch.setattr("thresher.cli.summary.show_summary", lambda talk, model: talk.show("all"))
    data = SimpleNamespace(names=["a"], sample_shape=None)
    opened = []
    monkeypatch.setattr(command, "opened", lambda *what: opened.append(what[1:]) or data)
    return SimpleNamespace(kind=kind, data=data, opened=opened)


def test_live_learns_with_a_page_and_saves(monkeypatch, paged, learner):
    saved, talk = [], Heard()
    monkeypatch.setattr(thresher, "save", lambda *what: saved.append(what))
    command.live(
        talk, "x/t.csv", columns="a", save=Path("m.thr"), rate=5.0, address="h:1", batch_size=256,
        drift=None, random_state=None,
    )  # fmt: skip
    model = learner.kind.last
    assert model.parameters == {"batch_size": 32, "drift": "auto", "random_state": 0}
    assert talk.chosen["batch_size"] == (32, "the page moves after each batch")
    assert talk.chosen["drift"] == ("auto", "the page tells of shifts")
    assert learner.opened == [("x/t.csv", "a")]
    how = {"address": "h:1", "path": Path("m.thr"), "rate": 5.0, "stay": True}
    assert paged == [("ModelShow", "t.csv", "OnlineRobustNMF", how)]
    assert model.calls == [("set", {"callbacks": ["watcher"]}), ("fit", learner.data)]
    assert saved == [(model, Path("m.thr"))]
    assert talk.answers == {"model": Path("m.thr")}
    assert talk.shown == ["all"]


def test_live_keeps_what_was_asked_for_and_refuses_nothing(paged, learner):
    command.live(talk := Heard(), "-", stay=False, batch_size=16, drift=0.5)
    assert learner.kind.last.parameters == {"batch_size": 16, "drift": 0.5}
    assert paged[0][1] == "Standard input"
    assert paged[0][3] == {"address": "127.0.0.1:0", "path": None, "rate": None, "stay": False}
    assert talk.chosen == {}
    assert talk.answers == {}
    learner.kind.about = {"change": None}
    with pytest.raises(ValueError, match="Nothing was learned"):
        command.live(talk, "t.csv")


@pytest.mark.parametrize(
    ("shape", "columns", "size"),
    [((100, 200), None, None), ((100, 201), None, (99, 200)), ((400, 800, 3), None, (100, 200)),
     ((400, 800), "a", None), (None, None, None), ((1, 80_000), None, (1, 40_000))],
)  # fmt: skip
def test_large_pictures_are_scaled_down_to_look_at(monkeypatch, shape, columns, size):
    talk, source = Heard(), SimpleNamespace(sample_shape=shape)
    monkeypatch.setattr(thresher, "open", lambda path, size: (path, size))
    found = command._small(talk, "v.avi", source, columns)
    if size is None:
        assert found is source
        assert talk.chosen == {}
        return
    assert found == ("v.avi", size)
    value, why = talk.chosen["pictures of"]
    assert value == f"{size[0]} × {size[1]} pixels"
    assert why.startswith(f"{shape[0]} × {shape[1]} pixels are scaled down")


def test_documents_are_watched_by_a_detector(monkeypatch, paged, learner):
    given = []
    monkeypatch.setattr(documents, "watch_novelty", lambda *what, **how: given.append((what, how)))
    usual = {one.name: one.default for one in command.parameters_of("OnlineRobustNMF")}
    command.live(talk := Heard(), "d.jsonl", text="body", **(usual | {"n_components": 7}))
    (((_, docs, text, save, parameters), how),) = given
    assert (docs, text, save) == ("d.jsonl", "body", None)
    assert parameters["n_components"] == 7
    assert "false_alarm_rate" in parameters
    assert how == {"address": "127.0.0.1:0", "rate": None, "stay": True}
    assert talk.chosen == {"estimator": ("NovelDocumentDetector", "these are documents")}
    other = {one.name: one.default for one in command.parameters_of("OnlineNMF")}
    for wrong in (usual | {"forgetting": "9"}, other | {"estimator": "OnlineNMF"}):
        with pytest.raises(WrongUseError, match=r"other options: thresher novelty d\.jsonl --live"):
            command.live(talk, "d.jsonl", **wrong)


def test_documents_go_step_by_step_with_a_page(monkeypatch, paged):
    saved, talk, asked = [], Heard(), []
    kind = stand_in_for(
        monkeypatch, "NovelDocumentDetector", false_alarm_rate=0.05, n_documents_=40, n_steps_=3
    )
    monkeypatch.setattr(thresher, "save", lambda *what: saved.append(what))
    monkeypatch.setattr(documents, "steps_of", lambda *what: asked.append(what[1:]) or "steps")
    monkeypatch.setattr(documents, "show_step", lambda talk, each: talk.show(each))
    monkeypatch.setattr(
        "thresher.cli.live.shows.novelty.watched_steps",
        lambda watcher, detector, steps: [f"{watcher} {type(detector).__name__} {steps}"],
    )
    documents.watch_novelty(
        talk, "x/d.jsonl", "body", Path("m.thr"), {"n_components": 4}, address="h:1", rate=2.0,
        stay=True,
    )  # fmt: skip
    assert asked == [("x/d.jsonl", "body", None, None, None, 0.05)]
    how = {"address": "h:1", "path": Path("m.thr"), "rate": 2.0, "stay": True}
    assert paged == [("NoveltyShow", "d.jsonl", "NovelDocumentDetector", how)]
    assert talk.shown == ["watcher NovelDocumentDetector steps"]
    assert talk.answers == {"documents": 40, "steps": 3, "model": Path("m.thr")}
    assert saved == [(kind.last, Path("m.thr"))]
    kind.about = {"false_alarm_rate": 0.05}
    with pytest.raises(ValueError, match="There are no documents; give at least one"):
        documents.watch_novelty(talk, "d", None, None, {}, address="", rate=None, stay=False)


def test_a_page_that_stays_grants_wishes_until_an_interrupt(clock, monkeypatch):
    granted = []

    def grant(self, step, seconds=0.0):
        granted.append((step, seconds))
        if len(granted) == 3:
            raise KeyboardInterrupt

    watcher, _, _ = watcher_of(Plain())
    watcher(5)
    monkeypatch.setattr(Watcher, "_grant", grant)
    with pytest.raises(KeyboardInterrupt):
        watcher.stay()
    assert granted == [(5, 0.25)] * 3
