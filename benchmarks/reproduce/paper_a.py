"""Paper A (Zhao and Tan, 2017): Figures 1 to 15 and Tables I to V."""

from collections.abc import Iterator
from typing import Any

from benchmarks.reproduce import exhibits_a
from benchmarks.reproduce import paper_a_curves as curves
from benchmarks.reproduce import paper_a_faces as faces
from benchmarks.reproduce import paper_a_scenes as scenes
from benchmarks.reproduce.exhibits import Found
from benchmarks.reproduce.jobs import Job, Scale
from rich.console import Console
from rich.table import Table


def jobs(scale: Scale) -> Iterator[Job]:
    """The tables first, then the curves."""
    yield from faces.jobs(scale)
    yield from scenes.jobs(scale)
    yield from curves.jobs(scale)


def tell(results: dict[str, Any]) -> None:
    """Tables of faces and scenes, measured beside published, then the curves."""
    console = Console(width=120)
    found = Found("a", {"quick": results, "paper": {}}, {"quick": list(results), "paper": []})
    for exhibit in exhibits_a.tables(found):
        if exhibit.rows:
            table = Table(*exhibit.columns, title=f"{exhibit.name}, {exhibit.subject}")
            for row in exhibit.rows:
                table.add_row(*row)
            console.print(table)
    curves.tell(results)
