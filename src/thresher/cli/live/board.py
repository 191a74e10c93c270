"""What the learner says, for as many readers as there are: it leaves word, and never waits.

The learner, in its own thread, puts messages into a queue of fixed length. Everything else happens
in the thread of the server: messages are folded into one picture of the run, from which a new
reader starts, and handed on to the readers. A reader that is too slow loses the oldest of its
messages, and gets the whole picture instead.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

_WAITING = 64  # messages of the learner that the server has not taken; by judgement
_QUEUE = 8  # messages that a reader has not taken; by judgement
_CURVE = 400  # points; by judgement
_NOTICED = 50  # events that a new reader is told of; by judgement
MOST_READERS = 32  # by judgement: ten people, and what they forgot to close


class Message(NamedTuple):
    """A kind and what there is to say; all that is known of this kind, unless it adds to a list."""

    kind: str
    content: Any


class PageConnection:
    """A page that is open: what it has not been sent yet, at most a few messages."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque(maxlen=_QUEUE)
        self.behind = True  # it knows nothing, so it starts with the whole picture
        self.news = asyncio.Event()

    def put(self, text: bytes) -> None:
        """Hand on a message; the oldest is lost if there are too many."""
        self.behind = self.behind or len(self._queue) == _QUEUE
        self._queue.append(text)
        self.news.set()

    def take(self, board: Board) -> list[bytes]:
        """What to send now; the whole picture, if something was lost."""
        waiting, self.behind = [board.picture()] if self.behind else list(self._queue), False
        self._queue.clear()
        self.news.clear()
        return waiting


class Board:
    """The run as far as it is known, and those who read of it."""

    def __init__(self, about: dict[str, Any]) -> None:
        self._picture: dict[str, Any] = {
            "about": about, "state": "learning", "curve": [], "noticed": [],
        }  # fmt: skip
        self._readers: set[PageConnection] = set()
        self._given: deque[Message] = deque(maxlen=_WAITING)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told_to_look = False
        self._number = 0
        self._last_word = time.monotonic()
        self.ended = False
        self.spent = 0.0
        """Seconds of the processor that the thread of the server has taken so far."""

    # ------------------------------------------------------------ for the learner

    @property
    def n_readers(self) -> int:
        """How many pages are open."""
        return len(self._readers)

    def post(self, kind: str, content: Any) -> None:
        """Leave word; if the server does not keep up, the oldest word is lost."""
        self._last_word = time.monotonic()
        self._given.append(Message(kind, content))
        if self._loop is not None and not self._told_to_look:
            self._told_to_look = True
            self._call(self._look)

    def end(self) -> None:
        """Say that the program ends, after which nobody is served."""
        self.post("state", "ended")
        self._call(self._end)

    def _call(self, function: Any) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(function)

    # ---------------------------------------------------- in the thread of the server

    def serve_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand messages on in this loop from now on."""
        self._loop = loop
        self._look()

    @contextmanager
    def reader(self) -> Iterator[PageConnection]:
        """A page is open; when it is closed, nothing of it is left."""
        reader = PageConnection()
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def picture(self) -> bytes:
        """All that is known, as an event for a page."""
        return event("picture", self._picture, self._number)

    def beat(self) -> bytes:
        """A sign of life, with the seconds since the learner said something."""
        return event("beat", {"quiet": round(time.monotonic() - self._last_word, 1)})

    def _look(self) -> None:
        self.spent = time.thread_time()
        self._told_to_look = False
        while self._given:
            message = self._given.popleft()
            self._number += 1
            self._fold(message)
            if self._readers:
                text = event(message.kind, message.content, self._number)
                for reader in self._readers:
                    reader.put(text)

    def _fold(self, message: Message) -> None:
        kind, content = message
        if kind == "noticed":
            self._picture[kind] = [*self._picture[kind], content][-_NOTICED:]
            return
        self._picture[kind] = content
        if kind == "numbers":
            self._picture["curve"] = with_point(self._picture["curve"], content["point"])

    def _end(self) -> None:
        self._look()
        self.ended = True
        for reader in self._readers:
            reader.news.set()


def with_point(curve: list[Any], point: list[Any]) -> list[Any]:
    """A curve with one more point; if it is too long, every second of its older half goes."""
    if curve and curve[-1][0] == point[0]:
        return curve
    longer, half = [*curve, point], _CURVE // 2
    return longer if len(longer) <= _CURVE else longer[:half:2] + longer[half:]


def event(kind: str, content: Any, number: int | None = None) -> bytes:
    """A server-sent event: its number, its kind, and a line of JSON."""
    data = json.dumps(_finite(content), separators=(",", ":"), allow_nan=False)
    name = "" if number is None else f"id: {number}\n"
    return f"{name}event: {kind}\ndata: {data}\n\n".encode()


def _finite(content: Any) -> Any:
    """The same without NaN and infinities, of which JSON knows nothing."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(name): _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content
