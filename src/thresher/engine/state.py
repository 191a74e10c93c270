"""The state of a stream, and the summary of a batch that changes it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine.history import Event
from thresher.learning import Statistics
from thresher.linalg import Array, is_only_stored, is_sparse
from thresher.streams import Batch


@dataclass(frozen=True)
class FeatureRange:
    """Smallest and largest observed entry of every feature, (F,) each, in the user's units.

    A feature without observed entries has ``low`` = +inf and ``high`` = −inf, so that ranges merge.
    """

    low: Array
    high: Array

    @classmethod
    def empty(cls, n_features: int) -> "FeatureRange":
        """Return the range of no sample."""
        return cls(np.full(n_features, np.inf), np.full(n_features, -np.inf))

    @classmethod
    def of(cls, batch: Batch) -> "FeatureRange":
        """Return the range of a batch; missing entries and weights of zero do not count."""
        X: Any = batch.X
        if batch.sample_weight is not None and not (batch.sample_weight > 0).all():
            keep = batch.sample_weight > 0
            weight = batch.entry_weight
            batch = Batch(X[keep], None, None if weight is None else weight[keep])
            X = batch.X
        if not batch.n_samples:
            return cls.empty(X.shape[1])
        if is_sparse(X):
            return cls._of_sparse(X, batch.entry_weight)
        if batch.entry_weight is not None:
            batch = Batch(np.where(batch.entry_weight > 0, X, np.nan))
        return cls(*batch.column_range)

    @classmethod
    def _of_sparse(cls, X: Any, entry_weight: Array | None) -> "FeatureRange":
        """Return the range of CSR rows; entries that are not stored are zeros, unless missing."""
        n, F = X.shape
        low, high = np.full(F, np.inf), np.full(F, -np.inf)
        values, columns = X.data.astype(np.float64), X.indices
        counts, weighs = np.full(F, n), np.ones(len(values), dtype=bool)
        if entry_weight is not None:
            rows = np.repeat(np.arange(n), np.diff(X.indptr))
            counts, weighs = (entry_weight > 0).sum(axis=0), entry_weight[rows, columns] > 0
        if is_only_stored(X):
            counts = np.zeros(F, dtype=int)  # no zeros except stored ones
        seen = weighs & ~np.isnan(values)
        if not seen.all():
            columns, values = columns[seen], values[seen]
        np.maximum.at(high, columns, values)
        zeros = np.bincount(X.indices if weighs.all() else X.indices[weighs], minlength=F) < counts
        if not zeros.all() or values.min(initial=0) < 0:  # else the zeros are the smallest
            np.minimum.at(low, columns, values)
        low[zeros], high[zeros] = np.minimum(low[zeros], 0), np.maximum(high[zeros], 0)
        return cls(low, high)

    def check_fields(self) -> None:
        """Raise ValueError for ranges that no data has, such as those of a forged file."""
        low, high = self.low, self.high
        if not low.dtype == high.dtype == np.float64 or low.shape != high.shape:
            raise ValueError("low and high must be float64 of one shape")
        known = np.isfinite(low) & np.isfinite(high) & (low <= high)
        if not (known | ((low == np.inf) & (high == -np.inf))).all():
            raise ValueError("low and high are not the ranges of any data")

    def __or__(self, other: "FeatureRange") -> "FeatureRange":
        """Merge two ranges."""
        return FeatureRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Flags of the features with an observed entry."""
        return np.asarray(self.low <= self.high)

    def grow(self, n_features: int) -> "FeatureRange":
        """Append features without observed entries."""
        more = FeatureRange.empty(n_features - len(self.low))
        return FeatureRange(np.append(self.low, more.low), np.append(self.high, more.high))

    def keep(self, columns: NDArray[np.intp]) -> "FeatureRange":
        """Return the range of some features."""
        return FeatureRange(self.low[columns], self.high[columns])


