"""The thread pool: row blocks in parallel, results in order, one BLAS thread for each.

Matrix products and compiled loops release the GIL, so threads suffice. Left alone, each product
would start threads of its own and the pool would drown in them; BLAS is limited once, while the
pool is open, not for every batch.

Models that run side by side share the cores: in processes of joblib, as many as these leave to each
(``OMP_NUM_THREADS``, which joblib sets for its workers, and limits of threadpoolctl are heard); in
threads of one process, as many as there are cores for every thread that has a pool open.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, cached_property, partial
from itertools import chain, islice
from threading import Lock, get_ident
from typing import Any, TypeVar

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

from thresher.engine.merging import merged

Item = TypeVar("Item")
Result = TypeVar("Result")
_END: Any = object()
_WAKING = 1.5e-3  # seconds: handing blocks to a thread that sleeps, and waiting for it, as measured


@cache
def _blas() -> list[Any]:
    # Looking for loaded libraries takes milliseconds; NumPy's and SciPy's are both loaded by now.
    import scipy.linalg  # noqa: F401 - loads the library that compiled loops use

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_open: dict[int, int] = {}  # the pools that are open, and the threads that opened them
_before: dict[Any, int] = {}  # libraries that are limited, and how many threads they had
_lock = Lock()


def _limit(pool: Any) -> None:
    """One thread for each product, while any pool is open."""
    with _lock:
        _open[id(pool)] = get_ident()
        for library in _blas():  # asking is nearly free, beside even a small step
            threads = library.num_threads
            if threads not in (None, 1):
                _before.setdefault(library, threads)
                library.set_num_threads(1)


def _release(pool: Any) -> None:
    """The last one to leave gives the threads back: models may learn side by side."""
    with _lock:
        _open.pop(id(pool), None)
        if not _open:
            for library, threads in _before.items():
                library.set_num_threads(threads)
            _before.clear()


def _cores() -> int:
    """Cores that this process may use, by its affinity, its quota, and what others leave to it."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(cores, int(_openmp_effective_n_threads(only_physical_cores=False)))


class Pool:
    """A pool of ``n_jobs`` threads, used as a context.

    None or −1: one for each core, or this model's share if others learn beside it.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._given = n_jobs
        self._spent = (
            math.inf
        )  # seconds that the blocks of the last batch took, one after the other
        self._executors: dict[bool, ThreadPoolExecutor] = {}

    def __enter__(self) -> "Pool":
        _limit(self)
        return self

    @cached_property
    def _most(self) -> int:
        given = self._given
        return _cores() if given is None or given < 0 else max(1, given)

    @property
    def n_jobs(self) -> int:
        """How many threads there may be now; others may come and go."""
        if self._given is not None and self._given > 0:
            return self._most
        with _lock:
            side_by_side = len(set(_open.values()))  # of a pool in another, one is waiting
        return max(1, self._most // max(1, side_by_side))

    def _threads(self, takes_part: bool) -> ThreadPoolExecutor:
        """Made when they are first needed: a single block is done sooner than a thread starts.

        One less if this thread takes part in the work.
        """
        if takes_part not in self._executors:
            count = max(1, self.n_jobs - takes_part)
            executor = ThreadPoolExecutor(count, thread_name_prefix="thresher")
            self._executors[takes_part] = executor
        return self._executors[takes_part]

    def __exit__(self, *error: object) -> None:
        for executor in self._executors.values():
            executor.shutdown(cancel_futures=True)
        self._executors.clear()
        _release(self)

    def beside(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Give something that is needed later to a helper; what is returned asks for the result.

        If nobody has begun by then, whoever asks does it; a pool of one thread does it at once.
        """
        if self.n_jobs < 2:
            done = work()
            return lambda: done
        future = self._threads(takes_part=True).submit(work)

        @cache
        def result() -> Result:
            return work() if future.cancel() else future.result()

        return result

    def ahead(self, items: Iterator[Item]) -> Generator[Item]:
        """The same items, each made beside while the one before it is used."""
        if self.n_jobs < 2:
            yield from items
            return
        coming = self.beside(partial(next, items, _END))
        try:
            while (item := coming()) is not _END:
                coming = self.beside(partial(next, items, _END))
                yield item
        finally:
            with suppress(Exception):
                coming()  # or nobody could close what makes the items

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do the work on every item, in order of their places; this thread takes part."""
        items = list(items)
        helpers = min(len(items), self.n_jobs) - 1 if len(items) > 1 else 0
        if helpers < 1:
            return [work(item) for item in items]
        left, results = deque(range(len(items))), dict[int, Result]()

        def take() -> None:
            try:
                while (place := _next_of(left)) is not None:
                    results[place] = work(items[place])
            except BaseException:
                left.clear()  # nobody begins anything more
                raise

        others = [self._threads(takes_part=True).submit(take) for _ in range(helpers)]
        take()
        for other in others:
            if not other.cancel():  # who has not begun by now has nothing to do
                other.result()
        return [results[place] for place in range(len(items))]

    def summarise(self, method: Any, state: Any, batch: Any) -> Any:
        """The blocks of a batch, see `thresher.engine.stream.Workers`.

        This thread alone codes them if helpers would take over less than it costs to wake them, by
        what the batch before took.
        """
        work, spent = method.summariser(state, batch), list[float]()

        def timed(block: Any) -> Any:
            began = time.perf_counter()
            summary = work(block)
            spent.append(time.perf_counter() - began)
            return summary

        blocks = method.blocks(batch)
        pays = self._spent * (self.n_jobs - 1) >= _WAKING * self.n_jobs
        summaries = self.map(timed, blocks) if pays else [timed(block) for block in blocks]
        self._spent = sum(spent)
        return merged(summaries)

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in order, a few ahead of the reader; an interrupt loses nothing."""
        items = iter(items)
        first = list(islice(items, 2))
        n_jobs = self.n_jobs if len(first) > 1 else 1
        if n_jobs < 2:
            yield from map(work, chain(first, items))
            return
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, items):
            waiting.append(self._threads(takes_part=False).submit(work, item))
            if len(waiting) > 2 * n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _next_of(left: deque[int]) -> int | None:
    """The next of what is left, for one thread alone."""
    try:
        return left.popleft()
    except IndexError:
        return None
