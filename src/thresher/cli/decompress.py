"""``thresher decompress``: the table again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.frame import existing
from thresher.cli.talk import Talk


def decompress(
    talk: Talk,
    source: Annotated[Path, typer.Argument(help="What thresher compress wrote.")],
    target: Annotated[Path, typer.Argument(help="The file to write: .csv or .parquet.")],
    max_bytes: Annotated[
        int, typer.Option(help="Memory for what the file claims to hold.", min=1)
    ] = 2**30,
) -> None:
    """Write the table of a compressed file."""
    from thresher.tasks.compression.files import decompress_file

    with talk.stages("rows") as tell:
        n_rows, n_sensors = decompress_file(existing(source), target, tell, max_bytes=max_bytes)
    talk.show(f"{n_rows:,} rows of {n_sensors} sensors.")
    talk.answer(rows=n_rows, sensors=n_sensors, target=target)
