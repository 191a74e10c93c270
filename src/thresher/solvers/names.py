"""Solvers by their names, and those that are given with constants of one's own."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

Made = TypeVar("Made")

AS_PUBLISHED = "it was asked for by name, and keeps to what was published"


class Published(ABC, Generic[Made]):
    """A solver as it was published: a frozen dataclass of its constants.

    Given as ``solver=``, by name or with other constants. Files keep the constants, and nothing of
    what is made from them.
    """

    name: ClassVar[str]
    """What users, states and files call it."""

    @abstractmethod
    def made(self) -> Made:
        """What it stands for: who finds codes, and who moves the dictionary."""


def name_of(value: Any) -> str:
    """What states and files call a solver that was given: its name, or that of its part."""
    if isinstance(value, Published):
        return value.name
    return value if isinstance(value, str) else type(value).__name__


def listed(names: Iterable[str]) -> str:
    """``'a', 'b' or 'c'``."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}"


def named_solver(value: Any, solvers: Mapping[str, Made | Published[Made]]) -> Made:
    """A solver from its name, or from a part."""
    if isinstance(value, str) and value in solvers:
        value = solvers[value]
    elif not isinstance(value, tuple({type(solver) for solver in solvers.values()})):
        raise ValueError(f"solver={value!r} is not known; use {listed(solvers)}.")
    made: Made = value.made() if isinstance(value, Published) else value
    return made
