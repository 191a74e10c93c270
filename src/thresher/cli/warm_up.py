"""What ``thresher warm-up`` prints."""

from __future__ import annotations

import time

from rich.console import Console

from thresher.cli.progress import stages
from thresher.kernels.machine_code import folder
from thresher.tasks.warm_up import warm_up


def show_warm_up(jobs: int | None) -> None:
    """Compile what is not there yet, and say where it is."""
    started = time.perf_counter()
    console = Console()
    with stages(console, "pieces") as tell:
        for _, done, total in warm_up(jobs):
            tell("Compiling", done, total)
    seconds = time.perf_counter() - started
    console.print(f"Ready after {seconds:.0f} s. The machine code is in:")
    print(folder())
