"""The nearest document before, beside what a detector marked: for its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from thresher.report import Report, tell_beside, timed
from thresher.tasks.novelty.found import FoundInStep

_MOST_DOCUMENTS = 2000  # that are kept to compare with; a few seconds; by judgement


class Kept:
    """Steps that go by, of which the first documents are kept."""

    def __init__(self, steps: Iterable[tuple[str, Any]]) -> None:
        self.steps: list[tuple[str, list[str]]] = []
        self._from, self._count = steps, 0

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, texts in self._from:
            self._count += len(texts)
            if self._count <= _MOST_DOCUMENTS:
                self.steps.append((name, list(texts)))
            yield name, texts


def tell_nearest(report: Report, kept: Kept, found: Sequence[FoundInStep], seconds: float) -> None:
    """Compare marks with documents that are least like any one before them.

    Parameters
    ----------
    report : Report
    kept : Kept
        The first steps; the first of all has told what is usual.
    found : sequence of FoundInStep
        What the detector found in the others.
    seconds : float
        That the detector took for all of them.
    """
    later, same = kept.steps[1:], found[: max(len(kept.steps) - 1, 0)]
    marked = [np.flatnonzero(each.step.novel) for each in same]
    if not later or not sum(map(len, marked)):
        return
    scores, took = timed(lambda: _distances(kept.steps))
    common = 0
    for mine, theirs in zip(marked, scores, strict=True):
        farthest = np.argsort(-theirs, kind="stable")[: len(mine)]
        common += len(np.intersect1d(mine, farthest))
    count, total = sum(map(len, marked)), sum(len(texts) for _, texts in later)
    all_of_them = sum(len(each.step.scores) for each in found)
    tell_beside(
        report,
        ["documents a second", "what it keeps"],
        [
            ["NovelDocumentDetector", f"{all_of_them / max(seconds, 1e-9):,.0f}", "directions"],
            ["nearest document before", f"{total / max(took, 1e-9):,.0f}", "all documents"],
        ],
        f"The alternative takes, of {total:,} documents in the first {len(later):,} steps, as many "
        "of each step as were marked there: those whose nearest document before, by the cosine of "
        f"tf-idf, is farthest. It agrees in {common:,} of {count:,} marks. Its time for a document "
        "grows with those before, and it says of none how likely that is by chance. The detector's "
        "seconds include reading and its reasons.",
    )


def _distances(steps: Sequence[tuple[str, list[str]]]) -> list[Any]:
    """For each step after the first, one minus the largest cosine with any document before it."""
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(steps[0][1])
    before, found = words.transform(steps[0][1]), []
    for _, texts in steps[1:]:
        rows = words.transform(texts)
        nearest = (rows @ before.T).max(axis=1).toarray().ravel()
        found.append(1 - nearest)
        before = sparse.vstack([before, rows], format="csr")
    return found
