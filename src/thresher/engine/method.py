"""The problem that an estimator states, the online method that solves it, and how it is chosen.

A method says how samples are loaded, coded and summarised, and how the dictionary moves. Estimators
list candidates in the order of preference; the first batch decides, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import CodingProblem, Encoder, Rows
from thresher.engine.atoms import drop_if_costly, first_atoms, replace_unused
from thresher.engine.batch import (
    Alternation,
    AndersonExtrapolation,
    BatchProblem,
    ExactAlternation,
    Rounds,
)
from thresher.engine.executor import Pool
from thresher.engine.residuals import EXACT, mass_of, residual_sizes
from thresher.engine.state import StreamState, Summary
from thresher.engine.units import (
    check_largest,
    check_size,
    check_unit,
    entries,
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
    PowerForgetting,
    RangeWeight,
    Statistics,
)
from thresher.linalg import (
    SPARSE_BLOCK,
    STORED_BLOCK,
    Array,
    load_block,
    load_sparse_block,
    load_stored_block,
    rows_per_block,
    without_traces,
)
from thresher.losses import Loss
from thresher.penalties import ElasticNet, Penalty, Regulariser
from thresher.sets import ConvexSet, NonnegativeL2Ball, NonnegativeOrthant
from thresher.streams import Batch

_CERTIFIED_ROWS = 16
_MEASURED_ENTRIES = 4096
_MEASURED_BLOCKS = 16  # of a batch have their residuals measured, so that summaries do not grow
_REMEMBERED = 4  # losses, one for each λ in use
_MEASURED_STEPS = 8  # the range of the data is measured in the first steps, then in every eighth
_MIN_SCALE_RATIO = 0.01  # of the residuals to those before; heuristic
_NOISE_FORGETTING = PowerForgetting(3.0)
# λ in the unit of the data. Residuals are rounded to 1e-7 of it, so an inlier of a smaller λ has
# fewer than three digits in single precision. Heuristic: half and double change the time alone.
_SMALL_THRESHOLD = 1e-4

AnyMethod = TypeVar("AnyMethod")


@dataclass(frozen=True)
class Specification:
    """Loss, regularisers and forgetting, as the parameters of an estimator give them.

    Parameters
    ----------
    loss : callable
        Makes the loss from the outlier weight λ.
    code_regulariser : Regulariser
        Penalty and set of the codes.
    dictionary_set : ConvexSet or None
        Set of the atoms; None is the default of the solver.
    dictionary_penalty : Penalty
    outlier_weight : OutlierWeight
        The rule for λ.
    dictionary_loss : callable or None
        Makes a smoothed loss for the dictionary, if the loss is not smooth.
    forgetting : Forgetting or None
        How much the past counts; None is the default of the solver.
    in_order : bool
        Whether samples come in their own order, not in a random one.
    frozen : array of bool or None
        Atoms that never move.
    scale_samples : bool
        Divide each sample by its largest entry first.
    only_stored : bool
        Whether entries that CSR rows do not store are missing.
    """

    loss: Callable[[float], Loss]
    code_regulariser: Regulariser = field(default_factory=Regulariser)
    dictionary_set: ConvexSet | None = None
    dictionary_penalty: Penalty = field(default_factory=ElasticNet)
    outlier_weight: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
    dictionary_loss: Callable[[float], Loss] | None = None
    forgetting: Forgetting | None = None
    in_order: bool = True
    frozen: NDArray[np.bool_] | None = None
    scale_samples: bool = False
    only_stored: bool = False

    def parts(self, default_set: ConvexSet | None = None) -> dict[str, Any]:
        """The fields of a `Method` that do not depend on its encoder and learner.

        Without a set of its own, a dictionary takes ``default_set`` or the set that fits the codes:
        codes of any size take the size of the data, and atoms lie in the ℓ2 ball. Where codes are
        bounded, as shares are, atoms take the size, and are only nonnegative; unless codes have a
        penalty, which smaller codes and larger atoms would avoid.
        """
        codes = self.code_regulariser
        region = self.dictionary_set or default_set
        if region is None:
            penalised = not codes.form.is_unpenalised and codes.region.contains_zero
            bounded = not (codes.region.is_cone or penalised)
            region = NonnegativeOrthant() if bounded else NonnegativeL2Ball()
        atoms = Regulariser(self.dictionary_penalty, region)
        _check_signs(self.loss(1.0), codes, atoms)
        if self.frozen is not None and region.rows_share_bound:
            raise ValueError(
                f"Atoms of {region} share one budget, so none of them can be frozen; leave "
                "frozen_atoms out, or use a set such as 'box'."
            )
        return {
            "loss": self.loss,
            "dictionary_loss": self.dictionary_loss,
            "outlier_weight": self.outlier_weight,
            "code_regulariser": codes,
            "dictionary_regulariser": atoms,
            "forgetting": self.forgetting or PlainAverage(),
            "frozen": self.frozen,
            "scale_samples": self.scale_samples,
        }


def _check_signs(loss: Loss, codes: Regulariser, atoms: Regulariser) -> None:
    """Refuse signed codes or atoms under a loss of nonnegative predictions."""
    if not loss.needs_nonnegative_prediction or (codes.form.nonnegative and atoms.form.nonnegative):
        return
    signed = "code_set" if not codes.form.nonnegative else "dictionary_set"
    raise ValueError(
        f"{loss} needs predictions that are not negative, and {signed} allows them; use a set such "
        "as 'nonnegative' there, or a loss such as 'squared_l2'."
    )


class StreamMethod(ABC):
    """What the first loop calls of a method; subclasses keep their parameters, never the data."""

    @property
    def keeps_samples(self) -> bool:
        """Whether sums hold coded samples, so that their size grows with the batch."""
        return False

    def in_unit_of(self, state: StreamState) -> Self:
        """Bind the method to the unit in which a state computes; itself if it is bound already."""
        return self

    def block_rows(self, batch: Batch) -> int:
        """Rows of a block."""
        return rows_per_block(batch.X.shape[1])

    def blocks(self, batch: Batch) -> Iterator[slice]:
        """Yield row blocks of fixed size, so that sums do not depend on the executor."""
        n, rows = batch.n_samples, self.block_rows(batch)
        for start in range(0, n, rows):
            yield slice(start, min(start + rows, n))

    def measure_unit(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the unit of the data, which is not known yet."""
        return state

    def check(self, state: StreamState, batch: Batch) -> None:
        """Refuse entries that cannot be computed with in the unit of a state."""
        return None

    def measure_range(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure what is needed before coding."""
        return state

    def for_coding(self, state: StreamState) -> StreamState:
        """Remove from a state what `summariser` does not need, for executors on other machines."""
        return state.changed(seen=None)

    @abstractmethod
    def summariser(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """Return a function that codes a block on the dictionary of a state and summarises it."""

    @abstractmethod
    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, and move the dictionary."""

    def dictionary_cost(self, state: StreamState) -> float:
        """The penalty of the dictionary, which is added to the mean loss of samples."""
        return 0.0


@dataclass(frozen=True)
class Method(StreamMethod):
    """An online method: encoder, loss, learner, regularisers and the rules that combine them.

    Parameters
    ----------
    encoder : Encoder
        Finds codes while learning.
    loss : callable
        Makes the loss from the outlier weight λ.
    learner : Learner
        Sums up coded samples, and moves the dictionary.
    dictionary_loss : callable or None
        Makes the loss that the learner minimises, if it differs from that of the codes.
    outlier_weight : OutlierWeight
        The rule for λ.
    code_regulariser, dictionary_regulariser : Regulariser
        Penalty and set of codes and of atoms.
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
        Whether sparse rows with missing entries where nothing is stored are coded on what is.
    averaging : float
        η > 0 shows the average of the dictionaries with weights ``(1 − b/n)^η``, like those of
        `PowerForgetting`: statistics may then forget fast, and the average takes out the noise.
    default_init : str or None
        The start that ``init="auto"`` stands for; None chooses by the first batch.
    rounds : callable or None
        Begins the batch method, if it is not `ExactAlternation`.
    unit : float
        What samples are divided by, see `in_unit`.
    """

    encoder: Encoder
    loss: Callable[[float], Loss]
    learner: Learner
    dictionary_loss: Callable[[float], Loss] | None = None
    outlier_weight: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
    code_regulariser: Regulariser = field(default_factory=Regulariser)
    dictionary_regulariser: Regulariser = field(
        default_factory=lambda: Regulariser(region=NonnegativeL2Ball())
    )
    forgetting: Forgetting = field(default_factory=PlainAverage)
    frozen: NDArray[np.bool_] | None = None
    scale_samples: bool = False
    keep_sparse: bool = False
    as_sparse: bool = False
    keep_stored: bool = False
    averaging: float = 0.0
    default_init: str | None = None
    rounds: Rounds | None = None
    unit: float = 1.0

    min_residual_scale: ClassVar[float] = 1e-8
    """Smallest scale of residuals, in the unit of samples: about the root of the rounding error."""

    # -------------------------------------------------------------- properties

    @property
    def keeps_samples(self) -> bool:
        """Whether the learner keeps coded samples instead of sums of a fixed size."""
        return self.learner.keeps_samples

    @property
    def bounds_codes(self) -> bool:
        """Whether the set of the codes changes with their unit, so that atoms take the unit."""
        return not self.code_regulariser.region.is_cone

    @property
    def dictionary_set(self) -> ConvexSet:
        """The set in which every dictionary of this method lies."""
        return self.dictionary_regulariser.region

    @property
    def selects_atoms(self) -> bool:
        """Whether atoms may become zero because they cost more than they explain."""
        return self.dictionary_regulariser.form.prefers_zero

    def free_atoms(self, n_components: int) -> NDArray[np.bool_]:
        """Flags of the atoms that may move."""
        return np.ones(n_components, dtype=bool) if self.frozen is None else ~self.frozen

    # ------------------------------------------------------------------- start

    def begin(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> StreamState:
        """Return the state before the first step; ``init`` or the first batch gives the atoms."""
        n_features = batch.X.shape[1]
        self.loss(1.0).check_features(n_features)
        units = self.units_for(batch, n_features, dtype)
        method = self.in_unit(units["unit"]) if units else self
        assert method is not None
        if init is not None and not isinstance(init, str):
            init = np.array(init, dtype=np.float64) / units.get("atom_unit", 1.0)
        D = method.first_dictionary(batch, init, n_components, dtype, seed)
        state = StreamState(D, D, self.learner.empty(len(D), n_features), seed)
        return state.changed(**units)

    def first_dictionary(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> Array:
        """Return the atoms to start from, in the unit of the method."""
        if init is None or isinstance(init, str):
            rng = np.random.default_rng([seed, 0])
            D = first_atoms(self, batch, init, n_components, dtype, rng)
        else:
            D = self.dictionary_set.project(init)
            if self.frozen is not None:  # frozen atoms stay as given
                D[self.frozen] = init[self.frozen]
        return np.ascontiguousarray(D, dtype=dtype)

    # ----------------------------------------------------------------- samples

    def block_kind(self, batch: Batch) -> Literal["dense", "sparse", "observed"]:
        """The entries on which rows are coded.

        All of them; the nonzeros alone ("sparse"); or those that are stored, all others being
        missing ("observed").
        """
        if self.scale_samples or not (self.keep_sparse or self.keep_stored):
            return "dense"
        if self.keep_stored and batch.only_stored and self.loss(1.0).exchangeable_features:
            return "observed"
        without_gaps = batch.is_sparse_without_gaps or (
            self.as_sparse and batch.is_dense_without_gaps
        )
        if self.keep_sparse and without_gaps and self.loss(1.0).stays_sparse:
            return "sparse"
        return "dense"

    def rows(self, batch: Batch) -> Rows:
        """The kind of rows that the encoder gets from a batch."""
        weighted = batch.only_stored or batch.entry_weight is not None
        kind = self.block_kind(batch)
        return Rows(kind == "sparse", weighted, kind == "observed")

    def block_rows(self, batch: Batch) -> int:
        """Rows of a block."""
        kind = self.block_kind(batch)
        if kind == "dense":
            return rows_per_block(batch.X.shape[1])
        return SPARSE_BLOCK if kind == "sparse" else STORED_BLOCK

    def load(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Any, Array | None, Array | None]:
        """Load a block: samples, entry weights, and the maxima that they were divided by."""
        kind = self.block_kind(batch)
        if kind == "observed":
            stored = load_stored_block(batch.X, rows, dtype, batch.entry_weight, self.unit)
            return stored, None, None
        if kind == "sparse":
            block = load_sparse_block(batch.X, rows, dtype, self.unit)
            return without_traces(block), None, None
        return self.load_dense(batch, rows, dtype)

    def load_dense(
        self, batch: Batch, rows: slice, dtype: np.dtype[Any]
    ) -> tuple[Array, Array | None, Array | None]:
        """Load a block like `load`, with rows expanded."""
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

    # ------------------------------------------------------------------- units

    def in_unit(self, unit: float) -> Self | None:
        """Return the same method for samples divided by ``unit``; None if no such law is known.

        Where codes may have any size, they take the unit; where they are bounded, atoms do.
        """
        degree = self.loss(1.0).degree
        if degree is None:
            return None
        worth = unit**degree
        atom_unit = unit if self.bounds_codes else 1.0
        codes = self.code_regulariser.in_unit(unit / atom_unit, worth)
        atoms = self.dictionary_regulariser.in_unit(atom_unit, worth)
        if codes is None or atoms is None:
            return None
        loss, dictionary_loss = self.loss, self.dictionary_loss
        return replace(
            self,
            # Most steps have the λ of the step before.
            loss=lru_cache(_REMEMBERED)(lambda threshold: loss(threshold * unit).in_unit(unit)),
            dictionary_loss=None
            if dictionary_loss is None
            else lambda threshold: dictionary_loss(threshold * unit).in_unit(unit),
            outlier_weight=self.outlier_weight.in_unit(unit),
            code_regulariser=codes,
            dictionary_regulariser=atoms,
            unit=unit,
        )

    def in_unit_of(self, state: StreamState) -> Self:
        """Bind the method to the unit in which a state computes; itself if it is bound already."""
        if self.unit == state.unit:
            return self
        bound = self.in_unit(state.unit)
        assert bound is not None  # a state has a unit of its own only if in_unit gives a method
        return bound

    def units_for(self, batch: Batch, n_features: int, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the units of a state that begins with a batch; refuse samples beyond all units."""
        if self.scale_samples:
            return {}
        size = typical_size(batch)
        if self.in_unit(1.0) is None:
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
            "atom_unit": unit if self.bounds_codes else 1.0,
            "loss_unit": unit**degree,
            "measured": size > 0,
        }

    def check(self, state: StreamState, batch: Batch) -> None:
        """Refuse entries that cannot be computed with in the unit of a state."""
        if not self.scale_samples:
            check_largest(batch, state.unit, state.D.dtype)

    def measure_unit(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the unit after samples that were all zero, from which nothing was learned."""
        K, F = state.D.shape
        units = self.units_for(batch.glance(), F, state.D.dtype)
        if not units.get("measured", True):
            return state
        atom_unit = state.D.dtype.type(units["atom_unit"])
        D, average = state.D / atom_unit, state.average / atom_unit
        return state.changed(D=D, average=average, statistics=self.learner.empty(K, F), **units)

    def computing_dtype(self, state: StreamState, batch: Batch, dtype: np.dtype[Any]) -> Any:
        """Return the precision that codes of samples need.

        It is double where some samples are lost to rounding in single precision, where squares of
        atoms overflow there, or where λ has fewer than three digits compared with a typical entry.
        """
        if dtype != np.float32:
            return dtype
        has_outliers = self.problem(state).loss.envelope is not None
        small = has_outliers and self.threshold(state) < _SMALL_THRESHOLD
        traces = not self.scale_samples and needs_double(batch, state.unit)
        largest = float(np.finfo(np.float32).max) / state.average.shape[1]
        overflow = float(np.abs(state.average).max()) > np.sqrt(largest)
        return np.dtype(np.float64) if small or traces or overflow else dtype

    # ---------------------------------------------------------- outlier weight

    def threshold(self, state: StreamState) -> float:
        """λ, from what its rule has measured."""
        scale = state.scale if state.scale > 0 else 1.0
        return float(self.outlier_weight.weight(scale, state.D.shape[1]))

    def measure_range(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the range of the batch, if λ comes from the data."""
        known = state.scale_weight > 0
        first_guess = self.outlier_weight.measures == "residuals" and not (known or state.scale)
        if self.outlier_weight.measures != "data" and not first_guess:
            return state
        if known and state.n_steps > _MEASURED_STEPS and state.n_steps % _MEASURED_STEPS:
            return state
        F = state.D.shape[1]
        step = max(1, (batch.n_samples * min(F, _MEASURED_ENTRIES)) // _MEASURED_ENTRIES)
        some = batch.every(step)
        X, weight, _ = self.load_dense(some, slice(0, some.n_samples), state.D.dtype)
        values, weights = entries(np.abs(X), weight, some.sample_weight, _MEASURED_ENTRIES)
        rule = RangeWeight() if first_guess else self.outlier_weight
        scale = rule.measure(values, weights) if values.size else 0.0
        if first_guess:
            # Residuals come with the first codes; until then λ follows from the range.
            guess = RangeWeight().weight(scale, F) / self.outlier_weight.weight(1.0, F)
            return state.changed(scale=guess)
        return self._average_scale(state, scale, batch.weight) if scale > 0 else state

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
        return state.changed(scale=mean, scale_weight=past + weight)

    # ---------------------------------------------------------------- encoding

    def problem(self, state: StreamState) -> CodingProblem:
        """The coding problem of the current dictionary and λ."""
        return CodingProblem(state.D, self.loss(self.threshold(state)), self.code_regulariser)

    def for_coding(self, state: StreamState) -> StreamState:
        """Remove statistics and ranges: the dictionary and λ remain."""
        return state.changed(statistics=Statistics(), seen=None)

    def objectives(self, state: StreamState, batch: Batch) -> Array:
        """Return the objective of each sample of a batch, without that of the dictionary."""
        problem = self.problem(state)
        encode, found = self.encoder.prepare(problem, self.rows(batch)), []
        for rows in self.blocks(batch):
            X, weight, _ = self.load(batch, rows, state.D.dtype)
            found.append(problem.objective(X, encode(X, weight).codes, weight))
        return np.concatenate(found).astype(np.float64)

    def summariser(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """Return a function that codes a block on the dictionary of a state and summarises it."""
        problem, threshold, kind = self.problem(state), self.threshold(state), self.rows(batch)
        encode = self.encoder.prepare(problem, kind)
        learned = problem
        if self.dictionary_loss is not None:
            learned = replace(problem, loss=self.dictionary_loss(threshold))
        shown = problem if state.average is state.D else replace(problem, D=state.average)
        measured = self.outlier_weight.measures == "residuals"
        exact = EXACT.prepare(shown, kind) if measured else None
        size, whole = self.block_rows(batch), batch.whole or batch.n_samples
        distance = -(-whole // (size * _MEASURED_BLOCKS))  # in blocks, between measured blocks
        nothing: Array = np.empty(0)

        def code_and_summarise(rows: slice) -> Summary:
            X, weight, _ = self.load(batch, rows, state.D.dtype)
            given = None if batch.sample_weight is None else batch.sample_weight[rows]
            encoding = encode(X, weight)
            C, place = encoding.codes, batch.begins + rows.start
            fit = problem.fit(X, C, weight, encoding.outliers, encoding.products)
            to_learn = fit if learned is problem else learned.fit(X, C, weight)
            sums = self.learner.summarise(to_learn, given)  # computes parts that fit keeps
            losses = fit.values() + problem.regulariser.value(C)
            losses = losses if given is None else losses * given
            loss = float(np.add.reduce(losses, None, np.float64))
            certificate, sizes, weights, mass, total = 0.0, nothing, nothing, 0.0, 0.0
            if place == 0:
                some = slice(0, _CERTIFIED_ROWS)
                mask = None if weight is None else weight[some]
                certificate = float(np.maximum.reduce(problem.certificate(X[some], C[some], mask)))
            if exact is not None and not place // size % distance:
                sizes, weights = residual_sizes(shown, exact, X, weight, given, C)
            if state.watch is not None:
                mass, total = mass_of(X, weight, given)
            return Summary(sums, loss, certificate, sizes, weights, mass, total)

        return code_and_summarise

    # ------------------------------------------------------------------ update

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, and move the dictionary."""
        seen = state.weight_seen + batch.weight
        past = state.statistics.discounted(self.forgetting(batch.weight, seen))
        free = self.free_atoms(len(state.D))
        D, statistics, _ = self.learner.update(
            past, summary.sums, state.D, self.dictionary_regulariser, free
        )
        if summary.residuals.size:
            scale = self.outlier_weight.measure(summary.residuals, summary.residual_weights)
            # A perfect fit would set λ to zero, from where it could not return; and its last
            # residuals are rounding, not noise.
            scale = max(scale, _MIN_SCALE_RATIO * state.scale, self.min_residual_scale)
            state = self._average_scale(state, scale, batch.weight)
        average = D
        if self.averaging > 0:
            share = min(batch.weight / seen, 1.0) if seen > 0 else 1.0
            step = D.dtype.type(1 - (1 - share) ** self.averaging)
            average = state.average + step * (D - state.average)
        state = state.changed(
            D=D,
            average=average,
            statistics=statistics,
            n_samples=state.n_samples + batch.n_samples,
            n_steps=state.n_steps + 1,
            weight_seen=seen,
        )
        return self.maintain_atoms(state, batch)

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Drop an atom that costs more than it explains, and restart unused atoms."""
        if self.selects_atoms:
            state = drop_if_costly(self, state, batch)
        return replace_unused(self, state, batch)

    def dictionary_cost(self, state: StreamState) -> float:
        """The penalty of the dictionary, which is added to the mean loss of samples."""
        if self.dictionary_regulariser.form.is_unpenalised:
            return 0.0
        return float(self.dictionary_regulariser.value(state.D).sum())

    # ------------------------------------------------------------------- batch

    def alternation(
        self, problem: BatchProblem, state: StreamState, codes: Array | None, pool: Pool
    ) -> Alternation:
        """Begin the batch method, at the dictionary of a state and at codes, if there are some."""
        if self.rounds is not None:
            return self.rounds(problem, state, codes, pool)
        D = state.D.copy()
        shape = problem.batch.n_samples, len(D)
        room = np.zeros(shape, dtype=D.dtype) if codes is None else codes
        # Bounded codes hold atoms where they are, so that rounds converge slowly
        # (docs/guide/choices.md).
        further = AndersonExtrapolation() if self.bounds_codes else None
        return ExactAlternation(problem, D, room, self.encoder, pool, further, codes is None)

    def rounds_left(self, max_iter: int, state: StreamState) -> int:
        """How many rounds may follow those that measured the noise."""
        return max_iter


@dataclass(frozen=True)
class Candidate(Generic[AnyMethod]):
    """A method that may be chosen.

    Parameters
    ----------
    name : str
        Short name, kept in states and files and shown as ``solver_``.
    method : method
        The method, in the unit of the data.
    reason : str
        Why it has this place among the candidates, as it was measured.
    requires : callable, optional
        From the first batch: what is missing, as the end of "it needs ...", or None. By default
        nothing is required.
    warm_start : method, optional
        For batch fits: the online method whose passes precede the alternation.
    """

    name: str
    method: AnyMethod
    reason: str
    requires: Callable[[Batch], str | None] | None = None
    warm_start: AnyMethod | None = None


Candidates = tuple[Candidate[AnyMethod], ...]
"""In the order of preference; all compute the same codes from the same dictionary."""


def choose(candidates: Sequence[Candidate[AnyMethod]], batch: Batch) -> Candidate[AnyMethod]:
    """Return the first candidate whose requirements a batch meets; the last requires nothing."""
    for one in candidates:
        if one.requires is None or one.requires(batch) is None:
            break
    return one


def named(candidates: Sequence[Candidate[AnyMethod]], name: str) -> Candidate[AnyMethod]:
    """Return the candidate that a state or file names."""
    for one in candidates:
        if one.name == name:
            return one
    raise ValueError(
        "What was learned so far belongs to another solver or divergence; set them back to "
        "continue, or call fit to start again."
    )
