"""The interface of learners: statistics of fixed size, and how the past is forgotten.

Forgetting rules give the factor by which old statistics are discounted when a batch arrives. It
depends on numbers of samples, so that the division of a stream into batches, in `fit` or in
`partial_fit`, makes no difference.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from itertools import repeat
from numbers import Real
from operator import add, mul
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Form, Regulariser


@dataclass(frozen=True)
class Statistics:
    """Weighted sums over samples; they add up over blocks, batches, threads and machines.

    Subclasses are dataclasses of arrays and numbers. ``AXES`` names the arrays, with a letter for
    each axis: K for atoms, F for features, f for features where one number may stand for all.
    Other letters stand for axes of any length, such as samples.
    """

    AXES: ClassVar[dict[str, str]] = {}

    @classmethod
    def zeros(cls, n_components: int, n_features: int) -> Self:
        """Statistics of no sample: zeros, and numbers at their defaults."""
        lengths = defaultdict(int, K=n_components, F=n_features, f=1)
        values: dict[str, Any] = {}
        for f in fields(cls):
            values[f.name] = 0.0 if f.default is MISSING else f.default
            if f.name in cls.AXES:
                values[f.name] = np.zeros([lengths[letter] for letter in cls.AXES[f.name]])
        return cls(**values)

    def __add__(self, other: Self) -> Self:
        """Return the statistics of both sets of samples."""
        return type(self)(*map(add, vars(self).values(), vars(other).values()))

    def discounted(self, factor: float) -> Self:
        """Return the statistics with all weights multiplied by ``factor``."""
        return type(self)(*map(mul, vars(self).values(), repeat(factor)))

    def arrays(self) -> dict[str, Array]:
        """The fields that are arrays."""
        return {name: getattr(self, name) for name in self.AXES}

    def numbers(self) -> dict[str, float]:
        """The fields that are numbers."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.AXES}

    def check_shapes(self, n_components: int, n_features: int) -> None:
        """Raise ValueError unless arrays have the lengths of their axes, and all is finite."""
        lengths = {"K": n_components, "F": n_features, "f": n_features}
        for name, letters in self.AXES.items():
            values = getattr(self, name)
            suits = values.dtype == np.float64 and values.ndim == len(letters)
            for letter, have in zip(letters, values.shape, strict=False):
                want = lengths.setdefault(letter, have)
                suits = suits and (have == want or (letter == "f" and have == 1))
            if not suits:
                raise ValueError(
                    f"{name} has the type {values.dtype} and the shape {values.shape}, which does "
                    f"not suit {n_components} atoms of {n_features} features"
                )
            if not np.isfinite(values).all():
                raise ValueError(f"{name} has entries that are not finite")
        for name, value in self.numbers().items():
            if not np.isfinite(value):
                raise ValueError(f"{name} is {value}, not a finite number")

    def measures(self, D: Array) -> dict[str, float]:
        """Quantities for the history after a step, by name."""
        return {}

    def without(self, atoms: NDArray[np.intp]) -> Self:
        """Set everything about some atoms to zero."""
        changed = {name: values.copy() for name, values in self.arrays().items()}
        for name, values in changed.items():
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "K":
                    values[(slice(None),) * axis + (atoms,)] = 0
        return replace(self, **changed)

    def grow(self, n_features: int, n_components: int) -> Self:
        """Pad with zeros for new features and atoms."""
        lengths = {"K": n_components, "F": n_features, "f": n_features}

        def padded(name: str, values: Array) -> Array:
            more = [
                (0, 0 if letter == "f" and have == 1 else lengths.get(letter, have) - have)
                for letter, have in zip(self.AXES[name], values.shape, strict=True)
            ]
            return np.pad(values, more)

        return replace(self, **{name: padded(name, V) for name, V in self.arrays().items()})

    def joined(self, members: Array) -> Self:
        """Return the statistics of atoms whose codes are sums of old codes.

        ``members`` has a row for each new atom, with a one for every old atom that belongs to it.
        """

        def merged(name: str, values: Array) -> Array:
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "K":
                    values = np.moveaxis(np.tensordot(members, values, (1, axis)), 0, axis)
            return np.ascontiguousarray(values)

        return replace(self, **{name: merged(name, V) for name, V in self.arrays().items()})

    def keep(self, columns: NDArray[np.intp]) -> Self:
        """Keep some features only."""

        def kept(name: str, values: Array) -> Array:
            for axis, letter in enumerate(self.AXES[name]):
                if letter == "F" or (letter == "f" and values.shape[axis] > 1):
                    values = np.take(values, columns, axis=axis)
            return values

        return replace(self, **{name: kept(name, V) for name, V in self.arrays().items()})


