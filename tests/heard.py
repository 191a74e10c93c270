"""Commands without their console: what one chose, said and answered, in order."""

from contextlib import contextmanager
from io import StringIO
from typing import Any, ClassVar

from rich.console import Console

import thresher


class Heard:
    """Stands in for `Talk`, and keeps all that it is told."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.chosen: dict[str, tuple[Any, str]] = {}
        self.asides: list[str] = []
        self.notes: list[str] = []
        self.shown: list[str] = []
        self.answers: dict[str, Any] = {}
        self.lines: list[dict[str, Any]] = []
        self.units: list[str] = []
        self.bars: list[tuple[str, int, int]] = []
        self.reports: list[tuple[Any, Any]] = []

    def choose(self, name: str, value: Any, why: str) -> Any:
        """Keep a choice."""
        self.chosen[name] = value, why
        return value

    def aside(self, text: str) -> None:
        """Keep what is no result."""
        self.asides.append(text)

    def note(self, text: str) -> None:
        """Keep a note."""
        self.notes.append(text)

    def show(self, *results: Any) -> None:
        """Keep results as people see them."""
        for result in results:
            if isinstance(result, str):
                self.shown.append(result)
            else:
                console = Console(file=StringIO(), width=200)
                console.print(result)
                self.shown.append(console.file.getvalue())

    def answer(self, **results: Any) -> None:
        """Keep what machines get."""
        self.answers |= results

    def line(self, **results: Any) -> None:
        """Keep an object of a line."""
        self.lines.append(results)

    @contextmanager
    def stages(self, unit: str) -> Any:
        """Keep what bars would show."""
        self.units.append(unit)
        yield lambda *told: self.bars.append(told)

    def write_report(self, report: Any, path: Any) -> None:
        """Keep a page."""
        self.reports.append((report, path))


def cells(table: str) -> list[list[str]]:
    """The rows of a table that was printed, its head first."""
    rows = [line for line in table.splitlines() if "│" in line or "┃" in line]
    return [[cell.strip() for cell in row.replace("┃", "│").split("│")[1:-1]] for row in rows]


class Model:
    """Keeps its parameters, and what it was fitted to."""

    about: ClassVar[dict[str, Any]] = {}
    last: Any = None

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters
        self.calls: list[tuple[str, Any]] = []
        self.__dict__.update(type(self).about)
        type(self).last = self

    def fit(self, X: Any) -> Any:
        """Keep samples."""
        self.calls.append(("fit", X))
        return self

    def _page(self, *given: Any) -> Any:
        return ("page", *given)


def stand_in_for(monkeypatch: Any, name: str, **about: Any) -> Any:
    """Put a model with some attributes in the place of a class of the library."""
    kind = type(name, (Model,), {"about": about})
    monkeypatch.setattr(thresher, name, kind, raising=False)
    return kind
