"""``thresher topics --over-time``: how topics come and go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from thresher.cli.frame import made, seeded
from thresher.cli.talk import Talk

_RATE = 0.04  # `steps_of` then chooses steps of fifty documents, two over this; by judgement


def follow_topics(
    talk: Talk,
    docs: str,
    text: str | None,
    stepping: tuple[int | None, str | None, str | None],
    save: Path | None,
    report: Path | None,
    parameters: dict[str, Any],
) -> None:
    """Go through documents step by step, and tell of topics that live, and of events."""
    from thresher import TopicModel
    from thresher.cli.novelty import steps_of
    from thresher.tasks.topics.timeline import TopicsOverTime

    if parameters.get("vocabulary") is None:
        why = "words enter and leave as time goes by"
        parameters = {**parameters, "vocabulary": talk.choose("vocabulary", "grow", why)}
    model = made(TopicModel, seeded(talk, parameters))
    size, date_field, every = stepping
    found = []
    for each in steps_of(talk, docs, text, size, date_field, every, _RATE):
        step = model.step(each.documents, each.name)
        found.append(step)
        for event in step.events:
            names, words = " + ".join(event.names), ", ".join(event.words[:5])
            talk.show(f"{event.step}  {event.kind:6}  {names}  ({words})")
    over = TopicsOverTime(found)
    talk.answer(**over.to_dict(), topics=[topic._asdict() for topic in model.topics_])
    total = f"{int(over.n_documents.sum()):,} documents in {len(found)} steps"
    table = Table("Topic", title=total, title_justify="left")
    table.add_column("share in the last step", justify="right")
    table.add_column("words")
    last = found[-1]
    for place in (-last.shares).argsort():
        topic = model.topics_[place]
        table.add_row(
            escape(topic.name), f"{last.shares[place]:.1%}", escape(", ".join(topic.words))
        )
    talk.show(table)
    if save is not None:
        from thresher import save as save_model

        save_model(model, save)
        talk.answer(model=save)
    if report is not None:
        from thresher.tasks.topics.report import topic_report

        talk.write_report(topic_report(model, None, over), report)
