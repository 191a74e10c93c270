"""Between two steps: tell the page what there is to see, and do what its readers ask for."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thresher.cli.live.board import Board
from thresher.cli.live.shows.base import Show
from thresher.cli.live.wishes import Wish, Wishes
from thresher.cli.parameters import spoken

_log = logging.getLogger(__name__)

# All by judgement.
_NUMBERS_EVERY, _NUMBERS_LATEST = 0.25, 2.0  # seconds
_VIEW_EVERY, _VIEW_LATEST = 1.0, 5.0
_SHARE = 1 / 100  # of the time may go into views, and as much into sending
_RATE_OVER = 5.0  # seconds of which the speed is told
_NAP = 0.25  # seconds between two looks while nothing is learned


class Watcher:
    """A callback: what it is told goes to a board, what readers wish happens between two steps.

    Parameters
    ----------
    board : Board
    wishes : Wishes
    show : Show
        What there is to see.
    path : Path
        Where models are saved when a reader asks for it.
    rate : float, optional
        Samples a second, at most: slower than it could be, to look at.
    """

    def __init__(
        self, board: Board, wishes: Wishes, show: Show, path: Path, rate: float | None = None
    ) -> None:
        self._board, self._wishes, self._show = board, wishes, show
        self._path, self._rate = path, rate
        self.saved = self.interrupted = False
        self._paused = False
        self._next_numbers = self._next_view = 0.0
        self._spent = 0.0
        self._viewed: Any = None
        self._controls: Any = None
        self._speed: deque[tuple[float, int]] = deque(maxlen=1000)
        self._began: tuple[float, int] | None = None
        self._last: Any = None

    def __call__(self, step: Any) -> None:
        """Tell of a step. Returns at once, unless a reader has paused the run."""
        self._last = step
        if time.monotonic() < self._next_numbers and not self._wishes and self._rate is None:
            return  # most steps, where they are short
        numbers = self._show.numbers(step)
        self._tell(step, numbers)
        self._grant(step)
        self._keep_pace(step, int(numbers["samples"]))
        if self._paused:
            while self._paused:
                self._grant(step, _NAP)
            self._speed.clear()  # a pause is no time of learning
            self._began = None

    def finish(self) -> None:
        """There is no more to read: tell of the last step whatever its time."""
        self._board.post("state", "done")
        if self._last is not None:
            self._tell_numbers(self._show.numbers(self._last))
            self._look(self._last)

    def stay(self) -> None:
        """Do what readers ask for until Ctrl-C."""
        while True:
            self._grant(self._last, _NAP)

    # ---------------------------------------------------------------------- telling

    def _tell(self, step: Any, numbers: dict[str, Any]) -> None:
        now = time.monotonic()
        self._speed.append((now, int(numbers["samples"])))
        for sentence in self._show.noticed(step):
            self._board.post("noticed", sentence)
        if now >= self._next_numbers:
            spent, self._spent = self._board.spent - self._spent, self._board.spent
            pause = spent / _SHARE * _crowding()
            self._next_numbers = now + min(max(_NUMBERS_EVERY, pause), _NUMBERS_LATEST)
            self._tell_numbers(numbers)
        if now >= self._next_view and (self._board.n_readers or self._viewed is None):
            self._look(step)

    def _tell_numbers(self, numbers: dict[str, Any]) -> None:
        point = [numbers["samples"], numbers[self._show.curve]]
        rate = self._samples_a_second()
        self._board.post("numbers", {**numbers, "rate": rate, "point": point})

    def _look(self, step: Any) -> None:
        """Show the sample and the parts; the next time after some hundred times what it took."""
        began, used = time.monotonic(), time.thread_time()
        controls = [asdict(control) for control in self._show.controls(step)]
        if controls != self._controls:
            self._board.post("controls", controls)
            self._controls = controls
        self._board.post("view", self._show.view(step))
        self._viewed = step
        pause = (time.thread_time() - used) / _SHARE * _crowding()
        self._next_view = began + min(max(_VIEW_EVERY, pause), _VIEW_LATEST)

    def _samples_a_second(self) -> float:
        last, samples = self._speed[-1]
        while len(self._speed) > 2 and last - self._speed[0][0] > _RATE_OVER:
            self._speed.popleft()
        first, before = self._speed[0]
        return (samples - before) / (last - first) if last > first else float("nan")

    # ---------------------------------------------------------------------- wishes

    def _grant(self, step: Any, seconds: float = 0.0) -> None:
        """Do all that was asked for; waits so long for the first wish."""
        wish = self._wishes.next(seconds)
        while wish is not None:
            self._board.post("note", self._done(step, wish))
            wish = self._wishes.next()
        if self._paused and self._viewed is not step and self._board.n_readers:
            self._look(step)

    def _done(self, step: Any, wish: Wish) -> str:
        """Do what was asked for; a sentence says what became of it."""
        if wish.verb in ("pause", "resume"):
            self._paused = wish.verb == "pause"
            if self._paused and step is not None:  # what is seen is then what is
                self._tell_numbers(self._show.numbers(step))
                self._look(step)
            self._board.post("state", "paused" if self._paused else "learning")
            return "Paused after this step." if self._paused else "Learning goes on."
        if step is None:
            return "Nothing is learned yet; wait for the first step."
        try:
            return self._saved(step) if wish.verb == "save" else self._changed(step, wish)
        except (ValueError, TypeError, OSError) as error:
            return f"Not done: {error}"

    def _saved(self, step: Any) -> str:
        from thresher import save

        save(self._show.model(step), self._path)
        self.saved = True
        samples = self._show.numbers(step)["samples"]
        _log.info("Saved after %d %s: %s", samples, self._show.unit, self._path)
        return f"Saved after {samples:,} {self._show.unit}, as {self._path.name}."

    def _changed(self, step: Any, wish: Wish) -> str:
        known = {control.name: control for control in self._show.controls(step)}
        if wish.name not in known:
            raise ValueError("there is no such control.")
        self._show.change(step, wish.name, spoken(wish.text.strip()))
        for sentence in self._show.noticed(step):
            self._board.post("noticed", sentence)
        self._look(step)
        return f"{known[wish.name].label} is {wish.text.strip()} from the next step on."

    # ------------------------------------------------------------------------ time

    def _keep_pace(self, step: Any, samples: int) -> None:
        """Wait until so many samples are due; wishes are granted meanwhile."""
        if self._rate is None:
            return
        if self._began is None:
            self._began = (time.monotonic(), samples)
        began, before = self._began
        due = began + (samples - before) / self._rate
        while not self._paused and (left := due - time.monotonic()) > 0:
            self._grant(step, min(left, _NAP))


def _crowding() -> float:
    """How many programs want a processor, for each that there is; at least one.

    Where many do, a second on the clock is less than one of learning, and the page takes less.
    """
    if not hasattr(os, "getloadavg"):  # as on Windows
        return 1.0
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
