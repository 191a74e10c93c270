"""Few cases in which every pair of values of every two slots occurs, made greedily.

Some pairs cannot meet, and which is known only once a case was tried. So cases are tried while they
are made: a pair is *refused* once several cases that differ in all else were; every other pair ends
up in a case that was accepted.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

Case = dict[str, str]
"""The value of every slot, by label."""
Slots = dict[str, list[str]]
"""The labels of every slot; the first is the plain one."""
Choice = tuple[str, str]
Pair = tuple[Choice, Choice]

_GREEDY_TRIES = 2
_RANDOM_TRIES = 3


def pairs_of(case: Case) -> Iterator[Pair]:
    """All pairs of choices that a case makes."""
    return combinations(sorted(case.items()), 2)


def all_pairs(slots: Slots) -> list[Pair]:
    """Every pair of values of every two slots."""
    return [
        ((one, a), (other, b))
        for one, other in combinations(sorted(slots), 2)
        for a in slots[one]
        for b in slots[other]
    ]


@dataclass
class Cover:
    """The cases of some slots: those that are accepted, and one for every pair that is not."""

    slots: Slots
    accepts: Callable[[Case], bool]
    rng: np.random.Generator
    cases: list[Case] = field(default_factory=list)
    refused: dict[Pair, Case] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plain = {slot: values[0] for slot, values in self.slots.items()}
        self.known: dict[tuple[Choice, ...], bool] = {}
        self.met: set[Pair] = set()  # in a case that was accepted
        self.suspects: Counter[Pair] = Counter()  # never met, how often in one that was refused
        self.witness: dict[Choice, Case] = {}  # where a value was accepted first

    def make(self) -> "Cover":
        """Cover every pair."""
        pairs = all_pairs(self.slots)
        left = dict.fromkeys(pairs)
        waiting = [pairs[i] for i in self.rng.permutation(len(pairs))]
        for pair in waiting:
            if pair not in left:
                continue
            case = self.case_with(pair, left)
            if case is None:
                del left[pair]
                continue
            self.cases.append(case)
            for each in pairs_of(case):
                left.pop(each, None)
        return self

    def case_with(self, pair: Pair, left: dict[Pair, None] | None = None) -> Case | None:
        """A case that is accepted and has the pair, and many of those that are left; or None."""
        for number in range(_GREEDY_TRIES):
            case = self._greedy(dict(pair), {} if left is None else left, caution=10**number)
            if self.try_out(case):
                return case
        for case in self._careful(pair):
            if self.try_out(case):
                return case
        self.refused[pair] = self.plain | dict(pair)
        return None

    def try_out(self, case: Case) -> bool:
        """Whether a case is accepted, remembered."""
        key = tuple(sorted(case.items()))
        if key not in self.known:
            self.known[key] = self.accepts(case)
            pairs = list(pairs_of(case))
            if self.known[key]:
                self.met.update(pairs)
                for choice in key:
                    self.witness.setdefault(choice, case)
            else:
                self.suspects.update(pair for pair in pairs if pair not in self.met)
        return self.known[key]

    # ------------------------------------------------------------------- details

    def _find_witness(self, choice: Choice) -> None:
        """Try the value in cases in which all but another slot are plain."""
        if choice in self.witness or self.try_out(self.plain | dict([choice])):
            return
        for slot, values in self.slots.items():
            for value in values[1:] if slot != choice[0] else ():
                if self.try_out(self.plain | {slot: value} | dict([choice])):
                    return

    def _greedy(self, case: Case, left: dict[Pair, None], caution: float) -> Case:
        """Fill the slots one by one, each with what makes most new pairs and fewest suspects."""
        free = [slot for slot in self.slots if slot not in case]
        for i in self.rng.permutation(len(free)):
            slot, scores = free[i], []
            for value in self.slots[slot]:
                new = [_pair((slot, value), choice) for choice in case.items()]
                doubt = sum(np.inf if p in self.refused else self._doubt(p) for p in new)
                gain = sum(p in left for p in new) - caution * doubt
                scores.append(gain + 0.1 * self.rng.random())
            case = case | {slot: self.slots[slot][int(np.argmax(scores))]}
        return case

    def _doubt(self, pair: Pair) -> float:
        return 0.0 if pair in self.met else min(self.suspects[pair], 3) / 3

    def _careful(self, pair: Pair) -> Iterator[Case]:
        """Cases with the pair in which all else is plain, or as where one of the two was met."""
        wanted = dict(pair)
        yield self.plain | wanted
        for choice in pair:
            self._find_witness(choice)
        known = [self.witness[choice] for choice in pair if choice in self.witness]
        yield from (case | wanted for case in known)
        for _ in range(_RANDOM_TRIES if len(known) == 2 else 0):
            start = known[int(self.rng.integers(2))] | wanted
            for slot, values in self.slots.items():
                if slot not in wanted and self.rng.random() < 0.5:
                    start[slot] = values[int(self.rng.integers(len(values)))]
            yield start


def _pair(one: Choice, other: Choice) -> Pair:
    return (one, other) if one < other else (other, one)
