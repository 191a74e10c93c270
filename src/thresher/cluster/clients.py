"""The client of a cluster: found, its workers compared with this process, its answers awaited."""

import time
from importlib import import_module
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from thresher.cluster.errors import ClusterError

_PATIENCE = 0.5  # seconds between looks whether there still are workers; by judgement
_ALONE = 30.0  # seconds to wait for a worker to come back, Dask's own patience for connections


def default_client() -> Any:
    """The client that the user made, or None; inside of a worker there is none to use."""
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None  # a task that waits for other tasks could wait for itself
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    if client.status == "closed":
        return None
    if client.asynchronous:
        raise ClusterError(
            "The client is asynchronous, and fit waits for its workers; make it without "
            "asynchronous=True, or call fit in a thread."
        )
    return client


def check_workers(client: Any) -> None:
    """Refuse workers that do not have this package in this version, by their addresses."""
    here = import_module("thresher").__version__
    # Sent as text: a worker without the package could not read a function of it.
    there = client.run(eval, "__import__('thresher').__version__", on_error="return")
    if not there:
        raise ClusterError("The cluster has no workers; start some, and call fit again.")
    for worker, version in sorted(there.items()):
        if isinstance(version, Exception):
            raise ClusterError(
                f"The worker {worker} cannot import thresher ({version}); install thresher "
                f"{here} there, with all that it needs."
            )
        if version != here:
            raise ClusterError(
                f"The worker {worker} has thresher {version}, and this process {here}; install the "
                "same version everywhere."
            )


def n_threads(client: Any) -> int:
    """How many tasks run at a time."""
    return max(1, sum(map(int, client.nthreads().values())))


def result_of(client: Any, future: Any) -> Any:
    """What a task gives; an error of its own comes out as it is, a lost cluster in a sentence."""
    last_seen = time.monotonic()
    while not future.done():
        try:
            distributed.wait(future, timeout=_PATIENCE)
        except TimeoutError:
            if client.scheduler_info(n_workers=-1)["workers"]:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > _ALONE:
                raise ClusterError(
                    f"All workers of the cluster are gone, and none came back within {_ALONE:g} "
                    "seconds. What was learned so far is kept: start workers, and call resume."
                ) from None
    try:
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"Workers died again and again at the same task ({error}): they may lack memory. Give "
            "them more, or make chunks or batch_size smaller, and call resume."
        ) from error
