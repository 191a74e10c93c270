"""Promise 4: results do not depend on threads; models side by side do not multiply threads."""

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
from thresher.testing.data import planted, ready, threads_used

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
    threads = count.found()
    if n_jobs == 1:  # alone, a model takes what there is, as far as it has blocks of rows for it
        assert list(threads) == [str(os.getpid())]
        assert min(2, CORES) <= threads[str(os.getpid())] <= CORES
    else:
        assert str(os.getpid()) not in threads
        assert sum(threads.values()) <= max(CORES, n_jobs)


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


def test_limits_of_threadpoolctl_apply():
    """As joblib and others limit their workers; a number that the user asks for is kept."""
    with threadpool_limits(1):
        assert threads_used(lambda: ready(OnlineRobustNMF(), batch_size=600).fit(X)) == 0
        assert threads_used(lambda: ready(OnlineRobustNMF(), batch_size=600, n_jobs=2).fit(X)) > 0


def test_scores_come_back_in_the_order_of_the_samples():
    X = planted(600)
    fitted = ready(OnlineRobustNMF(), n_jobs=2).fit(X)
    scores = fitted.score_samples(X)
    parts = [fitted.score_samples(X[i : i + 50]) for i in range(0, 600, 50)]
    np.testing.assert_allclose(scores, np.concatenate(parts), rtol=1e-6, atol=1e-9)
