"""A trial after a shift: rivals of the dictionary show what they can.

A dictionary that follows a change is held back by its past: statistics of samples that come no more
pull its atoms into a poor optimum. But not every shift is one of the dictionary; noise and outliers
shift losses, too. So nothing is thrown away at once. Two rivals start without that past and learn
from the same batches as the dictionary in use; one that explains what comes better takes over.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from thresher.engine.history import Event
from thresher.engine.method import Method
from thresher.engine.state import StreamState, Summary
from thresher.streams import Batch

Advance = Callable[[StreamState], tuple[StreamState, Summary]]
"""Learns from the current batch."""

# Chosen on planted changes, see docs/guide/drift.md.
WINS = 8
LONGEST = 32


@dataclass(frozen=True)
class Rival:
    """A state that may take over, and in how many batches in a row its loss was the lower one."""

    state: StreamState
    wins: int = 0


@dataclass(frozen=True)
class Trial:
    """Up to 32 batches in which rivals learn beside the dictionary in use.

    Losses are those of samples that none of them has learned from yet. Whoever has the lower one in
    eight batches in a row takes over at once; the others go on against it.

    Attributes
    ----------
    rivals : tuple of Rival
    n_batches : int
        How many they have learned from, after the first.
    replaced : bool
        Whether one of them took over.
    """

    rivals: tuple[Rival, ...]
    n_batches: int = 0
    replaced: bool = False

    @classmethod
    def begun(cls, method: Method, state: StreamState, batch: Batch, advance: Advance) -> "Trial":
        """Rivals of a state before a batch, from which they have learned.

        The first has its atoms, as some of them may still be right; those of the second start from
        samples of the batch, all but the frozen ones.
        """
        empty = method.learner.empty(*state.D.shape)
        renewed = state.changed(statistics=empty, weight_seen=0.0, watch=None)
        D = method.first_dictionary(batch, None, len(state.D), state.D.dtype, state.seed)
        if method.frozen is not None:
            D[method.frozen] = state.D[method.frozen]
        fresh = renewed.changed(D=D, average=D)
        return cls(tuple(Rival(advance(one)[0]) for one in (renewed, fresh)))

    def round(
        self, state: StreamState, summary: Summary, advance: Advance
    ) -> tuple[StreamState, "Trial | None", tuple[Event, ...]]:
        """One batch further: who is in use then, the trial if it goes on, and what happened.

        ``state`` has learned from the batch, of which it gave the ``summary``.
        """
        judged: list[tuple[float, Rival]] = []
        for rival in self.rivals:
            after, coded = advance(rival.state)
            wins = rival.wins + 1 if coded.loss < summary.loss else 0
            judged.append((coded.loss, Rival(after, wins)))
        events: list[Event] = []
        winners = [one for one in judged if one[1].wins >= WINS]
        rivals, replaced = tuple(rival for _, rival in judged), self.replaced
        if winners:
            loss, best = min(winners, key=lambda one: one[0])
            state = _taken_over(state, best.state)
            rivals = tuple(Rival(rival.state) for rival in rivals if rival is not best)
            events.append(Event(state.n_samples, "replaced", loss / summary.loss))
            replaced = True
        trial: Trial | None = Trial(rivals, self.n_batches + 1, replaced)
        if self.n_batches + 1 >= LONGEST or not rivals:
            trial = None
            if not replaced:
                least = min(loss for loss, _ in judged)
                ratio = least / summary.loss if summary.loss > 0 else 1.0
                events.append(Event(state.n_samples, "kept", ratio))
        return state, trial, tuple(events)


def _taken_over(state: StreamState, rival: StreamState) -> StreamState:
    """A rival in the place of a state.

    λ is that of the state, under which all were judged, but forgets what was before the trial.
    """
    known = min(state.scale_weight, rival.weight_seen)
    return replace(rival, scale=state.scale, scale_weight=known, watch=state.watch)
