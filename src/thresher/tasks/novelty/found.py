"""Novel documents with their reasons, as a stream goes by."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thresher.tasks.novelty.results import Explanation, NoveltyStep
from thresher.tasks.text.records import Record
from thresher.tasks.text.steps import DocumentStep

if TYPE_CHECKING:
    from thresher.tasks.novelty.detector import NovelDocumentDetector


class NovelDocument(NamedTuple):
    """A document that was marked, and why.

    Attributes
    ----------
    record : Record
        Its place, id, title, date and text.
    score, p_value : float
    reason : Explanation
        By what was known before its step.
    """

    record: Record
    score: float
    p_value: float
    reason: Explanation


class FoundInStep(NamedTuple):
    """What a step brought: all scores and marks, and the marked documents, most novel first."""

    step: NoveltyStep
    documents: list[NovelDocument]


def explained_steps(
    detector: NovelDocumentDetector, steps: Iterable[DocumentStep]
) -> Iterator[FoundInStep]:
    """Go through steps of texts as `NovelDocumentDetector.watch` does, and give reasons.

    The first step starts the detector, if nothing has.
    """
    for step in steps:
        # A step puts new objects in the place of the old, which thus stay with the copy.
        before = copy.copy(detector)
        found = detector.taken(step)
        marked = np.flatnonzero(found.novel)
        order = marked[np.argsort(-found.scores[marked], kind="stable")].tolist()
        yield FoundInStep(
            found,
            [
                NovelDocument(
                    found.records[place],
                    float(found.scores[place]),
                    float(found.p_values[place]),
                    before.explain(found.records[place].text),
                )
                for place in order
            ],
        )
