"""What workers do: functions of a module, which travel as names, of their input alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol

import numpy as np

from thresher.cluster.collections import as_rows
from thresher.cluster.packing import aligned, packed, shared, unpacked
from thresher.engine import FeatureRange, Pool, StreamMethod, StreamState, tree_sum
from thresher.linalg import is_sparse
from thresher.streams import Batch, Source
from thresher.streams.pieces import joined

_preparing = Lock()  # what coding shares is made once, by one thread


class Recipe(Protocol):
    """What workers know of a model; it travels packed."""

    def batch(self, rows: Any) -> Batch:
        """Samples, checked; a sentence refuses bad ones."""

    def method(self, state: StreamState) -> StreamMethod:
        """The method of a state, in its unit."""


@dataclass(frozen=True)
class BatchProfile:
    """What has to be known of all rows of a batch before they are coded; looks add up."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    sparse: bool
    only_stored: bool
    seen: FeatureRange

    @classmethod
    def at(cls, batch: Batch) -> "BatchProfile":
        """At the rows of a share."""
        seen, X = FeatureRange.of(batch), batch.X
        sparse = batch.is_sparse_without_gaps
        return cls(batch.n_samples, X.shape[1], X.dtype, sparse, batch.only_stored, seen)

    def __add__(self, other: "BatchProfile") -> "BatchProfile":
        """At the rows of both."""
        if self.n_features != other.n_features:
            raise ValueError(
                f"Some samples have {self.n_features} features, others {other.n_features}; all "
                "chunks need the same columns."
            )
        return BatchProfile(
            self.n_samples + other.n_samples,
            self.n_features,
            np.result_type(self.dtype, other.dtype),
            self.sparse and other.sparse,
            self.only_stored,
            self.seen | other.seen,
        )


@dataclass(frozen=True)
class Share:
    """The rows of a round that one task codes."""

    begins: int
    stops: int
    whole: int


def as_it_is(value: Any) -> Any:
    """The value: a task that has it can run again elsewhere, when its worker is lost."""
    return value


def read_rows(source: Source, pass_index: int, start: int, stop: int) -> Any:
    """Rows of a pass over files; all workers have to see these."""
    try:
        return source.rows(pass_index, start, stop)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"A worker does not see what this process sees: {error}. Give paths that all machines "
            "share, whole ones rather than relative ones."
        ) from error


Cut = tuple[int, int]
"""The first row that is taken of a part, and the one after the last."""


def checked(recipe: bytes, parts: Sequence[Any], cuts: Sequence[Cut], share: Share) -> Batch:
    """The samples of a share, as its task codes them."""
    check = shared(recipe).batch
    rows = [check(one).X for one in map(as_rows, parts, *zip(*cuts, strict=True))]
    return Batch(joined(_alike(rows)), begins=share.begins, whole=share.whole)


def of_batch(batch: Batch, first: int, step: int) -> Any:
    """Rows of a share at even distances, from the one numbered ``first`` on."""
    return batch.X[first::step]


def as_they_are(parts: Sequence[Any], cuts: Sequence[Cut], first: int, step: int) -> Any:
    """The same, before they are checked."""
    rows = list(map(as_rows, parts, *zip(*cuts, strict=True)))
    return joined(_alike(rows))[first::step]


def looked_at(batch: Batch) -> bytes:
    """A `BatchProfile` at a share."""
    return packed(BatchProfile.at(batch))


def summarised(
    recipe: bytes, state: bytes, batches: Sequence[Batch], share: Share, sparse: bool
) -> bytes:
    """Code the blocks of a share on the dictionary of a state, and add them up as a branch."""
    batch = _of_share(batches, share)
    # Whether rows are taken as their nonzeros is decided by all rows of the round.
    vars(batch)["is_sparse_without_gaps"] = sparse
    with Pool(1) as pool:
        with _preparing:
            # Arrays that travelled are made read-only again.
            dictionary = shared(state).changed()
            method = shared(recipe).method(dictionary)
            code_and_summarise = method.summariser(dictionary, batch)
        summary = tree_sum(pool.map(code_and_summarise, method.blocks(batch)))
    return packed(summary)


def _of_share(batches: Sequence[Batch], share: Share) -> Batch:
    parts = [one.X[max(share.begins - one.begins, 0) : share.stops - one.begins] for one in batches]
    return replace(batches[0], X=aligned(joined(_alike(parts))), begins=share.begins)


def _alike(parts: list[Any]) -> list[Any]:
    """Dense and sparse rows do not join: if some are dense, all are."""
    if all(map(is_sparse, parts)):
        return parts
    return [part.toarray() if is_sparse(part) else part for part in parts]


def together(parts: Sequence[Any]) -> Any:
    """Rows of several tasks, one after the other."""
    return joined(_alike(list(parts)))


def added(branches: Sequence[bytes]) -> bytes:
    """Neighbouring branches, as one."""
    return packed(tree_sum(list(map(unpacked, branches))))
