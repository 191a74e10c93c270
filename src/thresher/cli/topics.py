"""``thresher topics``: what documents are about."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from thresher.cli.frame import ReportFile, WrongUseError, made, seeded
from thresher.cli.held import held
from thresher.cli.talk import Talk

Docs = Annotated[
    str,
    typer.Argument(
        help="JSON lines (also .gz, .zst), a text file with a document in each line, a folder of "
        "text files, or - for standard input.",
        show_default=False,
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(help="The field of the text in JSON lines; by default the one of most letters."),
]
SaveFile = Annotated[
    Path | None,
    typer.Option("--save", help="Write the model to this file, for transform and inspect."),
]


def topics(
    talk: Talk,
    docs: Docs,
    text: TextField = None,
    save: SaveFile = None,
    report: ReportFile = None,
    over_time: Annotated[
        bool,
        typer.Option("--over-time", help="Follow topics through time, and tell what happens."),
    ] = False,
    size: Annotated[
        int | None,
        typer.Option(help="With --over-time, documents in a step; by default chosen.", min=1),
    ] = None,
    date_field: Annotated[
        str | None, typer.Option(help="With --over-time, the field of the date.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="With --over-time, day, week or month; by default chosen.")
    ] = None,
    **parameters: Any,
) -> None:
    """Find the topics of documents: their words, and how much of the documents each takes up.

    With --over-time documents are read in order, step by step. The first step only tells what is
    usual; then topics are born, die, merge, split and turn; words enter and leave.
    """
    from thresher import TopicModel

    if over_time:
        from thresher.cli.topics_over_time import follow_topics

        stepping = (size, date_field, every)
        follow_topics(talk, docs, text, stepping, save, report, parameters)
        return
    if size is not None or date_field is not None or every is not None:
        raise WrongUseError("--size, --date-field and --every are steps of time; add --over-time.")
    model = made(TopicModel, seeded(talk, parameters))
    documents, rest = held(texts_from(talk, docs, text), len)
    if rest is None:
        model.fit(documents)
    else:
        why = "there is more text than is held in memory; shares are of its beginning"
        talk.choose("read as a stream, of which is held", f"{len(documents):,} documents", why)
        model.fit(chain(documents, rest))
    inner = model.model_
    talk.choose(
        "learned in batches of",
        inner.batch_size,
        f"the best of {inner.n_starts} starts"
        + (", since there are few documents" if inner.n_starts > 1 else "; documents are many"),
    )
    shares = model.transform(documents)
    mean = shares.mean(axis=0)
    found = sorted(zip(model.topics_, mean.tolist(), strict=True), key=lambda each: -each[1])
    talk.answer(
        documents=len(documents),
        words=len(model.words_),
        coherence=model.coherence(documents).mean,
        topics=[{**topic._asdict(), "share": share} for topic, share in found],
    )
    table = Table("Topic", title=f"{len(documents):,} documents", title_justify="left")
    table.add_column("share", justify="right")
    table.add_column("words")
    for topic, share in found:
        table.add_row(escape(topic.name), f"{share:.1%}", escape(", ".join(topic.words)))
    talk.show(table)
    if save is not None:
        from thresher import save as save_model

        save_model(model, save)
        talk.answer(model=save)
    if report is not None:
        from thresher.tasks.topics.report import topic_report

        talk.write_report(topic_report(model, documents), report)


def texts_from(talk: Talk, docs: str, field: str | None) -> Any:
    """Texts one by one, from the field that was given or chosen."""
    from thresher.tasks.text.reading import read_documents, text_field, texts_of

    documents = read_documents(docs)
    if field is None:
        field, documents = text_field(documents)
        if field is not None:
            talk.choose("text", field, "the field with the most letters")
    return texts_of(documents, field)
