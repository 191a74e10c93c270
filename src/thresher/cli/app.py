"""The commands. Everything heavy is imported inside them, so that ``--help`` is quick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


Source = Annotated[Path, typer.Argument(help="What to read.", exists=True, dir_okay=False)]
Target = Annotated[Path, typer.Argument(help="What to write.", dir_okay=False)]


@app.command()
def compress(
    source: Source,
    target: Target,
    error: Annotated[
        float,
        typer.Option(
            help="Root mean square error of all values together, relative to their own root mean "
            "square: with values of about 20, 0.02 leaves an error of about 0.4. With 0 all values "
            "come back as they are. Put columns of one unit in a file: a column whose own error is "
            "far larger is refused."
        ),
    ] = 0.02,
    n_nonzero: Annotated[
        int | None, typer.Option(help="Code by a dictionary, with so many codes in a row.")
    ] = None,
    half_life: Annotated[
        float | None, typer.Option(help="Of the dictionary, in rows; by default chosen.")
    ] = None,
) -> None:
    """Compress a CSV file of sensor values: a name above each column, a time in each row.

    Cells are separated by commas, semicolons or tabs. Text, times and ids are kept letter by
    letter, and so is a first column that only rises; all other columns are measurements.
    """
    with _plain_errors(target):
        from thresher.cli.compress import show_compress
        from thresher.tasks.compression import SensorCodec

        forgetting = "auto" if half_life is None else half_life
        codec = SensorCodec(error=error, n_nonzero=n_nonzero, forgetting=forgetting)
        show_compress(source, target, codec)


@app.command()
def decompress(
    source: Source,
    target: Target,
    max_bytes: Annotated[
        int, typer.Option(help="Memory for what the file claims to hold.", min=1)
    ] = 2**30,
) -> None:
    """Write the CSV file of a file that was compressed."""
    with _plain_errors(target):
        from thresher.cli.compress import show_decompress

        show_decompress(source, target, max_bytes)


@app.command("warm-up")
def warm_up(
    jobs: Annotated[
        int | None, typer.Option(help="Processes; by default one for each core.", min=1)
    ] = None,
) -> None:
    """Compile everything for this processor, so that no first call has to: for images, clusters.

    Installing the package does the same. Run this where it was installed on another processor.
    """
    try:
        from thresher.cli.warm_up import show_warm_up

        show_warm_up(jobs)
    except KeyboardInterrupt:
        typer.echo("\nInterrupted; what was compiled so far is kept.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def _plain_errors(target: Path) -> Iterator[None]:
    """What users can mend is said in a sentence; an interrupt leaves no part of a file."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted; {target} was not written.", err=True)
        raise typer.Exit(130) from None
    except (ValueError, ImportError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"Error: {error.strerror}: {error.filename}", err=True)
        raise typer.Exit(1) from None
