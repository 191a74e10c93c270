"""The live page: who is let in, what readers get, and that the learner never waits for them."""

import asyncio
import gc
import http.client
import json
import re
import secrets
import socket
import threading
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import thresher
from thresher import NovelDocumentDetector, OnlineNMF, OnlineRobustNMF, VideoSeparator
from thresher.cli.live.app import live_app
from thresher.cli.live.board import _QUEUE, Board, Reader, event
from thresher.cli.live.guard import is_own_name
from thresher.cli.live.page import POLICY, page
from thresher.cli.live.server import Server, split_address
from thresher.cli.live.shows.model import ModelShow
from thresher.cli.live.shows.novelty import NoveltyShow, marked, watched_steps
from thresher.cli.live.shows.video import VideoShow
from thresher.cli.live.views import sample_view
from thresher.cli.live.watcher import _SHARE, _VIEW_LATEST, Watcher
from thresher.cli.live.wishes import Wish, Wishes
from thresher.datasets import make_surveillance_scene
from thresher.tasks.text.records import records_of
from thresher.tasks.text.steps import DocumentStep
from thresher.testing.data import planted

TOKEN = "the-token"
BASE = "http://127.0.0.1:8000"
QUIET = {"random_state": 0, "verbose": 0, "batch_size": 16, "n_passes": 1, "shuffle": False}


class client:  # noqa: N801
    """Asks the application, without a server between."""

    def __init__(self, address="127.0.0.1", wishes=None):
        wishes = Wishes() if wishes is None else wishes
        self.board = Board({"title": "x"})
        self.app = live_app(self.board, wishes, TOKEN, address)

    def __getattr__(self, method):
        async def ask(path, **given):
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as one:
                return await one.request(method.upper(), path, **given)

        return lambda path, **given: asyncio.run(ask(path, **given))


# ---------------------------------------------------------------------------- who is let in


@pytest.mark.parametrize("path", ["/", "/events", "/wish", "/other-token/", f"/{TOKEN}x/", "/x/y"])
def test_nothing_is_told_without_the_token(path):
    answer = client().get(path)
    assert answer.status_code == 403
    assert "lacks its token" in answer.text
    assert TOKEN not in answer.text


def test_tokens_are_long_and_compared_in_constant_time(monkeypatch):
    compared = []
    true = secrets.compare_digest
    monkeypatch.setattr(
        secrets, "compare_digest", lambda a, b: compared.append((a, b)) or true(a, b)
    )
    assert client().get(f"/{TOKEN}/").status_code == 200
    assert client().get("/wrong/").status_code == 403
    assert compared == [(TOKEN.encode(),) * 2, (b"wrong", TOKEN.encode())]
    with Server(Board({}), Wishes(), "127.0.0.1:0") as one:
        assert len(one.url.split("/")[3]) >= 24


HOSTS = {
    "127.0.0.1": (
        ["127.0.0.1", "127.0.0.1:80", "localhost:9", "LOCALHOST", "[::1]:7", "[::1]", "127.0.0.2"],
        [
            *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.a"),
            *("", "192.168.1.4", "::1", "[::1].evil", "[evil]", "[127.0.0.1]", "127.0.0.1:x"),
            *("[::2]", "127.0.0.1:80:80", "127.0.0.1@evil.example", socket.gethostname()),
        ],
    ),
    "::1": (["[::1]:8000", "[0:0:0:0:0:0:0:1]", "localhost"], ["[::2]", "evil.example"]),
    "192.168.1.4": (["192.168.1.4:80", "localhost"], ["192.168.1.5", "evil.example"]),
    "0.0.0.0": (["192.168.1.4", "[fe80::1]:9", socket.gethostname()], ["evil.example", ""]),
    "::": (["[2001:db8::1]:9", "10.0.0.1"], ["evil.example"]),
}


@pytest.mark.parametrize("bound", HOSTS)
def test_only_own_names_are_answered_to(bound):
    good, bad = HOSTS[bound]
    assert [is_own_name(host, bound) for host in good] == [True] * len(good)
    assert [host for host in bad if is_own_name(host, bound)] == []
    for host, status in [(good[0], 200), ("evil.example", 403)]:
        assert client(bound).get(f"/{TOKEN}/", headers={"host": host}).status_code == status


