"""One round on a cluster: rows are loaded and looked at, then coded on a dictionary and merged."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thresher.cluster.loading import Loader
from thresher.cluster.packing import aligned, packed, unpacked
from thresher.cluster.tasks import (
    BatchProfile,
    Cut,
    Share,
    added,
    as_it_is,
    as_they_are,
    checked,
    looked_at,
    of_batch,
    summarised,
    together,
)
from thresher.engine import StreamMethod, StreamState, Summary
from thresher.streams import Batch

_FAN = 8  # branches that are added in one task; a power of two, so that branches stay branches


class Sender(Protocol):
    """Who sends tasks to the workers, and waits for them."""

    loader: Loader
    recipe: Any
    """A future of the `Recipe`, packed."""
    block_rows: int
    """Rows of a block, as far as it is known."""

    def submit(self, task: Callable[..., Any], *given: Any, first: bool = False) -> Any:
        """A future of what a task gives; ``first`` puts it before others."""

    def share_rows(self, n_rows: int) -> int:
        """How many rows of a round a task should take, at most."""

    def wait_for(self, sent: Callable[[], Any], again: Callable[[], None]) -> Any:
        """What the task that ``sent`` sends gives; if it is lost, it is sent again.

        ``again`` is called before.
        """


def shares_of(n_rows: int, block_rows: int, at_most: int) -> list[Share]:
    """Consecutive shares of ``block_rows · 2^k`` rows, the most that stay within ``at_most``.

    Each is a branch of the tree in which `thresher.engine.tree_sum` adds all blocks of the round,
    so the bits of the sum do not depend on k, nor on how many workers there are.
    """
    size = block_rows
    while 2 * size <= at_most:
        size *= 2
    starts = range(0, n_rows, size)
    return [Share(start, min(start + size, n_rows), n_rows) for start in starts]


class Round:
    """The rows of one step, from ``start`` to ``stop`` of a pass."""

    def __init__(self, sender: Sender, pass_index: int, start: int, stop: int) -> None:
        self._sender, self._pass = sender, pass_index
        self._start, self.n_samples = start, stop - start
        self._shares = self._cut()
        self._batches: list[Any] = []
        self._look: Any = None

    def _cut(self) -> list[Share]:
        rows = self._sender.share_rows(self.n_samples)
        return shares_of(self.n_samples, self._sender.block_rows, rows)

    def _parts(self, share: Share) -> tuple[list[Any], list[Cut]]:
        start, stop = self._start + share.begins, self._start + share.stops
        return self._sender.loader.parts(self._pass, start, stop)

    def load(self) -> None:
        """Have the rows loaded, checked and looked at; nothing is waited for."""
        self._sender.loader.need(self._start, self._start + self.n_samples)
        submit, recipe = self._sender.submit, self._sender.recipe
        self._batches = [
            submit(checked, recipe, *self._parts(share), share) for share in self._shares
        ]
        self._look = self._grown([submit(looked_at, batch) for batch in self._batches])

    def look(self) -> BatchProfile:
        """What is to be known of all rows; bad samples are refused here."""
        look: BatchProfile = unpacked(self._sender.wait_for(lambda: self._look, self.load))
        return look

    def head(self, step: int) -> Any:
        """Rows at even distances, as they are in the data, before anything is loaded or checked."""

        def sent() -> Any:
            self._sender.loader.need(self._start, self._start + self.n_samples)
            return self._every(step, as_they_are, [self._parts(share) for share in self._shares])

        return aligned(self._sender.wait_for(sent, lambda: None))

    def every(self, step: int) -> Any:
        """Rows at even distances of those that were loaded, brought here."""

        def sent() -> Any:
            return self._every(step, of_batch, [(batch,) for batch in self._batches])

        return aligned(self._sender.wait_for(sent, self.load))

    def _every(self, step: int, task: Any, given: Sequence[tuple[Any, ...]]) -> Any:
        rows = [
            self._sender.submit(task, *rest, -share.begins % step, step, first=True)
            for share, rest in zip(self._shares, given, strict=True)
            if -share.begins % step < share.stops - share.begins
        ]
        return self._sender.submit(together, rows, first=True)

    def summarise(self, method: StreamMethod, state: StreamState, batch: Batch) -> Summary:
        """All blocks, coded where they are and merged as one machine would merge them."""
        sender, needed = self._sender, packed(method.for_coding(state))
        sender.block_rows = method.block_rows(batch)
        sparse = batch.is_sparse_without_gaps

        def sent() -> Any:
            dictionary = sender.submit(as_it_is, needed, first=True)
            branches = [
                sender.submit(
                    summarised,
                    sender.recipe,
                    dictionary,
                    self._holding(share),
                    share,
                    sparse,
                    first=True,
                )
                for share in self._cut()
            ]
            return self._grown(branches)

        summary: Summary = unpacked(sender.wait_for(sent, self.load))
        return summary

    def _holding(self, share: Share) -> list[Any]:
        """The loaded batches that have the rows of a share."""
        return [
            batch
            for batch, loaded in zip(self._batches, self._shares, strict=True)
            if loaded.begins < share.stops and share.begins < loaded.stops
        ]

    def _grown(self, branches: Sequence[Any]) -> Any:
        """The root of the tree over some branches, neighbours added by workers."""
        while len(branches) > 1:
            branches = [
                self._sender.submit(added, branches[at : at + _FAN], first=True)
                for at in range(0, len(branches), _FAN)
            ]
        return branches[0]
