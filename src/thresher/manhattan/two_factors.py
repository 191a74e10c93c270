"""Alternation between two factors in memory: the codes, and the transposed dictionary."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import AutoEncoder, Encoder, can_stay_sparse
from thresher.engine.batch import Alternation, BatchProblem, Rounds, alternate
from thresher.engine.executor import Pool
from thresher.engine.method import Specification
from thresher.engine.state import StreamState
from thresher.linalg import Array, is_sparse
from thresher.manhattan.factor_admm import FactorADMM
from thresher.manhattan.half import Graph, Half, HalfSolver
from thresher.penalties import Regulariser
from thresher.streams import Batch

_ADMM_ITERATIONS = 10  # in one iteration of the alternation; heuristic
_ADAPTATION_STEPS = 3  # of both factors before a change of support is compared
_MIN_SUPPORT_GAIN = 1e-4  # of the objective, for a change of support

LARGE = 1 << 20
"""Entries of sparse data up to which all of them may be expanded."""

# Heuristic: the subsets of large sparse data on which ADMM finds a dictionary to start from.
_SUBSETS, _SUBSET_ENTRIES, _MIN_ROWS_PER_ATOM = 2, 1 << 18, 6
_SUBSET_ITERATIONS = 200


@dataclass(frozen=True)
class FactorSpecification(Specification):
    """A specification for both factors in memory.

    Parameters
    ----------
    encoder : Encoder
        Encoder for new samples.
    square_weight : float
        α of the elastic-net loss (58).
    graph : callable or None
        Returns the graph that couples codes, from the samples and the unit of its penalty.
    tol : float
        Relative change of the objective in an iteration at which a fit ends.
    """

    encoder: Encoder = field(default_factory=AutoEncoder)
    square_weight: float = 0.0
    graph: Callable[[Any, float], Graph | None] | None = None
    tol: float = 1e-4

    @property
    def keeps_sparse(self) -> bool:
        """Whether the encoder codes sparse rows on their nonzeros."""
        return self.square_weight == 0 and can_stay_sparse(self.loss(1.0), self.code_regulariser)

    def check_scale(self, atoms: Regulariser, with_graph: bool = True) -> None:
        """Refuse a penalty on one factor that vanishes if the other factor grows."""
        codes = self.code_regulariser
        coupled = with_graph and self.graph is not None
        for has_penalty, factor, other, name, parts in (
            (coupled or not codes.form.is_unpenalised, "codes", "atoms", "dictionary", atoms),
            (not atoms.form.is_unpenalised, "atoms", "codes", "code", codes),
        ):
            unbounded = parts.form.is_box and parts.form.upper == np.inf
            if has_penalty and unbounded and parts.form.is_unpenalised:
                raise ValueError(
                    f"The {factor} have a penalty and the {other} have none, so dividing the "
                    f"{factor} and multiplying the {other} by the same number would avoid it; set "
                    f"{name}_set, for instance to 'box', or {name}_penalty."
                )

    def rounds(
        self,
        solver: Callable[[Half], HalfSolver],
        kind: "type[TwoFactors] | None" = None,
        **more: Any,
    ) -> Rounds:
        """Return the batch method with a solver for each half."""

        def begin(
            problem: BatchProblem, state: StreamState, codes: Array | None, pool: Pool
        ) -> TwoFactors:
            unit = state.code_unit * (state.code_unit / state.loss_unit)  # of squared codes
            graph = None if self.graph is None else self.graph(problem.batch.X, unit)
            if codes is None:
                # The same for every row: a sample of weight two counts as two equal samples.
                one = np.random.default_rng([state.seed, 3]).random(len(state.D))
                codes = np.tile(one.astype(state.D.dtype), (problem.batch.n_samples, 1))
            square = self.square_weight * state.unit
            parts = (problem, state.D.copy(), codes, solver, pool, square, graph)
            return (kind or TwoFactors)(*parts, **more)

        return begin


@dataclass
class TwoFactors(Alternation):
    """Alternate between codes and dictionary, each improved by a solver for its half.

    If codes are free of scale, a bound on the length of atoms does not restrict the product C D.
    Then the dictionary moves without its set; after each iteration atoms are rescaled to their set
    and codes inversely, so that the scale cannot drift. ``rescales=False`` leaves the scale to
    solvers that depend on it, as OGM does.
    """

    problem: BatchProblem
    D: Array
    C: Array
    solver: Callable[[Half], HalfSolver]
    pool: Pool
    square: float = 0.0
    graph: Graph | None = None
    admm_tol: float = 0.0
    """If positive, `FactorADMM` runs first, until its relative gain falls below this value."""
    rescales: bool = True
    data_loss: float = field(init=False)

    def __post_init__(self) -> None:
        self._code_solver = self.solver(self.codes)
        self._dictionary_solver = self.solver(self.dictionary)
        starts = self.admm_tol > 0 and FactorADMM.applies(self.codes, self.dictionary)
        X = self.codes.samples
        large = is_sparse(X) and X.shape[0] * X.shape[1] > LARGE
        if starts and large:
            self._start_from_subsets()
        self.C = self._in_units(self.C)
        self.data_loss = self.codes.total(self.codes.evaluate(self.D, self.C, self.pool))
        self._admm: FactorADMM | None = None
        if starts and not large:
            self._admm = FactorADMM(self.codes, self.dictionary, self.D, self.C, self.pool)

    def _start_from_subsets(self) -> None:
        """Start from the best dictionary that ADMM finds on subsets of large sparse data.

        The rows are expanded on the features that they have; the other features follow from the
        codes in the first iteration. Results of ADMM vary, so it is tried on several subsets.
        """
        batch, K = self.problem.batch, len(self.D)
        count = max(_SUBSET_ENTRIES // batch.X.shape[1], _MIN_ROWS_PER_ATOM * K)
        step, free, lowest = -(-batch.n_samples // count), self.problem.free(K), np.inf
        start = self.D
        for first in range(0, step, -(-step // _SUBSETS)):
            rows = slice(first, None, step)
            X = batch.X[rows]
            columns = np.unique(X.indices)
            if not 0 < X.shape[0] * len(columns) <= LARGE:
                continue
            other = self._on(rows, columns, start)
            alternate(other, lambda *_: False, _SUBSET_ITERATIONS, self.admm_tol)
            loss = other.objective() / other.codes.mean_entry
            if loss < lowest:
                lowest, D = loss, np.where(free[:, None], start.dtype.type(0), start)
                D[np.ix_(free, columns)] = other.D[free]
                self.D = D

    def _on(self, rows: slice, columns: NDArray[np.intp], D: Array) -> "TwoFactors":
        """Return the same problem for some rows and columns."""
        batch, C = self.problem.batch, self.C[rows]
        sample_weight, entry_weight = batch.sample_weight, batch.entry_weight
        part = Batch(
            batch.X[rows][:, columns].tocsr(),
            None if sample_weight is None else sample_weight[rows],
            None if entry_weight is None else entry_weight[rows][:, columns],
        )
        problem = replace(self.problem, batch=part)
        return replace(self, problem=problem, D=np.ascontiguousarray(D[:, columns]), C=C)

    @cached_property
    def codes(self) -> Half:
        """The half in which codes move."""
        problem, batch = self.problem, self.problem.batch
        loss: Any = problem.loss
        return Half(
            batch.X,
            problem.method.code_regulariser,
            problem.dtype,
            problem.method.unit,
            loss.zero_weight,
            self.square,
            batch.entry_weight,
            row_weight=batch.sample_weight,
            graph=self.graph,
        )

    @cached_property
    def dictionary(self) -> Half:
        """The half in which the dictionary moves: samples are features."""
        batch, regulariser = self.problem.batch, self.problem.method.dictionary_regulariser
        X, weight = batch.X, batch.entry_weight
        if self._is_scaled:
            regulariser = Regulariser(regulariser.penalty)
        return replace(
            self.codes,
            samples=_transposed(X),
            regulariser=regulariser,
            entry_weight=None if weight is None else np.ascontiguousarray(weight.T),
            row_weight=None,
            column_weight=batch.sample_weight,
            penalty_factor=float(self.problem.sample_weight.sum()),
            transposed=True,
            free=self.problem.free(len(self.D)),
            graph=None,
        )

    # ------------------------------------------------------------------ alternation

    def improve_codes(self) -> None:
        """Improve the codes; as long as ADMM makes progress, both factors."""
        while self._admm is not None:
            if self._run_admm(self._admm):
                return
            if not self._admm.reduce_threshold():
                self._admm = None
        self.C, losses = self._code_solver.improve(self.codes, self.D, self.C, self.pool)
        self.data_loss = self.codes.total(losses)

    def improve_dictionary(self) -> None:
        """Improve the dictionary, and rescale both factors."""
        if self._admm is not None:
            return
        A = np.ascontiguousarray(self.C.T)
        V, losses = self._dictionary_solver.improve(self.dictionary, A, self.D.T, self.pool)
        self.D = np.ascontiguousarray(V.T)
        self.data_loss = self.dictionary.total(losses)
        if self._is_scaled:
            self._rescale()

    def change_support(self, seed: int) -> bool:
        """Drop an atom if the objective falls (see `ExactAlternation`); return whether it did."""
        penalised = self.problem.method.dictionary_regulariser.form.prefers_zero
        if not (penalised and self.admm_tol > 0) or self._admm is not None:
            return False
        for k in np.flatnonzero(self.problem.free(len(self.D)) & self.D.any(axis=1)):
            before, kept = self.objective(), (self.C, self.D, self.data_loss)
            self.C, self.D = self.C.copy(), self.D.copy()
            self.C[:, k] = self.D[k] = 0
            for _ in range(_ADAPTATION_STEPS):  # of the other atoms
                self.improve_codes()
                self.improve_dictionary()
            if self.objective() < before * (1 - _MIN_SUPPORT_GAIN):
                return True
            self.C, self.D, self.data_loss = kept
        return False

    def certificate(self) -> float:
        """Not known: there is no bound on the suboptimality."""
        return float("nan")

    def objective(self) -> float:
        """Loss, penalties and graph penalty, per unit of sample weight."""
        total = self.data_loss + self.codes.penalty(self.C) + self.dictionary.penalty(self.D.T)
        return total / float(self.problem.sample_weight.sum())

    def _run_admm(self, admm: FactorADMM) -> bool:
        """Take the factors of ADMM if they are better; return whether the gain suffices."""
        before, kept = self.objective(), (self.C, self.D, self.data_loss)
        self.C, self.D, self.data_loss = admm.run(_ADMM_ITERATIONS)
        if self._is_scaled:
            self._rescale()
        now = self.objective()
        if not now < before:
            self.C, self.D, self.data_loss = kept
        return before - now > self.admm_tol * before

    # ------------------------------------------------------------------------ scale

    def _in_units(self, C: Array) -> Array:
        """Scale codes such that the prediction of each row has the sum of its sample."""

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            Y = C[rows] @ self.D
            if weight is not None:
                X, Y = X * weight, Y * weight
            data, predicted = X.sum(axis=1, keepdims=True), Y.sum(axis=1, keepdims=True)
            factor: Array = data / np.where(predicted > 0, predicted, 1)
            return C[rows] * factor

        return self.codes.prox(np.concatenate(self.codes.for_rows(work, self.pool)), 0.0)

    @cached_property
    def _is_scaled(self) -> bool:
        method = self.problem.method
        free = (
            self.rescales and method.code_regulariser.form.is_scale_invariant and self.graph is None
        )
        atoms = method.dictionary_regulariser
        return free and atoms.form.is_unpenalised and atoms.region.gauge(self.D) is not None

    def _rescale(self) -> None:
        factor = self.problem.method.dictionary_regulariser.region.gauge(self.D)
        assert factor is not None
        factor[(factor == 0) | ~self.problem.free(len(self.D))] = 1
        self.D = self.D / factor[:, None]
        self.C = self.C * factor


def _transposed(X: Any) -> Any:
    """Return features in rows: a copy, as it is read row by row in every iteration."""
    return X.T.tocsr() if is_sparse(X) else np.ascontiguousarray(X.T)
