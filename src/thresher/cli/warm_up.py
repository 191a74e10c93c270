"""``thresher warm-up``: machine code beforehand."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from thresher.cli.talk import Talk


def warm_up(
    talk: Talk,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; by default one for each core.", min=1)
    ] = None,
) -> None:
    """Compile everything for this processor, so that no first call has to: for images, clusters.

    Installing the package does the same. Run this where it was installed on another processor.
    What is compiled when it is interrupted is kept.
    """
    from thresher.kernels.machine_code import folder
    from thresher.tasks.warm_up import warm_up as compile_all

    started = time.perf_counter()
    with talk.stages("pieces") as tell:
        for _, done, total in compile_all(jobs):
            tell("Compiling", done, total)
    seconds = time.perf_counter() - started
    talk.show(f"Ready after {seconds:.0f} s. The machine code is in:", str(folder()))
    talk.answer(seconds=seconds, folder=folder())
