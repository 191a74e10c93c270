"""JSON lines: an object, or a list of numbers, in each line of a file or of standard input."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.bytes_of import open_bytes
from thresher.streams.columns import chosen, refuse_text
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.lines import bounded_lines
from thresher.streams.reader import Reader


class JsonLinesReader(Reader):
    """Fields of objects as columns, lists as rows, or one field of texts.

    The first line tells the fields and what they are; later lines may lack some, which are gaps.

    Parameters
    ----------
    file : Path or binary file
        A file that is already open is read once.
    columns : str or list of str, optional
        The fields; one that is a text gives lists of texts.
    """

    def __init__(self, file: Any, columns: Any = None) -> None:
        self._file, self.once = file, not isinstance(file, Path)
        self.paths = () if self.once else (file,)
        self._name = "Standard input" if self.once else str(file)
        self._lines = json_records(file, self._name) if self.once else None
        first = next(self._lines or json_records(file, self._name), None)
        if first is None:
            raise ValueError(f"{self._name} has no line to read.")
        self._first = first[1] if self.once else None
        self._fields: list[str] | None = None
        self.texts = False
        record = first[1]
        if isinstance(record, dict):
            self._fields = chosen(columns, list(record), self._name)
            self.texts = len(self._fields) == 1 and isinstance(record[self._fields[0]], str)
            bad = [] if self.texts else [f for f in self._fields if not _is_number(record[f])]
            good = [f for f in self._fields if _is_number(record[f])]
            refuse_text(bad, good, self._name, "by its first line")
            self.names = None if self.texts else self._fields
        elif columns is not None:
            raise ValueError(f"The lines of {self._name} are no objects; leave columns= out.")
        elif not isinstance(record, list) or not all(map(_is_number, record)):
            raise ValueError(f"The lines of {self._name} are neither objects nor lists of numbers.")
        self._width = len(record) if self._fields is None else len(self._fields)

    @property
    def n_features(self) -> int | None:
        """Fields, or the length of a list; None of texts."""
        return None if self.texts else self._width

    @cached_property
    def _keys(self) -> list[str]:
        return self._fields or []

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Lines one after the other; those before ``start`` are read over."""
        self.take()
        held: list[Any] = []
        for line, record in self._all(start):
            held.append(self._text(line, record) if self.texts else self._row(line, record))
            if len(held) == rows:
                yield held if self.texts else np.array(held)
                held = []
        if held:
            yield held if self.texts else np.array(held)

    def _all(self, start: int) -> Iterator[tuple[int, Any]]:
        if not self.once:
            yield from json_records(self._file, self._name, start)
            return
        assert self._lines is not None
        if start == 0:
            yield 1, self._first
        for number, record in enumerate(self._lines, 1):
            if number >= start:
                yield record

    def _text(self, line: int, record: Any) -> str:
        text = record.get(self._keys[0]) if isinstance(record, dict) else None
        if not isinstance(text, str):
            raise ValueError(f"Line {line} of {self._name} has no text in {self._keys[0]!r}.")
        return text

    def _row(self, line: int, record: Any) -> list[float]:
        if self._fields is None:
            values = record if isinstance(record, list) else []
            if len(values) != self._width:
                raise ValueError(
                    f"Line {line} of {self._name} has {len(values)} numbers, the first has "
                    f"{self._width}: make them as many."
                )
        else:
            values = [record.get(f) for f in self._fields] if isinstance(record, dict) else [""]
        try:
            return [float("nan") if v is None else float(v) for v in values]
        except (TypeError, ValueError):
            bad = next(v for v in values if not _is_number(v))
            raise ValueError(f"Line {line} of {self._name} has {bad!r} for a number.") from None
        except OverflowError:
            raise ValueError(
                f"Line {line} of {self._name} has a number beyond 1e308; make it null, or smaller."
            ) from None

    def origin(self) -> str:
        """Size and checksum of the file, and the fields that are read."""
        return files_fingerprint(self.paths, self._keys) if self.paths else ""


def _reason(error: ValueError) -> str:
    is_text = not isinstance(error, UnicodeDecodeError)
    return "a number of too many digits" if is_text else "no text in UTF-8"


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def json_records(file: Any, name: str, start: int = 0) -> Iterator[tuple[int, Any]]:
    """Records after the first ``start``, and their lines; blank lines do not count.

    ``file`` is a path, a binary file, or an iterable of lines whose length was checked.
    """
    with open_bytes(file) if isinstance(file, Path) else nullcontext(file) as opened:
        lines = bounded_lines(opened, name) if hasattr(opened, "readline") else opened
        count = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            count += 1
            if count <= start:
                continue
            try:
                record = json.loads(line)
            except RecursionError:
                raise ValueError(
                    f"Line {number} of {name} is nested too deep to be read; write flat objects."
                ) from None
            except ValueError as error:
                told = getattr(error, "msg", None) or _reason(error)
                raise ValueError(
                    f"Line {number} of {name} is not JSON ({told}); write one object a line."
                ) from error
            yield number, record
