"""Connections without the token do not keep out those who have it, and do not stay."""

import http.client
import socket
import time
from contextlib import ExitStack

import pytest

from thresher.cli.live.board import Board
from thresher.cli.live.server import Server
from thresher.cli.live.wishes import Wishes

SAID = {
    "nothing": b"",
    "half a request": b"GET /",
    "another token": b"GET /wrong/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no HTTP": b"\x16\x03\x01",
}


@pytest.fixture
def server():
    with Server(Board({"title": "x"}), Wishes(), "127.0.0.1:0") as server:
        yield server


def asked(server, path=""):
    """What the owner of the page gets."""
    host, rest = server.url.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", f"/{rest}{path}")
    return connection, connection.getresponse()


def strangers(server, count, said):
    host, port = server.url.removeprefix("http://").split("/")[0].split(":")
    found = []
    for _ in range(count):
        one = socket.create_connection((host, int(port)), timeout=10)
        one.sendall(said)
        found.append(one)
    return found


def is_open(one):
    """Whether the other side has not closed a connection; what it said is read over."""
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
def test_the_owner_of_the_page_gets_in(server, said):
    with ExitStack() as closes:
        before, stream = asked(server, "events")
        closes.callback(before.close)
        assert stream.status == 200
        many = strangers(server, 400, SAID[said])
        for one in many:
            closes.callback(one.close)
        for path in ("", "events"):
            connection, answer = asked(server, path)
            closes.callback(connection.close)
            assert answer.status == 200
        assert stream.readline()  # those who are in stay
        time.sleep(0.2)
        assert sum(map(is_open, many)) <= 64


def test_strangers_have_to_leave(monkeypatch):
    monkeypatch.setattr("thresher.cli.live.connections._TO_ASK", 0.3)
    with Server(Board({"title": "x"}), Wishes(), "127.0.0.1:0") as server, ExitStack() as closes:
        connection, stream = asked(server, "events")
        closes.callback(connection.close)
        many = [one for said in SAID.values() for one in strangers(server, 3, said)]
        for one in many:
            closes.callback(one.close)
        end = time.monotonic() + 8
        while any(map(is_open, many)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(map(is_open, many))
        assert stream.readline()
        connection, answer = asked(server)
        closes.callback(connection.close)
        assert answer.status == 200
