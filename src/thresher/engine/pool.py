"""The thread pool: row blocks in parallel, results in order, one BLAS thread for each.

Matrix products and compiled loops release the GIL, so threads suffice. Left alone, each product
would start threads of its own and the pool would drown in them; BLAS is limited once, while the
pool is open, not for every batch.

Models that run side by side share the cores: in processes of joblib, as many as these leave to each
(``OMP_NUM_THREADS``, which joblib sets for its workers, and limits of threadpoolctl are heard); in
threads of one process, as many as there are cores for every thread that has a pool open.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, cached_property
from itertools import chain, islice
from threading import Lock, get_ident
from typing import Any, TypeVar

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


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
        self._executor: ThreadPoolExecutor | None = None

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

    @property
    def _threads(self) -> ThreadPoolExecutor:
        """Made when they are first needed: a single block is done sooner than a thread starts."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="thresher")
        return self._executor

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
        _release(self)

    def beside(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Begin something that is needed later; what is returned waits for its result.

        A pool of one thread does it at once.
        """
        if self.n_jobs < 2:
            result = work()
            return lambda: result
        return self._threads.submit(work).result

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

        others = [self._threads.submit(take) for _ in range(helpers)]
        take()
        for other in others:
            other.result()
        return [results[place] for place in range(len(items))]

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
            waiting.append(self._threads.submit(work, item))
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