class Forgetting(Protocol):
    """A rule for the discount of old statistics."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """Factor for the old statistics; ``n_seen`` counts the ``n_batch`` new samples too."""


@dataclass(frozen=True)
class PlainAverage:
    """No forgetting: the plain average of paper A."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class PowerForgetting:
    """``(1 − b/n)^ω``: a sample from when the stream was half as long has the weight ``2^−ω``.

    Early samples were coded with poor dictionaries and fade. The window, a share of about
    ``1/(ω + 1)`` of the stream, keeps growing, so that the average still converges (errata A.2).
    With ω = 0 it is the plain average.
    """

    omega: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.omega, Real) or not 0 <= self.omega < float("inf"):
            raise ValueError(f"omega={self.omega!r} must be a finite number, 0 or more.")

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``(1 − b/n)^ω``."""
        return float(max(0.0, 1.0 - n_batch / n_seen) ** self.omega) if n_seen > 0 else 1.0


@dataclass(frozen=True)
class HalfLife:
    """Exponential forgetting: weights halve after ``samples`` more samples, for data that drift."""

    samples: float

    def __post_init__(self) -> None:
        if not isinstance(self.samples, Real) or not self.samples > 0:
            raise ValueError(
                f"A half-life must be a positive number of samples; got {self.samples!r}."
            )

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``2^(−b/half-life)``."""
        return float(2.0 ** (-n_batch / self.samples))


@dataclass(frozen=True)
class CustomForgetting:
    """A user's function, whose factors are validated to lie between 0 and 1."""

    function: Callable[[float, float], Any]

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """The factor of the function."""
        factor = self.function(n_batch, n_seen)
        if not isinstance(factor, Real) or not 0 <= float(factor) <= 1:
            raise ValueError(
                f"The function given as forgetting returned {factor!r} for a batch of {n_batch:g} "
                f"of {n_seen:g} samples; it must return the factor of old statistics, from 0 to 1."
            )
        return float(factor)


class Learner(ABC):
    """How a dictionary is learned: the statistics of coded samples, and the update from them."""

    keeps_samples: ClassVar[bool] = False
    """Whether the statistics of a batch contain its samples, so that their size is not fixed."""

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """The requirement that loss or atoms do not meet; None if all are met, as by default."""
        return None

    @abstractmethod
    def empty(self, n_components: int, n_features: int) -> Any:
        """Statistics of no sample."""

    @abstractmethod
    def summarise(self, fit: Fit, sample_weight: Array | None) -> Any:
        """Statistics of a coded block, at the dictionary of the fit; they add up over blocks."""

    @abstractmethod
    def update(
        self,
        past: Any,
        batch: Any,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, Any, Array]:
        """Return the next dictionary, the statistics of all samples, and the gains of the codes.

        ``past`` are the discounted statistics, ``batch`` those of a batch that was coded with D.
        Gains, of shape (K,), are the factors that codes gain where the step shortens atoms; they
        are one for learners that do not rescale.
        """

    def cautious(self) -> "Learner":
        """A learner with a smaller step, for use where the loss increased; itself by default."""
        return self

    def usage(self, statistics: Any, D: Array) -> Array:
        """How much each atom contributes to predictions, shape (K,); equal if not known."""
        return np.ones(len(D))
