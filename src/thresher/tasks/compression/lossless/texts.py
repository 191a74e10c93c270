"""A column of cells, kept letter by letter: times, numbers, a few words again and again, or text.

Each way is tried, and the smallest is taken; cells that do not fit it are listed as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.limits import check_memory
from thresher.tasks.compression.lossless import packing
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.numerals import (
    forms_of,
    packed_numerals,
    unpacked_numerals,
)
from thresher.tasks.compression.lossless.parts import Reader, number, part
from thresher.tasks.compression.lossless.times import (
    best_pattern,
    packed_times,
    read_times,
    unpacked_times,
)
from thresher.tasks.compression.packet import PacketError

_TEXT, _WORDS, _NUMERALS, _TIMES = range(4)
_OBJECT = 80  # bytes that a string takes beside its letters, and its place in a list
_ODD = 4  # one in so many cells at most may not fit; by judgement
_FEW = 2  # words are listed if each comes so often on average; by judgement


def packed_texts(cells: list[str]) -> bytes:
    """Cells as bytes, without their count."""
    return min(_ways(cells), key=len)


def unpacked_texts(data: bytes, n: int, max_bytes: int) -> list[str]:
    """So many cells again, within so much memory; `PacketError` if the bytes are not theirs."""
    check_memory(n * _OBJECT, max_bytes)
    parts = Reader(data)
    (way,) = parts.take(1)
    if way == _TEXT:
        cells = _unpacked_text(parts, n, max_bytes)
    elif way == _WORDS:
        words = _unpacked_text(parts, parts.number(), max_bytes)
        which = unpacked_integers(parts.part(), n)
        if n and not (which.min() >= 0 and which.max() < len(words)):
            raise PacketError("The file has words that it does not list; get it again.")
        cells = [words[i] for i in which.tolist()]
    elif way in (_NUMERALS, _TIMES):
        odd = parts.number()
        if odd > n:
            raise PacketError("The file has more exceptions than rows; get it again.")
        where = np.cumsum(unpacked_integers(parts.part(), odd))
        texts = _unpacked_text(parts, odd, max_bytes)
        cells = (unpacked_numerals if way == _NUMERALS else unpacked_times)(parts, n)
        if odd and not (where.min() >= 0 and where.max() < n):
            raise PacketError("The file has exceptions where there are no rows; get it again.")
        for i, text in zip(where.tolist(), texts, strict=True):
            cells[i] = text
    else:
        raise PacketError("The file has a column in a way that is not known here.")
    parts.end()
    return cells


def _ways(cells: list[str]) -> Iterator[bytes]:
    yield bytes([_TEXT]) + _packed_text(cells)
    words = list(dict.fromkeys(cells))
    if _FEW * len(words) <= len(cells):
        places = {word: i for i, word in enumerate(words)}
        which = np.array([places[cell] for cell in cells], np.int64)
        head = bytes([_WORDS]) + number(len(words))
        yield head + _packed_text(words) + packed_part(which)
    for form in forms_of(cells):
        ticks, fits = form.ticks(cells)
        if _mostly(fits):
            yield (
                bytes([_NUMERALS])
                + _exceptions(cells, fits)
                + packed_numerals(form, _filled(ticks, fits))
            )
    pattern = best_pattern(cells)
    if pattern is not None:
        times = read_times(cells, pattern)
        if _mostly(times.fits):
            whole = times._replace(
                ticks=_filled(times.ticks, times.fits), zones=_held(times.zones, times.fits)
            )
            yield bytes([_TIMES]) + _exceptions(cells, times.fits) + packed_times(pattern, whole)


def _mostly(fits: Numbers) -> bool:
    return bool(_ODD * np.count_nonzero(~fits) <= len(fits))


def _exceptions(cells: list[str], fits: Numbers) -> bytes:
    """Cells that do not fit, and where they are."""
    where = np.flatnonzero(~fits)
    head = number(len(where)) + packed_part(np.diff(where, prepend=0))
    return head + _packed_text([cells[i] for i in where.tolist()])


def _filled(ticks: Numbers, fits: Numbers) -> Numbers:
    """Numbers that go on evenly where a cell is an exception."""
    known = np.flatnonzero(fits)
    return ticks if len(known) == len(ticks) else _between(ticks, known)


def _between(ticks: Numbers, known: Numbers) -> Numbers:
    """Exceptions between two known cells step as the cells before them."""
    filled, last, step = ticks.copy(), int(ticks[known[0]]), 0
    is_known = np.zeros(len(ticks), bool)
    is_known[known] = True
    for i in range(len(ticks)):
        if is_known[i]:
            step = int(ticks[i]) - last if i and is_known[i - 1] else step
            last = int(ticks[i])
        else:
            ahead = i < known[0]
            last = last if ahead else max(min(last + step, 2**62), -(2**62))
            filled[i] = last
    return filled


def _held(zones: Numbers, fits: Numbers) -> Numbers:
    """Zones that stay where a cell is an exception."""
    places = np.maximum.accumulate(np.where(fits, np.arange(len(fits)), -1))
    first = int(np.argmax(fits))
    return zones[np.where(places < 0, first, places)]


def _packed_text(cells: list[str]) -> bytes:
    """Cells one after the other, a line each."""
    if not cells:
        return b""
    lines = [cell.replace("\\", "\\\\").replace("\n", "\\n") for cell in cells]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return number(len(data)) + part(packing.packed(data))


def _unpacked_text(parts: Reader, n: int, max_bytes: int) -> list[str]:
    if n == 0:
        return []
    size = parts.number()
    # Letters take up to four bytes each, twice for the lines, beside the bytes themselves.
    check_memory(9 * size + n * _OBJECT, max_bytes)
    data = packing.unpacked(parts.part(), size)
    try:
        lines = data.decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError:
        raise PacketError("The file has text that is not UTF-8; get it again.") from None
    if len(lines) != n:
        raise PacketError("The file has another number of cells than it tells; get it again.")
    return [_unescaped(line) if "\\" in line else line for line in lines]


def _unescaped(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
