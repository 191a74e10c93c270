"""What a stream leaves behind: sums of fixed size, whatever they are sums of."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import add, attrgetter
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class Statistics:
    """Sums over weighted samples; they add up, so batches, threads and machines can be merged.

    Subclasses are dataclasses of arrays and numbers. ``AXES`` names the arrays, with a letter for
    each axis: K for atoms, F for features, f for features of which one may stand for all; others,
    such as samples, are neither.
    """

    AXES: ClassVar[dict[str, str]] = {}

    def __add__(self, other: Self) -> Self:
        """Merge two sums."""
        return type(self)(*map(add, _values(self), _values(other)))

    def discounted(self, factor: float) -> Self:
        """Let the past count ``factor`` times as much."""
        return type(self)(*[value * factor for value in _values(self)])

    def arrays(self) -> dict[str, Array]:
        """The fields that are arrays."""
        return {name: getattr(self, name) for name in self.AXES}

    def numbers(self) -> dict[str, float]:
        """The fields that are not."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.AXES}

    def measures(self, D: Array) -> dict[str, float]:
        """What a method says of itself after a step, by its name in the history."""
        return {}

    def without(self, atoms: NDArray[np.intp]) -> Self:
        """Forget everything about some atoms."""
        changed = {name: values.copy() for name, values in self.arrays().items()}
        for name, values in changed.items():
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "K":
                    values[(slice(None),) * axis + (atoms,)] = 0
        return replace(self, **changed)

    def grow(self, n_features: int, n_components: int) -> Self:
        """Pad with zeros for features and atoms that have not been seen yet."""
        lengths = {"K": n_components, "F": n_features, "f": n_features}

        def padded(name: str, values: Array) -> Array:
            more = [
                (0, 0 if letter == "f" and have == 1 else lengths.get(letter, have) - have)
                for letter, have in zip(self.AXES[name], values.shape, strict=True)
            ]
            return np.pad(values, more)

        return replace(self, **{name: padded(name, V) for name, V in self.arrays().items()})

    def joined(self, members: Array) -> Self:
        """As if atoms had always been sums of others: codes add up, and so do these sums.

        ``members`` has a row for each new atom, with a one for every old atom that it takes in.
        """

        def of(name: str, values: Array) -> Array:
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "K":
                    values = np.moveaxis(np.tensordot(members, values, (1, axis)), 0, axis)
            return np.ascontiguousarray(values)

        return replace(self, **{name: of(name, V) for name, V in self.arrays().items()})

    def keep(self, columns: NDArray[np.intp]) -> Self:
        """Forget all features but some."""

        def kept(name: str, values: Array) -> Array:
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "F" or (letter == "f" and values.shape[axis] > 1):
                    values = np.take(values, columns, axis=axis)
            return values

        return replace(self, **{name: kept(name, V) for name, V in self.arrays().items()})


_READERS: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}


def _values(sums: Any) -> tuple[Any, ...]:
    """Of all fields of a dataclass; to look them up takes longer than to add small sums."""
    kind = type(sums)
    if kind not in _READERS:
        names = [one.name for one in fields(kind)]
        read = attrgetter(*names) if len(names) > 1 else lambda one: (getattr(one, names[0]),)
        _READERS[kind] = read
    return _READERS[kind](sums)


class Sums(Protocol):
    """A coded block or batch, reduced to sums that add up over blocks."""

    def __add__(self, other: Any) -> Any:
        """Merge two sums."""


@runtime_checkable
class Learner(Protocol):
    """How a dictionary is learned from coded samples: what is summed up, and what follows."""

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Why it cannot learn such atoms, in words that go on from "it needs"; None if it can."""

    def empty(self, n_components: int, n_features: int) -> Statistics:
        """Statistics of no sample."""

    def summarise(self, fit: Fit, sample_weight: Array | None) -> Any:
        """Reduce a coded block to `Sums`."""

    def learn(
        self,
        past: Any,
        sums: Any,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, Any, Array]:
        """The next dictionary and statistics, given the discounted past; D itself stays.

        The third is the gain of every atom's codes, shape (K,): what the step took from the
        length of the atoms and left to the codes. One for learners that leave lengths alone.
        """

    def cautious(self) -> Any:
        """A learner whose step never makes the loss rise; itself, if it is one."""

    def usage(self, statistics: Any, D: Array) -> Array:
        """How much every atom was used, shape (K,)."""
