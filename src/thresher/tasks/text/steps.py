"""Documents cut into time steps: by count, or by a date; from lists, tables and JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.parameters import COUNT, check_argument
from thresher.streams import Source
from thresher.streams.growing_file import growing_lines
from thresher.streams.json_lines import json_records
from thresher.tasks.text.documents import is_table
from thresher.tasks.text.records import Record, record_of, records_of

EVERY = ("day", "week", "month")


class DocumentStep(NamedTuple):
    """The documents of a time step.

    Attributes
    ----------
    name : str
        A date, or a number.
    documents : list of str, or table of counts
    records : list of Record
        What is known of each beside its words.
    """

    name: str
    documents: Any
    records: list[Record]


def document_steps(
    source: Any,
    size: int = 1000,
    *,
    text: str = "text",
    date_field: str | None = None,
    every: str = "day",
    id_field: str = "id",
    title_field: str = "title",
    follow: bool = False,
) -> Iterator[DocumentStep]:
    """Cut documents into steps; of a stream no more than a step is held.

    Parameters
    ----------
    source : path, source, data frame, table of counts, list or iterator
        A file of JSON lines (may end in .gz or .zst), a source of texts (`thresher.open`), a data
        frame, records (dicts), texts, or counts.
    size : int
        Documents in a step, if no date is given.
    text : str
        Field of the text in records and data frames.
    date_field : str, optional
        Field of the date (ISO strings, dates or datetime64); documents come in its order.
    every : {"day", "week", "month"}
        How long a step is.
    id_field, title_field : str
        Fields of ids and titles; what has none gets its number, and the beginning of its text.
    follow : bool
        Wait at the end of a file for what is added to it.
    """
    check_argument("watch", [COUNT], size=size)
    if every not in EVERY:
        raise ValueError(f"every={every!r} is not known; use one of {', '.join(EVERY)}.")
    if is_table(source) and not (hasattr(source, "columns") and text in source.columns):
        if date_field is not None:
            raise ValueError("A table of counts has no dates; cut it into steps by size.")
        for number, start in enumerate(range(0, source.shape[0], size)):
            rows = getattr(source, "iloc", source)[start : start + size]
            yield DocumentStep(str(number), rows, records_of(rows, start))
        return
    fields = {"text": text, "id_field": id_field, "title_field": title_field}
    held: list[Record] = []
    name, number = "", 0
    for count, document in enumerate(_records(source, follow)):
        now = str(number)
        if date_field is not None:
            now = _period(_field(document, date_field), every)
            if held and now < name:
                raise ValueError(
                    f"Documents are not in the order of {date_field!r}: {now} came after {name}; "
                    "sort them first."
                )
        if held and now != name:
            yield _step(name, held)
            held = []
        name = now
        words = _field(document, text) if isinstance(document, dict) else document
        record = record_of(document, len(held), count, date_field=date_field, **fields)
        held.append(record._replace(text=words))  # whatever it is: counting words refuses others
        if date_field is None and len(held) == size:
            yield _step(name, held)
            held, number = [], number + 1
    if held:
        yield _step(name, held)


def periods(dates: Any, n_documents: int, every: str) -> NDArray[np.str_]:
    """The first day of the period of every date.

    Parameters
    ----------
    dates : sequence
        ISO strings, dates or datetime64, one for each document.
    n_documents : int
    every : {"day", "week", "month"}
    """
    if every not in EVERY:
        raise ValueError(f"every={every!r} is not known; use one of {', '.join(EVERY)}.")
    given = list(dates)
    if len(given) != n_documents:
        raise ValueError(f"{n_documents} documents came with {len(given)} dates; give one each.")
    return np.array([_period(one, every) for one in given])


def _step(name: str, records: list[Record]) -> DocumentStep:
    return DocumentStep(name, [record.text for record in records], records)


def _records(source: Any, follow: bool) -> Iterable[Any]:
    if isinstance(source, str | Path):
        return _json_lines(Path(source), follow)
    if follow:
        raise ValueError("Only a file can be followed; any iterator is, as long as it goes on.")
    if isinstance(source, Source):
        return (text for batch in source for text in batch)
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        return (
            dict(zip(source.columns, row, strict=True)) for row in source.itertuples(index=False)
        )
    return iter(source)


def _json_lines(path: Path, follow: bool) -> Iterator[Any]:
    if not path.exists():
        raise ValueError(
            f"There is no file {path}; give a file of JSON lines, or a list of documents."
        )
    lines = growing_lines(path) if follow else path
    return (record for _, record in json_records(lines, str(path)))


def _field(record: Any, name: str) -> Any:
    if not isinstance(record, dict):
        raise ValueError(f"A document without fields has no {name!r}; give records (dicts).")
    if name not in record:
        raise ValueError(f"A record has no field {name!r}, only {', '.join(map(str, record))}.")
    return record[name]


def _period(value: Any, every: str) -> str:
    """The first day of the period that a date lies in."""
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, date):
        value = value.isoformat()
    try:
        day = np.datetime64(str(value)[:10], "D")
    except ValueError:
        raise ValueError(f"{value!r} is not a date; write it as 1998-06-30.") from None
    if every == "month":
        day = day.astype("datetime64[M]").astype("datetime64[D]")
    elif every == "week":  # from Monday on; day 0 was a Thursday
        day = day - (int(day.astype(np.int64)) + 3) % 7
    return str(day)
