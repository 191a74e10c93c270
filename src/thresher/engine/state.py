"""What a stream has come to: the state that every method carries on, and what a batch adds."""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine.explained import Energies
from thresher.engine.seen import SeenRange
from thresher.learning import Statistics
from thresher.linalg import Array
from thresher.streams import Batch


@dataclass(frozen=True)
class StreamState:
    """Everything that an online model knows; its size does not depend on the samples seen.

    Attributes
    ----------
    D : array of shape (K, F)
        The dictionary that learns.
    average : array of shape (K, F)
        Its running average, which is what the model shows; the same as D without averaging.
    statistics : Statistics
        What the stream left behind, discounted.
    method : str
        The name of the method that it began with.
    seed : int
        All randomness is drawn from it and from counters, so that a state can be resumed.
    n_samples, n_steps : int
        Samples and batches seen.
    weight_seen : float
        Total weight of the samples seen, without discount.
    scale, scale_weight : float
        Running mean of what the rule for λ measures, and its weight.
    unit, atom_unit, loss_unit : float
        What a one stands for in samples, atoms and losses of this state, in the user's units.
    measured : bool
        Whether the unit was measured: not before the first sample that is not zero.
    seen : SeenRange or None
        The range of every feature so far; None if it was not recorded.
    watch : Watch or None
        What is known of shifts, if losses are watched.
    """

    D: Array
    average: Array
    statistics: Statistics
    seed: int
    n_samples: int = 0
    n_steps: int = 0
    weight_seen: float = 0.0
    scale: float = 0.0
    scale_weight: float = 0.0
    unit: float = 1.0
    atom_unit: float = 1.0
    loss_unit: float = 1.0
    measured: bool = True
    seen: SeenRange | None = None
    method: str = ""
    watch: Any = None  # has states of its own, so its class comes after this one

    def __post_init__(self) -> None:
        # Steps make new dictionaries and never change one. That all are read-only from the start
        # also spares kernels a second compilation, for arrays that can be written.
        self.D.flags.writeable = self.average.flags.writeable = False

    def changed(self, **values: Any) -> "StreamState":
        """What `dataclasses.replace` makes, at a tenth of its price: a step takes some of them."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **values)
        other.__post_init__()
        return other

    @property
    def atoms(self) -> Array:
        """The atoms that the model shows, in the user's units."""
        if self.atom_unit == 1:
            return self.average
        shown: Array = self.average * self.average.dtype.type(self.atom_unit)
        shown.flags.writeable = False
        return shown

    @property
    def code_unit(self) -> float:
        """What a one stands for in codes."""
        return self.unit / self.atom_unit

    @property
    def awaits_entries(self) -> bool:
        """Whether all batches so far had no observed entry, so that the start is arbitrary."""
        return self.n_samples > 0 and self.n_steps == 0

    def grow(self, n_features: int, atoms: Array, fill: float = 0.0) -> "StreamState":
        """Pad for new features and append atoms.

        In the old atoms new features are ``fill`` times the atom's mean entry: zero, or a little
        where steps multiply and could not leave zero.
        """

        def padded(D: Array) -> Array:
            K, F = D.shape
            larger = np.zeros((K + len(atoms), n_features), dtype=D.dtype)
            larger[:K] = D.dtype.type(fill) * D.mean(axis=1, keepdims=True)
            larger[:K, :F], larger[K:] = D, atoms
            return larger

        statistics = self.statistics.grow(n_features, len(self.D) + len(atoms))
        seen = None if self.seen is None else self.seen.grow(n_features)
        D, average = padded(self.D), padded(self.average)
        return self._reshaped(D=D, average=average, statistics=statistics, seen=seen)

    def keep(self, columns: NDArray[np.intp]) -> "StreamState":
        """Forget all features but some."""
        same = self.average is self.D
        D = np.ascontiguousarray(self.D[:, columns])
        average = D if same else np.ascontiguousarray(self.average[:, columns])
        statistics, seen = self.statistics.keep(columns), self.seen
        seen = None if seen is None else seen.keep(columns)
        return self._reshaped(D=D, average=average, statistics=statistics, seen=seen)

    def joined(self, members: Array, usage: Array) -> "StreamState":
        """Let atoms take in others: their means, weighted by ``usage``, stand for all of them.

        ``members`` is that of `Statistics.joined`; atoms in no row are forgotten.
        """
        weights = members * usage
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, members)
        weights /= weights.sum(axis=1, keepdims=True)

        def means(D: Array) -> Array:
            return np.ascontiguousarray((weights @ D).astype(D.dtype))

        D = means(self.D)
        average = D if self.average is self.D else means(self.average)
        return self._reshaped(D=D, average=average, statistics=self.statistics.joined(members))

    def _reshaped(self, **values: Any) -> "StreamState":
        """With a dictionary of another shape: its losses say nothing of the old one's."""
        watch = None if self.watch is None else self.watch.anew()
        return replace(self, watch=watch, **values)

    def having_seen(self, batch: Batch) -> "StreamState":
        """With the range of a batch; a state of no sample has seen nothing before."""
        before = self.seen
        if before is None and self.n_samples == 0:
            before = SeenRange.nothing(self.D.shape[1])
        return self if before is None else self.changed(seen=before | SeenRange.of(batch))


@dataclass(frozen=True)
class Summary:
    """A coded batch, reduced to a fixed size; summaries add up.

    ``energies`` are those of its first block, which are summed up when somebody asks. ``mass`` and
    ``entries`` are ``Σ w|x|`` and ``Σ w`` over all entries, if losses are watched.
    """

    sums: Statistics
    loss: float
    certificate: float
    residuals: Array
    residual_weights: Array
    energies: Callable[[], Energies] = Energies
    mass: float = 0.0
    entries: float = 0.0

    def __add__(self, other: "Summary") -> "Summary":
        return Summary(
            self.sums + other.sums,
            self.loss + other.loss,
            max(self.certificate, other.certificate),
            np.concatenate([self.residuals, other.residuals]),
            np.concatenate([self.residual_weights, other.residual_weights]),
            other.energies if self.energies is Energies else self.energies,
            self.mass + other.mass,
            self.entries + other.entries,
        )

    def for_sending(self) -> "Summary":
        """With energies that are summed up now: later, samples and codes would be needed."""
        if self.energies is Energies:
            return self
        return replace(self, energies=partial(Energies, *astuple(self.energies())))
