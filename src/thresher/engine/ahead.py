"""Arrays whose next batch is made beside the learning."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

from thresher.engine.pool import Pool
from thresher.streams import ArraySource, Batch


@dataclass(frozen=True)
class Ahead:
    """The batches of an array, each put together and measured while the one before is coded."""

    source: ArraySource
    pool: Pool

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.source.n_samples

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """Those of the source."""
        with closing(self.source.batches(pass_index, skip)) as batches:
            if self.source.pays_ahead:
                yield from self.pool.ahead(map(_measured, batches))
            else:
                yield from batches


def _measured(batch: Batch) -> Batch:
    if batch.entry_weight is None:
        batch.column_range  # noqa: B018 - kept by the batch
    return batch
