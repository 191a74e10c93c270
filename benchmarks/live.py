"""What a live page costs: ten readers, a stream without an end, memory and speed all along the way.

A model learns from a stream without an end while ten readers in another process follow its page,
and one more is connected that never reads a byte. Stretches of two seconds alternate: in one the
page is told of every step, in the other nobody tells it anything. So both see the same machine, the
same model and the same readers. The cost is the time of a sample in a stretch with the page, over
that in the stretches before and after it: on the wall, and of the processor (all threads of the
process that learns, the server's too; readers are in a process of their own). Medians, with
quartiles.

Memory is what is resident after each stretch: the first minute is left out, as history and caches
fill; the slope is a line through the rest.

    python benchmarks/live.py [--minutes 30] [--readers 10] [--only video]

``video``: pictures of 96 × 128 pixels, ten parts, batches of 32. ``table``: 24 columns, three
parts, batches of 32: steps of a millisecond, the worst case for what is done at every step. Each
has its half of the minutes. Writes ``results/live.json``.
"""

import http.client
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, Row, command_line, machine, write_json

from thresher import OnlineRobustNMF

# The parts of `thresher fit --live`, whose delays are measured one by one: not public.
from thresher.cli.live.board import Board
from thresher.cli.live.server import Server
from thresher.cli.live.shows.model import ModelShow
from thresher.cli.live.watcher import Watcher
from thresher.cli.live.wishes import Wishes
from thresher.datasets import make_surveillance_scene
from thresher.engine import Step
from thresher.linalg import Array

STRETCH = 2.0  # seconds
WARM = 60.0  # seconds without a verdict on memory
BATCH = 32


