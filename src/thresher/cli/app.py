"""The commands. Everything heavy is imported inside them, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher import __version__

app = typer.Typer(
    name="thresher",
    help="Learn parts from streams and set the outliers aside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def main() -> None:
    """Run the command line; the entry point of the program ``thresher``."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thresher {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learn parts from streams and set the outliers aside."""


@app.command()
def demo(
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
        raise typer.BadParameter(f"{error.strerror}: {out}", param_hint="--out") from None
    try:
        from thresher.cli.demo import show_demo

        show_demo(out, seed, quick)
    except KeyboardInterrupt:
        typer.echo("\nInterrupted; no report was written.", err=True)
        raise typer.Exit(130) from None
