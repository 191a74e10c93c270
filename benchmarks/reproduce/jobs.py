"""Jobs: a row of a table or a curve of a figure each, with a JSON file of its own.

A job that has its file is done, and is never run again; a run that was stopped goes on with the
next one. Rows of one table that are compared in time belong to one job, so that they run side by
side. Pictures of faces and videos are kept beside the files, and committed never.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from benchmarks.common import RESULTS, Row, clock, data_folder, machine, read_json, write_json

from thresher.plotting import frame_grid, to_png

FOLDER = RESULTS / "reproduce"
PICTURES = FOLDER / "pictures"
Scale = Literal["quick", "paper"]


@dataclass(frozen=True)
class Job:
    """A row of a table, or a curve of a figure.

    Parameters
    ----------
    name : str
        Where it belongs, such as ``figure_1/opgd/seed_0``: the path of its file.
    work : callable
        What it does; it returns what is written, as numbers, strings, lists and dictionaries.
    needs : tuple of str
        Files of the data folder that it reads.
    """

    name: str
    work: Callable[[], Row]
    needs: tuple[str, ...] = ()

    def path(self, paper: str, scale: Scale) -> Path:
        """Its file; names of methods have letters that names of files should not have."""
        name = re.sub(r"[^\w./-]+", "_", self.name, flags=re.ASCII)
        return FOLDER / scale / f"paper_{paper}" / f"{name}.json"

    def missing(self) -> list[str]:
        """Data files that are not there."""
        folder = data_folder()
        return [name for name in self.needs if folder is None or not (folder / name).exists()]

    def run(self, paper: str, scale: Scale) -> Row:
        """Do the work, and write the file as the last thing."""
        with clock() as spent:
            result = self.work()
        record = {"job": self.name, "seconds": round(spent.wall, 2), "machine": machine("numpy")}
        write_json(self.path(paper, scale), record | {"result": result})
        return result


def finished(paper: str, scale: Scale, jobs: Iterable[Job]) -> Iterator[tuple[Job, Any]]:
    """The jobs that are done, and what they gave."""
    for job in jobs:
        record = read_json(job.path(paper, scale))
        if record:
            yield job, record["result"]


def keep_picture(name: str, columns: Mapping[str, Any], **options: Any) -> None:
    """Draw images in columns, for the page; nobody may pass them on."""
    stacks = [np.asarray(images) for images in columns.values()]
    figure = frame_grid(stacks, list(columns), [""] * len(stacks[0]), **options)
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture_path(name).write_bytes(to_png(figure, 110))


def picture_path(name: str) -> Path:
    """Where the picture of a job is, if it was drawn."""
    return PICTURES / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.png"
