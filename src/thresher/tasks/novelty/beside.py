"""The nearest document before, beside what a detector marked: for its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from thresher.report import Report, tell_beside, timed
from thresher.tasks.novelty.found import FoundInStep

_MOST_DOCUMENTS = 2000  # that are compared; a few seconds; by judgement


def tell_nearest(report: Report, found: Sequence[FoundInStep], seconds: float) -> None:
    """Compare marks with documents that are least like any one before them.

    Parameters
    ----------
    report : Report
    found : sequence of FoundInStep
        The steps, of which the first has told what is usual.
    seconds : float
        That the detector took for all of them.
    """
    sizes = np.cumsum([len(each.step.records) for each in found])
    few = found[: int(np.searchsorted(sizes, _MOST_DOCUMENTS, side="right"))]
    texts = [[record.text for record in each.step.records] for each in few]
    later, same = texts[1:], few[1:]
    marked = [np.flatnonzero(each.step.novel) for each in same]
    if not later or not sum(map(len, marked)):
        return
    scores, took = timed(lambda: _distances(texts))
    common = 0
    for mine, theirs in zip(marked, scores, strict=True):
        farthest = np.argsort(-theirs, kind="stable")[: len(mine)]
        common += len(np.intersect1d(mine, farthest))
    count, total = sum(map(len, marked)), sum(map(len, later))
    all_of_them = sum(len(each.step.scores) for each in found[1:])
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


def _distances(steps: Sequence[list[str]]) -> list[Any]:
    """For each step after the first, one minus the largest cosine with any document before it."""
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(steps[0])
    before, found = words.transform(steps[0]), []
    for texts in steps[1:]:
        rows = words.transform(texts)
        nearest = (rows @ before.T).max(axis=1).toarray().ravel()
        found.append(1 - nearest)
        before = sparse.vstack([before, rows], format="csr")
    return found
