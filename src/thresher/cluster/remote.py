"""A batch whose rows are elsewhere: what is asked of them is asked of the workers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.cluster.round import Round
from thresher.cluster.tasks import BatchProfile
from thresher.streams import Batch
from thresher.streams.batches import glance_step


@dataclass(frozen=True)
class RemoteRows:
    """Samples on a cluster: their shape and type, and every so many of them."""

    round: Round
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Any:
        return self.round.every(rows.step or 1)


class RemoteBatch(Batch):
    """A batch for the engine, of which only a few rows are ever here."""

    @classmethod
    def of(cls, round: Round, look: BatchProfile) -> "RemoteBatch":
        """The rows of a round, after a look at them."""
        batch = cls(RemoteRows(round, (look.n_samples, look.n_features), look.dtype))
        # What the engine would compute from all rows, the workers have computed.
        vars(batch).update(
            is_sparse_without_gaps=look.sparse,
            only_stored=look.only_stored,
            column_range=(look.seen.low, look.seen.high),
            has_entries=bool((look.seen.low <= look.seen.high).any()),
        )
        return batch

    @property
    def at_hand(self) -> Any:
        """They are not."""
        return None

    def glance(self, at_least: int = 0) -> Batch:
        """Some rows, brought here."""
        return self.every(glance_step(self.n_samples, self.X.shape[1], at_least))
