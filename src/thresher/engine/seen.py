"""The range of every feature in the samples seen: what a prediction may be believed to be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array, is_only_stored
from thresher.streams import Batch


@dataclass(frozen=True)
class SeenRange:
    """Smallest and largest entry of every feature, (F,) each, in the user's units.

    A feature that nobody saw has ``low`` at +inf and ``high`` at −inf, so that ranges merge.
    """

    low: Array
    high: Array

    @classmethod
    def nothing(cls, n_features: int) -> "SeenRange":
        """Of no sample."""
        return cls(np.full(n_features, np.inf), np.full(n_features, -np.inf))

    @classmethod
    def of(cls, batch: Batch) -> "SeenRange":
        """Of a batch; entries that are missing or weigh nothing were not seen."""
        X: Any = batch.X
        if batch.sample_weight is not None and not (batch.sample_weight > 0).all():
            keep = batch.sample_weight > 0
            weight = batch.entry_weight
            batch = Batch(X[keep], None, None if weight is None else weight[keep])
            X = batch.X
        if not batch.n_samples:
            return cls.nothing(X.shape[1])
        if hasattr(X, "indptr"):
            return cls._of_sparse(X, batch.entry_weight)
        if batch.entry_weight is not None:
            batch = Batch(np.where(batch.entry_weight > 0, X, np.nan))
        return cls(*batch.column_range)

    @classmethod
    def _of_sparse(cls, X: Any, entry_weight: Array | None) -> "SeenRange":
        """Entries that are not stored are zeros, and were seen, unless the samples say no."""
        n, F = X.shape
        low, high = np.full(F, np.inf), np.full(F, -np.inf)
        values, columns = X.data.astype(np.float64), X.indices
        counts, weighs = np.full(F, n), np.ones(len(values), dtype=bool)
        if entry_weight is not None:
            rows = np.repeat(np.arange(n), np.diff(X.indptr))
            counts, weighs = (entry_weight > 0).sum(axis=0), entry_weight[rows, columns] > 0
        if is_only_stored(X):
            counts = np.zeros(F, dtype=int)  # no zeros but those that are stored
        seen = weighs & ~np.isnan(values)
        if not seen.all():
            columns, values = columns[seen], values[seen]
        np.maximum.at(high, columns, values)
        zeros = np.bincount(X.indices if weighs.all() else X.indices[weighs], minlength=F) < counts
        if not zeros.all() or values.min(initial=0) < 0:  # else the zeros are the smallest
            np.minimum.at(low, columns, values)
        low[zeros], high[zeros] = np.minimum(low[zeros], 0), np.maximum(high[zeros], 0)
        return cls(low, high)

    def __or__(self, other: "SeenRange") -> "SeenRange":
        """The range of both."""
        return SeenRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Features that were seen."""
        return np.asarray(self.low <= self.high)

    def grow(self, n_features: int) -> "SeenRange":
        """Room for new features, which nobody saw."""
        more = SeenRange.nothing(n_features - len(self.low))
        return SeenRange(np.append(self.low, more.low), np.append(self.high, more.high))

    def keep(self, columns: NDArray[np.intp]) -> "SeenRange":
        """Of some features."""
        return SeenRange(self.low[columns], self.high[columns])
