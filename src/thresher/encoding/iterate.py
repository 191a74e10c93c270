"""The one bounded loop that runs every iterative coding solver, row by row.

A solver says how to start and how to make one step for a block of rows; a stop says which rows are
done. Rows that are done leave the block, so that a row's code does not depend on its neighbours,
and a row that became non-finite leaves it too, with a status that says so.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array

State = dict[str, Array]
"""What a solver carries from step to step: arrays with one row per sample."""


class Status(IntEnum):
    """Why a row stopped."""

    CONVERGED = 0
    MAX_ITER = 1
    NOT_FINITE = 2


@dataclass
class Encoding:
    """Codes of a block of samples, and how good they are.

    Attributes
    ----------
    codes : array of shape (n, K)
    status : array of shape (n,)
        A `Status` per row.
    n_iter : array of shape (n,)
    certificate : array of shape (n,)
        `CodingProblem.certificate` of every row; NaN where it was not asked for.
    """

    codes: Array
    status: NDArray[np.int8]
    n_iter: NDArray[np.int32]
    certificate: Array


class RowSolver(Protocol):
    """A solver of the coding problem that moves all rows of a block by one step at a time."""

    def prepare(self, problem: CodingProblem) -> None:
        """Do once what every block would do, before threads ask for it."""

    def start(self, problem: CodingProblem, X: Array, weight: Array | None) -> State:
        """Make the state of every row."""

    def step(self, problem: CodingProblem, X: Array, weight: Array | None, state: State) -> None:
        """Move every row by one iteration, in place."""

    def codes(self, state: State) -> Array:
        """The feasible codes that the state stands for."""

    def objective(
        self, problem: CodingProblem, X: Array, weight: Array | None, state: State
    ) -> Array:
        """The objective at those codes, as the solver's own stop sees it."""


class Stop(Protocol):
    """Decides after each iteration which rows are done."""

    def done(
        self,
        solver: RowSolver,
        problem: CodingProblem,
        X: Array,
        weight: Array | None,
        state: State,
        iteration: int,
    ) -> NDArray[np.bool_] | None:
        """Flags of the rows that are done, or None if this was not the time to look."""


@dataclass(frozen=True)
class SmallChange:
    """Stop a row when its objective changes by less than ``tol``, relatively: paper A, VII-B2."""

    tol: float = 1e-3

    def done(
        self,
        solver: RowSolver,
        problem: CodingProblem,
        X: Array,
        weight: Array | None,
        state: State,
        iteration: int,
    ) -> NDArray[np.bool_] | None:
        """Compare with the objective that the last call left in the state."""
        now = solver.objective(problem, X, weight, state)
        before = state.get("objective")
        state["objective"] = now
        if before is None:
            return None
        result: NDArray[np.bool_] = np.abs(now - before) <= self.tol * np.abs(before)
        return result


@dataclass(frozen=True)
class Certified:
    """Stop a row when its certificate falls to ``tol``, looking now and then.

    A look costs about as much as an iteration, so looks become rarer: after ``first`` iterations,
    then every time the count has grown by half.
    """

    tol: float = 1e-4
    first: int = 4

    def is_time(self, iteration: int) -> bool:
        """Whether to look after this iteration."""
        look = self.first
        while look < iteration:
            look += max(1, look // 2)
        return look == iteration

    def done(
        self,
        solver: RowSolver,
        problem: CodingProblem,
        X: Array,
        weight: Array | None,
        state: State,
        iteration: int,
    ) -> NDArray[np.bool_] | None:
        """Compute the certificate of the rows that are still there."""
        if not self.is_time(iteration):
            return None
        return problem.certificate(X, solver.codes(state), weight) <= self.tol


@dataclass(frozen=True)
class Never:
    """Never stop a row: a fixed number of iterations, without looking."""

    def done(
        self,
        solver: RowSolver,
        problem: CodingProblem,
        X: Array,
        weight: Array | None,
        state: State,
        iteration: int,
    ) -> NDArray[np.bool_] | None:
        """Never look."""
        return None


@dataclass(frozen=True)
class Encoder:
    """A solver, its stop and its bound, ready to code blocks.

    ``certify`` asks for the certificate of every row at the end.
    """

    solver: RowSolver
    stop: Stop = field(default_factory=Certified)
    max_iter: int = 1000
    certify: bool = True

    def prepare(self, problem: CodingProblem) -> None:
        """Compute once what the blocks share."""
        problem.dictionary_norm  # noqa: B018 - kept by the problem
        self.solver.prepare(problem)

    def encode(self, problem: CodingProblem, X: Array, weight: Array | None = None) -> Encoding:
        """Find the codes of the rows of a dense block; ``weight`` 0 marks missing entries."""
        n = X.shape[0]
        codes = np.zeros((n, problem.D.shape[0]), dtype=X.dtype)
        status = np.full(n, Status.MAX_ITER, dtype=np.int8)
        n_iter = np.full(n, self.max_iter, dtype=np.int32)
        rows, x, w = np.arange(n), X, weight
        state = self.solver.start(problem, x, w)
        for iteration in range(1, self.max_iter + 1):
            self.solver.step(problem, x, w, state)
            done = self.stop.done(self.solver, problem, x, w, state, iteration)
            if done is None:
                continue
            broken = ~np.isfinite(self.solver.codes(state)).all(axis=1)
            leaving = done | broken
            if not leaving.any():
                continue
            codes[rows[leaving]] = self.solver.codes(state)[leaving]
            n_iter[rows[leaving]] = iteration
            status[rows[done]] = Status.CONVERGED
            status[rows[broken]] = Status.NOT_FINITE
            staying = ~leaving
            rows, x, w = rows[staying], x[staying], None if w is None else w[staying]
            state = {name: values[staying] for name, values in state.items()}
            if not rows.size:
                break
        codes[rows] = self.solver.codes(state)
        broken = ~np.isfinite(codes).all(axis=1)
        codes[broken], status[broken] = 0, Status.NOT_FINITE
        certificate = np.full(n, np.nan, dtype=X.dtype)
        if self.certify:
            certificate = problem.certificate(X, codes, weight)
        return Encoding(codes, status, n_iter, certificate)
