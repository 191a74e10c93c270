"""Verbs on Dask arrays and data frames whose results are lazy, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from scipy import sparse

from thresher.cluster.collections import as_rows, check_is_table

Verb = Callable[[Any], Any]
"""What is done to the rows of a block."""


@dataclass(frozen=True)
class ResultSpec:
    """What a verb gives for the rows of a block: its columns (None: one number a row), its type."""

    columns: Sequence[str] | None
    dtype: np.dtype[Any]

    def empty(self) -> Any:
        """That of no row."""
        return np.empty(0 if self.columns is None else (0, len(self.columns)), self.dtype)

    def frame(self, values: Any, index: Any) -> Any:
        """The same as a data frame, or a series, with the index of the rows."""
        import pandas

        if self.columns is None:
            return pandas.Series(values, index=index)
        return pandas.DataFrame(values, index=index, columns=list(self.columns))


def head_of(X: Any) -> Any:
    """Something of no rows that has the columns, the names and the kind of a collection's."""
    check_is_table(X)
    if hasattr(X, "columns"):
        return X._meta
    head = np.empty((0, X.shape[1]), X.dtype)
    return sparse.csr_array(head) if sparse.issparse(X._meta) else head


def lazily(X: Any, verb: Verb, outcomes: Sequence[ResultSpec]) -> list[Any]:
    """What a verb says of a collection: for every outcome one of the same kind, not yet computed.

    With several outcomes the verb gives a tuple, which is computed once for all of them.
    """
    # A key of its own in the graph, so that the model is sent once and not with every block.
    shared = dask.delayed(verb, pure=False, traverse=False)
    if hasattr(X, "columns"):
        return _frames(X, shared, outcomes)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if len(outcomes) == 1:
        return [_array(X, _block, outcomes[0], verb=shared, outcomes=outcomes, number=0)]
    blocks = X.map_blocks(
        _block, dtype=object, meta=np.empty((0, 0), object), verb=shared, outcomes=outcomes
    )
    return [_array(blocks, _picked, one, number=number) for number, one in enumerate(outcomes)]


def _array(X: Any, work: Callable[..., Any], outcome: ResultSpec, **given: Any) -> Any:
    columns = outcome.columns
    if columns is None:
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, outcome.dtype)}
    else:
        shape = {"chunks": (X.chunks[0], (len(columns),)), "meta": np.empty((0, 0), outcome.dtype)}
    return X.map_blocks(work, dtype=outcome.dtype, **shape, **given)


def _frames(X: Any, verb: Any, outcomes: Sequence[ResultSpec]) -> list[Any]:
    """One frame for each outcome; of several, all stand side by side in one before."""
    index = X._meta.index
    metas = [one.frame(one.empty(), index) for one in outcomes]
    if len(outcomes) == 1:
        return [X.map_partitions(_partition, verb, outcomes[0], meta=metas[0])]
    columns = [name for number, one in enumerate(outcomes) for name in _numbered(number, one)]
    wide = ResultSpec(columns, outcomes[0].dtype)
    together = X.map_partitions(_side_by_side, verb, wide, meta=wide.frame(wide.empty(), index))
    return [
        together.map_partitions(_chosen, _numbered(number, one), one, meta=metas[number])
        for number, one in enumerate(outcomes)
    ]


def _numbered(number: int, outcome: ResultSpec) -> list[str]:
    return [f"{number} {place}" for place in range(len(outcome.columns or ()))]


def _block(rows: Any, verb: Verb, outcomes: Sequence[ResultSpec], number: int | None = None) -> Any:
    """A task: of a single outcome the array, of several the tuple."""
    if rows.shape[0] == 0:
        results = tuple(one.empty() for one in outcomes)
        return results if number is None else results[number]
    return verb(as_rows(rows, 0, rows.shape[0]))


def _picked(results: Any, number: int) -> Any:
    return results[number]


def _partition(frame: Any, verb: Verb, outcome: ResultSpec) -> Any:
    return outcome.frame(_block(frame, verb, [outcome], 0), frame.index)


def _side_by_side(frame: Any, verb: Verb, wide: ResultSpec) -> Any:
    values = _block(frame, lambda rows: np.hstack(verb(rows)), [wide], 0)
    return wide.frame(values, frame.index)


def _chosen(frame: Any, columns: list[str], outcome: ResultSpec) -> Any:
    return outcome.frame(frame[columns].to_numpy(), frame.index)
