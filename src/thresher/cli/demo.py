"""What ``thresher demo`` prints."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from thresher.cli.progress import stages
from thresher.tasks.demo.report import demo_report
from thresher.tasks.demo.result import DemoResult
from thresher.tasks.demo.run import run_demo


def show_demo(out: Path, seed: int, quick: bool) -> None:
    """Run the demonstration, print the measures, write the report, and print its path last.

    Parameters
    ----------
    out : Path
        An existing folder.
    seed : int
        Of the scene and of the models.
    quick : bool
        A smaller, shorter scene.
    """
    console = Console()
    console.print("A synthetic street: traffic, changing light, salt-and-pepper noise.")
    with stages(console, "frames") as tell:
        result = run_demo(seed, quick=quick, progress=tell)
    console.print(_table(result))
    path = (out / "report.html").resolve()
    path.write_text(demo_report(result).html(), encoding="utf-8")
    console.print("Open the report in a browser:")
    # Not through rich, which would break a long path on a narrow terminal.
    print(path)


def _table(result: DemoResult) -> Table:
    table = Table("", title="Measured against the truth", title_justify="left")
    table.add_column("Thresher", justify="right", style="bold yellow")
    table.add_column("MiniBatchNMF", justify="right")
    for row in result.table():
        table.add_row(*row)
    return table
