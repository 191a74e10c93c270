"""A column of times: whole numbers of the finest unit that they are written in, and a pattern.

Times in a zone are those of Greenwich, and the zone is a column of its own, which seldom changes:
a summer time is no gap. Cells that the pattern does not give back letter by letter are exceptions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.lossless.patterns import (
    MONTHS,
    Field,
    Pattern,
    from_short,
    patterns_of,
    short,
)
from thresher.tasks.compression.packet import PacketError

_DAY = 86400
_TRIED = 40  # cells on which patterns are compared; by judgement
_FIRST, _LAST = -719162, 2932896  # days from 1970 to 0001-01-01 and 9999-12-31
_LATE = 69  # two digits of a year: 69 and later are of the last century, as POSIX has it


class Times(NamedTuple):
    """Ticks, and minutes east of Greenwich, of the cells that are written in a pattern."""

    ticks: Numbers
    zones: Numbers
    fits: Numbers


def best_pattern(cells: list[str]) -> Pattern | None:
    """The pattern that gives most of some cells back, the most regular if there are several."""
    some = [cell for cell in cells[:: max(1, len(cells) // _TRIED)] if cell.strip()][:_TRIED]
    found = {p.text(): p for cell in some[:: max(1, len(some) // 3)] for p in patterns_of(cell)}
    best, merit = None, (len(some) // 2, 0)
    for pattern in found.values():
        times = read_times(some, pattern)
        moves = np.diff(times.ticks[times.fits])
        now = (int(times.fits.sum()), -len(np.unique(moves)) - int((moves < 0).sum()))
        if now > merit or (best is None and now[0] > merit[0]):
            best, merit = pattern, now
    return best


def read_times(cells: list[str], pattern: Pattern) -> Times:
    """The ticks of cells, and which of them the pattern gives back."""
    n, expression = len(cells), pattern.expression()
    rows, fields = list[int](), list[tuple[str, ...]]()
    for i, cell in enumerate(cells):
        match = expression.fullmatch(cell)
        if match:
            rows.append(i)
            fields.append(match.groups())
    ticks, zones, fits = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, bool)
    if not rows:
        return Times(ticks, zones, fits)
    ticks[rows], zones[rows], inside = _ticks(pattern, list(zip(*fields, strict=True)))
    fits[rows] = inside
    good = np.flatnonzero(fits)
    again = written_times(Times(ticks[good], zones[good], fits[good]), pattern)
    fits[good] = [a == cells[i] for a, i in zip(again, good.tolist(), strict=True)]
    return Times(ticks, zones, fits)


def _ticks(pattern: Pattern, columns: list[tuple[str, ...]]) -> tuple[Numbers, Numbers, Numbers]:
    """Ticks and zones of fields, and which are days that there are."""
    n = len(columns[0])

    def whole(letters: str, usual: int) -> Numbers:
        at = pattern.at(letters)
        if at is None:
            return np.full(n, usual, np.int64)
        if pattern.fields[at].letter == "b":
            numbers = {name: i + 1 for i, name in enumerate(MONTHS)}
            return np.array([numbers.get(cell, 0) for cell in columns[at]], np.int64)
        return np.array([int(cell or 0) for cell in columns[at]], np.int64)

    year = whole("Y", 1970)
    if pattern.at("y") is not None:
        short = whole("y", 70)
        year = short + np.where(short >= _LATE, 1900, 2000)
    month, day = whole("mb", 1), whole("d", 1)
    inside = (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day < 32)
    months = np.where(inside, (year - 1970) * 12 + month - 1, 0)
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + np.where(inside, day - 1, 0)
    hour = whole("H", 0)
    at = pattern.at("p")
    if at is not None:
        hour = whole("I", 0) % 12 + 12 * np.array([cell == "PM" for cell in columns[at]])
    zones = _zones(pattern, columns)
    seconds = days * _DAY + hour * 3600 + whole("M", 0) * 60 + whole("S", 0) - 60 * zones
    scale = 10**pattern.digits
    inside &= np.abs(seconds) < 2**62 // scale
    return np.where(inside, seconds, 0) * scale + whole("f", 0), zones, inside


def _zones(pattern: Pattern, columns: list[tuple[str, ...]]) -> Numbers:
    at = pattern.at("zZX")
    if at is None:
        return np.zeros(len(columns[0]), np.int64)
    known = {
        cell: (-1 if cell[0] == "-" else 1) * (60 * int(cell[1:3]) + int(cell[3:].strip(":") or 0))
        for cell in set(columns[at])
    }
    return np.array([known[cell] for cell in columns[at]], np.int64)


def written_times(times: Times, pattern: Pattern) -> list[str]:
    """Cells again; `PacketError` if there are no such days."""
    scale = 10**pattern.digits
    seconds, fraction = np.divmod(times.ticks, scale)
    days, clock = np.divmod(seconds + 60 * times.zones, _DAY)
    if days.size and not (days.min() >= _FIRST and days.max() <= _LAST):
        raise PacketError("The file has times before the year 1 or after 9999; get it again.")
    texts = [_field_texts(f, days, clock, fraction, times.zones) for f in pattern.fields]
    if not texts:
        return [pattern.letters[0]] * len(days)
    before = pattern.letters
    rows = zip(*texts, strict=True)
    if not any(before):
        return ["".join(row) for row in rows]
    return [
        "".join(a + b for a, b in zip(before[:-1], row, strict=True)) + before[-1] for row in rows
    ]


def _field_texts(
    field: Field, days: Numbers, clock: Numbers, fraction: Numbers, zones: Numbers
) -> list[str]:
    """One field of all cells; each different number is spelled once."""
    numbers = _field_numbers(field.letter, days, clock, fraction, zones)
    different, which = np.unique(numbers, return_inverse=True)
    spelled = [_spelled(field, number) for number in different.tolist()]
    return [spelled[i] for i in which.tolist()]


def _field_numbers(
    letter: str, days: Numbers, clock: Numbers, fraction: Numbers, zones: Numbers
) -> Numbers:
    if letter in "Yymbd":
        dates = days.astype("M8[D]")
        months = dates.astype("M8[M]")
        if letter == "d":
            return (dates - months.astype("M8[D]")).astype(np.int64) + 1
        year, month = np.divmod(months.astype(np.int64), 12)
        return month + 1 if letter in "mb" else year + 1970
    hour = clock // 3600
    numbers = {"H": hour, "I": (hour + 11) % 12 + 1, "p": hour // 12}
    numbers |= {"M": clock // 60 % 60, "S": clock % 60, "f": fraction}
    return numbers.get(letter, zones)


def _spelled(field: Field, number: int) -> str:
    if field.letter == "f":
        empty = field.optional and number == 0
        return "" if empty else f"{field.mark}{number:0{field.digits}d}"
    if field.letter == "b":
        return MONTHS[number - 1]
    if field.letter == "p":
        return "PM" if number else "AM"
    if field.letter in "zZX":
        hours, minutes = divmod(abs(number), 60)
        rest = {"z": f":{minutes:02d}", "Z": f"{minutes:02d}", "X": ""}[field.letter]
        return f"{'-' if number < 0 else '+'}{hours:02d}{rest}"
    if field.letter == "y":
        return f"{number % 100:02d}"
    width = 4 if field.letter == "Y" else 2 if field.padded else 1
    return f"{number:0{width}d}"


def packed_times(pattern: Pattern, times: Times) -> bytes:
    """All that `unpacked_times` needs but the number of rows."""
    data = part(short(pattern)) + packed_part(times.ticks)
    return data + (packed_part(times.zones) if pattern.at("zZX") is not None else b"")


def unpacked_times(parts: Reader, n: int) -> list[str]:
    """So many cells again."""
    pattern = from_short(parts.part())
    ticks, zones = unpacked_integers(parts.part(), n), np.zeros(n, np.int64)
    if pattern.at("zZX") is not None:
        zones = unpacked_integers(parts.part(), n)
    if not (np.abs(zones) <= 6000).all():
        raise PacketError("The file has times in zones that there are not; get it again.")
    return written_times(Times(ticks, zones, np.ones(n, bool)), pattern)
