"""Models that run side by side, in processes or threads, do not multiply threads."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from thresher import OnlineRobustNMF
from thresher.engine import Pool
from thresher.testing.data import planted

X = planted(1200)
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class Count:
    """A callback that writes down which process has how many threads of the library's, and when."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, step):
        ours = sum(thread.name.startswith("thresher") for thread in threading.enumerate())
        path = self.folder / f"{os.getpid()}-{time.monotonic_ns()}"
        path.write_text(str(1 + ours))  # and the one that learns

    def found(self):
        """The most threads of each process."""
        most = {}
        for path in self.folder.iterdir():
            process = path.name.partition("-")[0]
            most[process] = max(most.get(process, 0), int(path.read_text()))
        return most


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_search_has_no_more_threads_than_cores(n_jobs, tmp_path):
    """Counted in the worker processes of joblib, while the models learn."""
    count = Count(tmp_path)
    model = OnlineRobustNMF(
        random_state=0, verbose=0, n_passes=1, batch_size=600, callbacks=[count]
    )
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), model),
        {"onlinerobustnmf__n_components": [2, 3]},
        cv=2,
        n_jobs=n_jobs,
        refit=False,
    )
    search.fit(X)
    most = count.found()
    if n_jobs == 1:  # alone, a model takes what there is, as far as it has blocks of rows for it
        assert list(most) == [str(os.getpid())]
        assert min(2, CORES) <= most[str(os.getpid())] <= CORES
    else:
        assert str(os.getpid()) not in most
        assert sum(most.values()) <= max(CORES, n_jobs)


def test_threads_side_by_side_share_the_cores():
    """Bits stay, as they never depend on the number of threads."""
    alone = OnlineRobustNMF(3, random_state=0, verbose=0, n_passes=2).fit(X)
    together, seen = threading.Barrier(2), []

    def meet(step):
        together.wait(60)
        seen.append(sum(t.name.startswith("thresher") for t in threading.enumerate()))
        together.wait(60)

    def learn(_):
        model = OnlineRobustNMF(3, random_state=0, verbose=0, n_passes=2, callbacks=[meet])
        return model.fit(X).components_

    with ThreadPoolExecutor(2, thread_name_prefix="mine") as pool:
        for atoms in pool.map(learn, range(2)):
            np.testing.assert_array_equal(atoms, alone.components_)
    # Who came first may have begun with all cores.
    assert max(seen) + 2 <= max(CORES, 2) + CORES - 1


def test_pools_take_their_share_and_give_it_back():
    with Pool() as outer:
        assert outer.n_jobs == CORES
        with Pool() as inner:  # in the same thread: one of the two waits
            assert (outer.n_jobs, inner.n_jobs) == (CORES, CORES)
        with ThreadPoolExecutor(1) as thread:
            other = thread.submit(Pool().__enter__).result()
            assert outer.n_jobs == other.n_jobs == max(1, CORES // 2)
            assert Pool(3).n_jobs == 3  # who asks for a number gets it
            other.__exit__(None, None, None)
        assert outer.n_jobs == CORES


def test_limits_of_others_are_heard():
    """Those of the environment too, by which joblib limits its workers: see the grid search."""
    with threadpool_limits(1):
        assert Pool().n_jobs == Pool(-1).n_jobs == 1
        assert Pool(2).n_jobs == 2
