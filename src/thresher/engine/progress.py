"""A progress bar for whatever takes longer than two seconds, silent when nobody watches."""

import sys
import time
from typing import Any

PATIENCE = 2.0  # seconds; by judgement


class ProgressBar:
    """Shows up on a terminal once two seconds have passed; otherwise it does nothing."""

    def __init__(self, label: str, total: float | None, enabled: bool = True) -> None:
        self._label, self._total = label, total
        self._enabled = enabled and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, note: str = "") -> None:
        """Tell how much is done."""
        if not self._enabled:
            return
        if self._bar is None:
            if time.monotonic() - self._started < PATIENCE:
                return
            self._open()
        self._bar.update(self._task, completed=done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, TextColumn

        note = TextColumn("{task.fields[note]}")
        self._bar = Progress(*columns(), note, console=Console(stderr=True))
        self._task = self._bar.add_task(self._label, total=self._total, note="")
        self._bar.start()


def columns(unit: str = "") -> list[Any]:
    """What a bar tells: how much is done, of what, how fast, for how long and how much longer."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Any:
            speed = task.finished_speed or task.speed
            return "" if speed is None else f"{speed:,.3g}/s"

    counted = [TextColumn(unit)] if unit else []
    return [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *counted,
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