def resident() -> float:
    """Megabytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# -------------------------------------------------------------------------------- readers


def connected(url: str) -> tuple[Any, Any]:
    host, path = url.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(host)
    connection.request("GET", f"/{path}events")
    return connection, connection.getresponse()


def read_all(url: str, count: int, told: Any) -> None:
    """Follow a page ``count`` times, and count events and bytes, until it ends."""
    import threading

    events, size = [0] * count, [0] * count

    def follow(number: int) -> None:
        connection, answer = connected(url)
        while line := answer.readline():
            size[number] += len(line)
            events[number] += line.startswith(b"event: ")
        connection.close()

    threads = [threading.Thread(target=follow, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.put((sum(events), sum(size)))


# ------------------------------------------------------------------------------- streams


def video() -> tuple[dict[str, Any], Array, tuple[int, ...]]:
    scene = make_surveillance_scene(512, height=96, width=128, random_state=0)
    return {"n_components": 10}, scene.frames.reshape(512, -1), (96, 128)


def table() -> tuple[dict[str, Any], Array, None]:
    rng = np.random.default_rng(0)
    X = rng.random((4096, 3)) @ rng.random((3, 24)) + 0.05 * rng.random((4096, 24))
    X[rng.random(X.shape) < 0.02] += 5
    return {"n_components": 3}, X, None


STREAMS = {"video": video, "table": table}


def without_end(X: Array) -> Iterator[Array]:
    while True:
        for start in range(0, len(X), BATCH):
            yield X[start : start + BATCH]


# ------------------------------------------------------------------------------ measuring


class Stretches:
    """A callback that has a watcher told in every other stretch, and keeps the clock."""

    def __init__(self, watcher: Watcher, seconds: float) -> None:
        self._watcher, self._until = watcher, time.perf_counter() + seconds
        self._telling = True
        self.rows: list[Row] = []
        self._begin(0)

    def _begin(self, samples: int) -> None:
        self._started = (time.perf_counter(), time.process_time(), samples)

    def __call__(self, step: Step) -> bool:
        """Tell, or not; the next stretch begins when this one is over."""
        if self._telling:
            self._watcher(step)
        now = time.perf_counter()
        wall, processor, samples = self._started
        if now - wall < STRETCH:
            return False
        done = step.row.samples - samples
        self.rows.append(
            {
                "telling": self._telling,
                "at": now,
                "wall": (now - wall) / done,
                "processor": (time.process_time() - processor) / done,
                "samples": done,
                "megabytes": resident(),
            }
        )
        self._telling = not self._telling
        self._begin(step.row.samples)
        return now > self._until


def costs(rows: list[Row], key: str) -> Array:
    """Of each stretch with a page, over the mean of its neighbours without."""
    found = [
        row[key] / (0.5 * (before[key] + after[key]))
        for before, row, after in zip(rows, rows[1:], rows[2:], strict=False)
        if row["telling"]
    ]
    return np.array(found)


def quartiles(values: Array) -> list[float]:
    return [round(float(value), 4) for value in np.quantile(values, [0.25, 0.5, 0.75])]


def by_minute(rows: list[Row]) -> list[float]:
    """Megabytes at the end of every minute."""
    minutes = {int((row["at"] - rows[0]["at"]) // 60): row["megabytes"] for row in rows}
    return [round(minutes[minute], 1) for minute in sorted(minutes)]


def measured(name: str, seconds: float, n_readers: int) -> Row:
    parameters, X, shape = STREAMS[name]()
    show = ModelShow(shape=shape)
    board, wishes = Board({"title": name, "what": "", "file": "", **show.about()}), Wishes()
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    with Server(board, wishes, "127.0.0.1:0") as server:
        readers = context.Process(target=read_all, args=(server.url, n_readers, told))
        readers.start()
        stuck = connected(server.url)
        while board.n_readers < n_readers + 1:
            time.sleep(0.1)
        stretches = Stretches(Watcher(board, wishes, show, Path("never.thr")), seconds)
        model = OnlineRobustNMF(
            **parameters, forgetting=5000, batch_size=BATCH, random_state=0, verbose=0,
            callbacks=[stretches],
        )  # fmt: skip
        model.fit(without_end(X))
    events, size = told.get(timeout=30)
    readers.join(30)
    stuck[0].close()
    return summed_up(name, stretches.rows, n_readers, events, size)


def summed_up(name: str, rows: list[Row], n_readers: int, events: int, size: int) -> Row:
    late = [row for row in rows if row["at"] - rows[0]["at"] > WARM] or rows
    at, memory = (np.array([row[key] for row in late]) for key in ("at", "megabytes"))
    hours = (at - at[0]) / 3600
    slope = float(np.polyfit(hours, memory, 1)[0]) if len(late) > 2 else float("nan")
    result = {
        "stream": name,
        "readers": n_readers,
        "minutes": round((rows[-1]["at"] - rows[0]["at"]) / 60, 1),
        "stretches": len(rows),
        "samples": sum(row["samples"] for row in rows),
        "samples_a_second": round(1 / float(np.median([row["wall"] for row in rows])), 1),
        "cost_wall": quartiles(costs(rows, "wall")),
        "cost_processor": quartiles(costs(rows, "processor")),
        "events_read": events,
        "megabytes_read": round(size / 1e6, 1),
        "memory_after_a_minute": round(float(memory[0]), 1),
        "memory_at_the_end": round(float(memory[-1]), 1),
        "memory_most": round(float(memory.max()), 1),
        "memory_a_hour": round(slope, 2),
        "memory_by_minute": by_minute(rows),
    }
    print(
        f"{name}: {result['samples_a_second']} samples a second for {result['minutes']} minutes; "
        f"with a page and {n_readers} readers the wall clock is {result['cost_wall'][1]:.3f} times "
        f"that without {result['cost_wall']}, the processor {result['cost_processor']}; memory "
        f"{result['memory_after_a_minute']} MB after a minute, {result['memory_at_the_end']} at "
        f"the end ({result['memory_a_hour']:+.1f} an hour); {events} events, "
        f"{result['megabytes_read']} MB read."
    )
    return result


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--only", choices=STREAMS)
    given = parser.parse_args()
    names = [given.only] if given.only else list(STREAMS)
    seconds = 60 * given.minutes / len(names)
    rows = [measured(name, seconds, given.readers) for name in names]
    write_json(RESULTS / "live.json", {"machine": machine(), "streams": rows})


if __name__ == "__main__":
    main()
