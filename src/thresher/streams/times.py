"""Times in text: a fixed list of formats, read and written column by column.

All formats have fields of fixed width, so that a column of equally long cells is a matrix of
characters, and each field is some of its columns:

    YYYY yy year   mm bbb month   dd day   HH of 24, II of 12 hours   MM SS   fff… fraction
    pp AM or PM   zzzzzz +01:00   zzzzz +0100

Ticks are integers of the finest unit of the format since 1970, in UTC if there is a zone, whose
minutes are kept beside.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_DATES = (
    "YYYY-mm-dd", "YYYY/mm/dd", "YYYY.mm.dd", "YYYYmmdd", "dd.mm.YYYY", "dd/mm/YYYY",
    "mm/dd/YYYY", "dd-mm-YYYY", "mm-dd-YYYY", "dd bbb YYYY", "dd-bbb-YYYY", "dd/bbb/YYYY",
    "dd.mm.yy", "dd/mm/yy", "mm/dd/yy", "dd-bbb-yy", "",
)  # fmt: skip
_JOINTS = ("T", " ", "_", "")
_CLOCKS = (
    "HH:MM:SS", "HH:MM", "HH:MM:SS.fff", "HH:MM:SS.ffffff", "HH:MM:SS.fffffffff", "HH:MM:SS,fff",
    "HHMM", "HHMMSS", "HH.MM", "HH.MM.SS", "II:MM pp", "II:MM:SS pp",
)  # fmt: skip
_ZONES = ("", "Z", "zzzzzz", "zzzzz", " UTC", " zzzzzz")
FORMATS = (
    *(date for date in _DATES if date),
    *("".join(parts) for parts in product((d for d in _DATES if d), _JOINTS, _CLOCKS, _ZONES)),
    *(clock for clock in _CLOCKS if not clock.isalpha()),
)
"""By the number that names them in compressed files."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FIELD = re.compile("YYYY|yy|mm|bbb|dd|HH|II|MM|SS|f+|pp|zzzzzz|zzzzz")
_DAY = 86400
_DAYS = -719162, 2932896  # from 1970 to 0001-01-01 and 9999-12-31
_CENTURY = 69  # two digits of a year: 69 and later are of the last century, as in POSIX


class Times(NamedTuple):
    """A column of times: the number of the format, ticks, minutes east of Greenwich."""

    format: int
    ticks: Array
    zones: Array

    @property
    def seconds(self) -> Array:
        """Seconds since 1970 in UTC."""
        return self.ticks / 10.0 ** _layout(FORMATS[self.format])[2]

    @property
    def has_date(self) -> bool:
        """Whether the format has a date."""
        return "d" in FORMATS[self.format]

    @property
    def has_clock(self) -> bool:
        """Whether the format has a time of day."""
        return "M" in FORMATS[self.format]


@cache
def _layout(template: str) -> tuple[dict[str, slice], tuple[tuple[int, str], ...], int]:
    """Return fields by their first letter, the other letters, and digits of a fraction."""
    found = list(_FIELD.finditer(template))
    fields = {match[0][0]: slice(*match.span()) for match in found}
    taken = {i for match in found for i in range(*match.span())}
    letters = tuple((i, c) for i, c in enumerate(template) if i not in taken)
    fraction = fields.get("f", slice(0, 0))
    return fields, letters, fraction.stop - fraction.start


def parse_times(cells: list[str]) -> Times | None:
    """Return the times of cells in the most regular format that fits all; None if none does."""
    width = len(cells[0]) if cells else 0
    if not width or any(len(cell) != width for cell in cells):
        return None
    try:
        raw = np.array([cell.encode("ascii") for cell in cells], f"S{width}")
    except UnicodeEncodeError:
        return None
    if (np.char.str_len(raw) != width).any():
        return None
    C = raw.view(np.uint8).reshape(len(cells), width)
    found = [
        times
        for number, template in enumerate(FORMATS)
        if len(template) == width
        and all(C[0, i] == ord(letter) for i, letter in _layout(template)[1])
        and (times := _parsed(C, number)) is not None
    ]
    return min(found, key=lambda times: len(np.unique(np.diff(times.ticks))), default=None)


