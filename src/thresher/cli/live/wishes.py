"""What readers of the page ask for, until the learner has time for it: between two steps."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

VERBS = ("pause", "resume", "save", "change")
_MOST = 16  # that wait; by judgement
_LETTERS = 100  # of a value


@dataclass(frozen=True)
class Wish:
    """A verb, and for a change the name of a control and the text that was typed."""

    verb: str
    name: str = ""
    text: str = ""

    @classmethod
    def of(cls, given: Any) -> Wish:
        """From what a browser sent; a ValueError if it is no wish."""
        if not isinstance(given, dict) or given.get("verb") not in VERBS:
            raise ValueError
        parts = {"name": given.get("name", ""), "text": given.get("text", "")}
        if any(not isinstance(part, str) or len(part) > _LETTERS for part in parts.values()):
            raise ValueError
        return cls(given["verb"], **parts)


class Wishes:
    """A queue of fixed length between the server and the learner."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Wish] = queue.Queue(_MOST)

    def __bool__(self) -> bool:
        return bool(self._queue.queue)  # without a lock: a wish that is missed is seen next time

    def put(self, wish: Wish) -> bool:
        """Add a wish; False if too many wait."""
        try:
            self._queue.put_nowait(wish)
        except queue.Full:
            return False
        return True

    def next(self, seconds: float = 0.0) -> Wish | None:
        """The next one, or None; waits for it so long."""
        try:
            return self._queue.get(timeout=seconds) if seconds > 0 else self._queue.get_nowait()
        except queue.Empty:
            return None