OTHERS = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "https://127.0.0.1:8000"},
    {"origin": "http://127.0.0.1:8001"},
    {"origin": "http://localhost:8000"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
]


@pytest.mark.parametrize("headers", OTHERS, ids=str)
def test_other_pages_are_refused(headers):
    assert client().get(f"/{TOKEN}/", headers=headers).status_code == 403
    wish = client().post(f"/{TOKEN}/wish", json={"verb": "pause"}, headers=headers)
    assert wish.status_code == 403


def test_the_page_itself_and_links_to_it_are_not():
    own = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert client().post(f"/{TOKEN}/wish", json={"verb": "pause"}, headers=own).status_code == 202
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client().get(f"/{TOKEN}/", headers=link).status_code == 200
    assert client().post(f"/{TOKEN}/wish", json={"verb": "pause"}, headers=link).status_code == 403


@pytest.mark.parametrize(
    "path",
    ["page/live.css", "../pyproject.toml", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "static"],
)
def test_no_file_has_an_address(path):
    answer = client().get(f"/{TOKEN}/{path}")
    assert answer.status_code in (403, 404)
    assert len(answer.text) < 100


WISHES = [
    ({"verb": "pause"}, 202), ({"verb": "change", "name": "forgetting", "text": "9"}, 202),
    ({"verb": "rm"}, 400), ({}, 400), ([], 400), ("x" * 3000, 400), (None, 400),
    ({"verb": "save", "name": ["a"]}, 400), ({"verb": "change", "text": "9" * 101}, 400),
]  # fmt: skip


@pytest.mark.parametrize(("wish", "status"), WISHES)
def test_only_wishes_are_taken(wish, status):
    wishes = Wishes()
    assert client(wishes=wishes).post(f"/{TOKEN}/wish", json=wish).status_code == status
    assert (wishes.next() is not None) == (status == 202)


def test_wishes_of_forms_and_too_many_are_refused():
    wishes = Wishes()
    one = client(wishes=wishes)
    plain = {"content-type": "text/plain"}
    assert one.post(f"/{TOKEN}/wish", content='{"verb":"pause"}', headers=plain).status_code == 400
    answers = [one.post(f"/{TOKEN}/wish", json={"verb": "pause"}).status_code for _ in range(20)]
    assert answers == [202] * 16 + [503] * 4
    assert one.get(f"/{TOKEN}/wish").status_code == 405


def test_nothing_can_be_asked_of_a_program_that_has_ended():
    wishes = Wishes()
    one = client(wishes=wishes)
    one.board.ended = True
    assert one.post(f"/{TOKEN}/wish", json={"verb": "pause"}).status_code == 503
    assert wishes.next() is None


def test_the_page_needs_nothing_and_runs_nothing_else():
    answer = client().get(f"/{TOKEN}/")
    text = answer.text
    outside = re.findall(r"""(?:https?:)?//[\w.]+""", re.sub(r"//[^\n]*", "", text))
    assert not [one for one in outside if "www.w3.org" not in one]
    assert re.findall(r"""(?:src|href)=["']?([^"'>]{0,20})""", page()) == ["data:,", "#numbers"]
    policy = answer.headers["content-security-policy"]
    assert policy == POLICY
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "innerHTML" not in text, "data would become markup"
    assert "prefers-color-scheme: dark" in text


ADDRESSES = {
    "127.0.0.1:0": ("127.0.0.1", 0), "[::1]:80": ("::1", 80), "localhost:9": ("localhost", 9),
    "127.0.0.1": None, ":80": None, "::1:80": None, "127.0.0.1:x": None, "a:99999": None, "": None,
}  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_have_a_host_and_a_port(address):
    if ADDRESSES[address] is not None:
        assert split_address(address) == ADDRESSES[address]
        return
    with pytest.raises(ValueError, match=r"such as 127\.0\.0\.1:8000"):
        split_address(address)


