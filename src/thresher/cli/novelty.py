"""``thresher novelty``: what has not come up before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, made, seeded
from thresher.cli.live.session import LOOPBACK, Address, LiveFlag, StayFlag, live_page
from thresher.cli.talk import Talk
from thresher.cli.topics import Docs, SaveFile, TextField

if TYPE_CHECKING:
    from thresher.tasks.novelty.found import FoundInStep
    from thresher.tasks.text.steps import DocumentStep

_SHOWN = 5  # documents of a step that people are shown; by judgement
_EXCERPT = 90  # letters of each
_WORDS = 4  # that explain it


def novelty(
    talk: Talk,
    docs: Docs,
    text: TextField = None,
    size: Annotated[
        int | None,
        typer.Option(
            help="Documents in a step; by default chosen, by date if there is one.", min=1
        ),
    ] = None,
    date_field: Annotated[
        str | None, typer.Option(help="The field of the date; then steps are days, weeks, months.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="day, week or month; by default chosen.")
    ] = None,
    id_field: Annotated[str, typer.Option(help="The field of the id.")] = "id",
    title_field: Annotated[str, typer.Option(help="The field of the title.")] = "title",
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait at the end of a file for what is added to it.")
    ] = False,
    save: SaveFile = None,
    report: ReportFile = None,
    live: LiveFlag = False,
    address: Address = LOOPBACK,
    stay: StayFlag = False,
    **parameters: Any,
) -> None:
    """Tell which documents of a stream are about something that has not come up before.

    Documents are taken step by step; the first step only tells what is usual. With - for DOCS it
    follows standard input, with --follow a file that grows, and tells of each step as soon as it is
    full; with --json it then prints an object for each step, in a line of its own.
    """
    from thresher import NovelDocumentDetector
    from thresher.tasks.novelty.found import explained_steps

    detector = made(NovelDocumentDetector, seeded(talk, parameters))
    fields = {"id_field": id_field, "title_field": title_field}
    endless = docs == "-" or follow
    rate = detector.false_alarm_rate
    steps = steps_of(talk, docs, text, size, date_field, every, rate, follow, fields)
    found = []
    shown = _shown(talk, docs, save, address, stay) if live else nullcontext(explained_steps)
    with shown as followed, _until_interrupted(talk, endless):
        for each in followed(detector, steps):
            if not endless or report is not None:
                found.append(each)  # before it is told: whoever reads of it may end all at once
            show_step(talk, each)
            if endless:
                talk.line(**_told(each))
    if not hasattr(detector, "n_steps_"):
        raise ValueError("There are no documents; give at least one.")
    if detector.n_steps_ == 0:
        talk.note("All documents were taken to tell what is usual; give more, or a smaller --size.")
    talk.answer(documents=detector.n_documents_, steps=[_told(each) for each in found])
    if save is not None:
        from thresher import save as save_model

        save_model(detector, save)
        talk.answer(model=save)
    if report is not None:
        from thresher.tasks.novelty.report import novelty_report

        talk.write_report(novelty_report(detector, found), report)


@contextmanager
def _shown(
    talk: Talk, docs: str, save: Path | None, address: str, stay: bool
) -> Iterator[Callable[..., Iterator[FoundInStep]]]:
    """With a live page: what goes through the steps, and tells the page of each."""
    from thresher.cli.live.shows.novelty import NoveltyShow, watched_steps

    what, name = "NovelDocumentDetector", Path(docs).name
    page = live_page(talk, NoveltyShow(), name, what, address=address, path=save, stay=stay)
    with page as watcher:
        yield partial(watched_steps, watcher)


@contextmanager
def _until_interrupted(talk: Talk, following: bool) -> Iterator[None]:
    """Ctrl-C is how people end what has no end: what was found until then is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if not following:
            raise
        talk.aside("Interrupted; what came until now counts.")


def steps_of(
    talk: Talk,
    docs: str,
    field: str | None,
    size: int | None,
    date_field: str | None,
    every: str | None,
    false_alarm_rate: float,
    follow: bool = False,
    fields: dict[str, Any] | None = None,
) -> Iterator[DocumentStep]:
    """Documents in steps, as given or as chosen; of what has no end nothing is read ahead."""
    from thresher.tasks.novelty.choosing import chosen_stepping
    from thresher.tasks.text.reading import read_documents, text_field
    from thresher.tasks.text.steps import EVERY, document_steps

    if every is not None and every not in EVERY:
        raise WrongUseError(f"--every {every} is not known; use {', '.join(EVERY)}.")
    names: dict[str, Any] = fields or {}
    if docs == "-" or follow:
        if size is None and date_field is None:
            why = "nothing is told before two steps are full; --size makes them smaller"
            size = talk.choose("size", 1000, why)
        source: Any = read_documents(docs) if docs == "-" else docs
        return document_steps(
            source, size or 1000, text=field or "text", date_field=date_field,
            every=every or "day", follow=docs != "-", **names,
        )  # fmt: skip
    documents = read_documents(docs)
    if field is None:
        field, documents = text_field(documents)
        if field is not None:
            talk.choose("text", field, "the field with the most letters")
    text = field or "text"
    if size is None and (date_field is None or every is None):
        records = list(documents)
        chosen = chosen_stepping(records, text, date_field, false_alarm_rate)
        documents = iter(records)
        if chosen.date_field is None:
            size = talk.choose("size", chosen.size, chosen.why)
        else:
            if date_field is None:
                date_field = talk.choose("date_field", chosen.date_field, "it has dates, in order")
            every = every or talk.choose("every", chosen.every, chosen.why)
    return document_steps(
        documents, size or 1000, text=text, date_field=date_field, every=every or "day", **names
    )


def _told(found: FoundInStep) -> dict[str, Any]:
    """A step for machines."""
    step = found.step
    return {
        "step": step.name,
        "documents": len(step.scores),
        "start": step.start,
        "shift": step.shift,
        "novel": [
            {
                **document.record._asdict(),
                "score": document.score,
                "p_value": document.p_value,
                "unexplained": document.reason.unexplained,
            }
            for document in found.documents
        ],
        "topics": [
            {
                "documents": topic.documents,
                "ids": [record.id for record in topic.records],
                "words": topic.words,
                "p_value": None if topic.p_value != topic.p_value else topic.p_value,
                "representative": topic.representative.title,
            }
            for topic in step.topics
        ],
    }


def show_step(talk: Talk, found: FoundInStep) -> None:
    """A step for people."""
    step, documents = found
    if step.start:
        talk.show(f"{step.name}: {len(step.novel)} documents to start from")
        return
    talk.show(f"{step.name}: {len(documents)} of {len(step.scores)} documents are novel")
    if step.shift > 0:
        talk.show("  the whole step is unlike before; what is marked stands out of the step itself")
    for topic in step.topics:
        talk.show(f"  {len(topic.documents)} together: {', '.join(topic.words)}")
    for document in documents[:_SHOWN]:
        words = ", ".join(word for word, _ in document.reason.unexplained[:_WORDS])
        start = " ".join(document.record.text.split())
        excerpt = start if len(start) <= _EXCERPT else start[:_EXCERPT].rsplit(" ", 1)[0] + " …"
        talk.show(f"  {document.record.id}: {excerpt}", f"       for {words}")
    if len(documents) > _SHOWN:
        talk.show(f"  and {len(documents) - _SHOWN} more")