def _parsed(C: Array, number: int) -> Times | None:
    fields, letters, digits = _layout(FORMATS[number])
    n, inside = len(C), np.ones(len(C), bool)
    for i, letter in letters:
        inside &= C[:, i] == ord(letter)

    def integer(where: slice) -> Array:
        nonlocal inside
        D = C[:, where].astype(np.int64) - ord("0")
        inside = inside & ((D >= 0) & (D <= 9)).all(axis=1)
        values: Array = D @ 10 ** np.arange(D.shape[1] - 1, -1, -1)
        return values

    def field(letter: str, default: int, low: int, high: int) -> Array:
        nonlocal inside
        if letter not in fields:
            return np.full(n, default)
        values = integer(fields[letter])
        inside = inside & (low <= values) & (values <= high)
        return values

    def word(letter: str, words: tuple[str, ...]) -> Array:
        nonlocal inside
        codes = np.array([list(word.encode()) for word in words])
        same = (C[:, fields[letter]][:, None, :] == codes).all(axis=2)
        inside = inside & same.any(axis=1)
        which: Array = same.argmax(axis=1)
        return which

    short = field("y", 70, 0, 99)
    year = short + np.where(short >= _CENTURY, 1900, 2000)
    year = field("Y", 1970, 1, 9999) if "y" not in fields else year
    month = word("b", _MONTHS) if "b" in fields else field("m", 1, 1, 12) - 1
    day = field("d", 1, 1, 31) - 1
    hour = field("H", 0, 0, 23)
    if "p" in fields:
        hour = field("I", 12, 1, 12) % 12 + 12 * word("p", ("AM", "PM"))
    zones = np.zeros(n, np.int64)
    if "z" in fields:
        where = fields["z"]
        sign = C[:, where.start] == ord("-")
        inside &= sign | (C[:, where.start] == ord("+"))
        if where.stop - where.start == 6:
            inside &= C[:, where.start + 3] == ord(":")
        hours = integer(slice(where.start + 1, where.start + 3))
        minutes = integer(slice(where.stop - 2, where.stop))
        zones = np.where(sign, -1, 1) * (60 * hours + minutes)
    minute, second = field("M", 0, 0, 59), field("S", 0, 0, 59)
    fraction = integer(fields["f"]) if digits else 0
    if not inside.all():
        return None
    months = ((year - 1970) * 12 + month).astype("M8[M]")
    days = months.astype("M8[D]") + day
    if (days.astype("M8[M]") != months).any():
        return None
    clock = hour * 3600 + minute * 60 + second - 60 * zones
    seconds = days.astype(np.int64) * _DAY + clock
    if (np.abs(seconds) >= 2**62 // 10**digits).any():
        return None
    return Times(number, seconds * 10**digits + fraction, zones)


def format_times(times: Times) -> list[str]:
    """Return cells again; a ValueError if there are no such times."""
    if not times.format < len(FORMATS):
        raise ValueError(f"There is no time format {times.format}.")
    template = FORMATS[times.format]
    fields, _, digits = _layout(template)
    seconds, fraction = np.divmod(times.ticks, 10**digits)
    days, clock = np.divmod(seconds + 60 * times.zones, _DAY)
    if days.size and not (days.min() >= _DAYS[0] and days.max() <= _DAYS[1]):
        raise ValueError("There are times before the year 1 or after 9999.")
    if (np.abs(times.zones) >= 6000).any():
        raise ValueError("There are time zones beyond 100 hours.")
    months = days.astype("M8[D]").astype("M8[M]")
    year, month = np.divmod(months.astype(np.int64), 12)
    hour = clock // 3600
    values = {
        "Y": year + 1970, "y": (year + 1970) % 100, "m": month + 1, "f": fraction,
        "d": days - months.astype("M8[D]").astype(np.int64) + 1, "H": hour,
        "I": (hour + 11) % 12 + 1, "M": clock // 60 % 60, "S": clock % 60,
    }  # fmt: skip
    C = np.tile(np.frombuffer(template.encode(), np.uint8), (len(days), 1))
    for letter, where in fields.items():
        size = where.stop - where.start
        if letter in "bp":
            words = _MONTHS if letter == "b" else ("AM", "PM")
            which = month if letter == "b" else hour // 12
            C[:, where] = np.array([list(word.encode()) for word in words])[which]
        elif letter == "z":
            hours, minutes = np.divmod(np.abs(times.zones), 60)
            C[:, where.start] = np.where(times.zones < 0, ord("-"), ord("+"))
            C[:, where.start + 1 : where.start + 3] = _digits(hours, 2)
            C[:, where.start + 3] = ord(":")
            C[:, where.stop - 2 : where.stop] = _digits(minutes, 2)
        else:
            C[:, where] = _digits(values[letter], size)
    lines = np.ascontiguousarray(C).view(f"S{len(template)}")[:, 0]
    return [line.decode() for line in lines.tolist()]


def _digits(values: Array, n: int) -> Array:
    """Return the last n decimal digits as characters."""
    return values[:, None] // 10 ** np.arange(n - 1, -1, -1) % 10 + ord("0")
