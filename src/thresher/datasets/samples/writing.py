"""Which samples there are, and what they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .documents import documents_file
from .photo import photo_file
from .sensors import sensors_file
from .table import table_file
from .video import video_file


class Sample(NamedTuple):
    """A small file."""

    name: str
    """Of the file."""
    about: str
    """What is in it."""
    make: Callable[[], bytes]
    """Gives its bytes."""


KINDS = {
    "table": Sample(
        "table.csv",
        "bicycles on 24 roads, hour by hour: three habits, counters that fail, and gaps",
        table_file,
    ),
    "docs": Sample(
        "docs.jsonl",
        "short reports of a town, dated: five subjects, and a sixth in the last two weeks",
        documents_file,
    ),
    "photo": Sample("photo.png", "a lake at evening, drawn", photo_file),
    "sensors": Sample(
        "sensors.csv", "ten days of eight thermometers, every quarter of an hour", sensors_file
    ),
    "video": Sample("street.avi", "six seconds of a street, drawn", video_file),
}


def sample_bytes(kind: str) -> bytes:
    """The bytes of the sample of a kind."""
    if kind not in KINDS:
        raise ValueError(f"There is no sample {kind!r}; use one of {', '.join(KINDS)}.")
    return KINDS[kind].make()
