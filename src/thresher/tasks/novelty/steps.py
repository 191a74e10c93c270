"""Documents cut into time steps: by count, or by a date; from lists, tables and JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.parameters import require_positive
from thresher.streams import Source
from thresher.streams.json_lines import json_records
from thresher.tasks.text.documents import is_table

EVERY = ("day", "week", "month")


class DocumentStep(NamedTuple):
    """The documents of a time step, and its name: a date, or a number."""

    name: str
    documents: Any


def document_steps(
    source: Any,
    size: int = 1000,
    *,
    text: str = "text",
    date_field: str | None = None,
    every: str = "day",
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
    """
    require_positive("size", size)
    if every not in EVERY:
        raise ValueError(f"every={every!r} is not known; use one of {', '.join(EVERY)}.")
    if is_table(source) and not (hasattr(source, "columns") and text in source.columns):
        if date_field is not None:
            raise ValueError("A table of counts has no dates; cut it into steps by size.")
        for number, start in enumerate(range(0, source.shape[0], size)):
            part = source.iloc[start : start + size] if hasattr(source, "iloc") else None
            yield DocumentStep(str(number), source[start : start + size] if part is None else part)
        return
    held: list[Any] = []
    name, number = "", 0
    for record in _records(source):
        if date_field is None:
            held.append(_text_of(record, text))
            if len(held) == size:
                yield DocumentStep(str(number), held)
                held, number = [], number + 1
            continue
        now = _period(_field(record, date_field), every)
        if held and now < name:
            raise ValueError(
                f"Documents are not in the order of {date_field!r}: {now} came after {name}; sort "
                "them first."
            )
        if held and now != name:
            yield DocumentStep(name, held)
            held = []
        name = now
        held.append(_text_of(record, text))
    if held:
        yield DocumentStep(str(number) if date_field is None else name, held)


def _records(source: Any) -> Iterable[Any]:
    if isinstance(source, str | Path):
        return _json_lines(Path(source))
    if isinstance(source, Source):
        return (text for batch in source for text in batch)
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        return (
            dict(zip(source.columns, row, strict=True)) for row in source.itertuples(index=False)
        )
    return iter(source)


def _json_lines(path: Path) -> Iterator[Any]:
    if not path.exists():
        raise ValueError(
            f"There is no file {path}; give a file of JSON lines, or a list of documents."
        )
    return (record for _, record in json_records(path, str(path)))


def _text_of(record: Any, text: str) -> Any:
    return _field(record, text) if isinstance(record, dict) else record


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
