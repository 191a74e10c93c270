"""The last documents of a stream, a bounded number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.linalg import Array
from thresher.tasks.novelty.usual import REMEMBERED
from thresher.tasks.text.records import Record


@dataclass(frozen=True)
class RecentDocuments:
    """Words of the last documents, and what was said of these.

    Attributes
    ----------
    counts : CSR of shape (m, F)
        How often each has each word; what is weighed changes with the stream.
    marked : array of bool of shape (m,)
        Whether it was marked as novel.
    ranks : array of shape (m,)
        Its share of as novel documents when it came; NaN if it was not judged, or left out.
    records : tuple of Record, optional
        The documents themselves, if they are kept.
    """

    counts: Any
    marked: NDArray[np.bool_]
    ranks: Array
    records: tuple[Record, ...] | None = None

    @classmethod
    def none(cls, keeps_records: bool = False) -> RecentDocuments:
        """Before the first document."""
        nothing = sparse.csr_array((0, 0), dtype=np.float64)
        return cls(nothing, np.zeros(0, bool), np.zeros(0), () if keeps_records else None)

    def __len__(self) -> int:
        return len(self.marked)

    def followed_by(
        self, counts: Any, marked: Any, ranks: Array, records: Sequence[Record]
    ) -> RecentDocuments:
        """With later documents; the oldest leave."""
        rows = sparse.vstack([as_wide_as(self.counts, counts.shape[1]), counts], format="csr")
        kept = None if self.records is None else (*self.records, *records)[-REMEMBERED:]
        return RecentDocuments(
            rows[-REMEMBERED:],
            np.concatenate([self.marked, marked])[-REMEMBERED:],
            np.concatenate([self.ranks, ranks])[-REMEMBERED:],
            kept,
        )

    def keep(self, columns: Any) -> RecentDocuments:
        """Forget all words but some."""
        n_words = max(int(np.max(columns, initial=-1)) + 1, self.counts.shape[1])
        return replace(self, counts=as_wide_as(self.counts, n_words)[:, columns])


def as_wide_as(rows: Any, n_words: int) -> Any:
    """Rows with room for words that came later."""
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), (rows.shape[0], n_words))
