"""Reading ahead: the next batches are made in a thread while the current one is coded."""

import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

_PATIENCE = 0.1  # seconds between looks whether the reader has gone; by judgement
_LONGEST = 1.0  # seconds to wait for a thread that may wait for a camera; by judgement


def read_ahead(items: Iterator[Any], n_ahead: int) -> Generator[Any]:
    """The same items in the same order, up to ``n_ahead`` of them made before they are asked for.

    An error comes out where its item would have. Whoever stops asking (`close`, an error, an
    interrupt) stops the thread too.
    """
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(n_ahead)
    gone = threading.Event()

    def put(message: tuple[bool, Any]) -> bool:
        while not gone.is_set():
            try:
                waiting.put(message, timeout=_PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))
        finally:
            close = getattr(items, "close", None)  # files are closed by the thread that opened them
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="thresher-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            try:
                more, item = waiting.get(timeout=_PATIENCE)  # so that Ctrl-C is heard everywhere
            except queue.Empty:
                continue
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        gone.set()
        with suppress(queue.Empty):
            waiting.get_nowait()  # whoever waits for room to put something need not wait any longer
        thread.join(_LONGEST)
