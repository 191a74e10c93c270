"""Documents from files: JSON lines, plain text, folders of it, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from thresher.streams.bytes_of import open_bytes
from thresher.streams.json_lines import json_records
from thresher.streams.lines import bounded_lines

_PLAIN = (".txt", ".text", ".md")
_JSON = {".jsonl", ".ndjson", ".json"}
_LOOKED_AT = 100  # records that tell which field has the text; by judgement
_LONG = 20  # letters on average make a field a text, not a name; by judgement


def read_documents(path: str) -> Iterator[Any]:
    """Documents one by one: texts, or records (dicts).

    Parameters
    ----------
    path : str
        A file of JSON lines (may end in .gz or .zst), a text file with a document in each line, a
        folder with a document in each text file, or ``-`` for standard input, which has the one or
        the other. A line has at most 16 MiB.
    """
    if path == "-":
        return _from_lines(sys.stdin.buffer)
    place = Path(path).expanduser()
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.suffix.lower() in _PLAIN)
        if not files:
            raise FileNotFoundError(f"The folder {place} has no text files ({', '.join(_PLAIN)}).")
        return (file.read_text(encoding="utf-8", errors="replace") for file in files)
    if not place.exists():
        raise FileNotFoundError(f"There is no {place}; look for a slip in its name.")
    if place.suffix.lower() in _PLAIN:
        return _lines_of(place)
    return (record for _, record in json_records(place, str(place)))


def has_documents(path: str) -> bool:
    """Whether a path has texts, rather than numbers: text files, or a long field in JSON lines."""
    place = Path(path).expanduser()
    if place.is_dir():
        return any(file.suffix.lower() in _PLAIN for file in place.rglob("*"))
    if place.suffix.lower() in _PLAIN:
        return place.exists()
    if not place.exists() or not _JSON & set(place.suffixes):
        return False
    head = list(islice(read_documents(path), _LOOKED_AT))
    field, documents = text_field(iter(head))
    return sum(len(str(one[field])) for one in documents if field in one) > _LONG * len(head)


def text_field(documents: Iterator[Any]) -> tuple[str | None, Iterator[Any]]:
    """The field of records that has the most letters, None of texts; and all documents again."""
    head = list(islice(documents, _LOOKED_AT))
    letters: dict[str, int] = {}
    for record in head:
        for name, value in record.items() if isinstance(record, dict) else ():
            if isinstance(value, str):
                letters[name] = letters.get(name, 0) + len(value)
    field = max(letters, key=lambda name: letters[name]) if letters else None
    return field, chain(head, documents)


def texts_of(documents: Iterator[Any], field: str | None) -> Iterator[str]:
    """The texts of documents, whose records have them in a field."""
    for number, record in enumerate(documents, 1):
        text = record.get(field) if isinstance(record, dict) else record
        if not isinstance(text, str):
            raise ValueError(f"Document {number} has no text in its field {field!r}.")
        yield text


def _from_lines(file: Any) -> Iterator[Any]:
    """Records if the first line looks like one, else texts."""
    lines = bounded_lines(file, "Standard input")
    first = next(lines, b"")
    lines = chain([first] if first else [], lines)
    if first.lstrip()[:1] == b"{":
        return (record for _, record in json_records(lines, "Standard input"))
    return _plain(lines)


def _lines_of(path: Path) -> Iterator[str]:
    with open_bytes(path) as file:
        yield from _plain(bounded_lines(file, str(path)))


def _plain(lines: Any) -> Iterator[str]:
    for line in lines:
        if text := line.decode("utf-8", errors="replace").strip():
            yield text
