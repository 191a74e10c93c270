"""The verbs of online methods: what happens to a batch, whatever the loss."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import BlockEncoder, CodingProblem
from thresher.engine.first_look import (
    ROWS_TO_START_FROM,
    are_documents,
    entries,
    every,
    spans_decades,
    sparse_mean,
    spread_rows,
    without_gaps,
)
from thresher.engine.noise import EXACT, residual_sizes
from thresher.engine.state import StreamState, Summary
from thresher.engine.units import (
    check_largest,
    check_size,
    check_unit,
    needs_double,
    typical_size,
    unit_of,
)
from thresher.learning import (
    DiagonalLearner,
    FixedWeight,
    Forgetting,
    Learner,
    NoiseWeight,
    OutlierWeight,
    PlainAverage,
    PowerForgetting,
    RangeWeight,
    RatioLearner,
    initial_atoms,
    mean_sample,
    median_atoms,
    positive_atoms,
    sample_length,
)
from thresher.linalg import (
    Array,
    block_slices,
    load_block,
    load_sparse_block,
    sparse_block_slices,
    without_traces,
)
from thresher.losses import L1Distance, Loss, SeparableLoss, can_stay_sparse
from thresher.penalties import Constrained
from thresher.sets import NonnegativeL2Ball
from thresher.streams import Batch

_log = logging.getLogger(__name__)

_CERTIFIED_ROWS = 16
_MEASURED_ENTRIES = 4096
_DEAD = 1e-6
_LOOKS_AT_FIRST = 8
_FEW_ENTRIES = 1 << 19
_ENTRIES_TO_START_FROM = 1 << 23
_SPARSE_ENTRIES_TO_START_FROM = 1 << 20
_DOCUMENTS_TO_START_FROM = 2048
_NOISE_FORGETTING = PowerForgetting(3.0)


@dataclass(frozen=True)
class OnlineMethod:
    """The parts of an online method, and what each verb does with them.

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
    majorised : OnlineMethod or None
        What takes the place of this one, if it is better there, for streams that begin sparse, or
        with features that span decades: one curvature for all samples, or all atoms, of a feature
        is then wrong.
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
    averaging : float
        η > 0 shows the average of the dictionaries with weights ``(1 − b/n)^η``, like those of
        `PowerForgetting`: statistics may then forget fast, and the average takes out the noise.
    revive : bool
        Whether atoms that nobody uses are replaced.
    shuffled : bool
        Whether samples come in random order.
    own_unit : bool
        Whether samples are computed with as they are, as published solvers do; otherwise in a unit
        that is measured on the first of them.
    unit : float
        What samples are divided by, see `in_unit`.
    """

    encoder: BlockEncoder
    loss: Callable[[float], Loss]
    learner: Learner
    majorised: "OnlineMethod | None" = None
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
    averaging: float = 0.0
    revive: bool = True
    shuffled: bool = False
    own_unit: bool = True
    unit: float = 1.0

    # -------------------------------------------------------------------- units

    def in_unit(self, unit: float) -> "OnlineMethod | None":
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
        other = None if self.majorised is None else self.majorised.in_unit(unit)
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
            majorised=other,
            unit=unit,
        )

    @property
    def _codes_take_the_size(self) -> bool:
        """Whether codes may have any size: their set is the same in every unit."""
        region = self.code_regulariser.region
        return region.in_unit(2.0) == region

    def _atom_unit(self, unit: float) -> float:
        return 1.0 if self._codes_take_the_size else unit

    def _units(self, batch: Batch, n_features: int, dtype: np.dtype[Any]) -> dict[str, Any]:
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

    def measure(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the unit, if all samples so far were zero: nothing was learned from them."""
        if state.measured:
            self.check(state, batch)
            return state
        K, F = state.D.shape
        units = self._units(batch, F, state.D.dtype)
        if not units.get("measured", True):
            return state
        atom_unit = state.D.dtype.type(units["atom_unit"])
        D, average = state.D / atom_unit, state.average / atom_unit
        statistics = self.learner.empty(K, F)
        return replace(state, D=D, average=average, statistics=statistics, **units)

    def check(self, state: StreamState, batch: Batch) -> None:
        """Refuse entries that cannot be computed with in the unit of a state."""
        if not self.scale_samples:
            check_largest(batch, state.unit, state.D.dtype)

    def computing_dtype(self, state: StreamState, batch: Batch, dtype: np.dtype[Any]) -> Any:
        """The precision that codes of samples need: double, where some are traces in single."""
        single = dtype == np.float32 and not self.scale_samples
        return np.dtype(np.float64) if single and needs_double(batch, state.unit) else dtype

    # ---------------------------------------------------------------- starting

    def begin(
        self, batch: Batch, init: str | Array, n_components: int, dtype: np.dtype[Any], seed: int
    ) -> StreamState:
        """A state that has seen nothing; atoms may start from the first batch."""
        n_features = batch.X.shape[1]
        units = self._units(batch, n_features, dtype)
        method = self.in_unit(units["unit"]) if units else self
        assert method is not None
        if not isinstance(init, str):
            init = np.array(init, dtype=np.float64) / units.get("atom_unit", 1.0)
        state = method._begin(batch, init, n_components, dtype, seed)
        return replace(state, **units)

    def _begin(
        self, batch: Batch, init: str | Array, n_components: int, dtype: np.dtype[Any], seed: int
    ) -> StreamState:
        if self.majorised is not None and self._suits_better(self.majorised.learner, batch):
            return self.majorised._begin(batch, init, n_components, dtype, seed)
        n_features = batch.X.shape[1]
        self.loss(1.0).check_features(n_features)
        if isinstance(self.learner, RatioLearner):
            self.learner.check(self.dictionary_regulariser)
        if isinstance(init, str):
            rng = np.random.default_rng([seed, 0])
            D = self._first_atoms(batch, init, n_components, dtype, rng)
        else:
            D = self.dictionary_regulariser.region.project(init)
            if self.frozen is not None:  # what is frozen stays as the user gave it
                D[self.frozen] = init[self.frozen]
        D = np.ascontiguousarray(D, dtype=dtype)
        return StreamState(D, D, self.learner.empty(len(D), n_features), seed)

    def _suits_better(self, learner: Learner, batch: Batch) -> bool:
        """Whether the other learner is the better one for data like these."""
        if isinstance(learner, DiagonalLearner):
            # In the order of time new words come, and they are followed faster by steps that
            # overshoot (measured: docs/l1_dictionary.md).
            return self.shuffled and are_documents(batch)
        return self._stays_sparse(batch) or spans_decades(batch, learner)

    def _first_atoms(
        self,
        batch: Batch,
        init: str,
        n_components: int,
        dtype: np.dtype[Any],
        rng: np.random.Generator,
    ) -> Array:
        """Feasible atoms from the first batch."""
        n_features, loss = batch.X.shape[1], self.loss(1.0)
        region = self.dictionary_regulariser.region
        positive = isinstance(loss, SeparableLoss) and loss.positive_prediction
        stays_sparse = self._stays_sparse(batch)
        if init == "auto":
            init = "mean" if positive and stays_sparse else "samples"
            if isinstance(loss, L1Distance) and are_documents(batch):
                init = "medians"
        # Some rows are enough to start from, and a wide sparse matrix stays sparse.
        room = _SPARSE_ENTRIES_TO_START_FROM if stays_sparse else _ENTRIES_TO_START_FROM
        rows = max(min(ROWS_TO_START_FROM, room // n_features), 2 * n_components)
        rows = max(rows, _FEW_ENTRIES // n_features)
        rows = _DOCUMENTS_TO_START_FROM if init == "medians" else rows
        step = -(-batch.n_samples // rows)
        some = Batch(batch.X[::step], entry_weight=every(batch.entry_weight, step))
        given = every(batch.sample_weight, step)
        chosen = np.ones(some.n_samples) if given is None or not given.any() else given
        if init == "medians":
            some = Batch(without_gaps(some) / self.unit, chosen)
            D = region.project(median_atoms(n_components, some.X, chosen, rng))
            return region.project(positive_atoms(D, sparse_mean(some))) if positive else D
        X, weight, _ = self._load_dense(some, slice(0, some.n_samples), dtype)
        mean = sparse_mean(batch) / self.unit if stays_sparse else mean_sample(X, weight, chosen)
        length = None if self._codes_take_the_size else sample_length(X, chosen)
        D = initial_atoms(init, n_components, X, weight, chosen, region, rng, mean, length)
        return region.project(positive_atoms(D, mean)) if positive else D

    def going_on(self, state: StreamState) -> "OnlineMethod":
        """The method that a state began with, which its statistics tell, in the state's unit."""
        here = self if self.unit == state.unit else self.in_unit(state.unit)
        for method in (here, None if here is None else here.majorised):
            if method is not None and isinstance(
                state.statistics, type(method.learner.empty(1, 1))
            ):
                return method
        raise ValueError(
            "What was learned so far belongs to another solver or divergence; set them back to go "
            "on, or call fit to start anew."
        )

    # ------------------------------------------------------------------- verbs

    def blocks(self, batch: Batch) -> Iterator[slice]:
        """Row blocks of fixed size, so that sums do not depend on who adds them up."""
        if self._stays_sparse(batch):
            return sparse_block_slices(batch.n_samples)
        return block_slices(*batch.X.shape)

    def load(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Any, Array | None, Array | None]:
        """A block of a batch: samples, entry weights, and the maxima they were divided by."""
        if self._stays_sparse(batch):
            block = load_sparse_block(batch.X, rows, dtype, self.unit)
            return without_traces(block), None, None
        return self._load_dense(batch, rows, dtype)

    def blocks_are_dense(self, X: Any) -> bool:
        """Whether samples are expanded block by block, rather than taken as their nonzeros."""
        return not self._stays_sparse(Batch(X))

    def _stays_sparse(self, batch: Batch) -> bool:
        return (
            self.keep_sparse
            and batch.is_sparse_without_gaps
            and not self.scale_samples
            and can_stay_sparse(self.loss(1.0))
        )

    def _load_dense(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Array, Array | None, Array | None]:
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
        """The coding problem of the current dictionary and λ."""
        return CodingProblem(state.D, self.loss(self.threshold(state)), self.code_regulariser)

    def threshold(self, state: StreamState) -> float:
        """λ, as the rule makes it from what it has measured."""
        scale = state.scale if state.scale > 0 else 1.0
        return float(self.outlier_weight.weight(scale, state.D.shape[1]))

    def look(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the range of the batch, if λ comes from the data."""
        first_guess = self.outlier_weight.measures == "residuals" and state.scale_weight == 0
        if self.outlier_weight.measures != "data" and not first_guess:
            return state
        if state.n_steps > _LOOKS_AT_FIRST and state.n_steps % _LOOKS_AT_FIRST:
            return state  # a range that was seen often need not be looked at every time
        F = state.D.shape[1]
        step = max(1, (batch.n_samples * min(F, _MEASURED_ENTRIES)) // _MEASURED_ENTRIES)
        some = Batch(batch.X[::step], entry_weight=every(batch.entry_weight, step))
        X, weight, _ = self._load_dense(some, slice(0, some.n_samples), state.D.dtype)
        sample_weight = every(batch.sample_weight, step)
        values, weights = entries(np.abs(X), weight, sample_weight, _MEASURED_ENTRIES)
        scale = RangeWeight().measure(values, weights) if values.size else 0.0
        if first_guess:
            # Residuals come with the first codes; until then λ is what the range suggests.
            assert isinstance(self.outlier_weight, NoiseWeight)
            guess = RangeWeight().weight(scale, F) / self.outlier_weight.factor
            return replace(state, scale=guess)
        return self._average_scale(state, scale, batch.weight) if scale > 0 else state

    def reader(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """What codes a block of a batch on the dictionary of a state, and summarises it."""
        problem = self.problem(state)
        self.encoder.prepare(problem)
        threshold = self.threshold(state)
        shown = problem if state.average is state.D else replace(problem, D=state.average)
        measured = self.outlier_weight.measures == "residuals"
        if measured:
            EXACT.prepare(shown)

        def code_and_summarise(rows: slice) -> Summary:
            X, weight, _ = self.load(batch, rows, state.D.dtype)
            sample_weight = None if batch.sample_weight is None else batch.sample_weight[rows]
            codes = self.encode(problem, X, weight)
            first = rows.start == 0
            summary = self.summarise(problem, X, weight, sample_weight, codes, threshold, first)
            if not measured:
                return summary
            sizes, weights = residual_sizes(shown, X, weight, sample_weight, codes)
            return replace(summary, residuals=sizes, residual_weights=weights)

        return code_and_summarise

    def encode(self, problem: CodingProblem, X: Any, weight: Array | None) -> Array:
        """Codes of a block."""
        return self.encoder.encode(problem, X, weight).codes

    def summarise(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None,
        sample_weight: Array | None,
        C: Array,
        threshold: float = 1.0,
        first: bool = False,
    ) -> Summary:
        """Statistics of a coded block; ``first`` asks for the certificate of some rows."""
        fit = problem.fit(X, C, weight)
        loss = fit.values() + problem.regulariser.value(C)
        if sample_weight is not None:
            loss = loss * sample_weight
        certificate = 0.0
        if first:
            some = slice(0, _CERTIFIED_ROWS)
            mask = None if weight is None else weight[some]
            certificate = float(np.max(problem.certificate(X[some], C[some], mask)))
        if self.dictionary_loss is not None:
            fit = replace(problem, loss=self.dictionary_loss(threshold)).fit(X, C, weight)
        sums = self.learner.summarise(fit, sample_weight)
        nothing: Array = np.empty(0)
        return Summary(sums, float(loss.sum(dtype=np.float64)), certificate, nothing, nothing)

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, move the dictionary."""
        seen = state.weight_seen + batch.weight
        past = state.statistics.discounted(self.forgetting(batch.weight, seen))
        free = np.ones(len(state.D), bool) if self.frozen is None else ~self.frozen
        D, statistics, _ = self.learner.learn(
            past, summary.sums, state.D, self.dictionary_regulariser, free
        )
        if summary.residuals.size:
            scale = self.outlier_weight.measure(summary.residuals, summary.residual_weights)
            # A perfect fit would set λ to zero, from where it could not return.
            state = self._average_scale(state, max(scale, 0.01 * state.scale), batch.weight)
        state = replace(
            state,
            D=D,
            average=self._average(state, D, batch.weight / seen if seen > 0 else 1.0),
            statistics=statistics,
            n_samples=state.n_samples + batch.n_samples,
            n_steps=state.n_steps + 1,
            weight_seen=seen,
        )
        return self._replace_dead_atoms(state, batch, free) if self.revive else state

    # ------------------------------------------------------------------ details

    def _average(self, state: StreamState, D: Array, share: float) -> Array:
        if self.averaging <= 0:
            return D
        weight = D.dtype.type(1 - (1 - min(share, 1.0)) ** self.averaging)
        return state.average + weight * (D - state.average)

    def _average_scale(self, state: StreamState, scale: float, weight: float) -> StreamState:
        seen = state.weight_seen + weight
        kept = self.forgetting(weight, seen)
        if self.outlier_weight.measures == "residuals":
            # Early residuals are those of poor dictionaries, even where samples never fade; those
            # of an averaged dictionary are averaged like it.
            kept = min(kept, _NOISE_FORGETTING(weight, seen))
            if self.averaging > 0:
                kept = PowerForgetting(self.averaging)(weight, seen)
        past = state.scale_weight * kept
        mean = (past * state.scale + weight * scale) / (past + weight)
        return replace(state, scale=mean, scale_weight=past + weight)

    def _replace_dead_atoms(
        self, state: StreamState, batch: Batch, free: NDArray[np.bool_]
    ) -> StreamState:
        """Give atoms that nobody uses a new start.

        An atom is dead if its share of the predictions, as the learner measures it, is below a
        millionth of the mean. It becomes a random sample of the batch without its outliers, at
        unit length (where codes are bounded, at its own), and its statistics start anew.
        """
        usage = self.learner.usage(state.statistics, state.D)
        dead = np.flatnonzero(free & (usage <= _DEAD * usage.mean()))
        if not dead.size or not usage.any():
            return state
        _log.debug("Atoms %s are dead and start anew from samples", dead)
        rng = np.random.default_rng([state.seed, 1, state.n_steps])
        rows = spread_rows(batch, len(dead), rng)
        D, average = state.D.copy(), state.average.copy()
        problem = self.problem(state)
        for atom, row in zip(dead, rows, strict=True):
            place = slice(int(row), int(row) + 1)
            X, weight, _ = self._load_dense(batch, place, D.dtype)
            # Sparse rows are coded on their nonzeros, here as elsewhere.
            prediction = self.encode(problem, self.load(batch, place, D.dtype)[0], weight) @ D
            clean = X - problem.loss.outliers(X, prediction, weight)
            clean = clean if weight is None else np.where(weight > 0, clean, prediction)
            clean = np.abs(clean * (1 + 0.1 * rng.standard_normal(clean.shape))).astype(D.dtype)
            length = float(np.linalg.norm(clean))
            if length > 0:
                D[atom] = (clean / length if self._codes_take_the_size else clean)[0]
                average[atom] = D[atom]
        region, statistics = self.dictionary_regulariser.region, state.statistics.without(dead)
        changed = slice(None) if region.couples_rows else dead
        D[changed], average[changed] = region.project(D[changed]), region.project(average[changed])
        return replace(state, D=D, average=average, statistics=statistics)
