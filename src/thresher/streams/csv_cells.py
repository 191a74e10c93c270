"""Cells of CSV files: which are numbers, which say that there is none, and the decimal mark."""

import re

from thresher.streams.csv_records import Records

MISSING = {"", "na", "nan", "null", "none"}
"""What a cell without a value may say."""
_FORMS = {
    mark: re.compile(rf"[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?")
    for mark in (r"\.", ",")
}
_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a point or a comma."""
    return any(form.fullmatch(plain(cell)) for form in _FORMS.values())


def decimal_marks(records: Records) -> tuple[str, list[bool]]:
    """The decimal mark of the file, and for each column whether it has numbers alone.

    In a file with decimal commas a point may separate thousands, and in one without, so may a
    comma: such columns are taken as text.
    """
    cells = zip(*records.rows, strict=True) if records.rows else [() for _ in records.header]
    columns = [[plain(c) for c in column if not is_missing(c)] for column in cells]
    points = [all(_FORMS[r"\."].fullmatch(c) for c in column) for column in columns]
    commas = [
        not has_points and all(_FORMS[","].fullmatch(c) for c in column)
        for column, has_points in zip(columns, points, strict=True)
    ]
    some = [cell for column, comma in zip(columns, commas, strict=True) if comma for cell in column]
    is_certain = records.dialect.delimiter == ";" or not all(map(_may_be_thousands, some))
    if not (any(commas) and is_certain):
        return ".", points
    whole = [p and not any("." in c for c in col) for col, p in zip(columns, points, strict=True)]
    return ",", [comma or p for comma, p in zip(commas, whole, strict=True)]


def plain(cell: str) -> str:
    """A cell without spaces around it, in small letters."""
    return cell.strip().lower()


def _may_be_thousands(cell: str) -> bool:
    return "," not in cell or _GROUPS.fullmatch(cell) is not None
