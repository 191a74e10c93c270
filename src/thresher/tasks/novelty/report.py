"""The page about novel documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thresher import __version__
from thresher.plotting import for_page, share_bars
from thresher.report import Report
from thresher.tasks.novelty.found import FoundInStep, NovelDocument

if TYPE_CHECKING:
    from thresher.tasks.novelty.detector import NovelDocumentDetector

_MOST_STEPS, _MOST_TOPICS, _MOST_DOCUMENTS = 60, 12, 30  # on the page; by judgement
_LONGEST = 1200  # letters of a document
_WORDS = 8


def novelty_report(detector: NovelDocumentDetector, found: Sequence[FoundInStep]) -> Report:
    """Tell which documents were novel, with the words that nothing before explains marked.

    Parameters
    ----------
    detector : NovelDocumentDetector
        After the steps.
    found : sequence of FoundInStep
        The steps, from `explained_steps`.
    """
    judged = [each for each in found if not each.step.start]
    novel = sum(len(each.documents) for each in judged)
    scored = sum(len(each.step.scores) for each in judged)
    report = Report(
        f"{novel:,} novel documents",
        "Each document was compared with all that came before its step. Those that are least like "
        "anything before are marked, and so are the words that make them so.",
        f"Thresher {__version__} · novelty",
    )
    report.facts(
        [
            (f"{detector.n_documents_:,}", "documents learned from"),
            (f"{scored:,}", f"scored, in {len(judged):,} steps"),
            (f"{novel / max(scored, 1):.1%}", "marked as novel"),
            (f"{len(detector.words_):,}", "different words"),
        ]
    )
    if judged:
        _tell_topics(report, judged)
        _tell_documents(report, judged)
    if found:
        _tell_steps(report, found)
    return report


def _tell_topics(report: Report, found: Sequence[FoundInStep]) -> None:
    topics = [(each.step.name, topic) for each in found for topic in each.step.topics]
    if not topics:
        return
    report.heading("What emerged")
    report.table(
        ["step", "words in common", "documents", "before", "the most typical", "chance"],
        [
            [
                name,
                ", ".join(topic.words),
                f"{len(topic.documents):,}",
                "" if np.isnan(topic.p_value) else f"{topic.n_before:,}",
                topic.representative.title,
                _chance(topic.p_value),
            ]
            for name, topic in topics[-_MOST_TOPICS:]
        ],
        caption="Documents of a step that are new together, in the order of time: the more of them "
        "there are, the less a single one needs to stand out. With some of the last documents "
        "before it, a group is a story that grows; with none it is new. The chance is that of such "
        "a group in a step without anything new.",
    )


def _chance(p_value: float) -> str:
    if np.isnan(p_value):
        return ""
    return "under 1 in 10,000" if p_value < 1e-4 else f"{p_value:.2g}"


def _tell_documents(report: Report, found: Sequence[FoundInStep]) -> None:
    ranked: list[tuple[str, NovelDocument]] = [
        (each.step.name, document) for each in found for document in each.documents
    ]
    ranked.sort(key=lambda each: -each[1].score)
    report.heading("The most novel documents")
    for name, document in ranked[:_MOST_DOCUMENTS]:
        text = document.record.text.strip()
        text = text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"
        words = [word for word, _ in document.reason.unexplained[:_WORDS]]
        title = (
            f"{document.record.id}, step {name}, score {document.score:.2f}, "
            f"p-value {document.p_value:.3f}"
        )
        report.passage(title, text, words)
    if len(ranked) > _MOST_DOCUMENTS:
        report.paragraph(f"The first {_MOST_DOCUMENTS} of {len(ranked):,}.")


def _tell_steps(report: Report, found: Sequence[FoundInStep]) -> None:
    last = found[-_MOST_STEPS:]
    report.heading("Step by step")
    judged = [each for each in last if not each.step.start]
    if len(judged) > 1:
        names = [each.step.name for each in judged]
        shares = [float(each.step.novel.mean()) for each in judged]
        report.picture(
            for_page(lambda: share_bars(names, shares)),
            "; ".join(f"{n}: {share:.1%}" for n, share in zip(names, shares, strict=True)),
            "Share of novel documents in each step, the largest on top.",
        )
    report.table(
        ["step", "documents", "novel", "largest score", ""],
        [_row(each) for each in last],
        caption="" if len(last) == len(found) else f"The last {len(last)} steps.",
    )


def _row(found: FoundInStep) -> list[str]:
    step = found.step
    if step.start:
        return [step.name, f"{len(step.novel):,}", "", "", "the start"]
    return [
        step.name,
        f"{len(step.novel):,}",
        f"{len(found.documents):,}",
        f"{step.scores.max(initial=0.0):.2f}",
        "unlike before, beyond chance" if step.shift > 0 else "",
    ]
