"""Types of Parquet columns that are kept, by their names; nothing in a file chooses any other."""

from __future__ import annotations

import re
from typing import Any

from thresher.streams.extras import needed
from thresher.tasks.compression.packet import PacketError

WHOLE = re.compile(r"u?int(8|16|32|64)|date32\[day\]|date64\[ms\]|time(32|64)\[\w+\]")
"""Kept as whole numbers, and so are times and lengths of time."""

FLOATS = ("halffloat", "float", "double")
_SIMPLE = {
    "bool": "bool_", "halffloat": "float16", "float": "float32", "double": "float64",
    "string": "string", "large_string": "large_string", "null": "null",
    "date32[day]": "date32", "date64[ms]": "date64",
}  # fmt: skip
_SIMPLE |= {
    f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TIMED = re.compile(
    r"(timestamp|duration|time32|time64)\[(s|ms|us|ns)(?:, tz=([A-Za-z0-9_+:/-]{1,40}))?\]"
)
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), (-?\d{1,2})\)")
_WORDS = re.compile(r"dictionary<values=(large_)?string, indices=(u?int\d+), ordered=([01])>")


def type_of(name: str) -> Any:
    """The type of a name; `PacketError` if there is none that is kept."""
    arrow = needed("pyarrow", "files", "Parquet")
    try:
        if name in _SIMPLE:
            return getattr(arrow, _SIMPLE[name])()
        if found := _TIMED.fullmatch(name):
            kind, unit, zone = found.groups()
            if zone and kind != "timestamp":
                raise PacketError(f"The file has a column of type {name!r}, which there is not.")
            return arrow.timestamp(unit, tz=zone) if zone else getattr(arrow, kind)(unit)
        if found := _DECIMAL.fullmatch(name):
            return arrow.decimal128(int(found[1]), int(found[2]))
        if found := _WORDS.fullmatch(name):
            values = arrow.large_string() if found[1] else arrow.string()
            return arrow.dictionary(getattr(arrow, found[2])(), values, found[3] == "1")
    except (ValueError, AttributeError, arrow.ArrowException):
        pass
    raise PacketError(f"The file has a column of type {name!r}, which is not kept here.")


def is_kept(name: str) -> bool:
    """Whether columns of this type can be kept."""
    try:
        type_of(name)
    except PacketError:
        return False
    return True


def is_whole(name: str) -> bool:
    """Whether a column is whole numbers underneath."""
    return WHOLE.fullmatch(name) is not None or _TIMED.fullmatch(name) is not None


def bits_of(name: str) -> int:
    """Bits of the whole numbers underneath."""
    found = re.fullmatch(r"u?int(\d+)", name)
    if found:
        return int(found[1])
    return 32 if name.startswith(("date32", "time32")) else 64
