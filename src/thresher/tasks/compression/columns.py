"""Which columns of a table are measurements, and which are labels, to be kept letter by letter.

Only measurements may come back with an error. A column is a label if any of its cells is not a
number; if a number has zeros in front, or more digits than a double; if its name says so (a time, a
date, an id); if it is the first one and its numbers only rise, or only fall: times and row numbers
do; or if it has a few different whole numbers only, such as states, or all alike, which cost
little. To keep a measurement as text costs bytes, to round an id destroys it: in doubt, text. What
an error names is a measurement, if it is numbers.
"""

import re
from itertools import pairwise

from thresher.streams.csv_cells import is_missing, plain
from thresher.streams.csv_records import Records

MOST_DIGITS = 15
"""Digits of a decimal number that every double gives back; a bound of IEEE 754."""

# In any name, such as "Start time" or "sensor_id".
_WORDS = {"time", "date", "datetime", "timestamp", "epoch", "id", "uid", "uuid", "guid"}
_WORDS |= {"datum", "zeit", "uhrzeit", "zeitstempel", "fecha", "heure", "czas"}
# As a whole name: "station" names stations, "station 7" has what it measured.
_NAMES = {"", "index", "row", "key", "code", "name", "number", "no", "nr", "serial", "ts", "unix"}
_NAMES |= {"utc", "year", "month", "day", "hour", "minute", "second", "hora", "stunde", "jahr"}
_NAMES |= {"station", "sensor", "device", "node", "site", "zip", "postcode", "plz"}


_FEW = 8  # different whole numbers at most that are states, not sizes; by judgement
_OFTEN = 4  # rows at least for each of them


def label_columns(
    records: Records, numeric: list[bool], asked: set[str] | None = None
) -> list[bool]:
    """Which columns are labels; not those of numbers that are asked for."""
    columns = list(zip(*records.rows, strict=True))
    labels = [
        not number or _is_spelled(column) or _names_a_label(name, column, first=j == 0)
        for j, (name, column, number) in enumerate(
            zip(records.header, columns, numeric, strict=True)
        )
    ]
    if not labels[0] and len(columns) > 1:
        labels[0] = _only_rises_or_falls(columns[0], records.dialect.decimal)
    wanted = [
        number and name in (asked or ())
        for name, number in zip(records.header, numeric, strict=True)
    ]
    return [
        not want and (label or _has_few_states(column))
        for label, column, want in zip(labels, columns, wanted, strict=True)
    ]


def _has_few_states(column: tuple[str, ...]) -> bool:
    """Whether all numbers are alike, or a few whole ones that come again and again."""
    states = {cell for cell in column if not is_missing(cell)}
    if len(states) < 2:
        return True
    enough = len(states) <= _FEW and _OFTEN * len(states) <= len(column)
    return enough and all(cell.strip().lstrip("+-").isdigit() for cell in states)


def value_of(cell: str, decimal: str) -> float:
    """The number in a cell, NaN if there is none."""
    return float("nan") if is_missing(cell) else float(cell.strip().replace(decimal, "."))


def decimals_of(column: list[str], decimal: str) -> int | None:
    """The most digits after the mark; None if some number has an exponent, or very many digits."""
    cells = [plain(cell) for cell in column if not is_missing(cell)]
    most = max((len(cell.partition(decimal)[2]) for cell in cells), default=0)
    return None if most > MOST_DIGITS or any("e" in cell for cell in cells) else most


def cell_of(value: float, decimals: int | None, decimal: str) -> str:
    """A number as a cell; a missing one is empty."""
    if value != value:
        return ""
    text = repr(value) if decimals is None else f"{value:.{decimals}f}"
    if text.startswith("-") and not text.strip("-0."):
        text = text[1:]
    return text if decimal == "." else text.replace(".", decimal)


def _is_spelled(column: tuple[str, ...]) -> bool:
    """Zeros in front, or digits that a double does not hold: a spelling, not a size."""
    for cell in map(plain, column):
        whole = re.match("[0-9]*", cell.lstrip("+-"))
        digits = whole[0] if whole else ""
        if (len(digits) > 1 and digits[0] == "0") or len(digits) > MOST_DIGITS:
            return True
    return False


def is_named(name: str) -> bool:
    """Whether a name says that a column has times or ids."""
    words = re.findall(r"[^\W\d_]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return bool(_WORDS & set(words)) or name.strip().lower() in _NAMES


def _names_a_label(name: str, column: tuple[str, ...], *, first: bool) -> bool:
    """Times and ids by name; beyond the first column, only if all numbers are whole."""
    if not is_named(name):
        return False
    return first or all(is_missing(cell) or cell.strip().lstrip("+-").isdigit() for cell in column)


def _only_rises_or_falls(column: tuple[str, ...], decimal: str) -> bool:
    if any(map(is_missing, column)):
        return False
    values = [value_of(cell, decimal) for cell in column]
    return all(a < b for a, b in pairwise(values)) or all(a > b for a, b in pairwise(values))
