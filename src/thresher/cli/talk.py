"""What a command says: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from thresher.cli.progress import stages

if TYPE_CHECKING:
    from thresher.report import Report


class Talk:
    """Tells people, in words and tables, or machines, in one JSON object.

    Parameters
    ----------
    command : str
        The command that is run.
    as_json : bool
        For machines.
    again : callable
        Gives the line that repeats the command, from what was chosen for it.
    """

    def __init__(self, command: str, as_json: bool, again: Callable[[dict[str, Any]], str]) -> None:
        self.as_json = as_json
        self._started = time.perf_counter()
        self._again = again
        self._choices: dict[str, tuple[Any, str]] = {}
        self._out, self._err = Console(quiet=as_json), Console(stderr=True)
        self._answer: dict[str, Any] = {"command": command}
        self._notes: list[str] = []
        self._by_line = False

    def choose(self, name: str, value: Any, why: str) -> Any:
        """Tell what was chosen for the user, and why; gives it back."""
        self._choices[name] = value, why
        self.aside(f"{name} = {value}: {why}")
        return value

    def aside(self, text: str) -> None:
        """Say something that is no result."""
        self._err.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Say what the user should know about the results: a warning of the library's."""
        self._notes.append(text)
        self.aside(f"Note: {text}")

    def show(self, *results: Any) -> None:
        """Print results for people; text without markup."""
        for result in results:
            soft = isinstance(result, str)
            self._out.print(result, markup=False, highlight=False, soft_wrap=soft)

    def answer(self, **results: Any) -> None:
        """Put results into the JSON object."""
        self._answer |= results

    def line(self, **results: Any) -> None:
        """Print an object at once, in a line of its own, instead of one at the end."""
        self._by_line = True
        if self.as_json:
            print(json.dumps(results, default=_plain), flush=True)

    def stages(self, unit: str) -> AbstractContextManager[Callable[[str, int, int], None]]:
        """A bar for each stage of some work, on standard error."""
        return stages(self._err, unit)

    def write_report(self, report: Report, path: Path | None) -> None:
        """Write a page that ends with this run: its choices, and the line that repeats it."""
        if path is None:
            return
        from thresher.persistence import write_atomically
        from thresher.report import tell_run

        reasons = [(f"{name} = {value}", why) for name, (value, why) in self._choices.items()]
        tell_run(report, reasons, self.again(), time.perf_counter() - self._started)
        write_atomically(path, report.html().encode())
        self.answer(report=str(path))
        self.aside(f"The report is in {path}.")

    def again(self) -> str:
        """The line that repeats the command."""
        return self._again({name: value for name, (value, _) in self._choices.items()})

    def finish(self) -> None:
        """Print the JSON object, if that was asked for."""
        if not self.as_json or self._by_line:
            return
        chosen = {
            name: {"value": value, "why": why} for name, (value, why) in self._choices.items()
        }
        whole = self._answer | {"chosen": chosen, "notes": self._notes, "again": self.again()}
        print(json.dumps(whole, default=_plain))
        sys.stdout.flush()


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, paths and tuples, as JSON knows them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
