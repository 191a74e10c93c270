"""One choice among methods of learning: made once, from the parts and the first batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from thresher.engine.state import StreamState
from thresher.streams import Batch

Verbs = TypeVar("Verbs")


def anything(batch: Batch) -> str | None:
    """What a method requires of the first batch that requires nothing."""
    return None


@dataclass(frozen=True)
class Candidate(Generic[Verbs]):
    """A method of learning, and when it is the one.

    Parameters
    ----------
    name : str
        What states and files call it.
    method : method
        Its parts.
    why : str
        Why it stands where it stands in its plan, as it was measured.
    requires : callable
        From the first batch: what is missing, in words that go on from "it needs", or None.
    streaming : method, optional
        What reads an array a few times before a batch method alternates, if that is not the same.
    """

    name: str
    method: Verbs
    why: str
    requires: Callable[[Batch], str | None] = anything
    streaming: Verbs | None = None


@dataclass(frozen=True)
class Plan(Generic[Verbs]):
    """What parameters come to: methods in the order in which they are tried.

    Which one runs is decided by the first batch and stands in the state from then on; every method
    of a plan computes the same codes from the same dictionary.
    """

    candidates: tuple[Candidate[Verbs], ...]

    def choose(self, batch: Batch) -> Candidate[Verbs]:
        """The first candidate whose requirements a first batch meets; the last requires nothing."""
        return next(one for one in self.candidates if one.requires(batch) is None)

    def begun_with(self, state: StreamState) -> Candidate[Verbs]:
        """The candidate that a state began with."""
        for candidate in self.candidates:
            if candidate.name == state.method:
                return candidate
        raise ValueError(
            "What was learned so far belongs to another solver or divergence; set them back to go "
            "on, or call fit to start anew."
        )

    @property
    def common(self) -> Verbs:
        """Any of the methods, for what all have in common: losses, sets and penalties."""
        return self.candidates[-1].method
