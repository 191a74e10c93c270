"""Mini-batches, and arrays as a source of them."""

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from thresher.kernels.bundles import read_only
from thresher.kernels.column_range import column_range
from thresher.linalg import Array, is_only_stored, rows_per_block
from thresher.streams.fingerprint import fingerprint

_ROWS = 4096  # converted at a time, or looked at to start from; by judgement
_GLANCE, _FEWEST = 1 << 22, 512  # entries to start from, and rows that make it more; by judgement


@dataclass(frozen=True)
class Batch:
    """Some samples: dense or CSR, of any numeric type, NaN where an entry is missing.

    Of `linalg.StoredRows`, everything is missing that is not stored.

    ``sample_weight`` (n,) and ``entry_weight`` (n, F) are None if everything weighs one. Where a
    batch is shared out, ``begins`` is the place of a share's first row in it, and ``whole`` the
    number of rows of the batch.
    """

    X: Any
    sample_weight: Array | None = None
    entry_weight: Array | None = None
    begins: int = 0
    whole: int | None = None
    n_samples: int = field(init=False)  # number of rows

    def __post_init__(self) -> None:
        # Counted here: a small step asks many times, and a model that keeps a batch must not
        # change when somebody asks.
        object.__setattr__(self, "n_samples", int(self.X.shape[0]))

    @property
    def at_hand(self) -> Any:
        """The samples, or None if they are on other machines."""
        return self.X

    @cached_property
    def is_sparse_without_gaps(self) -> bool:
        """Whether rows can be taken as their nonzeros: sparse, nothing missing, no weights."""
        if not sparse.issparse(self.X) or self.only_stored or self.entry_weight is not None:
            return False
        values: Any = self.X
        return not bool(np.isnan(values.data).any())

    @cached_property
    def is_dense_without_gaps(self) -> bool:
        """Whether samples are dense, nothing is missing, and entries have no weights."""
        dense = isinstance(self.X, np.ndarray) and self.entry_weight is None
        return dense and not bool(np.isnan(np.add.reduce(self.X, None, np.float64)))

    @cached_property
    def only_stored(self) -> bool:
        """Whether what sparse rows do not store is missing."""
        return is_only_stored(self.X)

    @cached_property
    def column_range(self) -> tuple[Array, Array]:
        """Smallest and largest entry of every feature of dense samples, whatever they weigh.

        +inf and −inf where all are missing.
        """
        X, F = self.X, self.X.shape[1]
        kind = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        low, high = np.full(F, np.inf, dtype=kind), np.full(F, -np.inf, dtype=kind)
        for start in range(0, len(X), _ROWS):  # others than floats are converted bit by bit
            rows = np.ascontiguousarray(X[start : start + _ROWS], dtype=kind)
            column_range(read_only(rows), low, high)
        return low.astype(np.float64), high.astype(np.float64)

    @cached_property
    def has_entries(self) -> bool:
        """Whether any entry is observed: not missing, and of positive weight if it has one."""
        if self.only_stored:
            if self.entry_weight is None:
                return bool(self.X.nnz > 0)
            stored = self.X.tocoo()
            return bool((self.entry_weight[stored.row, stored.col] > 0).any())
        values: Any = self.X
        if sparse.issparse(self.X):  # zeros that are not stored are observed
            full = values.nnz == values.shape[0] * values.shape[1]
            return not full or not bool(np.isnan(values.data).all())
        if self.entry_weight is None:
            if values.dtype.kind != "f":
                return True
            return not (bool(np.isnan(values[:1]).all()) and bool(np.isnan(values).all()))
        return bool((~np.isnan(self.X) & (self.entry_weight > 0)).any())

    def every(self, step: int) -> "Batch":
        """The rows at even distances, with their weights."""
        rows = slice(None, None, step)
        return Batch(self.X[rows], _take(self.sample_weight, rows), _take(self.entry_weight, rows))

    def glance(self, at_least: int = 0) -> "Batch":
        """Some rows, evenly spread: enough to start from, see `glance_step`."""
        step = glance_step(self.n_samples, self.X.shape[1], at_least)
        return self.every(step) if step > 1 else self

    @property
    def weight(self) -> float:
        """Total weight of the samples."""
        if self.sample_weight is None:
            return float(self.n_samples)
        return float(self.sample_weight.sum())


def glance_step(n_samples: int, n_features: int, at_least: int = 0) -> int:
    """The distance of rows that are enough to start from, and few enough to be sent.

    All rows, up to 4096; fewer, where these have over four million entries; ``at_least`` so many.
    """
    rows = min(max(_FEWEST, _GLANCE // max(n_features, 1)), _ROWS)
    return -(-n_samples // max(rows, at_least))


class BatchSource(Protocol):
    """What the engine learns from: read in passes, each from any batch on."""

    @property
    def n_samples(self) -> int | None:
        """Samples in a pass, or None if nobody knows."""

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """Yield the batches of a pass after the first ``skip`` batches."""


@dataclass(frozen=True)
class ArraySource:
    """Batches of an array's rows, in an order drawn anew for each pass, or as they stand.

    The order depends on the seed and the number of the pass alone, so that a pass can be resumed
    in its middle.
    """

    X: Any
    batch_size: int
    shuffle: bool
    seed: int
    sample_weight: Array | None = None
    entry_weight: Array | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def origin(self) -> dict[str, str]:
        """What the batches depend on besides their size and seed, each as a short text."""
        return {
            "the array": fingerprint(self.X),
            "sample_weight": fingerprint(self.sample_weight),
            "entry_weight": fingerprint(self.entry_weight),
            "shuffle": str(bool(self.shuffle)),
        }

    def whole(self) -> Batch:
        """All rows, as they stand."""
        return Batch(self.X, self.sample_weight, self.entry_weight)

    @property
    def pays_ahead(self) -> bool:
        """Whether batches are so large that it pays to make the next one beside the learning."""
        rows = min(self.batch_size, self.n_samples)
        return not sparse.issparse(self.X) and rows > 2 * rows_per_block(self.X.shape[1])

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """Cut the rows into batches; the last may be smaller."""
        n = self.n_samples
        order = None
        if self.shuffle:
            order = np.random.default_rng([self.seed, pass_index]).permutation(n)
        for start in range(skip * self.batch_size, n, self.batch_size):
            stop = min(start + self.batch_size, n)
            rows: Any = slice(start, stop) if order is None else order[start:stop]
            yield Batch(
                self.X[rows], _take(self.sample_weight, rows), _take(self.entry_weight, rows)
            )


def _take(values: Array | None, rows: Any) -> Array | None:
    return None if values is None else values[rows]
