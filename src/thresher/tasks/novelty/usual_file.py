"""What is usual, as arrays and a JSON document: the last documents, or their scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.estimators.parts import PARAMETERS
from thresher.persistence import Contents, put_strings
from thresher.tasks.novelty.held_out import HeldOut
from thresher.tasks.novelty.recent import RecentDocuments, as_wide_as
from thresher.tasks.novelty.usual import REMEMBERED, PastScores, ScoreReference
from thresher.tasks.text.counts_file import documents_of
from thresher.tasks.text.records import Record

_TEXTS = ("id", "title", "date", "text")


def packed_usual(usual: ScoreReference, n_words: int, arrays: dict[str, Any]) -> dict[str, Any]:
    """Puts arrays where they belong; what else there is to say."""
    if isinstance(usual, PastScores):
        arrays["past"] = usual.past
        return {}
    assert isinstance(usual, HeldOut)
    recent = usual.recent
    arrays["marked"], arrays["ranks"] = recent.marked, recent.ranks
    if recent.records:
        arrays["places"] = np.array([record.place for record in recent.records], dtype=np.int64)
        for name in _TEXTS:
            put_strings(arrays, f"record.{name}", [getattr(each, name) for each in recent.records])
    return {"recent": PARAMETERS.pack("recent", as_wide_as(recent.counts, n_words), arrays)}


def unpacked_usual(contents: Contents, empty: ScoreReference, n_words: int) -> ScoreReference:
    """The same again; a file from before the last documents were kept begins without any."""
    if isinstance(empty, PastScores):
        return PastScores(contents.array("past", (None,)))
    assert isinstance(empty, HeldOut)
    counts = documents_of(contents, "recent", n_words)
    if counts is None:
        return empty
    n = counts.shape[0]
    if n > REMEMBERED:
        raise contents.error(f"{n} documents are more than it can have kept")
    ranks = contents.array("ranks", (n,), finite=False)
    if ((ranks <= 0) | (ranks > 1)).any():
        raise contents.error("its ranks are no shares")
    marked = contents.array("marked", (n,), ("bool",))
    records = None if empty.recent.records is None else _records(contents, n)
    return HeldOut(RecentDocuments(counts, marked, ranks, records))


def _records(contents: Contents, n: int) -> tuple[Record, ...]:
    if n == 0:
        return ()
    columns = [contents.strings(f"record.{name}") for name in _TEXTS]
    places = contents.array("places", (n,), ("int64",)).tolist()
    if any(len(column) != n for column in columns):
        raise contents.error(f"it has not {n} records")
    return tuple(Record(*each) for each in zip(places, *columns, strict=True))
