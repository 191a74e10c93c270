"""A source whose batches stay with the workers of a cluster, and who has them coded there."""

import time
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from thresher.cluster.clients import check_workers, n_threads, result_of
from thresher.cluster.errors import ClusterError
from thresher.cluster.loading import Loader, loader_of
from thresher.cluster.packing import packed
from thresher.cluster.remote import RemoteBatch
from thresher.cluster.round import Round
from thresher.cluster.tasks import Recipe, as_it_is
from thresher.engine import Pool, StreamMethod, StreamState, Summary
from thresher.linalg import rows_per_block
from thresher.streams import Batch, Source
from thresher.streams.batches import glance_step

_COUNTED_EVERY = 5.0  # seconds: workers that join or leave change shares, not sums; by judgement
_TRIES = 3  # that work is sent, if it is cancelled; by judgement
_PRIORITY = 10  # of coding, so that loading ahead does not hold it up


class ClusterSource:
    """Rounds of ``batch_size`` rows in their order, each loaded while the one before is coded.

    It is the engine's source and its workers in one. Only the dictionary and sums of a fixed size
    travel between this process and the workers, and the few rows that a start needs.

    Parameters
    ----------
    client : distributed.Client
    source : Source
        With a number as batch size; of a Dask collection, or of files that can be read from any
        row on.
    recipe : callable
        Makes the `Recipe`, once the model knows its features.
    """

    block_rows: int
    loader: Loader
    recipe: Any

    def __init__(self, client: Any, source: Source, recipe: Callable[[], Recipe]) -> None:
        check_workers(client)
        assert isinstance(source.batch_size, int)
        self._client, self._source, self._recipe = client, source, recipe
        self._size = source.batch_size
        self.block_rows = rows_per_block(source.n_features or 1)
        self.loader = loader_of(client, source)
        self._threads, self._counted = n_threads(client), time.monotonic()
        self._warn_of_idle_workers()

    # ------------------------------------------------------------------- a source

    @property
    def n_samples(self) -> int:
        """Samples in a pass."""
        return self._source.n_samples or 0

    def first(self, at_least: int = 0) -> Any:
        """Some rows of the first round, as they are; None of an empty source."""
        n = min(self._size, self.n_samples)
        if n == 0:
            return None
        step = glance_step(n, self._source.n_features or 1, at_least)
        return Round(self, 0, 0, n).head(step)

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """The batches of a pass after the first ``skip``; the next round is loaded ahead."""
        self.recipe = self.submit(as_it_is, packed(self._recipe()))
        n = self.n_samples
        starts = range(skip * self._size, n, self._size)
        rounds = (Round(self, pass_index, start, min(start + self._size, n)) for start in starts)
        coming = next(rounds, None)
        if coming is not None:
            coming.load()
        while coming is not None:
            now, coming = coming, next(rounds, None)
            look = now.look()
            if coming is not None:
                coming.load()
            yield RemoteBatch.of(now, look)

    # -------------------------------------------------------------------- workers

    @contextmanager
    def workers(self) -> Iterator["ClusterSource"]:
        """Itself; steps of the dictionary have the bits of one BLAS thread, as in a pool."""
        with Pool(1):
            yield self

    def summarise(self, method: StreamMethod, state: StreamState, batch: Batch) -> Summary:
        """See `thresher.engine.Executor`."""
        round: Round = batch.X.round
        return round.summarise(method, state, batch)

    # -------------------------------------------------------------------- sending

    def submit(self, task: Callable[..., Any], *given: Any, first: bool = False) -> Any:
        """A future of what a task gives; ``first`` puts it before others."""
        return self._client.submit(task, *given, pure=False, priority=_PRIORITY if first else 0)

    def share_rows(self, n_rows: int) -> int:
        """As many rows as keep all threads busy, but no more than lie together."""
        if time.monotonic() - self._counted > _COUNTED_EVERY:
            self._threads, self._counted = n_threads(self._client), time.monotonic()
        return min(self.loader.longest, -(-n_rows // self._threads))

    def wait_for(self, sent: Callable[[], Any], again: Callable[[], None]) -> Any:
        """What a task gives; cancelled work is sent again.

        Workers that die are the scheduler's affair: it has their tasks run by others.
        """
        for _ in range(_TRIES):
            try:
                return result_of(self._client, sent())
            except CancelledError:
                self.loader = loader_of(self._client, self._source)
                self.recipe = self.submit(as_it_is, packed(self._recipe()))
                again()
        raise ClusterError(
            f"The work of a round was cancelled {_TRIES} times; is the cluster being restarted, or "
            "its client closed? What was learned so far is kept: call resume when it is well."
        )

    def _warn_of_idle_workers(self) -> None:
        threads, n_blocks = self._threads, -(-self._size // self.block_rows)
        if n_blocks < threads and self._size < self.n_samples:
            warnings.warn(
                f"Rounds of batch_size={self._size} samples are {n_blocks} blocks, and the cluster "
                f"has {threads} threads: most of them wait. Give batch_size="
                f"{threads * self.block_rows} at the least, and many times that to gain by a "
                "cluster (docs/guide/scaling.md).",
                stacklevel=5,
            )
