"""A column of numbers as they are written: digits after the mark, and in front of it.

Spreadsheets count days: such a column is a time in seconds, if its digits come back that way.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader
from thresher.tasks.compression.packet import PacketError

_NUMERAL = re.compile(r"(-?)(\d{1,18})(?:([.,])(\d{0,15}))?", re.ASCII)
_MOST = 18  # digits of a whole number of 64 bits
_DAY = 86400
_FEWEST = 4  # digits of a share of a day that tell ten seconds; by judgement


class Form(NamedTuple):
    """How numbers are written.

    Attributes
    ----------
    decimals : int
        Digits after the mark, at most if ``shortest``.
    width : int
        Digits in front of it at least, with zeros.
    mark : str
        Of decimals.
    shortest : bool
        Whether zeros at the end are left out, and the mark, if nothing follows it.
    in_days : bool
        Whether ticks are seconds, and what is written are days.
    """

    decimals: int
    width: int
    mark: str
    shortest: bool = False
    in_days: bool = False

    def texts(self, ticks: Numbers) -> list[str]:
        """Numbers as they are written."""
        if self.in_days:
            cells = [f"{t / _DAY:.{self.decimals}f}" for t in ticks.tolist()]
        elif self.decimals:
            scale = 10**self.decimals
            cells = [
                f"{'-' if t < 0 else ''}{abs(t) // scale:0{self.width}d}"
                f".{abs(t) % scale:0{self.decimals}d}"
                for t in ticks.tolist()
            ]
        else:
            cells = [f"{'-' if t < 0 else ''}{abs(t):0{self.width}d}" for t in ticks.tolist()]
        if self.shortest:
            cells = [c.rstrip("0").rstrip(".") if "." in c else c for c in cells]
        return cells if self.mark == "." else [cell.replace(".", self.mark) for cell in cells]

    def ticks(self, cells: list[str]) -> tuple[Numbers, Numbers]:
        """Whole numbers of cells, and which of them come back letter by letter."""
        ticks, rows = np.zeros(len(cells), np.int64), list[int]()
        for i, cell in enumerate(cells):
            found = _NUMERAL.fullmatch(cell)
            if not found:
                continue
            after = (found[4] or "").ljust(self.decimals, "0")
            if len(after) > self.decimals or len(found[2]) + len(after) > _MOST:
                continue
            number = int(found[1] + found[2] + after)
            ticks[i] = round(number * _DAY / 10**self.decimals) if self.in_days else number
            rows.append(i)
        fits = np.zeros(len(cells), bool)
        again = self.texts(ticks[rows])
        fits[rows] = [a == cells[i] for a, i in zip(again, rows, strict=True)]
        return ticks, fits


def forms_of(cells: list[str]) -> list[Form]:
    """All forms that some cells may have."""
    found = [match for match in map(_NUMERAL.fullmatch, cells) if match]
    if not found:
        return []
    marks = {match[3] for match in found if match[3]}
    decimals = max(len(match[4] or "") for match in found)
    width = min(len(match[2]) for match in found)
    mark = min(marks, default=".")
    forms = [Form(decimals, width, mark)]
    if decimals:
        forms.append(Form(decimals, width, mark, shortest=True))
    if decimals >= _FEWEST:
        forms += [Form(decimals, width, mark, short, in_days=True) for short in (False, True)]
    return forms


def packed_numerals(form: Form, ticks: Numbers) -> bytes:
    """All that `unpacked_numerals` needs but the number of rows."""
    flags = form.shortest | form.in_days << 1 | (form.mark == ",") << 2
    return bytes([form.decimals, form.width, flags]) + packed_part(ticks)


def unpacked_numerals(parts: Reader, n: int) -> list[str]:
    """So many cells again."""
    decimals, width, flags = parts.take(3)
    if decimals > 15 or width > _MOST or flags > 7:
        raise PacketError("The file has numbers in a form that makes no sense; get it again.")
    form = Form(decimals, width, ",."[flags < 4], bool(flags & 1), bool(flags & 2))
    return form.texts(unpacked_integers(parts.part(), n))
