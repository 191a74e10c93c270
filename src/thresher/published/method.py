"""Online methods as published."""

from dataclasses import dataclass
from typing import ClassVar, Self

from thresher.engine import Method, StreamState
from thresher.sets import ConvexSet, Reals
from thresher.streams import Batch


@dataclass(frozen=True)
class PublishedMethod(Method):
    """A method that computes in the unit of the data and never drops or restarts atoms.

    Parameters
    ----------
    feasible : bool
        Whether the dictionary always lies in its set. The starts and copies of some solvers, as
        printed, do not.
    """

    feasible: bool = True

    min_residual_scale: ClassVar[float] = 0.0

    @property
    def dictionary_set(self) -> ConvexSet:
        """The set of the atoms; the whole space if they may leave it."""
        return super().dictionary_set if self.feasible else Reals()

    @property
    def selects_atoms(self) -> bool:
        """Never: no published solver drops atoms."""
        return False

    def in_unit(self, unit: float) -> Self | None:
        """None: constants of published solvers refer to the unit of the data."""
        return None

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Leave unused atoms as they are."""
        return state