# -------------------------------------------------------------------------- what readers get


def said(text):
    """Number, kind and content of an event."""
    found = re.fullmatch(rb"(?:id: (\d+)\n)?event: (\w+)\ndata: ([^\n]*)\n\n", text)
    return found[1] and int(found[1]), found[2].decode(), json.loads(found[3])


def replayed(picture, events):
    """What a page knows after some events, written without a look at the board."""
    known = json.loads(json.dumps(picture))
    for number, kind, content in events:
        assert number is not None
        if kind == "noticed":
            known["noticed"] = (known["noticed"] + [content])[-50:]
        else:
            known[kind] = content
        if kind == "numbers" and [p[0] for p in known["curve"][-1:]] != [content["point"][0]]:
            known["curve"].append(content["point"])
            if len(known["curve"]) > 400:
                known["curve"] = known["curve"][:200][::2] + known["curve"][200:]
    return known


def post_some(board, start, stop):
    for number in range(start, stop):
        board.post("numbers", {"samples": number, "point": [number, float(number)]})
        if number % 7 == 0:
            board.post("noticed", f"at {number}")


def on_a_board(work):
    """Run something in the thread of a board's server."""

    async def run():
        board = Board({"title": "x"})
        board.serve_in(asyncio.get_running_loop())
        return await work(board)

    return asyncio.run(run())


def test_the_whole_picture_and_then_what_is_new_come_to_the_same():
    async def work(board):
        post_some(board, 0, 20)
        await asyncio.sleep(0)
        with board.reader() as reader:
            (first,) = reader.take(board)
            start, kind, picture = said(first)
            assert kind == "picture"
            events = []
            for turn in range(200):
                post_some(board, 20 + 3 * turn, 23 + 3 * turn)
                await asyncio.sleep(0)
                events += [said(text) for text in reader.take(board)]
            assert [number for number, _, _ in events] == list(
                range(start + 1, start + 1 + len(events))
            )
            _, _, now = said(board.picture())
        assert replayed(picture, events) == now
        assert len(now["curve"]) <= 400
        assert now["curve"][-1] == [619, 619.0]

    on_a_board(work)


def test_a_slow_reader_loses_the_oldest_and_gets_the_whole_picture():
    async def work(board):
        with board.reader() as slow, board.reader() as fast:
            slow.take(board)
            fast.take(board)
            taken = []
            for number in range(100):
                post_some(board, number, number + 1)
                await asyncio.sleep(0)
                taken += fast.take(board)
            assert len(slow._queue) == _QUEUE
            assert all(said(text)[1] != "picture" for text in taken)
            (text,) = slow.take(board)
            assert said(text)[1] == "picture"
            assert said(text)[2]["numbers"]["samples"] == 99
            assert slow.take(board) == []

    on_a_board(work)


def test_the_learner_never_waits_for_a_server_that_is_stuck():
    board = Board({"title": "x"})
    loop = asyncio.new_event_loop()
    board._loop = loop  # which never runs
    began = time.perf_counter()
    for _ in range(20_000):
        board.post("view", "x")
    assert time.perf_counter() - began < 2
    assert len(board._given) == 64
    assert len(loop._ready) == 1
    loop.close()


def test_events_are_json_whatever_they_hold():
    odd = {"a": [np.nan, float("inf"), 1.5], "b": "</script>\n\nevent: x\ndata: \u2028"}
    text = event("view", odd, 3)
    assert text.count(b"\n\n") == 1
    assert said(text) == (3, "view", {"a": [None, None, 1.5], "b": odd["b"]})


# ----------------------------------------------------------------------------- a real server


@contextmanager
def served(**about):
    board, wishes = Board({"title": "x", **about}), Wishes()
    with Server(board, wishes, "127.0.0.1:0") as server:
        yield board, wishes, server


def opened(server):
    host, path = server.url.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", f"/{path}events")
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.getheader("content-type").startswith("text/event-stream")
    return connection, answer