@dataclass(frozen=True)
class StreamState:
    """The fitted state of an online model; its size does not depend on the samples seen.

    Attributes
    ----------
    D : array of shape (K, F)
        The dictionary that is updated.
    average : array of shape (K, F)
        Its running average, which users see; D itself without averaging.
    statistics : Statistics
        Sums over the stream, discounted.
    method : str
        Name of the method that was chosen.
    seed : int
        Source of all randomness, together with counters, so that a state can be resumed.
    n_samples, n_steps : int
        Samples and batches seen.
    weight_seen : float
        Total weight of the samples seen, without discount.
    scale, scale_weight : float
        Running mean of the scale that the rule for λ measures, and its weight.
    unit, atom_unit, loss_unit : float
        Factors from the unit of this state to the user's, of samples, atoms and losses.
    measured : bool
        Whether the unit was measured: not before the first sample that is not zero.
    seen : FeatureRange or None
        The range of every feature so far; None if it was not recorded.
    watch : Watch or None
        Drift detection, if it is used.
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
    seen: FeatureRange | None = None
    method: str = ""
    watch: Any = None  # a Watch, which holds states of its own

    def __post_init__(self) -> None:
        # Steps make new dictionaries and never change one. Read-only arrays from the start avoid a
        # second compilation of kernels for writable ones.
        self.D.flags.writeable = self.average.flags.writeable = False

    def check_fields(self) -> None:
        """Raise ValueError for values that no fit can reach, such as those of a forged file."""
        D, seen = self.D, self.seen
        for name, values in (("D", D), ("average", self.average)):
            if values.dtype.name not in ("float32", "float64") or values.ndim != 2:
                raise ValueError(f"{name} must be a matrix of float32 or float64")
            if not values.size or not np.isfinite(values).all():
                raise ValueError(f"{name} is empty or has entries that are not finite")
        if (D.shape, D.dtype) != (self.average.shape, self.average.dtype):
            raise ValueError("D and average differ in shape or type")
        self.statistics.check_shapes(*D.shape)
        if seen is not None and seen.low.shape != D.shape[1:]:
            raise ValueError(f"{len(seen.low)} ranges do not suit {D.shape[1]} features")
        units = {name: getattr(self, name) for name in ("unit", "atom_unit", "loss_unit")}
        counts = {
            name: getattr(self, name)
            for name in ("seed", "n_samples", "n_steps", "weight_seen", "scale", "scale_weight")
        }
        for name, value in (units | counts).items():
            if not 0 <= value < np.inf or (value == 0 and name in units):
                raise ValueError(f"{name} is {value}, which is out of range")
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.array([self.unit, self.atom_unit, self.code_unit]).astype(D.dtype)
        if not (np.isfinite(rounded) & (rounded > 0)).all():
            raise ValueError(f"units {rounded} are out of range for {D.dtype}")
        if self.watch is not None:
            raise ValueError("watch must be None")

    def changed(self, **values: Any) -> "StreamState":
        """Return a copy with other values, ten times faster than `dataclasses.replace`."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **values)
        other.__post_init__()
        return other

    @property
    def atoms(self) -> Array:
        """The atoms in the user's units."""
        if self.atom_unit == 1:
            return self.average
        shown: Array = self.average * self.average.dtype.type(self.atom_unit)
        shown.flags.writeable = False
        return shown

    @property
    def code_unit(self) -> float:
        """Factor from codes of this state to the user's."""
        return self.unit / self.atom_unit

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of the last step, if drift detection is used."""
        return () if self.watch is None else tuple(self.watch.events)

    @property
    def awaits_entries(self) -> bool:
        """Whether no batch so far had an observed entry, so that the start is arbitrary."""
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
        """Keep some features only."""
        same = self.average is self.D
        D = np.ascontiguousarray(self.D[:, columns])
        average = D if same else np.ascontiguousarray(self.average[:, columns])
        statistics, seen = self.statistics.keep(columns), self.seen
        seen = None if seen is None else seen.keep(columns)
        return self._reshaped(D=D, average=average, statistics=statistics, seen=seen)

    def joined(self, members: Array, usage: Array) -> "StreamState":
        """Merge atoms into their means, weighted by ``usage``.

        ``members`` is that of `Statistics.joined`; atoms in no row are removed.
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
        """Return the state with a dictionary of another shape, whose losses differ from before."""
        watch = None if self.watch is None else self.watch.restarted()
        return self.changed(watch=watch, **values)

    def with_range(self, batch: Batch) -> "StreamState":
        """Extend the range of the features by that of a batch."""
        if self.seen is None and self.n_samples > 0:  # it was not recorded from the start
            return self
        now = FeatureRange.of(batch)
        return self.changed(seen=now if self.seen is None else self.seen | now)


@dataclass(frozen=True)
class Summary:
    """A coded batch, reduced to a fixed size; summaries add up.

    ``mass`` and ``entries`` are ``Σ w|x|`` and ``Σ w`` over all entries, for drift detection.
    """

    sums: Statistics
    loss: float
    certificate: float
    residuals: Array
    residual_weights: Array
    mass: float = 0.0
    entries: float = 0.0

    def __add__(self, other: "Summary") -> "Summary":
        return Summary(
            self.sums + other.sums,
            self.loss + other.loss,
            max(self.certificate, other.certificate),
            np.concatenate([self.residuals, other.residuals]),
            np.concatenate([self.residual_weights, other.residual_weights]),
            self.mass + other.mass,
            self.entries + other.entries,
        )
