"""The live page: who is let in, what readers get, what they change, and that nobody waits for them.

Most tests ask a command that runs in a process of its own, as a browser would.
"""

import gc
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import ExitStack, closing, contextmanager

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import thresher
from thresher.cli import app
from thresher.cli.live.board import Board
from thresher.cli.live.server import Server
from thresher.cli.live.wishes import Wishes

PATIENCE = 60.0  # seconds; machines of CI are busy
STATES = ("state", "picture")  # events that tell the state of the run
CLIENT = httpx.Client(
    timeout=PATIENCE, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
)


def command(*words, code=0):
    """Run a command in this process and return what it prints for machines."""
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout) if code == 0 else done.stderr


def wait_for(condition):
    """Return the first value of a condition that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("This did not come about.")


@contextmanager
def reader(url):
    """A page that is open: gives (kind, content) of the events that it is sent."""

    def events(lines):
        kind = None
        for line in lines:
            name, _, content = line.partition(": ")
            if name == "event":
                kind = content
            elif name == "data":
                yield kind, json.loads(content)

    with CLIENT.stream("GET", f"{url}events") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.iter_lines())


def picture(url):
    """Everything that a page that is opened now is told of the run."""
    with reader(url) as events:
        kind, content = next(events)
    assert kind == "picture"
    return content


def samples_seen(url):
    return picture(url).get("numbers", {}).get("samples", 0)


def state_at_last(events):
    states = [c if kind == "state" else c["state"] for kind, c in events if kind in STATES]
    return states[-1]


def post(url, wish, **headers):
    return CLIENT.post(f"{url}wish", json=wish, headers=headers).status_code


def note_on(url, wish):
    """Ask for something, and return the sentence that says what became of it."""
    with reader(url) as events:
        next(events)
        assert post(url, wish) == 202
        return next(content for kind, content in events if kind == "note")


class Run:
    """A command that runs in a process of its own with a live page."""

    def __init__(self, folder, *words, given=""):
        line = [sys.executable, "-c", "from thresher.cli import main; main()", *words]
        self.process = subprocess.Popen(
            line, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.process.stdin.write(given)
        self.process.stdin.flush()
        self.said = ""
        while not (found := re.search(r"http://\S+/", self.said)):
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
        self.url = found[0]

    def end(self):
        """Press Ctrl-C; return the exit code and the seconds until it was there."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, time.monotonic() - began


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    for kind in ("table", "docs", "video"):
        command("sample", kind, "--out", folder)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def start(folder):
    """Starts commands, which end with the tests."""
    with ExitStack() as ends:

        def started(*words, given=""):
            running = Run(folder, *words, given=given)
            ends.callback(running.process.communicate)
            ends.callback(running.process.kill)
            return running

        yield started


@pytest.fixture(scope="module")
def url(start):
    """The page of a run that goes on and on."""
    words = ["--n-components", "3", "--rate", "300", "--n-passes", "99999", "--tol", "0"]
    return start("live", "table.csv", *words).url


@pytest.fixture(scope="module")
def waiting(start, folder):
    """A run that waits for more of standard input, and connections without the token to it."""
    rows = (folder / "table.csv").read_text().splitlines(keepends=True)[:100]
    running = start("live", "-", "--n-components", "2", "--no-stay", given="".join(rows))
    running.strangers = [one for said in SAID.values() for one in strangers(running.url, 2, said)]
    yield running
    for one in running.strangers:
        one.close()


@contextmanager
def served(address="127.0.0.1:0"):
    """The server alone, with a board that tests write on."""
    board = Board({"title": "x"})
    with Server(board, Wishes(), address) as server:
        yield board, server.url


# ---------------------------------------------------------------------------- who is let in


def test_the_address_is_on_this_machine_and_cannot_be_guessed(url, waiting):
    tokens = set()
    for one in (url, waiting.url):
        host, token = re.fullmatch(r"http://([\d.]+):\d+/([^/]+)/", one).groups()
        assert host == "127.0.0.1"
        assert len(token) >= 24
        tokens.add(token)
    assert len(tokens) == 2


@pytest.mark.parametrize("path", ["", "events", "wish", "other-token/", "{token}x/", "x/y"])
def test_nothing_is_told_without_the_token(url, path):
    base, token = re.match(r"(.*/)([^/]+)/$", url).groups()
    answer = CLIENT.get(base + path.format(token=token))
    assert answer.status_code == 403
    assert token not in answer.text


