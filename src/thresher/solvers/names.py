"""Solvers by their names, and those that are given as parts."""

from typing import Any, TypeVar

NamedSolver = TypeVar("NamedSolver")

AS_PUBLISHED = "it was asked for by name, and keeps to what was published"


def name_of(value: Any) -> str:
    """What states and files call a solver that was given: its name, or that of its part."""
    return value if isinstance(value, str) else type(value).__name__


def named_solver(value: Any, solvers: dict[str, NamedSolver]) -> NamedSolver:
    """A solver from its name, or the part itself."""
    if isinstance(value, type(solvers["auto"])):
        return value
    if not isinstance(value, str) or value not in solvers:
        *others, last = map(repr, solvers)
        known = f"{', '.join(others)} or {last}"
        raise ValueError(f"solver={value!r} is not known; use {known}.")
    return solvers[value]
