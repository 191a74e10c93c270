"""The verbs of online methods: what happens to a batch, whatever the loss."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import CodingProblem, encode_rows
from thresher.engine.explained import Energies, mass_of
from thresher.engine.first_atoms import first_atoms
from thresher.engine.first_batch import entries, row_weights, spread_rows
from thresher.engine.method_parts import MethodParts
from thresher.engine.noise import EXACT, residual_sizes
from thresher.engine.state import StreamState, Summary
from thresher.learning import PowerForgetting, RangeWeight
from thresher.linalg import Array
from thresher.streams import Batch

_log = logging.getLogger(__name__)

_CERTIFIED_ROWS = 16
_MEASURED_ENTRIES = 4096
_MEASURED_BLOCKS = 16  # of a batch have their residuals measured, so that summaries do not grow
_DEAD = 1e-6
_LEAST_SCALE = 1e-8  # of residuals, in the unit of samples: about the root of the rounding
_MEASURED_AT_FIRST = 8
# Heuristic: before so many samples a dead atom under a penalty may only have been unlucky.
_MIN_SAMPLES_PER_ATOM = 10
_LEAST_LENGTH = 0.1  # of a restarted atom; heuristic, matters only where codes cost next to nothing
_MIN_JUDGED_ROWS, _MAX_JUDGED_ROWS = 32, 256  # of a batch decide whether an atom pays; heuristic
_STANDARD_ERRORS = 2.0
_NOISE_FORGETTING = PowerForgetting(3.0)


@cache
def _all_of(count: int) -> NDArray[np.bool_]:
    every = np.ones(count, dtype=bool)
    every.flags.writeable = False
    return every


def _judged(batch: Batch) -> Batch:
    """Rows of a batch that decide whether an atom pays."""
    some = batch.glance()
    return some.every(-(-some.n_samples // _MAX_JUDGED_ROWS))


@dataclass(frozen=True)
class OnlineMethod(MethodParts):
    """What each verb does with the parts of a method."""

    # ---------------------------------------------------------------- starting

    def begin(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> StreamState:
        """A state that has seen nothing; atoms start from ``init``, or as the first batch suits."""
        n_features = batch.X.shape[1]
        self.loss(1.0).check_features(n_features)
        units = self.units_for(batch, n_features, dtype)
        method = self.in_unit(units["unit"]) if units else self
        assert method is not None
        if init is not None and not isinstance(init, str):
            init = np.array(init, dtype=np.float64) / units.get("atom_unit", 1.0)
        D = method.first_dictionary(batch, init, n_components, dtype, seed)
        state = StreamState(D, D, self.learner.empty(len(D), n_features), seed)
        return replace(state, **units)

    def first_dictionary(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> Array:
        """Atoms to start from, in the unit of the method."""
        if init is None or isinstance(init, str):
            rng = np.random.default_rng([seed, 0])
            D = first_atoms(self, batch, init, n_components, dtype, rng)
        else:
            D = init if self.strays else self.dictionary_regulariser.region.project(init)
            if self.frozen is not None:  # what is frozen stays as the user gave it
                D[self.frozen] = init[self.frozen]
        return np.ascontiguousarray(D, dtype=dtype)

    # ------------------------------------------------------------------- verbs

    def measure(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the unit, if all samples so far were zero: nothing was learned from them."""
        if state.measured:
            self.check(state, batch)
            return state
        K, F = state.D.shape
        units = self.units_for(batch.glance(), F, state.D.dtype)
        if not units.get("measured", True):
            return state
        atom_unit = state.D.dtype.type(units["atom_unit"])
        D, average = state.D / atom_unit, state.average / atom_unit
        statistics = self.learner.empty(K, F)
        after = replace(state, D=D, average=average, statistics=statistics, **units)
        self.check(after, batch)
        return after

    def measure_range(self, state: StreamState, batch: Batch) -> StreamState:
        """Measure the range of the batch, if λ comes from the data."""
        known = state.scale_weight > 0
        first_guess = self.outlier_weight.measures == "residuals" and not (known or state.scale)
        if self.outlier_weight.measures != "data" and not first_guess:
            return state
        if known and state.n_steps > _MEASURED_AT_FIRST and state.n_steps % _MEASURED_AT_FIRST:
            return state  # a range that was seen often need not be measured every time
        F = state.D.shape[1]
        step = max(1, (batch.n_samples * min(F, _MEASURED_ENTRIES)) // _MEASURED_ENTRIES)
        some = batch.every(step)
        X, weight, _ = self.load_dense(some, slice(0, some.n_samples), state.D.dtype)
        values, weights = entries(np.abs(X), weight, some.sample_weight, _MEASURED_ENTRIES)
        rule = RangeWeight() if first_guess else self.outlier_weight
        scale = rule.measure(values, weights) if values.size else 0.0
        if first_guess:
            # Residuals come with the first codes; until then λ is what the range suggests.
            guess = RangeWeight().weight(scale, F) / self.outlier_weight.weight(1.0, F)
            return replace(state, scale=guess)
        return self._average_scale(state, scale, batch.weight) if scale > 0 else state

    def summariser(self, state: StreamState, batch: Batch) -> Callable[[slice], Summary]:
        """What codes a block of a batch on the dictionary of a state, and summarises it."""
        problem, rows_of_batch = self.problem(state), self.rows(batch)
        self.encoder.prepare(problem, rows_of_batch)
        threshold = self.threshold(state)
        shown = problem if state.average is state.D else replace(problem, D=state.average)
        measured = self.outlier_weight.measures == "residuals"
        if measured:
            EXACT.prepare(shown, rows_of_batch)
        size, whole = self.block_rows(batch), batch.whole or batch.n_samples
        apart = -(-whole // (size * _MEASURED_BLOCKS))  # so many blocks lie between two of them

        def code_and_summarise(rows: slice) -> Summary:
            place = batch.begins + rows.start
            X, weight, _ = self.load(batch, rows, state.D.dtype)
            sample_weight = None if batch.sample_weight is None else batch.sample_weight[rows]
            encoding = encode_rows(self.encoder, problem, X, weight)
            codes, first = encoding.codes, place == 0
            more = (encoding.outliers, encoding.products)
            summary = self.summarise(
                problem, X, weight, sample_weight, codes, threshold, first, *more
            )
            if state.watch is not None:
                mass, total = mass_of(X, weight, sample_weight)
                summary = replace(summary, mass=mass, entries=total)
            if not measured or place // size % apart:
                return summary
            sizes, weights = residual_sizes(shown, X, weight, sample_weight, codes)
            return replace(summary, residuals=sizes, residual_weights=weights)

        return code_and_summarise

    def encode(self, problem: CodingProblem, X: Any, weight: Array | None) -> Array:
        """Codes of a block."""
        return encode_rows(self.encoder, problem, X, weight).codes

    def summarise(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None,
        sample_weight: Array | None,
        C: Array,
        threshold: float = 1.0,
        first: bool = False,
        outliers: Array | None = None,
        products: Array | None = None,
    ) -> Summary:
        """Statistics of a coded block; ``first`` asks for the certificate of rows, and energies.

        ``outliers`` are those of the encoder, if they are not the best ones for its codes,
        ``products`` its predictions at the nonzeros of sparse rows.
        """
        fit = problem.fit(X, C, weight, outliers, products)
        learned = fit
        if self.dictionary_loss is not None:
            learned = replace(problem, loss=self.dictionary_loss(threshold)).fit(X, C, weight)
        sums = self.learner.summarise(learned, sample_weight)  # before what it may find on the way
        loss = fit.values() + problem.regulariser.value(C)
        if sample_weight is not None:
            loss = loss * sample_weight
        certificate: float = 0.0
        energies: Callable[[], Energies] = Energies
        if first:
            some = slice(0, _CERTIFIED_ROWS)
            mask = None if weight is None else weight[some]
            certificate = float(np.maximum.reduce(problem.certificate(X[some], C[some], mask)))
            energies = Energies.later(fit, sample_weight)
        nothing: Array = np.empty(0)
        total = float(np.add.reduce(loss, None, np.float64))
        return Summary(sums, total, certificate, nothing, nothing, energies)

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """Discount the past, add the batch, move the dictionary."""
        seen = state.weight_seen + batch.weight
        past = state.statistics.discounted(self.forgetting(batch.weight, seen))
        free = _all_of(len(state.D)) if self.frozen is None else ~self.frozen
        D, statistics, _ = self.learner.learn(
            past, summary.sums, state.D, self.dictionary_regulariser, free
        )
        if summary.residuals.size:
            scale = self.outlier_weight.measure(summary.residuals, summary.residual_weights)
            # A perfect fit would set λ to zero, from where it could not return; and what is left of
            # it in the end is rounding, not noise.
            least = 0.0 if self.own_unit else _LEAST_SCALE
            scale = max(scale, 0.01 * state.scale, least)
            state = self._average_scale(state, scale, batch.weight)
        state = state.changed(
            D=D,
            average=self._average(state, D, batch.weight / seen if seen > 0 else 1.0),
            statistics=statistics,
            n_samples=state.n_samples + batch.n_samples,
            n_steps=state.n_steps + 1,
            weight_seen=seen,
        )
        if not self.revive:
            return state
        if self.dictionary_regulariser.prefers_zero and batch.n_samples >= _MIN_JUDGED_ROWS:
            state = self._drop_if_costly(state, batch, free)
        return self._replace_dead_atoms(state, batch, free)

    def dictionary_cost(self, state: StreamState) -> float:
        """The penalty of the dictionary, which is added to the mean loss of samples."""
        if self.dictionary_regulariser.form.is_unpenalised:
            return 0.0
        return float(self.dictionary_regulariser.value(state.D).sum())

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
        return state.changed(scale=mean, scale_weight=past + weight)

    def _replace_dead_atoms(
        self, state: StreamState, batch: Batch, free: NDArray[np.bool_]
    ) -> StreamState:
        """Give atoms that nobody uses a new start.

        An atom is dead if its share of the predictions, as the learner measures it, is below a
        millionth of the mean. It becomes a random sample of the batch without its outliers, at
        unit length (where codes are bounded, at its own), and its statistics start anew.
        """
        usage = self.learner.usage(state.statistics, state.D)
        unused = _DEAD * (np.add.reduce(usage) / len(usage))
        if np.minimum.reduce(usage) > unused:
            return state
        dead = np.flatnonzero(free & (usage <= unused))
        if not dead.size:
            return state
        if not self.dictionary_regulariser.form.is_unpenalised:
            return self._replace_if_worth(state, batch, dead)
        if not usage.any():
            return state
        _log.debug("Atoms %s are dead and start anew from samples", dead)
        return self.restarted(state, batch.glance(len(dead)), dead, 1.0)

    def _replace_if_worth(
        self, state: StreamState, batch: Batch, dead: NDArray[np.intp]
    ) -> StreamState:
        """The same under a penalty: dead atoms become zero, and one restarts if that pays.

        It pays if the batch gains more than the penalty of the new atom for all samples that the
        statistics remember: they say that nobody used it so far. The quadratic weighs both alike,
        so that it would undo any other restart.
        """
        regulariser = self.dictionary_regulariser
        enough = state.weight_seen >= _MIN_SAMPLES_PER_ATOM * len(state.D)
        if enough and regulariser.prefers_zero:
            D, average = state.D.copy(), state.average.copy()
            D[dead] = average[dead] = 0
            state = replace(state, D=D, average=average, statistics=state.statistics.without(dead))
        share = batch.weight / max(getattr(state.statistics, "weight", 0.0), batch.weight)
        batch = _judged(batch)
        alive = np.delete(np.linalg.norm(state.D, axis=1), dead)
        length = float(alive.mean()) if alive.any() else None
        trial = self.restarted(state, batch, dead[:1], length)
        cost = float(regulariser.value(trial.D).sum() - regulariser.value(state.D).sum())
        gains = self._objectives(state, batch) - self._objectives(trial, batch)
        weights = row_weights(batch)
        pays = share * float(weights @ gains) > cost * float(weights.sum())
        return trial if pays else state

    def _drop_if_costly(
        self, state: StreamState, batch: Batch, free: NDArray[np.bool_]
    ) -> StreamState:
        """Set an atom to zero, each in its turn, if the batch loses less than its penalty.

        The quadratic keeps the codes, and so cannot see what the others would do without an atom.
        The mean loss of samples has to be smaller by two standard errors.
        """
        alive = np.flatnonzero(free & state.D.any(axis=1))
        if not alive.size:
            return state
        k = alive[state.n_steps % len(alive)]
        D, average = state.D.copy(), state.average.copy()
        D[k] = average[k] = 0
        trial = replace(state, D=D, average=average, statistics=state.statistics.without(k[None]))
        batch = _judged(batch)
        value, weights = self.dictionary_regulariser.value, row_weights(batch)
        losses = self._objectives(trial, batch) - self._objectives(state, batch)
        total = float(weights.sum())
        mean = float(weights @ losses) / total if total > 0 else np.inf
        variance = float(weights**2 @ (losses - mean) ** 2) / total**2 if total > 0 else 0.0
        saved = float(value(state.D).sum() - value(D).sum())
        return trial if mean + _STANDARD_ERRORS * np.sqrt(variance) < saved else state

    def _objectives(self, state: StreamState, batch: Batch) -> Array:
        """The objective of every sample of a batch, without that of the dictionary."""
        problem = self.problem(state)
        self.encoder.prepare(problem, self.rows(batch))
        found = []
        for rows in self.blocks(batch):
            X, weight, _ = self.load(batch, rows, state.D.dtype)
            found.append(problem.objective(X, self.encode(problem, X, weight), weight))
        return np.concatenate(found).astype(np.float64)

    def restarted(
        self, state: StreamState, batch: Batch, dead: NDArray[np.intp], length: float | None
    ) -> StreamState:
        """Let atoms start from random samples without outliers; None is the cheapest length."""
        rng = np.random.default_rng([state.seed, 1, state.n_steps])
        rows = spread_rows(batch, len(dead), rng)
        D, average = state.D.copy(), state.average.copy()
        problem = self.problem(state)
        for atom, row in zip(dead, rows, strict=True):
            place = slice(int(row), int(row) + 1)
            X, weight, _ = self.load_dense(batch, place, D.dtype)
            # Sparse rows are coded on their nonzeros, here as elsewhere.
            prediction = self.encode(problem, self.load(batch, place, D.dtype)[0], weight) @ D
            clean = X - problem.loss.outliers(X, prediction, weight)
            clean = clean if weight is None else np.where(weight > 0, clean, prediction)
            clean = np.abs(clean * (1 + 0.1 * rng.standard_normal(clean.shape))).astype(D.dtype)
            size = float(np.linalg.norm(clean))
            if size > 0:
                unit = clean / size
                cheapest = self._cheapest_length(unit, size) if length is None else length
                of_length = unit * D.dtype.type(cheapest)
                D[atom] = (of_length if self.codes_take_the_size else clean)[0]
                average[atom] = D[atom]
        region, statistics = self.dictionary_regulariser.region, state.statistics.without(dead)
        changed = slice(None) if region.couples_rows else dead
        D[changed], average[changed] = region.project(D[changed]), region.project(average[changed])
        return replace(state, D=D, average=average, statistics=statistics)

    def _cheapest_length(self, unit: Array, size: float) -> float:
        """The ℓ that minimises the penalties of an atom ℓu and of codes ``size/ℓ``, one at most."""
        codes = self.code_regulariser.form.l1 * size
        atom = float(self.dictionary_regulariser.value(unit).sum())
        return float(np.clip(np.sqrt(codes / atom), _LEAST_LENGTH, 1.0)) if atom > 0 else 1.0
