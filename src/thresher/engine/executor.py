"""The thread pool: row blocks in parallel, results in order, one BLAS thread for each.

Matrix products and compiled loops release the GIL, so threads suffice. BLAS is limited to one
thread while a pool is open; otherwise each product would start threads of its own.

Models that fit at the same time share the cores: processes of joblib by ``OMP_NUM_THREADS``, which
joblib sets for its workers, and by limits of threadpoolctl; threads of one process by the number of
threads that have a pool open.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from itertools import chain, islice
from operator import add
from threading import Lock, get_ident
from typing import Any, TypeVar

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

from thresher.streams import ArraySource, Batch

Item = TypeVar("Item")
Result = TypeVar("Result")
_END: Any = object()
_WAKING = 1.5e-3  # seconds to wake a sleeping thread and wait for its result, as measured


@cache
def _blas() -> list[Any]:
    # Finding loaded libraries takes milliseconds; NumPy's and SciPy's are both loaded by now.
    import scipy.linalg  # noqa: F401 - loads the library that compiled loops use

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_open: dict[int, int] = {}  # the pools that are open, and the threads that opened them
_before: dict[Any, int] = {}  # libraries that are limited, and how many threads they had
_lock = Lock()


def tree_sum(parts: Sequence[Any]) -> Any:
    """Add neighbours, then neighbours of their sums, until one is left.

    Parts that begin at a multiple of their number, a power of two, form a branch of the tree. Its
    sum has the same bits whoever computes it, so branches may be summed on other machines.
    """
    while len(parts) > 1:
        parts = [reduce(add, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]


class Pool:
    """A pool of ``n_jobs`` threads, used as a context.

    None or −1: one for each core, shared with other models that fit at the same time.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._given = n_jobs
        self._spent = math.inf  # seconds of processor that the blocks of the last batch took
        self._executors: dict[bool, ThreadPoolExecutor] = {}

    def __enter__(self) -> "Pool":
        """Limit each product to one thread while any pool is open."""
        with _lock:
            _open[id(self)] = get_ident()
            for library in _blas():
                threads = library.num_threads
                if threads not in (None, 1):
                    _before.setdefault(library, threads)
                    library.set_num_threads(1)
        return self

    @cached_property
    def _cores(self) -> int:
        """The cores that this process may use, by affinity, quota and limits of OpenMP."""
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        return min(cores, int(_openmp_effective_n_threads(only_physical_cores=False)))

    @property
    def n_jobs(self) -> int:
        """The number of threads that may run now, given the pools that are open."""
        if self._given is not None and self._given >= 0:
            return max(1, self._given)
        with _lock:
            concurrent = len(set(_open.values()))  # of nested pools, one is waiting
        return max(1, self._cores // max(1, concurrent))

    def _threads(self, takes_part: bool) -> ThreadPoolExecutor:
        """Return the threads, started on first use; one fewer if this thread takes part."""
        if takes_part not in self._executors:
            count = max(1, self.n_jobs - takes_part)
            executor = ThreadPoolExecutor(count, thread_name_prefix="thresher")
            self._executors[takes_part] = executor
        return self._executors[takes_part]

    def __exit__(self, *error: object) -> None:
        """Stop the threads; the last pool restores those of products."""
        for executor in self._executors.values():
            executor.shutdown(cancel_futures=True)
        self._executors.clear()
        with _lock:
            _open.pop(id(self), None)
            if not _open:
                for library, before in _before.items():
                    library.set_num_threads(before)
                _before.clear()

    def submit(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Start work in another thread and return a function that waits for the result.

        If no thread has begun by then, the caller computes it; a pool of one thread computes it at
        once.
        """
        if self.n_jobs < 2:
            done = work()
            return lambda: done
        future = self._threads(takes_part=True).submit(work)

        @cache
        def result() -> Result:
            return work() if future.cancel() else future.result()

        return result

    def prefetch(self, items: Iterator[Item]) -> Generator[Item]:
        """Yield the same items, each computed while the one before it is used."""
        if self.n_jobs < 2:
            yield from items
            return
        coming = self.submit(partial(next, items, _END))
        try:
            while (item := coming()) is not _END:
                coming = self.submit(partial(next, items, _END))
                yield item
        finally:
            with suppress(Exception):
                coming()  # a generator that is running cannot be closed

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results for all items in order; this thread takes part in the work."""
        items = list(items)
        n_others = min(len(items), self.n_jobs) - 1
        if n_others < 1:
            return [work(item) for item in items]
        left, results = deque(range(len(items))), dict[int, Result]()

        def take() -> None:
            try:
                while (place := _next_of(left)) is not None:
                    results[place] = work(items[place])
            except BaseException:
                left.clear()  # so that all threads stop
                raise

        others = [self._threads(takes_part=True).submit(take) for _ in range(n_others)]
        take()
        for other in others:
            if not other.cancel():  # a thread that has not begun by now has nothing to do
                other.result()
        return [results[place] for place in range(len(items))]

    def summarise(self, method: Any, state: Any, batch: Any) -> Any:
        """Code and summarise the blocks of a batch, see `thresher.engine.stream.Executor`.

        Other threads take part if the time of the previous batch exceeds the cost of waking them.
        """
        work, spent = method.summariser(state, batch), list[float]()

        def timed(block: Any) -> Any:
            began = time.perf_counter()
            summary = work(block)
            spent.append(time.perf_counter() - began)
            return summary

        blocks, n_jobs = list(method.blocks(batch)), self.n_jobs
        pays = n_jobs > 1 and self._spent * (n_jobs - 1) >= _WAKING * n_jobs
        summaries = self.map(timed, blocks) if pays else list(map(timed, blocks))
        self._spent = sum(spent)
        return tree_sum(summaries)

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in order, a few computed in advance."""
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
    """Return the next place that no thread has taken; None at the end."""
    try:
        return left.popleft()
    except IndexError:
        return None


@dataclass(frozen=True)
class PrefetchedArray:
    """Batches of an array, each gathered and measured while the one before is coded."""

    source: ArraySource
    pool: Pool

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.source.n_samples

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """Yield the batches of the source."""
        with closing(self.source.batches(pass_index, skip)) as batches:
            if self.source.pays_ahead:
                yield from self.pool.prefetch(map(_measured, batches))
            else:
                yield from batches


def _measured(batch: Batch) -> Batch:
    if batch.entry_weight is None:
        batch.column_range  # noqa: B018 - cached by the batch
    return batch
