"""How times are written: patterns of fields and letters, as text.

    %Y year   %y two digits of it   %m month   %b its name   %d day   %H hour   %I of twelve
    %M minute   %S second   %p AM or PM   %1f … %9f fraction   %z +01:00   %Z +0100   %X +01

``%-m`` has no zero in front; ``%?6f`` is left out, with its mark, where it is zero.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from thresher.tasks.compression.packet import PacketError

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FIELD = re.compile(r"([.,]?)%(\?)?(-)?([1-9])?([YymbdHIMSpfzZX])")
_LONGEST = 60
_USUAL = (
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%-m/%-d/%Y %-H:%M", "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S.%3f", "%Y-%m-%dT%H:%M:%S.%3fZ", "%Y%m%d%H%M",
)  # fmt: skip
"""Part of the format: patterns that a byte stands for."""
_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2}
_ZONES = {"z": r"[+-]\d\d:\d\d", "Z": r"[+-]\d{4}", "X": r"[+-]\d\d"}


class Field(NamedTuple):
    """A field of a pattern; ``mark`` stands before a fraction, ``digits`` are of one."""

    letter: str
    padded: bool = True
    digits: int = 0
    mark: str = ""
    optional: bool = False

    def expression(self) -> str:
        """What it looks like."""
        if self.letter == "f":
            shape = rf"{re.escape(self.mark)}(\d{{{self.digits}}})"
            return f"(?:{shape})?" if self.optional else shape
        if self.letter in _DIGITS:
            most = _DIGITS[self.letter]
            return rf"(\d{{{most}}})" if self.padded else rf"(\d{{1,{most}}})"
        return {"b": "([A-Z][a-z]{2})", "p": "([AP]M)"}.get(self.letter) or (
            f"({_ZONES[self.letter]})"
        )

    def text(self) -> str:
        """As it stands in a pattern."""
        flags = ("?" if self.optional else "") + ("" if self.padded else "-")
        return f"{self.mark}%{flags}{self.digits or ''}{self.letter}"


class Pattern(NamedTuple):
    """Letters and fields in turn; the first are letters, and so are the last."""

    letters: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def digits(self) -> int:
        """Of fractions of a second."""
        return max((field.digits for field in self.fields), default=0)

    def at(self, letters: str) -> int | None:
        """The number of the field that has one of these letters."""
        found = [i for i, field in enumerate(self.fields) if field.letter in letters]
        return found[0] if found else None

    def expression(self) -> re.Pattern[str]:
        """What times look like."""
        shapes = [field.expression() for field in self.fields]
        parts = [a + b for a, b in zip(map(re.escape, self.letters), [*shapes, ""], strict=True)]
        return re.compile("".join(parts), re.ASCII)

    def text(self) -> str:
        """As a file has it."""
        fields = [field.text() for field in self.fields]
        return "".join(a + b for a, b in zip(self.letters, [*fields, ""], strict=True))


def read_pattern(text: str) -> Pattern:
    """The pattern in a text; `PacketError` if it makes no sense."""
    letters, fields, at = list[str](), list[Field](), 0
    for found in _FIELD.finditer(text):
        mark, optional, unpadded, digits, letter = found.groups()
        if letter != "f":
            letters.append(text[at : found.start()] + mark)
            mark = ""
        else:
            letters.append(text[at : found.start()])
        fields.append(Field(letter, not unpadded, int(digits or 0), mark, bool(optional)))
        at = found.end()
    pattern = Pattern((*letters, text[at:]), tuple(fields))
    names = [field.letter for field in fields]
    sensible = len(set(names)) == len(names) and all(
        (f.letter == "f") == (f.digits > 0) for f in fields
    )
    if len(text) > _LONGEST or not fields or not sensible or "%" in "".join(pattern.letters):
        raise PacketError("The file has times in a pattern that makes no sense; get it again.")
    return pattern


def short(pattern: Pattern) -> bytes:
    """A pattern in a file: a byte for the usual ones."""
    text = pattern.text()
    return bytes([1 + _USUAL.index(text)]) if text in _USUAL else text.encode()


def from_short(data: bytes) -> Pattern:
    """The pattern that `short` wrote; `PacketError` if there is none."""
    if len(data) == 1 and 1 <= data[0] <= len(_USUAL):
        return read_pattern(_USUAL[data[0] - 1])
    try:
        return read_pattern(data.decode())
    except UnicodeDecodeError:
        raise PacketError("The file has times in a pattern that makes no sense.") from None


# ------------------------------------------------------------------ from a cell

_DATES = (
    (r"(\d{4})([-/. ]?)(\d{1,2})\2(\d{1,2})", ("Ymd",)),
    (r"(\d{1,2})([-/. ])(\d{1,2})\2(\d{4})", ("dmY", "mdY")),
    (r"(\d{1,2})([-/. ])(\d{1,2})\2(\d{2})", ("dmy", "mdy")),
    (r"(\d{1,2})([-/. ]?)([A-Z][a-z]{2})\2(\d{4})", ("dbY",)),
    (r"(\d{1,2})([-/. ]?)([A-Z][a-z]{2})\2(\d{2})", ("dby",)),
)
_CLOCK = re.compile(
    r"(?P<before>T| +|, ?|_|-|)(?P<H>\d{1,2})(?P<colon>[:.h]?)(?P<M>\d\d)"
    r"(?:(?P=colon)(?P<S>\d\d)(?:(?P<mark>[.,])(?P<f>\d{1,9}))?)?"
    r"(?P<gap> ?)(?P<p>[AP]M)?(?P<space> ?)(?P<zone>[+-]\d\d:\d\d|[+-]\d{4}|[+-]\d\d|Z|UTC|GMT)?",
    re.ASCII,
)


def patterns_of(cell: str) -> list[Pattern]:
    """All patterns that a cell may be written in."""
    found = list[str]()
    for shape, orders in _DATES:
        date = re.match(shape, cell, re.ASCII)
        if date is None:
            continue
        clocks = _clocks(cell[date.end() :])
        for order, clock in product(orders, clocks):
            for unpadded in ("", "-") if date[2] else ("",):
                fields = [f"%{'' if c in 'Yyb' else unpadded}{c}" for c in order]
                found.append(date[2].join(fields) + clock)
    found += _clocks(cell) if ":" in cell else []
    return [read_pattern(text) for text in dict.fromkeys(found) if "%" in text]


def _clocks(rest: str) -> list[str]:
    """Patterns of what follows a date."""
    if not rest.strip():
        return [rest]
    found = _CLOCK.fullmatch(rest)
    if found is None:
        return []
    zone = found["zone"] or ""
    if zone and zone[0] in "+-":
        zone = "%z" if ":" in zone else "%Z" if len(zone) == 5 else "%X"
    tail = found["gap"] + ("%p" if found["p"] else "") + found["space"] + zone
    middle = f"{found['colon']}%M" + (f"{found['colon']}%S" if found["S"] else "")
    fractions = [f"{found['mark']}%{len(found['f'])}f"] if found["f"] else [""]
    if found["f"]:
        fractions.append(f"{found['mark']}%?{len(found['f'])}f")
    elif found["S"]:
        fractions += [f".%?{digits}f" for digits in (3, 6)]
    hour = "I" if found["p"] else "H"
    return [
        f"{found['before']}%{unpadded}{hour}{middle}{fraction}{tail}"
        for unpadded in ("", "-")
        for fraction in fractions
    ]
