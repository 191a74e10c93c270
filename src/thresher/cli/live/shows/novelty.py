"""Documents: those that are novel, with the words that nothing explains, and what is usual."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresher.cli.live.shows.base import Control, Fact, Show, set_parameter
from thresher.cli.live.views import heaviest
from thresher.tasks.novelty.found import FoundInStep, explained_steps
from thresher.tasks.text.steps import DocumentStep

_LETTERS = 1500  # of a document; by judgement
_PARTS = 12
_HELP = (
    "Of the documents that are not novel, so many may be marked all the same: smaller marks fewer."
)


class SeenStep(NamedTuple):
    """What was found in a step of documents, and the detector."""

    found: FoundInStep
    model: Any


class NoveltyShow(Show):
    """`thresher.NovelDocumentDetector`, step by step."""

    unit = "documents"
    curve = "score"
    sample_title = "The most novel document of the latest step"
    parts_title = "What is usual: directions that documents lie in"
    facts = (
        Fact("samples", "documents seen", "count"),
        Fact("rate", "documents a second", "count"),
        Fact("score", "mean novelty score of the step"),
        Fact("novel", "of the step is novel", "share"),
        Fact("words", "words known", "count"),
    )

    def model(self, step: SeenStep) -> Any:
        """The detector."""
        return step.model

    def numbers(self, step: SeenStep) -> dict[str, Any]:
        """Of the step."""
        scores, novel = step.found.step.scores, step.found.step.novel
        return {
            "samples": step.model.n_documents_,
            "score": float(np.mean(scores)),
            "novel": float(np.mean(novel)),
            "words": len(step.model.words_),
        }

    def noticed(self, step: SeenStep) -> list[str]:
        """Topics that emerge."""
        return [
            f"Step {step.found.step.name}: {len(topic.documents)} novel documents together, about "
            f"{', '.join(topic.words[:5])}."
            for topic in step.found.step.topics
        ]

    def view(self, step: SeenStep) -> dict[str, Any]:
        """The document of the highest score, its unexplained words marked; some directions."""
        found = step.found
        if found.documents:
            best = found.documents[0]
            text, reason = best.record.text, best.reason
            said = f"score {best.score:.2f}, novel (p = {best.p_value:.2g})"
        else:
            place = int(np.argmax(found.step.scores))
            text, reason = found.step.records[place].text, None
            said = f"score {found.step.scores[place]:.2f}, not novel"
        strange = [] if reason is None else [word for word, _ in reason.unexplained]
        sample = {
            "kind": "document",
            "said": f"{said}.",
            "pieces": marked(text[:_LETTERS], strange),
        }
        return {"sample": sample, "parts": self._parts(step.model)}

    def controls(self, step: SeenStep) -> list[Control]:
        """How often an alarm may be false."""
        rate = str(step.model.false_alarm_rate)
        return [Control("false_alarm_rate", "False-alarm rate", _HELP, rate)]

    def change(self, step: SeenStep, name: str, value: Any) -> None:
        """A parameter that each step is judged by anew."""
        set_parameter(step.model, name, value)

    def _parts(self, model: Any) -> dict[str, Any]:
        atoms, words = model.components_, model.words_
        largest = np.argsort(-np.linalg.norm(atoms, axis=1), kind="stable")[:_PARTS]
        parts = [
            {"name": f"Direction {atom + 1}", "bars": heaviest(atoms[atom], words)}
            for atom in largest.tolist()
        ]
        return {"kind": "bars", "parts": parts, "count": len(atoms), "shown": len(parts)}


def watched_steps(
    watcher: Callable[[SeenStep], Any], detector: Any, steps: Iterable[DocumentStep]
) -> Iterator[FoundInStep]:
    """Go through steps as `explained_steps` does, and tell a watcher of each after the start."""
    for found in explained_steps(detector, steps):
        yield found
        if not found.step.start:
            watcher(SeenStep(found, detector))


def marked(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """A text in pieces, and whether each is one of some words."""
    if not words:
        return [(text, False)]
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    pieces = [(piece, bool(number % 2)) for number, piece in enumerate(pattern.split(text))]
    return [piece for piece in pieces if piece[0]]
