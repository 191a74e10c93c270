"""Bars on a terminal, one for each stage of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def stages(console: Console, unit: str) -> Iterator[Callable[[str, int, int], None]]:
    """A function that is told the stage, how much is done, and of how much.

    Nothing is shown where nobody watches.
    """
    from rich.progress import Progress, TaskID

    from thresher.engine.progress import columns

    bars = Progress(*columns(unit), console=console, disable=not console.is_terminal)
    tasks: dict[str, TaskID] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done)

    with bars:
        yield tell
