"""What the watcher asks of each kind of run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Control:
    """Something that a reader may change: a parameter of the model."""

    name: str
    label: str
    help: str
    value: str
    now: str = ""
    """What the value comes to, if it is a rule."""


@dataclass(frozen=True)
class Fact:
    """A number that a page shows: its key in `Show.numbers`, and what it is."""

    key: str
    label: str
    form: str = "number"
    """``count``, ``number`` or ``share``."""


class Show(ABC):
    """A kind of run: what it calls its samples, which numbers it has, what can be seen.

    A ``step`` is what the learner gives after each batch.
    """

    unit: str
    facts: tuple[Fact, ...]
    curve: str
    """The key of the number that is drawn."""
    sample_title: str
    parts_title: str

    def about(self) -> dict[str, Any]:
        """What a page is told once."""
        return {
            "unit": self.unit,
            "facts": [asdict(fact) for fact in self.facts],
            "curve": next(fact.label for fact in self.facts if fact.key == self.curve),
            "sample_title": self.sample_title,
            "parts_title": self.parts_title,
        }

    @abstractmethod
    def model(self, step: Any) -> Any:
        """What is learned, to be saved between two steps."""

    @abstractmethod
    def numbers(self, step: Any) -> dict[str, Any]:
        """The facts; ``samples`` is one of them. Quick, as it is asked often."""

    @abstractmethod
    def noticed(self, step: Any) -> list[str]:
        """Sentences on what was noticed in the data of a step."""

    @abstractmethod
    def view(self, step: Any) -> dict[str, Any]:
        """``sample`` and ``parts``, as `thresher.cli.live.views` makes them."""

    @abstractmethod
    def controls(self, step: Any) -> list[Control]:
        """What may be changed now."""

    @abstractmethod
    def change(self, step: Any, name: str, value: Any) -> None:
        """Change it from the next step on; a ValueError says why not, and nothing has changed."""


def set_parameter(model: Any, name: str, value: Any) -> None:
    """Set a parameter of a model or task that learns; an invalid value is set back."""
    before = getattr(model, name)
    model.set_params(**{name: value})
    try:
        model._check_parameters()
        if hasattr(model, "_with_changes"):
            model._with_changes()
    except (TypeError, ValueError):
        model.set_params(**{name: before})
        raise
