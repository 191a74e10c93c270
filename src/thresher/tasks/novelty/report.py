"""The page about novel documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thresher import __version__
from thresher.plotting import share_bars, to_png
from thresher.report import Report
from thresher.tasks.novelty.beside import Kept, tell_nearest
from thresher.tasks.novelty.found import FoundInStep, NovelDocument

if TYPE_CHECKING:
    from thresher.tasks.novelty.detector import NovelDocumentDetector

_MOST_STEPS, _MOST_TOPICS, _MOST_DOCUMENTS = 60, 12, 30  # on the page; by judgement
_LONGEST = 1200  # letters of a document
_WORDS = 8


def novelty_report(
    detector: NovelDocumentDetector,
    found: Sequence[FoundInStep],
    kept: Kept | None = None,
    seconds: float = float("nan"),
) -> Report:
    """Tell which documents were novel, with the words that nothing before explains marked.

    Parameters
    ----------
    detector : NovelDocumentDetector
        After the steps.
    found : sequence of FoundInStep
        The steps, from `explained_steps`.
    kept : Kept, optional
        Their texts, to compare with a simple method.
    seconds : float
        That all steps took.
    """
    novel = sum(len(each.documents) for each in found)
    scored = sum(len(each.step.scores) for each in found)
    report = Report(
        f"{novel:,} novel documents",
        "Each document was compared with all that came before its step. Those that are least like "
        "anything before are marked, and so are the words that make them so.",
        f"Thresher {__version__} · novelty",
    )
    report.facts(
        [
            (f"{detector.n_documents_:,}", "documents learned from"),
            (f"{scored:,}", f"scored, in {len(found):,} steps"),
            (f"{novel / max(scored, 1):.1%}", "marked as novel"),
            (f"{len(detector.words_):,}", "different words"),
        ]
    )
    if found:
        _tell_topics(report, found)
        _tell_documents(report, found)
        _tell_steps(report, found)
        if kept is not None:
            tell_nearest(report, kept, found, seconds)
    return report


def _tell_topics(report: Report, found: Sequence[FoundInStep]) -> None:
    topics = [
        (len(t.documents), each.step.name, t.words) for each in found for t in each.step.topics
    ]
    if not topics:
        return
    topics.sort(key=lambda topic: -topic[0])
    report.heading("What emerged")
    report.table(
        ["words in common", "step", "documents"],
        [[", ".join(words), name, f"{count:,}"] for count, name, words in topics[:_MOST_TOPICS]],
        caption="Novel documents of a step that are alike, the largest groups first.",
    )


def _tell_documents(report: Report, found: Sequence[FoundInStep]) -> None:
    ranked: list[tuple[str, NovelDocument]] = [
        (each.step.name, document) for each in found for document in each.documents
    ]
    ranked.sort(key=lambda each: -each[1].score)
    report.heading("The most novel documents")
    for name, document in ranked[:_MOST_DOCUMENTS]:
        text = document.text.strip()
        text = text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"
        words = [word for word, _ in document.reason.unexplained[:_WORDS]]
        title = f"Step {name}, score {document.score:.2f}, p-value {document.p_value:.3f}"
        report.passage(title, text, words)
    if len(ranked) > _MOST_DOCUMENTS:
        report.paragraph(f"The first {_MOST_DOCUMENTS} of {len(ranked):,}.")


def _tell_steps(report: Report, found: Sequence[FoundInStep]) -> None:
    last = found[-_MOST_STEPS:]
    shares = [float(each.step.novel.mean()) for each in last]
    report.heading("Step by step")
    if len(last) > 1:
        names = [each.step.name for each in last]
        report.picture(
            to_png(share_bars(names, shares)),
            "; ".join(f"{n}: {share:.1%}" for n, share in zip(names, shares, strict=True)),
            "Share of novel documents in each step, the largest on top.",
            wide=True,
        )
    report.table(
        ["step", "documents", "novel", "largest score"],
        [
            [
                each.step.name,
                f"{len(each.step.scores):,}",
                f"{len(each.documents):,}",
                f"{each.step.scores.max(initial=0.0):.2f}",
            ]
            for each in last
        ],
        caption="" if len(last) == len(found) else f"The last {len(last)} steps.",
    )
