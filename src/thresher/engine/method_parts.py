"""The parts of online methods: how they load samples, and how they look in another unit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import BlockEncoder, CodingProblem, Rows
from thresher.engine.state import StreamState
from thresher.engine.units import (
    check_largest,
    check_size,
    check_unit,
    needs_double,
    typical_size,
    unit_of,
)
from thresher.learning import (
    FixedWeight,
    Forgetting,
    Learner,
    OutlierWeight,
    PlainAverage,
    Statistics,
)
from thresher.linalg import (
    SPARSE_BLOCK,
    STORED_BLOCK,
    Array,
    block_slices,
    load_block,
    load_sparse_block,
    load_stored_block,
    rows_per_block,
    sparse_block_slices,
    without_traces,
)
from thresher.losses import Loss
from thresher.penalties import Constrained
from thresher.sets import NonnegativeL2Ball
from thresher.streams import Batch

# λ in the unit of the data. Residuals are rounded to 1e-7 of it, so an inlier of a smaller λ has
# fewer than three digits in single precision. Heuristic: half and double change the time alone.
_SMALL_THRESHOLD = 1e-4


@dataclass(frozen=True)
class MethodParts:
    """The parts of an online method, in the unit in which they compute.

    Parameters
    ----------
    encoder : BlockEncoder
        Finds codes while learning.
    loss : callable
        Makes the loss from the outlier weight λ.
    outlier_weight : OutlierWeight
        The rule for λ.
    code_regulariser, dictionary_regulariser : Constrained
        Penalty and set of codes and of atoms.
    learner : Learner
        Sums up coded samples, and moves the dictionary.
    dictionary_loss : callable or None
        Makes the loss that the learner sees, if it is another one.
    forgetting : Forgetting
        How much the past counts.
    frozen : array of bool or None
        Atoms that never move.
    scale_samples : bool
        Divide each sample by its largest entry first (paper A, VII-B3).
    keep_sparse : bool
        Whether the encoder codes sparse rows on their nonzeros.
    as_sparse : bool
        Whether dense rows without missing entries are coded on their nonzeros too, so that dense
        and CSR samples of the same values give the same result.
    keep_stored : bool
        Whether sparse rows with gaps where nothing is stored are coded on what is.
    averaging : float
        η > 0 shows the average of the dictionaries with weights ``(1 − b/n)^η``, like those of
        `PowerForgetting`: statistics may then forget fast, and the average takes out the noise.
    revive : bool
        Whether atoms that nobody uses are replaced.
    own_unit : bool
        Whether samples are computed with as they are, as published solvers do; otherwise in a unit
        that is measured on the first of them.
    own_start : str or None
        What ``init="auto"`` stands for, if the method has a start of its own.
    strays : bool
        Whether the dictionary may lie outside of its set, as printed starts and free copies do.
    unit : float
        What samples are divided by, see `in_unit`.
    """

    encoder: BlockEncoder
    loss: Callable[[float], Loss]
    learner: Learner
    dictionary_loss: Callable[[float], Loss] | None = None
    outlier_weight: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
    code_regulariser: Constrained = field(default_factory=Constrained)
    dictionary_regulariser: Constrained = field(
        default_factory=lambda: Constrained(region=NonnegativeL2Ball())
    )
    forgetting: Forgetting = field(default_factory=PlainAverage)
    frozen: NDArray[np.bool_] | None = None
    scale_samples: bool = False
    keep_sparse: bool = False
    as_sparse: bool = False
    keep_stored: bool = False
    averaging: float = 0.0
    revive: bool = True
    own_unit: bool = True
    own_start: str | None = None
    strays: bool = False
    unit: float = 1.0

    # ------------------------------------------------------------------ samples

    @property
    def keeps_samples(self) -> bool:
        """Whether the learner sums up nothing, and keeps coded samples instead."""
        return bool(getattr(self.learner, "keeps_samples", False))

    def block_rows(self, batch: Batch) -> int:
        """Rows of a block."""
        if self.keep_stored and self.stays_stored(batch):
            return STORED_BLOCK
        return SPARSE_BLOCK if self.stays_sparse(batch) else rows_per_block(batch.X.shape[1])

    def blocks(self, batch: Batch) -> Iterator[slice]:
        """Row blocks of fixed size, so that sums do not depend on who adds them up."""
        if self.keep_stored and self.stays_stored(batch):
            return sparse_block_slices(batch.n_samples, STORED_BLOCK)
        if self.stays_sparse(batch):
            return sparse_block_slices(batch.n_samples)
        return block_slices(*batch.X.shape)

    def for_coding(self, state: StreamState) -> StreamState:
        """The dictionary and λ; not what was learned from before."""
        return state.changed(statistics=Statistics(), seen=None)

    def load(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Any, Array | None, Array | None]:
        """A block of a batch: samples, entry weights, and the maxima they were divided by."""
        if self.keep_stored and self.stays_stored(batch):
            stored = load_stored_block(batch.X, rows, dtype, batch.entry_weight, self.unit)
            return stored, None, None
        if self.stays_sparse(batch):
            block = load_sparse_block(batch.X, rows, dtype, self.unit)
            return without_traces(block), None, None
        return self.load_dense(batch, rows, dtype)

    def blocks_are_dense(self, X: Any) -> bool:
        """Whether samples are expanded block by block, rather than taken as their nonzeros."""
        batch = Batch(X)
        return not (self.stays_sparse(batch) or self.stays_stored(batch))

    def stays_sparse(self, batch: Batch) -> bool:
        """Whether rows are coded on their nonzeros alone."""
        return (
            self.keep_sparse
            and (batch.is_sparse_without_gaps or (self.as_sparse and batch.is_dense_without_gaps))
            and not self.scale_samples
            and self.loss(1.0).stays_sparse
        )

    def stays_stored(self, batch: Batch) -> bool:
        """Whether rows are coded on what is stored of them, all else being missing."""
        may_stay = self.keep_stored and not self.scale_samples and batch.only_stored
        return may_stay and self.loss(1.0).exchangeable_features

    def load_dense(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Array, Array | None, Array | None]:
        """The same as `load`, with rows that are expanded."""
        if not self.scale_samples:
            X, weight = load_block(batch.X, rows, dtype, batch.entry_weight, self.unit)
            return without_traces(X), weight, None
        # Samples of any size fit into the dtype once they are divided.
        X, weight = load_block(batch.X, rows, np.dtype(np.float64), batch.entry_weight)
        seen = X if weight is None else np.where(weight > 0, X, 0)
        largest = np.abs(seen).max(axis=1, keepdims=True)
        largest[largest == 0] = 1
        weight = None if weight is None else weight.astype(dtype)
        return (seen / largest).astype(dtype), weight, largest

    def problem(self, state: StreamState) -> CodingProblem:
        """The coding problem of the current dictionary and λ.

        What follows from all but the entries of the dictionary is made once for a λ.
        """
        D, threshold = state.D, self.threshold(state)
        key = threshold, D.shape, D.dtype
        known: Any = self.__dict__.get("_known_loss")
        if known is None or known[0] != key:
            known = self.__dict__["_known_loss"] = (key, self.loss(threshold), {})
        return CodingProblem(D, known[1], self.code_regulariser).sharing(known[2])

    def threshold(self, state: StreamState) -> float:
        """λ, as the rule makes it from what it has measured."""
        scale = state.scale if state.scale > 0 else 1.0
        return float(self.outlier_weight.weight(scale, state.D.shape[1]))

    # -------------------------------------------------------------------- units

    def in_unit(self, unit: float) -> Self | None:
        """The same method for samples divided by ``unit``; None if a part knows no such law.

        Where codes may have any size, they take the unit; where they are bounded, atoms do.
        """
        degree = self.loss(1.0).degree
        if degree is None:
            return None
        worth = unit**degree
        atom_unit = self._atom_unit(unit)
        codes = self.code_regulariser.in_unit(unit / atom_unit, worth)
        atoms = self.dictionary_regulariser.in_unit(atom_unit, worth)
        if codes is None or atoms is None:
            return None
        loss, dictionary_loss = self.loss, self.dictionary_loss
        return replace(
            self,
            loss=lambda threshold: loss(threshold * unit).in_unit(unit),
            dictionary_loss=None
            if dictionary_loss is None
            else lambda threshold: dictionary_loss(threshold * unit).in_unit(unit),
            outlier_weight=self.outlier_weight.in_unit(unit),
            code_regulariser=codes,
            dictionary_regulariser=atoms,
            unit=unit,
        )

    def in_unit_of(self, state: StreamState) -> Self:
        """The same method in the unit in which a state computes; made once for every unit."""
        if self.unit == state.unit:
            return self
        known: dict[float, Self] = self.__dict__.setdefault("_in_units", {})
        if state.unit not in known:
            there = self.in_unit(state.unit)
            assert there is not None  # a state has a unit of its own only if all parts know it
            known[state.unit] = there
        return known[state.unit]

    def rows(self, batch: Batch) -> Rows:
        """What kind of rows the encoder will see of a batch."""
        weighted = batch.only_stored or batch.entry_weight is not None
        return Rows(self.stays_sparse(batch), weighted)

    @property
    def codes_take_the_size(self) -> bool:
        """Whether codes may have any size: their set is the same in every unit."""
        return self.code_regulariser.region.is_cone

    def _atom_unit(self, unit: float) -> float:
        return 1.0 if self.codes_take_the_size else unit

    def units_for(self, batch: Batch, n_features: int, dtype: np.dtype[Any]) -> dict[str, Any]:
        """The units of a state that begins with a batch; samples beyond all units are refused."""
        if self.scale_samples:
            return {}
        size = typical_size(batch)
        if self.own_unit or self.in_unit(1.0) is None:
            check_size(size, dtype)
            check_largest(batch, 1.0, dtype)
            return {}
        degree = self.loss(1.0).degree
        assert degree is not None
        unit = unit_of(size)
        check_unit(unit, degree, n_features, dtype)
        check_largest(batch, unit, dtype)
        return {
            "unit": unit,
            "atom_unit": self._atom_unit(unit),
            "loss_unit": unit**degree,
            "measured": size > 0,
        }

    def check(self, state: StreamState, batch: Batch) -> None:
        """Refuse entries that cannot be computed with in the unit of a state."""
        if not self.scale_samples:
            check_largest(batch, state.unit, state.D.dtype)

    def computing_dtype(self, state: StreamState, batch: Batch, dtype: np.dtype[Any]) -> Any:
        """The precision that codes of samples need.

        Double, where some samples are traces in single, squares of atoms overflow there, or λ has
        less than three digits there beside a typical entry.
        """
        if dtype != np.float32:
            return dtype
        has_outliers = self.problem(state).loss.envelope is not None
        small = has_outliers and self.threshold(state) < _SMALL_THRESHOLD
        traces = not self.scale_samples and needs_double(batch, state.unit)
        largest = float(np.finfo(np.float32).max) / state.average.shape[1]
        overflow = float(np.abs(state.average).max()) > np.sqrt(largest)
        return np.dtype(np.float64) if small or traces or overflow else dtype
