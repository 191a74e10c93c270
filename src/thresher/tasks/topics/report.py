"""The page that shows the topics of a `TopicModel`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.estimators.reports import add_history
from thresher.linalg import Array
from thresher.plotting import bar_panels, for_page, share_bars
from thresher.report import Report
from thresher.streams import is_stream
from thresher.tasks.text.documents import as_texts, is_table

if TYPE_CHECKING:
    from thresher.tasks.topics.model import TopicModel
    from thresher.tasks.topics.timeline import TopicsOverTime

_MOST_EVENTS = 100  # in the table of a page
_EXCERPT = 160  # letters: about two lines of the page


def topic_report(
    model: TopicModel, documents: Any = None, over_time: TopicsOverTime | None = None
) -> Report:
    """Tell what the topics are and, if documents are given, how these divide among them.

    Parameters
    ----------
    model : TopicModel
        Fitted.
    documents : sequence of str, or table of counts, optional
    over_time : TopicsOverTime, optional
        How they came about.
    """
    if is_stream(documents):
        raise ValueError(
            "The report reads its documents more than once; give a list, such as a sample of the "
            "stream."
        )
    topics, order = model.topics_, list(range(len(model.components_)))
    names = [topic.name for topic in topics]
    shares = None
    if documents is not None:
        documents = documents if is_table(documents) else as_texts(documents)
        shares = model._shares_of(documents)
        order = np.argsort(-shares.mean(axis=0), kind="stable").tolist()

    read = "" if shares is None else f" in {len(shares):,} documents"
    report = Report(
        f"{len(topics)} topic{'s' * (len(topics) != 1)}{read}",
        "Every topic is a handful of words that keep company. Every document is a mixture of "
        "topics, in shares that sum to one.",
        f"Thresher {__version__} · topics",
    )
    if shares is not None:
        _tell_shares(report, model, documents, shares, names, order)
    if over_time is not None:
        _tell_time(report, over_time)
    report.heading("The words of each topic")
    report.picture(
        for_page(
            lambda: bar_panels(
                [names[number] for number in order],
                [topics[number].words for number in order],
                [topics[number].weights for number in order],
            )
        ),
        "; ".join(f"{topic.name}: {', '.join(topic.words)}" for topic in topics),
        "The length of a bar is the share of a topic that its word makes up; the scale is the same "
        "for all topics.",
    )
    if shares is not None and not is_table(documents):
        _tell_examples(report, documents, shares, names, order)
    if hasattr(model.model_, "history_"):
        add_history(report, model.model_.history_, model.model_.tol)
    report.paragraph(
        f"{len(model.words_):,} words; {type(model.model_).__name__} with {len(topics)} components."
    )
    return report


def _tell_time(report: Report, over: TopicsOverTime) -> None:
    report.heading("Topics over time")
    first, last = over.steps[0].name, over.steps[-1].name
    report.facts(
        [
            (f"{int(over.n_documents.sum()):,}", "documents"),
            (f"{len(over.steps):,}", f"steps, from {first} to {last}"),
            (f"{len(over.names):,}", "topics ever"),
            (f"{len(over.events):,}", "events"),
        ]
    )
    told = [f"{e.step}: {' and '.join(e.names)} {e.kind}" for e in over.events]
    report.picture(
        for_page(over.plot),
        "Shares of topics over time. " + "; ".join(told or ["Nothing happened to topics"]),
        "Mean share of each topic in the documents of a step, on one scale for all. Marks show "
        "where topics were born, died, merged, split or took a turn.",
    )
    if not over.events:
        report.paragraph("No topic was born, died, merged, split or took a turn beyond chance.")
        return
    shown = over.events[-_MOST_EVENTS:]
    report.table(
        ["Step", "What happened, and the words that weigh most", "Chance"],
        [
            [e.step, f"{' + '.join(e.names)} {e.kind}: {', '.join(e.words)}", f"{e.p_value:.2g}"]
            for e in shown
        ],
        caption="The chance is that of such documents if topics had only swollen or shrunk, to "
        "twice or half the odds at the most."
        + (f" The last {len(shown)} events." if len(shown) < len(over.events) else ""),
    )


def _tell_shares(
    report: Report,
    model: TopicModel,
    documents: Any,
    shares: Array,
    names: list[str],
    order: list[int],
) -> None:
    coherence = model.coherence(documents)
    mean_shares, main = shares.mean(axis=0), shares.argmax(axis=1)
    report.facts(
        [
            (f"{len(shares):,}", "documents"),
            (f"{len(model.words_):,}", "different words"),
            (f"{shares.max(axis=1).mean():.0%}", "of a document is its main topic, on average"),
            (f"{coherence.mean:.2f}".replace("-", "−"), "mean coherence, from −1 to 1"),
        ]
    )
    report.heading("How much each topic takes up")
    report.picture(
        for_page(lambda: share_bars(names, mean_shares.tolist())),
        "Mean share of each topic: "
        + "; ".join(f"{name} {share:.1%}" for name, share in zip(names, mean_shares, strict=True)),
        "Mean share of each topic in a document.",
    )
    report.table(
        ["Topic", "Main topic of", "Coherence"],
        [
            [
                names[topic],
                f"{np.count_nonzero(main == topic):,}",
                f"{coherence.per_topic[topic]:.2f}".replace("-", "−"),
            ]
            for topic in order
        ],
        caption="Coherence is the normalised pointwise mutual information of the ten top words in "
        "these documents: 1 if they come only together, 0 if by chance, −1 if never.",
    )


def _tell_examples(
    report: Report, documents: list[Any], shares: Array, names: list[str], order: list[int]
) -> None:
    report.heading("A typical document of each topic")
    for topic in order:
        best = int(shares[:, topic].argmax())
        paragraphs = re.split(r"\n\s*\n", str(documents[best]).strip())
        text = " · ".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        excerpt = text if len(text) <= _EXCERPT else text[:_EXCERPT].rsplit(" ", 1)[0] + " …"
        report.paragraph(f"{names[topic]} ({shares[best, topic]:.0%}): “{excerpt}”")