HOSTS = {
    "127.0.0.1:0": (
        ["127.0.0.1", "127.0.0.1:80", "localhost:9", "LOCALHOST", "[::1]:7", "127.0.0.2"],
        [
            *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.a"),
            *("192.168.1.4", "::1", "[::1].evil", "[evil]", "[127.0.0.1]", "127.0.0.1:x"),
            *("[::2]", "127.0.0.1:80:80", "127.0.0.1@evil.example"),
        ],
    ),
    "[::1]:0": (["[::1]:8000", "[0:0:0:0:0:0:0:1]", "localhost"], ["[::2]", "evil.example"]),
    "0.0.0.0:0": (["192.168.1.4", "[fe80::1]:9", socket.gethostname()], ["evil.example"]),
}


@pytest.mark.parametrize("address", HOSTS)
def test_only_own_names_are_answered_to(address):
    """A page of somebody else whose name points here is not mistaken for this one."""
    good, bad = HOSTS[address]
    with served(address) as (_, url):
        url = url.replace(socket.gethostname(), "127.0.0.1")
        for host in good:
            assert CLIENT.get(url, headers={"host": host}).status_code == 200, host
        for host in bad:
            assert CLIENT.get(url, headers={"host": host}).status_code in (400, 403), host


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:{port}"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost:{port}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ],
    ids=str,
)
def test_other_pages_are_refused(url, headers):
    port = re.search(r":(\d+)/", url)[1]
    headers = {name: value.format(port=port) for name, value in headers.items()}
    assert CLIENT.get(url, headers=headers).status_code == 403
    assert post(url, {"verb": "resume"}, **headers) == 403


def test_the_page_itself_and_links_to_it_are_let_in(url):
    own = {"origin": url.rsplit("/", 2)[0], "sec-fetch-site": "same-origin"}
    assert post(url, {"verb": "resume"}, **own) == 202
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert CLIENT.get(url, headers=link).status_code == 200
    assert post(url, {"verb": "resume"}, **link) == 403


