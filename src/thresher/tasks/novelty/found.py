"""Novel documents with their reasons, as a stream goes by."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.tasks.novelty.results import Explanation, NoveltyStep

if TYPE_CHECKING:
    from thresher.tasks.novelty.detector import NovelDocumentDetector


class NovelDocument(NamedTuple):
    """A document that was marked, and why.

    Attributes
    ----------
    place : int
        Its place in its step.
    text : str
    score, p_value : float
    reason : Explanation
        By what was known before its step.
    """

    place: int
    text: str
    score: float
    p_value: float
    reason: Explanation


class FoundInStep(NamedTuple):
    """What a step brought: all scores and marks, and the marked documents, most novel first."""

    step: NoveltyStep
    documents: list[NovelDocument]


def explained_steps(
    detector: NovelDocumentDetector, steps: Iterable[tuple[str, Any]]
) -> Iterator[FoundInStep]:
    """Go through steps of texts as `NovelDocumentDetector.watch` does, and give reasons.

    The first step starts the detector, if nothing has.
    """
    for name, texts in steps:
        if not hasattr(detector, "n_steps_"):
            detector.fit(texts)
            continue
        # A step puts new objects in the place of the old, which thus stay with the copy.
        before = copy.copy(detector)
        step = detector.step(texts, name)
        marked = np.flatnonzero(step.novel)
        order = marked[np.argsort(-step.scores[marked], kind="stable")].tolist()
        yield FoundInStep(
            step,
            [
                NovelDocument(
                    place,
                    texts[place],
                    float(step.scores[place]),
                    float(step.p_values[place]),
                    before.explain(texts[place]),
                )
                for place in order
            ],
        )
