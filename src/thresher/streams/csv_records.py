"""How a CSV file is written: cells, lines, and the line numbers that a user sees.

Cells are separated by tabs, semicolons or commas: the first of these, in this order, that the
header has and that gives every line as many cells as the header. So a comma in a number or in a
name does not split a line that has semicolons.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
NEWLINES = ("\n", "\r\n", "\r")


@dataclass(frozen=True)
class Dialect:
    """What separates cells and lines, the decimal mark, and how the file begins and ends."""

    delimiter: str = ","
    newline: str = "\n"
    decimal: str = "."
    bom: bool = False
    ended: bool = True

    def line(self, cells: Iterable[str]) -> str:
        """A line without its end; what would not be read as one cell is quoted.

        So is a single cell without letters: readers leave blank lines out.
        """
        cells = list(cells)
        if len(cells) == 1 and not cells[0].strip():
            return f'"{cells[0]}"'
        special = re.compile(f'[{self.delimiter}"\r\n]')
        quoted = ('"' + c.replace('"', '""') + '"' if special.search(c) else c for c in cells)
        return self.delimiter.join(quoted)

    def file(self, lines: Iterable[str]) -> bytes:
        """All lines as a file."""
        text = self.newline.join(lines) + (self.newline if self.ended else "")
        return (("\ufeff" if self.bom else "") + text).encode()


class Records(NamedTuple):
    """A file in cells; ``blank`` has the positions of blank lines among all records."""

    dialect: Dialect
    header: list[str]
    rows: list[list[str]]
    blank: list[int]


def read_records(path: Path) -> Records:
    """Read a CSV file; a ValueError says what to change in one that does not fit."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError(f"{path} is not a text file in UTF-8; save it as CSV in UTF-8.")
    bom, text = text.startswith("\ufeff"), text.removeprefix("\ufeff")
    if not text.strip():
        raise ValueError(f"{path} is empty; there is nothing to read.")
    newline = re.search("\r\n|\n|\r", text)
    delimiter, records = split_cells(path, text)
    at = next(i for i, (_, cells) in enumerate(records) if cells)
    header, below = records[at][1], records[at + 1 :]
    blank, rows = list(range(at)), []
    for i, (line, cells) in enumerate(below, at + 1):
        if len(header) > 1 and not "".join(cells).strip() and len(cells) < 2:
            blank.append(i)
            continue
        row = cells or [""]  # in a file of one column, a blank line is a missing value
        if len(row) != len(header):
            raise ValueError(
                f"Line {line} of {path} has {len(row)} cells, the header has {len(header)} (cells "
                f"are separated by {DELIMITERS[delimiter]}): make them as many. Quote a cell with "
                "a comma in it, or separate cells by semicolons."
            )
        rows.append(row)
    if not rows:
        raise ValueError(f"{path} has no rows below its header; there is nothing to read.")
    ended = len(header) == 1 or text[-1] in "\r\n"
    dialect = Dialect(delimiter, newline[0] if newline else "\n", ".", bom, ended)
    return Records(dialect, header, rows, blank)


Numbered = list[tuple[int, list[str]]]
"""Lines in cells, each with the number of the line in the file."""


def split_cells(name: Any, text: str) -> tuple[str, Numbered]:
    """The delimiter, and the cells that it gives."""
    widest, best, broken = 0, (",", Numbered()), None
    for delimiter in DELIMITERS:
        if delimiter not in text and delimiter != ",":
            continue
        try:
            records = _records(text, delimiter)
        except _QuoteError as error:
            broken = error
            continue
        widths = [len(cells) for _, cells in records if "".join(cells).strip() or len(cells) > 1]
        if widths and widths[0] > 1 and set(widths) == {widths[0]}:
            return delimiter, records
        if widths and widths[0] >= widest:
            widest, best = widths[0], (delimiter, records)
    if not widest:
        line = broken.line if broken else 1
        raise ValueError(
            f"The quotes of the record at line {line} of {name} do not match: a quoted cell ends "
            "with a quote, and a quote within it is doubled."
        )
    return best


class _QuoteError(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


def _records(text: str, delimiter: str) -> Numbered:
    """All lines; cells may be as long as the file."""
    usual = csv.field_size_limit(max(len(text), csv.field_size_limit()))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records, line = Numbered(), 1
    try:
        for cells in reader:
            records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error:
        raise _QuoteError(line) from None
    finally:
        csv.field_size_limit(usual)
    return records
