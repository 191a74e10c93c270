"""What is known of a document beside its words: where it stands, and what its readers call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

_TITLE = 80  # letters of a text that stand for a title; by judgement


class Record(NamedTuple):
    """A document for people.

    Attributes
    ----------
    place : int
        Its place in its step.
    id : str
        Its own, or its number in the stream.
    title : str
        Its own, or how its text begins.
    date : str
    text : str
        Empty of a row of counts.
    """

    place: int
    id: str
    title: str = ""
    date: str = ""
    text: str = ""


def record_of(
    document: Any,
    place: int,
    number: int,
    *,
    text: str = "text",
    id_field: str = "id",
    title_field: str = "title",
    date_field: str | None = None,
) -> Record:
    """The record of a text, or of a dict with these fields; those that it lacks stay empty."""
    fields = document if isinstance(document, dict) else {text: document}
    words = fields.get(text)
    words = words if isinstance(words, str) else ""

    def of(name: str | None, otherwise: str) -> str:
        value = fields.get(name)
        return otherwise if value is None or value == "" else str(value)

    return Record(
        place,
        of(id_field, str(number)),
        of(title_field, _beginning(words)),
        of(date_field, ""),
        words,
    )


def records_of(documents: Any, first: int) -> list[Record]:
    """Records of texts, or of the rows of a table; ``first`` is the number of the first of them."""
    if hasattr(documents, "shape") and len(documents.shape) == 2:
        return [Record(place, str(first + place)) for place in range(documents.shape[0])]
    return [record_of(text, place, first + place) for place, text in enumerate(documents)]


def check_records(records: Sequence[Record], count: int) -> list[Record]:
    """Refuse records that are not those of the documents."""
    if len(records) != count:
        raise ValueError(
            f"{count} documents came with {len(records)} records; give one for each, in order."
        )
    return [record._replace(place=place) for place, record in enumerate(records)]


def _beginning(text: str) -> str:
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= _TITLE else line[:_TITLE].rsplit(" ", 1)[0] + " …"