@pytest.mark.parametrize("path", ["page/live.css", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"])
def test_no_file_has_an_address(url, path):
    answer = CLIENT.get(url + path)
    assert answer.status_code in (403, 404)
    assert len(answer.text) < 100


def test_the_page_needs_nothing_and_runs_nothing_else(url):
    answer = CLIENT.get(url)
    code = re.sub(r"//[^\n]*", "", answer.text.replace("http://www.w3.org", ""))
    assert not re.findall(r"https?:", code)
    sources = re.findall(r"""(?:src|href)=["']?([^"'>]{0,20})""", answer.text)
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "innerHTML" not in answer.text  # data would become markup
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("address", ["127.0.0.1", ":80", "::1:80", "127.0.0.1:x", "a:99999", ""])
def test_addresses_have_a_host_and_a_port(here, address):
    assert "127.0.0.1:8000" in command("live", "table.csv", "--address", address, code=2)


def test_a_taken_port_is_refused(here, url):
    taken = url.split("/")[2]
    assert "--address" in command("live", "table.csv", "--address", taken, code=2)


# ----------------------------------------------------------- connections without the token

SAID = {
    "nothing": b"",
    "half a request": b"GET /",
    "another token": b"GET /wrong/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no HTTP": b"\x16\x03\x01",
}


def strangers(url, count, said):
    """Connections from somebody who does not know the token."""
    host, port = url.split("/")[2].split(":")
    found = []
    for _ in range(count):
        found.append(socket.create_connection((host, int(port)), timeout=10))
        found[-1].sendall(said)
    return found


def is_open(one):
    """Whether the other side has not closed a connection."""
    one.settimeout(0.001)
    try:
        while one.recv(4096):
            pass
    except TimeoutError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.parametrize("said", SAID)
def test_strangers_do_not_keep_out_those_who_know_the_address(url, said):
    with reader(url) as before, ExitStack() as closes:
        next(before)
        many = [closes.enter_context(closing(one)) for one in strangers(url, 400, SAID[said])]
        assert CLIENT.get(url).status_code == 200
        assert picture(url)["state"] == "learning"
        assert next(before)  # those who are in stay
        time.sleep(0.2)
        assert sum(map(is_open, many)) <= 64


# -------------------------------------------------------------------------- what readers get


def test_a_reader_knows_what_somebody_knows_who_opens_the_page_later():
    """Whatever a reader missed, and however long the run is: at most some hundred points."""
    with served() as (board, url), reader(url) as events:
        known = next(events)[1]
        for number in range(1500):
            board.post("numbers", {"samples": number, "point": [number, float(number)]})
            if number % 7 == 0:
                board.post("noticed", f"at {number}")
            if number % 50 == 0:
                time.sleep(0.01)
        board.post("state", "done")
        while known["state"] != "done":
            kind, content = next(events)
            if kind == "picture":
                known = content
            elif kind == "noticed":
                known["noticed"] = (known["noticed"] + [content])[-50:]
            elif kind != "beat":
                known[kind] = content
        later = picture(url)
        assert {**later, "curve": None} == {**known, "curve": None}
        assert later["curve"][-1] == [1499, 1499.0]
        assert 100 < len(later["curve"]) <= 400
        assert len(later["noticed"]) == 50


def test_events_are_json_whatever_they_hold():
    with served() as (board, url), reader(url) as events:
        next(events)
        board.post("view", {"a": [np.nan, float("inf"), 1.5], "b": "</script>\n\nevent: x\u2028"})
        content = next(content for kind, content in events if kind == "view")
    assert content == {"a": [None, None, 1.5], "b": "</script>\n\nevent: x\u2028"}


def test_a_reader_that_takes_nothing_costs_nothing():
    """Ten megabytes are posted at once; what is held for the reader is a few messages."""
    with served() as (board, url), reader(url) as events:
        next(events)
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


def test_reloads_leave_nothing_behind():
    with served() as (board, url):
        sizes = []
        tracemalloc.start()
        for number in range(70):
            picture(url)
            wait_for(lambda: board.n_readers == 0)
            if number in (19, 69):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 100_000  # two thousand bytes for each reload


def test_too_many_readers_are_refused():
    with served() as (_, url), ExitStack() as closes:
        readers = [closes.enter_context(reader(url)) for _ in range(32)]
        assert {next(events)[0] for events in readers} == {"picture"}
        with CLIENT.stream("GET", f"{url}events") as answer:
            assert answer.status_code == 503


def test_the_end_is_told_to_all_readers():
    with ExitStack() as closes:
        with served() as (_, url):
            some = [closes.enter_context(reader(url)) for _ in range(10)]
            began = time.perf_counter()
        assert time.perf_counter() - began < 5
        for events in some:
            assert state_at_last(events) == "ended"


def test_what_is_shown_of_a_row_adds_up(url):
    """A row is what the components explain, plus outliers, plus noise below λ."""
    wait_for(lambda: "view" in picture(url))
    known = {}
    with reader(url) as events:
        for kind, content in events:
            known |= content if kind == "picture" else {kind: content}
            if kind == "view":
                break
    weight, view = float(known["controls"][0]["now"]), known["view"]
    rows = view["sample"]["rows"]
    assert len(rows) == 24
    for name, value, explained, outlier in rows:
        assert re.fullmatch(r"\w+", name)
        if value is None:
            assert outlier is None
        else:
            assert abs(value - explained - outlier) <= 1.01 * weight
    assert view["parts"]["count"] == 3


def test_a_quiet_run_has_a_heartbeat(waiting):
    with reader(waiting.url) as events:
        next(events)
        assert next(events)[0] == "beat"


# ------------------------------------------------------------------------ what readers change


@pytest.mark.parametrize(
    "wish",
    [
        {"verb": "rm"}, {}, [], "x" * 3000, None, {"verb": "save", "name": ["a"]},
        {"verb": "change", "text": "9" * 101},
    ],
    ids=lambda wish: str(wish)[:30],
)  # fmt: skip
def test_nothing_else_can_be_asked_for(url, wish):
    assert post(url, wish) == 400


def test_forms_of_other_pages_cannot_ask(url):
    plain = {"content-type": "text/plain"}
    answer = CLIENT.post(f"{url}wish", content='{"verb":"pause"}', headers=plain)
    assert answer.status_code == 400
    assert CLIENT.get(f"{url}wish").status_code == 405


def test_a_pause_lasts_until_it_is_over(url):
    note_on(url, {"verb": "pause"})
    paused = picture(url)
    assert paused["state"] == "paused"
    time.sleep(0.5)
    assert samples_seen(url) == paused["numbers"]["samples"]
    note_on(url, {"verb": "resume"})
    assert picture(url)["state"] == "learning"
    wait_for(lambda: samples_seen(url) > paused["numbers"]["samples"])


def test_controls_change_parameters_of_the_model_that_is_saved(url, folder):
    def change(name, text):
        return note_on(url, {"verb": "change", "name": name, "text": text})

    note_on(url, {"verb": "pause"})
    assert "2.5" in change("outlier_weight", "2.5")
    assert "300" in change("forgetting", "300")
    for name, text in (("outlier_weight", "-3"), ("forgetting", "<b>soon</b>"), ("tol", "1")):
        assert "Not done" in change(name, text)
    now = picture(url)
    assert [control["value"] for control in now["controls"]] == ["2.5", "300"]
    note_on(url, {"verb": "save"})
    (file,) = folder.glob("live-*.thr")  # in the folder of the command
    model = thresher.load(file)
    assert (model.outlier_weight, model.forgetting) == (2.5, 300)
    assert model.n_samples_seen_ == now["numbers"]["samples"]
    note_on(url, {"verb": "resume"})
    assert wait_for(lambda: len(picture(url)["noticed"]) >= 2)  # both changes, with the next batch


@pytest.mark.parametrize(
    ("words", "name", "value", "wrong", "kind"),
    [
        (["separate", "street.avi"], "threshold", "4.0", "-1", "pictures"),
        (["novelty", "docs.jsonl"], "false_alarm_rate", "0.1", "2", "document"),
    ],
    ids=["video", "documents"],
)
def test_tasks_have_views_and_controls_of_their_own(start, words, name, value, wrong, kind):
    url = start(*words, "--live", "--stay").url
    seen = wait_for(lambda: (now := picture(url))["state"] == "done" and "view" in now and now)
    assert seen["view"]["sample"]["kind"] == kind
    assert seen["curve"]
    assert "Not done" in note_on(url, {"verb": "change", "name": name, "text": wrong})
    assert "Not done" not in note_on(url, {"verb": "change", "name": name, "text": value})
    values = {control["name"]: control["value"] for control in picture(url)["controls"]}
    assert values[name] == value


def test_what_is_asked_for_waits_in_a_queue_of_fixed_length(waiting):
    """Until the next step of a learner that has nothing to learn from."""
    answers = [post(waiting.url, {"verb": "save"}) for _ in range(20)]
    assert answers == [202] * 16 + [503] * 4


# ------------------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (["fit", "table.csv", "m.thr", "--n-components", 3], lambda told: told["loss"]),
        (["novelty", "docs.jsonl"], lambda told: told["steps"]),
        (["separate", "street.avi", "--mask", "m.npy"], lambda _: np.load("m.npy").tobytes()),
    ],
    ids=["fit", "novelty", "separate"],
)
def test_a_live_page_changes_nothing_of_the_run(here, words, outcome):
    plain = outcome(command(*words))
    told = command(*words, "--live")
    assert told["live"].startswith("http://127.0.0.1:")
    assert outcome(told) == plain