def until(condition, seconds=8.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def closed(connection, answer):
    answer.close()
    connection.close()


def test_a_hundred_reloads_leave_nothing_behind():
    with served() as (board, _, server):
        sizes = []
        tracemalloc.start()
        for number in range(120):
            open_ones = opened(server)
            assert open_ones[1].readline().startswith(b"id:")
            closed(*open_ones)
            until(lambda: board.n_readers == 0)
            if number in (19, 119):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert sizes[1] - sizes[0] < 100_000, "a thousand bytes for each reload"


def test_a_reader_that_takes_nothing_costs_nothing():
    """Ten megabytes are posted; what waits for it is a few messages."""
    with served() as (board, _, server):
        connection, answer = opened(server)
        until(lambda: board.n_readers == 1)
        tracemalloc.start()
        began = time.perf_counter()
        for number in range(200):
            board.post("view", f"{number}" + "x" * 50_000)
            time.sleep(0.001)
        took = time.perf_counter() - began
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert took < 5
        assert held < 3_000_000
        closed(connection, answer)
        until(lambda: board.n_readers == 0)


def test_the_end_is_told_and_ends_everything_at_once():
    with served() as (board, _, server):
        some = [opened(server) for _ in range(10)]
        until(lambda: board.n_readers == 10)
        began = time.perf_counter()
    assert time.perf_counter() - began < 2.5
    for connection, answer in some:
        text = answer.read()
        assert b'event: state\ndata: "ended"' in text
        closed(connection, answer)
    assert board.n_readers == 0
    assert not server._thread.is_alive()


def test_a_quiet_run_has_a_heartbeat(monkeypatch):
    monkeypatch.setattr("thresher.cli.live.app._BEAT", 0.05)
    with served() as (_, _, server):
        connection, answer = opened(server)
        for _ in range(12):
            if b"event: beat" in answer.readline():
                break
        else:
            raise AssertionError("no sign of life")
        assert b'"quiet":' in answer.readline()
        closed(connection, answer)


def test_a_taken_port_is_refused_in_a_sentence():
    with served() as (_, _, server):
        port = server.url.split(":")[2].split("/")[0]
        with pytest.raises(ValueError, match="give another --address"):
            Server(Board({}), Wishes(), f"127.0.0.1:{port}")


def test_ipv6_has_brackets():
    with Server(Board({}), Wishes(), "[::1]:0") as server:
        assert server.url.startswith("http://[::1]:")
        connection, answer = opened(server)
        closed(connection, answer)


# ------------------------------------------------------------------------------ the watcher


class Posts(Board):
    """A board that somebody reads, and that remembers what was posted."""

    def __init__(self, readers=1):
        super().__init__({})
        self.posts = []
        self._readers = {Reader() for _ in range(readers)}

    def post(self, kind, content):
        self.posts.append((kind, json.loads(event(kind, content).split(b"data: ")[1])))

    def all(self, kind):
        return [content for one, content in self.posts if one == kind]


def watching(show, tmp_path=Path("."), readers=1, rate=None):
    board, wishes = Posts(readers), Wishes()
    return Watcher(board, wishes, show, tmp_path / "model.thr", rate), board, wishes


@pytest.mark.parametrize("readers", [0, 1])
def test_watching_changes_no_bit(readers):
    X = planted(200, 12, 0)
    X[X < 0.1] = np.nan
    watcher, board, _ = watching(ModelShow(), readers=readers)
    plain = OnlineRobustNMF(3, **QUIET, drift="auto").fit(X)
    shown = OnlineRobustNMF(3, **QUIET, drift="auto", callbacks=[watcher]).fit(X)
    assert_array_equal(shown.components_, plain.components_)
    assert board.all("view")
    assert board.all("numbers")[0]["samples"] == 16


def test_what_is_shown_of_a_row_adds_up(monkeypatch):
    """As it came = explained + outliers + noise below λ; a gap is a gap."""
    monkeypatch.setattr("thresher.cli.live.watcher._VIEW_EVERY", 0.0)
    monkeypatch.setattr("thresher.cli.live.watcher._SHARE", 1e9)
    X = planted(64, 12, 0)
    X[-1, 3] = np.nan
    X[-1, 5] += 30
    names = [f"<b>{number}" for number in range(12)]
    watcher, board, _ = watching(ModelShow(names))
    model = OnlineRobustNMF(3, **QUIET, outlier_weight=0.5, callbacks=[watcher]).fit(X)
    watcher.finish()  # the last step is told whatever its time
    sample = board.all("view")[-1]["sample"]
    assert sample["kind"] == "row"
    for place, (name, value, explained, aside) in enumerate(sample["rows"]):
        assert name == names[place]
        if place == 3:
            assert value is None
            assert aside is None
        else:
            assert value == X[-1, place]
            assert abs(value - explained - aside) <= 0.5 * 1.001
    assert sample["rows"][5][3] > 20
    parts = board.all("view")[-1]["parts"]
    assert parts["count"] == 3
    top = int(np.argmax(model.components_[0]))
    assert parts["parts"][0]["bars"][0] == [names[top], 1.0]


@pytest.mark.parametrize("kind", ["pictures", "profile", "csr"])
def test_other_samples_have_views(kind):
    from scipy import sparse

    X = planted(48, 64, 0)
    show = ModelShow(shape=(8, 8)) if kind == "pictures" else ModelShow()
    watcher, board, _ = watching(show)
    data = sparse.csr_array(X) if kind == "csr" else X
    OnlineNMF(3, **QUIET, callbacks=[watcher]).fit(data)
    view = board.all("view")[-1]
    assert view["sample"]["kind"] == ("pictures" if kind == "pictures" else "profile")
    if kind == "pictures":
        sources = [one["source"] for one in view["sample"]["pictures"] + view["parts"]["pictures"]]
        assert len(sources) == 6
        assert all(source.startswith("data:image/png;base64,") for source in sources)
    else:
        values = view["sample"]["lines"][0]["values"]
        np.testing.assert_allclose(values, X[15], rtol=1e-3)


def test_readers_change_the_model_and_see_the_effect(tmp_path):
    X = planted(160, 12, 0)
    watcher, board, wishes = watching(ModelShow(), tmp_path)
    for wish in (
        Wish("change", "outlier_weight", "0.05"),
        Wish("change", "outlier_weight", "-3"),
        Wish("change", "forgetting", "64"),
        Wish("change", "batch_size", "1"),
        Wish("save"),
    ):
        wishes.put(wish)
    model = OnlineRobustNMF(3, **QUIET, callbacks=[watcher]).fit(X)
    assert model.outlier_weight == 0.05
    assert model.forgetting == 64
    notes = board.all("note")
    assert notes[0] == "Outlier weight λ is 0.05 from the next step on."
    assert notes[1].startswith("Not done: outlier_weight=-3 is not known")
    assert notes[3].startswith("Not done: there is no such control")
    assert notes[4] == "Saved after 16 samples, as model.thr."
    assert board.all("controls")[-1][0]["value"] == "0.05"
    assert board.all("noticed")[:2] == [
        "After 16 samples the outlier weight was changed to 0.05.",
        "After 16 samples the half-life was changed to 64 samples.",
    ]
    again = thresher.load(tmp_path / "model.thr").resume(X)
    assert_array_equal(again.components_, model.components_)


def test_a_pause_lasts_until_it_is_over():
    X = planted(160, 12, 0)
    watcher, board, wishes = watching(ModelShow())
    wishes.put(Wish("pause"))
    model = OnlineRobustNMF(3, **QUIET, callbacks=[watcher])
    learner = threading.Thread(target=model.fit, args=[X])
    learner.start()
    until(lambda: "paused" in board.all("state"))
    time.sleep(0.3)
    assert model.n_samples_seen_ == 16
    wishes.put(Wish("change", "forgetting", "50"))
    until(lambda: model.forgetting == 50)
    wishes.put(Wish("resume"))
    learner.join(10)
    assert not learner.is_alive()
    assert model.n_samples_seen_ == 160
    assert board.all("state") == ["paused", "learning"]


class SlowShow(ModelShow):
    """Looks take a hundredth of a second of the processor."""

    def view(self, step):
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
        return {}


def test_views_take_a_small_share_of_the_time(monkeypatch):
    monkeypatch.setattr("thresher.cli.live.watcher._VIEW_EVERY", 0.0)
    watcher, board, _ = watching(SlowShow())
    model = OnlineRobustNMF(3, **QUIET).partial_fit(planted(16, 12, 0))
    step = thresher.engine.Step(model.history_[-1], model.components_, model)
    began = time.monotonic()
    while time.monotonic() - began < 2.2:
        watcher(step)
    took = time.monotonic() - began
    assert 0.01 * (len(board.all("view")) - 1) <= max(_SHARE, 0.01 / _VIEW_LATEST) * took
    assert len(board.all("numbers")) <= took / 0.25 + 2, "four a second at most"


def test_a_rate_is_kept():
    watcher, _, _ = watching(ModelShow(), rate=400)
    began = time.perf_counter()
    OnlineRobustNMF(3, **QUIET, callbacks=[watcher]).fit(planted(200, 12, 0))
    assert time.perf_counter() - began >= (200 - 16 - 8) / 400


def test_a_video_is_shown_and_judged_by_another_threshold():
    frames = make_surveillance_scene(40, random_state=0).frames
    watcher, board, wishes = watching(VideoShow())
    separator = VideoSeparator(callbacks=[watcher], random_state=0, verbose=0)
    wishes.put(Wish("change", "threshold", "99.0"))
    wishes.put(Wish("change", "patience", "soon"))
    parts = list(separator.separate(frames[start : start + 20] for start in (0, 20)))
    plain = list(
        VideoSeparator(random_state=0, verbose=0).separate(
            frames[start : start + 20] for start in (0, 20)
        )
    )
    assert_array_equal(parts[0].mask, plain[0].mask)
    assert parts[1].mask.sum() < 0.2 * plain[1].mask.sum()
    assert separator.patience == 120
    assert board.all("note")[1].startswith("Not done: patience='soon' must be")
    view = board.all("view")[-1]
    assert [one["name"] for one in view["sample"]["pictures"]][1:] == ["Background", "What moves"]
    assert board.all("numbers")[-1]["samples"] in (20, 40)


def test_a_callback_ends_a_video():
    frames = make_surveillance_scene(40, random_state=0).frames
    seen = []
    separator = VideoSeparator(callbacks=[lambda step: seen.append(step) or True], verbose=0)
    parts = list(separator.separate(frames[start : start + 10] for start in range(0, 40, 10)))
    assert len(parts) == len(seen) == 1
    assert_array_equal(seen[0].frames, frames[:10])
    assert separator.n_frames_seen_ == 10


def test_documents_are_shown_with_their_strange_words_marked():
    usual = ["rain falls on the hills", "wind and rain in the north", "snow on northern hills"]
    new = "parliament votes on the <b>budget</b>"
    parts = [("0", usual * 20), ("1", [*usual, new]), ("2", usual)]
    steps = [DocumentStep(name, part, records_of(part, 0)) for name, part in parts]
    watcher, board, _ = watching(NoveltyShow())
    detector = NovelDocumentDetector(3, random_state=0, verbose=0)
    found = list(watched_steps(watcher, detector, iter(steps)))
    assert [each.step.start for each in found] == [True, False, False]
    sample = board.all("view")[0]["sample"]
    assert "".join(piece for piece, _ in sample["pieces"]) == new
    strange = {piece for piece, is_strange in sample["pieces"] if is_strange}
    assert {"parliament", "votes", "budget"} <= strange
    assert marked("a b", []) == [("a b", False)]
    assert board.all("numbers")[-1]["samples"] >= 63


def test_what_is_set_aside_is_a_share_of_the_entries_that_were_seen():
    x = np.array([1.0, np.nan, 3.0, np.nan, 5.0, 6.0])
    outliers = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    view = sample_view(x, np.ones(6), outliers, None, None, 1.0)
    assert view["said"] == "25.0% of its entries are set aside."
