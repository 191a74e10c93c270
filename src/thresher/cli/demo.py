"""``thresher demo``: the library at work on a scene that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from thresher.cli.frame import WrongUseError
from thresher.cli.talk import Talk

if TYPE_CHECKING:
    from thresher.tasks.demo.result import DemoResult


def demo(
    talk: Talk,
    out: Annotated[Path, typer.Option(help="Folder for the report.", file_okay=False)] = Path(
        "thresher-demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the scene and the models.", min=0)] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller, shorter scene.")] = False,
) -> None:
    """Take the traffic out of a synthetic street, and write a report about it."""
    try:
        # A folder that cannot be made is better known before the work than after it.
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUseError(f"--out {out} is no folder: {error.strerror}.") from None
    from thresher.tasks.demo.report import demo_report
    from thresher.tasks.demo.run import run_demo

    talk.show("A synthetic street: traffic, changing light, salt-and-pepper noise.")
    with talk.stages("frames") as tell:
        result = run_demo(seed, quick=quick, progress=tell)
    path = (out / "report.html").resolve()
    path.write_text(demo_report(result).html(), encoding="utf-8")
    talk.answer(measures={row[0]: {"thresher": row[1], "MiniBatchNMF": row[2]}
                          for row in result.table()}, report=path)  # fmt: skip
    # The path stands last, in a line of its own, for whoever reads it by machine or mouse.
    talk.show(_table(result), "Open the report in a browser:", str(path))


def _table(result: DemoResult) -> Table:
    table = Table("", title="Measured against the truth", title_justify="left")
    table.add_column("Thresher", justify="right", style="bold yellow")
    table.add_column("MiniBatchNMF", justify="right")
    for row in result.table():
        table.add_row(*row)
    return table