def test_live_learns_in_small_batches_and_knows_documents(here):
    told = command("live", "table.csv", "--n-components", 3, "--no-stay", "--save", "m.thr")
    model = thresher.OnlineRobustNMF(3, batch_size=32, drift="auto", random_state=0, verbose=0)
    model.fit(thresher.open("table.csv"))
    np.testing.assert_array_equal(thresher.load("m.thr").components_, model.components_)
    assert told["chosen"]["batch_size"]["value"] == 32
    assert command("live", "docs.jsonl", "--no-stay")["documents"] == 840
    assert command("live", "street.avi", "--no-stay", "--n-components", 2)["n_features"] > 1000


def test_a_rate_is_kept(here):
    began = time.perf_counter()
    words = ["--rate", 1000, "--n-passes", 1, "--no-stay", "--n-components", 2]
    command("live", "table.csv", *words)
    assert time.perf_counter() - began >= (840 - 2 * 32) / 1000


def test_ctrl_c_ends_the_run_and_keeps_the_model(start, folder):
    words = ["--n-components", "3", "--rate", "300", "--tol", "0", "--n-passes", "999"]
    running = start("live", "table.csv", *words, "--save", "kept.thr")
    wait_for(lambda: samples_seen(running.url) > 0)
    last = []
    with reader(running.url) as events:
        listener = threading.Thread(target=lambda: last.extend(events))
        listener.start()
        code, seconds = running.end()
        listener.join(PATIENCE)
    assert code == 0
    assert seconds < 10
    assert "Traceback" not in running.said
    assert state_at_last(last) == "ended"
    assert thresher.load(folder / "kept.thr").n_samples_seen_ > 0


def test_strangers_have_to_leave(waiting):
    """After ten seconds; they came when the run began."""
    wait_for(lambda: not any(map(is_open, waiting.strangers)))
    assert CLIENT.get(waiting.url).status_code == 200
