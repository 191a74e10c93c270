"""The thread pool: row blocks in parallel, results in order, one BLAS thread for each.

Matrix products and compiled loops release the GIL, so threads suffice. Left alone, each product
would start threads of its own and the pool would drown in them; BLAS is limited once, while the
pool is open, not for every batch.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, cached_property
from itertools import chain, islice
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _blas() -> list[Any]:
    # Looking for loaded libraries takes milliseconds; NumPy's and SciPy's are both loaded by now.
    import scipy.linalg  # noqa: F401 - loads the library that compiled loops use

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """A pool of ``n_jobs`` threads (None or −1: one for each core), used as a context."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self._given = n_jobs
        self._executor: ThreadPoolExecutor | None = None
        self._limited: list[tuple[Any, int]] = []

    def __enter__(self) -> "Pool":
        # Asking is nearly free, and of a step on few samples nothing else may be left.
        threads = [(library, library.num_threads) for library in _blas()]
        self._limited = [(library, now) for library, now in threads if now not in (None, 1)]
        for library, _ in self._limited:
            library.set_num_threads(1)
        return self

    @cached_property
    def n_jobs(self) -> int:
        """How many threads there may be."""
        given = self._given
        return _cores() if given is None or given < 0 else max(1, given)

    @property
    def _threads(self) -> ThreadPoolExecutor:
        """Made when they are first needed: a single block is done sooner than a thread starts."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="thresher")
        return self._executor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
        for library, before in self._limited:
            library.set_num_threads(before)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do the work on every item; a single item runs in this thread."""
        items = list(items)
        if len(items) < 2 or self.n_jobs < 2:
            return [work(item) for item in items]
        # This thread takes part too: the last item runs here while the others run in the pool.
        futures = [self._threads.submit(work, item) for item in items[:-1]]
        last = work(items[-1])
        return [future.result() for future in futures] + [last]

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in order, a few ahead of the reader; an interrupt loses nothing."""
        items = iter(items)
        first = list(islice(items, 2))
        if len(first) < 2 or self.n_jobs < 2:
            yield from map(work, chain(first, items))
            return
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, items):
            waiting.append(self._threads.submit(work, item))
            if len(waiting) > 2 * self.n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
