"""Which samples there are, and what they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .documents import documents_file
from .photo import photo_file
from .photographs import photograph_files
from .scene import scene_file
from .sensors import sensors_file
from .table import table_file
from .tune import tune_file
from .video import video_file


class Sample(NamedTuple):
    """A small file, or a folder of them."""

    name: str
    """Of the file or folder."""
    about: str
    """What is in it."""
    make: Callable[[], bytes | dict[str, bytes]]
    """Gives its bytes; of a folder, those of each of its files."""


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
    "photographs": Sample(
        "photographs", "a lake on sixty days, through a window with dirt on it", photograph_files
    ),
    "scene": Sample(
        "scene.npy", "four kinds of ground in sixty bands, two of them bad", scene_file
    ),
    "tune": Sample("tune.wav", "seven notes of a tune, three different ones, plucked", tune_file),
    "video": Sample("street.avi", "six seconds of a street, drawn", video_file),
}


def sample_files(kind: str) -> dict[str, bytes]:
    """The files of the sample of a kind, by their paths."""
    if kind not in KINDS:
        raise ValueError(f"There is no sample {kind!r}; use one of {', '.join(KINDS)}.")
    made = KINDS[kind].make()
    if isinstance(made, bytes):
        return {KINDS[kind].name: made}
    return {f"{KINDS[kind].name}/{name}": content for name, content in made.items()}
