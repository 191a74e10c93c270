"""The head of a batch of rows: how many there are, and how they are coded.

    flags 1 | rows, unless as before | steps 1, if corrections follow

Files of releases before have ``rows 2 | flags 1``, with the flags in other places.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from thresher.tasks.compression.limits import LARGEST_BATCH
from thresher.tasks.compression.lossless.parts import Reader, number
from thresher.tasks.compression.packet import VERSION, PacketError
from thresher.tasks.compression.steps import CORRECTED, EACH

_OLD = struct.Struct("<HB")
_WHOLE, _STEPS, _TIMES, _PLAIN, _ROWS, _LAYOUT = 0, 1, 3, 5, 6, 7  # where flags begin


class Times(IntEnum):
    """What a batch tells of its times: nothing, all, or that they go on as before."""

    NONE = 0
    TOLD = 1
    REGULAR = 2


class RowHead(NamedTuple):
    """What a batch tells of itself.

    ``is_whole`` if no value is missing; ``steps`` is how steps are told (`Steps.written`);
    ``same_layout`` of plain rows, if their bytes lie as those of the last ones; ``is_corrected`` if
    `corrections` follow, which are written as steps of the kind ``CORRECTED``.
    """

    n: int
    is_whole: bool
    steps: int
    times: Times
    is_plain: bool = False
    same_layout: bool = False
    is_corrected: bool = False

    def written(self, n_before: int) -> bytes:
        """The head, after a batch of so many rows."""
        steps = CORRECTED if self.is_corrected else self.steps
        flags = self.is_whole << _WHOLE | steps << _STEPS | self.times << _TIMES
        flags |= self.is_plain << _PLAIN | self.same_layout << _LAYOUT
        as_before = self.n == n_before
        rows = b"" if as_before else number(self.n)
        told = bytes([self.steps]) if self.is_corrected else b""
        return bytes([flags | as_before << _ROWS]) + rows + told


def read_head(payload: bytes, n_before: int, version: int = VERSION) -> tuple[RowHead, int]:
    """The head of a payload, and the bytes that it takes."""
    if version < VERSION:
        return _read_old(payload)
    parts = Reader(payload)
    (flags,) = parts.take(1)
    n = n_before if flags >> _ROWS & 1 else parts.number()
    steps, times, is_plain = flags >> _STEPS & 3, flags >> _TIMES & 3, bool(flags >> _PLAIN & 1)
    same_layout, is_corrected = bool(flags >> _LAYOUT & 1), steps == CORRECTED
    if is_corrected and parts.at < len(payload):  # or it makes no sense
        (steps,) = parts.take(1)
    if not 0 < n <= LARGEST_BATCH or steps > EACH or times > max(Times):
        raise PacketError("The packet does not decode: its header makes no sense.")
    is_whole = bool(flags >> _WHOLE & 1)
    head = RowHead(n, is_whole, steps, Times(times), is_plain, same_layout, is_corrected)
    return head, parts.at


def _read_old(payload: bytes) -> tuple[RowHead, int]:
    if len(payload) < _OLD.size:
        raise PacketError("The packet does not decode: its header is cut.")
    n, flags = _OLD.unpack_from(payload)
    steps, is_plain = flags >> 1 & 3, bool(flags & 16)
    if not n or flags > 31 or steps > (0 if is_plain else EACH):
        raise PacketError("The packet does not decode: its header makes no sense.")
    times = Times.TOLD if flags & 8 else Times.NONE
    return RowHead(n, bool(flags & 1), steps, times, is_plain), _OLD.size
