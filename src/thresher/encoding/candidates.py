"""One choice among coding methods: an ordered list, and the first that the problem suits.

A method declares what it ``requires``: a reason in words why it cannot code such rows, or None. The
same words refuse a method that was asked for by name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from thresher.encoding.iterate import BlockEncoder
from thresher.encoding.problem import DENSE, CodingProblem, Rows


class Requiring(Protocol):
    """A method that knows which problems it is for."""

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Why it cannot code such rows, in words that go on from "it needs"; None if it can."""


class CodingMethod(BlockEncoder, Requiring, Protocol):
    """An encoder that knows which problems it is for."""


def refuse(method: Requiring, problem: CodingProblem, name: str) -> None:
    """Refuse, in one sentence, a problem that a method named by the user cannot solve."""
    reason = method.requires(problem, DENSE)
    if reason is not None:
        regulariser = problem.regulariser
        raise ValueError(
            f"{name} need {reason}, not {problem.loss} with {regulariser.penalty} on "
            f"{regulariser.region}; use solver='auto'."
        )


@dataclass(frozen=True)
class Candidate:
    """A method in its place: its name, how it is made, from a tolerance and a bound, and why."""

    name: str
    make: Callable[[float, int], CodingMethod]
    why: str


class Choice(NamedTuple):
    """The method that was chosen."""

    method: CodingMethod
    name: str
    why: str
    """Why it stands where it stands in its list."""


def choose(
    candidates: Sequence[Candidate], problem: CodingProblem, rows: Rows, tol: float, max_iter: int
) -> Choice:
    """Return the first method that the problem suits."""
    lacking = []
    for candidate in candidates:
        method = candidate.make(tol, max_iter)
        reason = method.requires(problem, rows)
        if reason is None:
            return Choice(method, candidate.name, candidate.why)
        lacking.append(reason)
    regulariser = problem.regulariser
    raise ValueError(
        f"No method finds codes under {problem.loss} with {regulariser.penalty} on "
        f"{regulariser.region}; the last one tried needs {lacking[-1]}."
    )
