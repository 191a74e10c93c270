"""The second loop: improve the codes, improve the dictionary, with all data in memory.

The objective is checked after each half-step, so a method can see what each half achieved; the
loop ends when a whole round improves it by less than the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from thresher.linalg import Array

if TYPE_CHECKING:
    from thresher.engine.batch import BatchProblem


class Alternation(Protocol):
    """A batch method in the middle of its work; the half-steps change it in place."""

    @property
    def problem(self) -> BatchProblem:
        """The samples and the parts of the method."""

    @property
    def D(self) -> Array:  # noqa: N802 - the notation
        """The feasible dictionary."""

    @property
    def C(self) -> Array:  # noqa: N802 - the notation
        """The feasible codes."""

    @property
    def early_stopping(self) -> bool:
        """Whether a fit ends when rounds predict missing entries worse."""

    @property
    def absolute_tol(self) -> float | None:
        """The change of the objective that ends a fit; None is ``tol`` of the objective."""

    def improve_codes(self) -> None:
        """Better codes for the current dictionary."""

    def improve_dictionary(self) -> None:
        """A better dictionary for the current codes."""

    def change_support(self, seed: int) -> bool:
        """Drop or restart an atom where a penalty on the dictionary makes that pay."""

    def objective(self) -> float:
        """Mean objective per sample at the feasible variables; infinite before the first codes."""

    def certificate(self) -> float:
        """How far some codes are from optimal, at worst; NaN where that is not known."""


class PlainAlternation:
    """What an alternation does unless it says otherwise: no change of support, no early stop."""

    early_stopping: ClassVar[bool] = False

    @property
    def absolute_tol(self) -> float | None:
        """None: ``tol`` is relative."""
        return None

    def change_support(self, seed: int) -> bool:
        """Leave all atoms as they are."""
        return False


Report = Callable[[int, float, float], bool]
"""Told of each round (its number, objective after codes, after dictionary); True ends the fit."""


class Ending(NamedTuple):
    """How a fit ended."""

    rounds: int
    missed: float
    """The last change of the objective, over the one that would have ended the fit: above one if
    there were no more rounds, infinite if one round tells nothing. Zero if it ended by itself."""


def alternate(
    method: Alternation, report: Report, max_rounds: int, tol: float, change: float | None = None
) -> Ending:
    """Alternate until the objective settles (never if ``tol`` is 0).

    It has settled where it changes by ``tol`` of what it is, or by ``change`` where that is given.
    """
    last, missed = method.objective(), 0.0
    for number in range(1, max_rounds + 1):
        method.improve_codes()
        after_codes = method.objective()
        method.improve_dictionary()
        now = method.objective()
        small = tol * abs(last) if change is None else change
        settled = tol > 0 and last < float("inf") and abs(last - now) <= small
        if report(number, after_codes, now) or settled:
            return Ending(number, 0.0)
        known = 0 < small < float("inf") and last < float("inf")
        missed = abs(last - now) / small if known else float("inf")
        last = now
    return Ending(max_rounds, missed)
