"""Encoders, and the one bounded loop that runs every iterative one, row by row.

A row solver says how to start and how to make one step for a block of rows; a stopping rule says
which rows are done. Rows that are done leave the block, so that a row's code does not depend on its
neighbours. A row that became non-finite leaves it too, with a status of its own.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.problem import DENSE, CodingProblem, Rows, narrowed, subgradient_certificate
from thresher.linalg import Array

State = dict[str, Array]
"""What a row solver carries from step to step: arrays with one row per sample."""


class Status(IntEnum):
    """Why a row stopped."""

    CONVERGED = 0
    MAX_ITER = 1
    NOT_FINITE = 2


# As they are stored; members of an enumeration take a while to be found.
_CONVERGED, _MAX_ITER = np.int8(Status.CONVERGED), np.int8(Status.MAX_ITER)


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
        Optimality certificate of every row; NaN where the encoder does not compute it.
    outliers : array of shape (n, F) or None
        Those that the solver ended with, if they are not the best ones for its codes.
    products : array of shape (nnz,) or None
        ``C D`` at the nonzeros of sparse rows, if the solver has it at hand.
    """

    codes: Array
    status: NDArray[np.int8]
    n_iter: NDArray[np.int32]
    certificate: Array
    outliers: Array | None = None
    products: Array | None = None

    @classmethod
    def certified(
        cls, codes: Array, n_iter: NDArray[np.int32], certificate: Array, tol: float
    ) -> "Encoding":
        """The status of every row from its certificate; rows that are not finite become zero."""
        status = np.where(certificate <= tol, _CONVERGED, _MAX_ITER)
        finite = np.logical_and.reduce(np.isfinite(codes), 1) & np.isfinite(certificate)
        if not np.logical_and.reduce(finite):
            codes[~finite], status[~finite] = 0, Status.NOT_FINITE
        return cls(codes, status, n_iter, certificate)


class Encoder(ABC):
    """A method that finds the codes of blocks of rows.

    `prepare` computes once what all blocks share; the prepared encoder codes them, in any thread.
    """

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Why it cannot code such rows, in words that continue "it needs"; None if it can."""
        return None

    @abstractmethod
    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Compute what the blocks share."""

    @abstractmethod
    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Code a block, given what `precompute` returned."""

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> "PreparedEncoder":
        """Bind the encoder to a problem and a kind of rows."""
        encoder = _ByParts(self) if rows.observed else self
        return PreparedEncoder(encoder, problem, encoder.precompute(problem, rows))

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Prepare, and code a single block."""
        return self.prepare(problem, Rows.of(X, weight))(X, weight, start)

    def certificate(
        self, problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
    ) -> Array:
        """How far every row is from optimal at some codes, by the measure the encoder ends by."""
        return subgradient_certificate(problem, X, C, weight)


@dataclass(frozen=True)
class PreparedEncoder:
    """An encoder bound to a coding problem, with all that its blocks share."""

    encoder: Encoder
    problem: CodingProblem
    shared: Any

    def __call__(self, X: Any, weight: Array | None = None, start: Array | None = None) -> Encoding:
        """Find the codes of the rows of a block; ``weight`` 0 marks missing entries.

        Feasible codes may be given to ``start`` from.
        """
        return self.encoder.run(self.problem, self.shared, X, weight, start)


@dataclass(frozen=True)
class _ByParts(Encoder):
    """Rows of which only stored entries are observed, part by part, by an encoder of dense rows."""

    encoder: Encoder

    def precompute(self, problem: CodingProblem, rows: Rows) -> None:
        """Nothing: every part is a problem of its own."""

    def run(
        self,
        problem: CodingProblem,
        shared: None,
        X: Any,
        weight: Array | None,
        start: Array | None,
    ) -> Encoding:
        """Code the parts of a block."""
        n, dtype = X.shape[0], X.dtype
        found = Encoding(
            np.zeros((n, len(problem.D)), dtype=dtype),
            np.zeros(n, dtype=np.int8),
            np.zeros(n, dtype=np.int32),
            np.zeros(n, dtype=dtype),
        )
        for rows, narrow, x, w in narrowed(problem, X):
            given = None if start is None else np.ascontiguousarray(start[rows])
            part = self.encoder.encode(narrow, x, w, given)
            found.codes[rows], found.status[rows] = part.codes, part.status
            found.n_iter[rows], found.certificate[rows] = part.n_iter, part.certificate
        return found


@dataclass(frozen=True)
class ActiveRows:
    """The rows of a block that are still being coded.

    Parameters
    ----------
    problem : CodingProblem
    X : array or CSR matrix of shape (n, F)
    weight : array of shape (n, F) or None
    shared : object
        What `RowSolver.precompute` returned.
    """

    problem: CodingProblem
    X: Any
    weight: Array | None = None
    shared: Any = None

    def rows(self, chosen: NDArray[np.bool_]) -> "ActiveRows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return ActiveRows(self.problem, self.X[chosen], weight, self.shared)

    def even_codes(self) -> Array:
        """Equal codes that explain the mass of every row: a start for solvers that need one."""
        X, D = self.X, self.problem.D
        seen = X if self.weight is None else np.where(self.weight > 0, X, 0)
        total = np.asarray(seen.sum(axis=1)).reshape(-1, 1)
        sums = float(self.problem.row_sums.sum())
        share = total / (sums if sums > 0 else 1.0)
        return np.repeat(share.astype(D.dtype), len(D), axis=1)

    def objective(self, C: Array) -> Array:
        """The objective of every row at some codes."""
        return self.problem.objective(self.X, C, self.weight)


class RowSolver(ABC):
    """A solver of the coding problem that moves all rows of a block, iteration by iteration."""

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Why it cannot code such rows, in words that continue "it needs"; None if it can."""
        return None

    def precompute(self, problem: CodingProblem) -> Any:
        """Compute what all blocks share; the blocks carry it as ``shared``."""
        return None

    @abstractmethod
    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Make the state of every row, from given codes if there are any."""

    @abstractmethod
    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Move every row by some iterations, in place."""

    @abstractmethod
    def codes(self, block: ActiveRows, state: State) -> Array:
        """The feasible codes that the state stands for."""

    def objective(self, block: ActiveRows, state: State) -> Array:
        """The objective at those codes, for stopping rules that compare objectives."""
        return block.objective(self.codes(block, state))

    def outliers(self, block: ActiveRows, state: State) -> Array | None:
        """The outliers of the state, if they are not the best ones for those codes."""
        return None


class Stop(ABC):
    """Decides when to check the rows, and which of them are done."""

    certifies: ClassVar[bool] = False
    """Whether rows end by their optimality certificate."""

    def requires(self, problem: CodingProblem) -> str | None:
        """Why it cannot decide, in words that continue "it needs"; None if it can."""
        return None

    def next_check(self, iteration: int) -> int:
        """After which iteration to check next; by default after the next one."""
        return iteration + 1

    @abstractmethod
    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Flags of the rows that are done."""


@dataclass(frozen=True)
class SmallChange(Stop):
    """Stop a row when its objective changes by less than ``tol``, relatively: paper A, VII-B2."""

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Compare with the objective that the last call, or the start, left in the state."""
        now = solver.objective(block, state)
        before = state.get("objective", np.full_like(now, np.inf))
        state["objective"] = now
        known = np.isfinite(before)
        bound = self.tol * np.where(known, before, 0)
        return known & np.asarray(np.abs(now - before) <= bound)


@dataclass(frozen=True)
class Certified(Stop):
    """Stop a row when its certificate falls to ``tol``.

    A check costs about as much as an iteration, so checks become rarer: after ``first`` iterations,
    then every time the count has grown by half.
    """

    tol: float = 1e-4
    first: int = 4

    certifies: ClassVar[bool] = True

    def requires(self, problem: CodingProblem) -> str | None:
        """A certificate that follows from the codes alone."""
        return None if problem.loss.smooth else "a smooth loss"

    def next_check(self, iteration: int) -> int:
        """Half as far again."""
        return max(self.first, iteration + max(1, iteration // 2))

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Compute the certificate of the rows that are still there."""
        codes = solver.codes(block, state)
        certificate = block.problem.certificate(block.X, codes, block.weight)
        return np.asarray(certificate <= self.tol)


@dataclass(frozen=True)
class Never(Stop):
    """Never stop a row: a fixed number of iterations, without checks."""

    def next_check(self, iteration: int) -> int:
        """Beyond any bound."""
        return sys.maxsize

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """No row is."""
        return np.zeros(block.X.shape[0], dtype=bool)


@dataclass(frozen=True)
class IterativeEncoder(Encoder):
    """A row solver with its stopping rule and its bound."""

    solver: RowSolver
    stop: Stop = field(default_factory=Certified)
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """What the solver and the stopping rule require."""
        return self.solver.requires(problem, rows) or self.stop.requires(problem)

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """What the solver computes once."""
        return self.solver.precompute(problem)

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Move all rows until each is done."""
        n = X.shape[0]
        codes = np.zeros((n, problem.D.shape[0]), dtype=X.dtype)
        status = np.full(n, Status.MAX_ITER, dtype=np.int8)
        n_iter = np.full(n, self.max_iter, dtype=np.int32)
        rows, block = np.arange(n), ActiveRows(problem, X, weight, shared)
        state = self.solver.start(block, start)
        own = self.solver.outliers(block, state)
        outliers = None if own is None else np.zeros_like(own)
        iteration = 0
        while rows.size and iteration < self.max_iter:
            check = min(self.stop.next_check(iteration), self.max_iter)
            self.solver.steps(block, state, check - iteration)
            iteration = check
            current = self.solver.codes(block, state)
            done = self.stop.done(self.solver, block, state)
            finite = np.isfinite(current).all(axis=1)
            status[rows[done]] = Status.CONVERGED
            if not finite.all():
                status[rows[~finite]] = Status.NOT_FINITE
                current[~finite] = 0
            leaving = done | ~finite
            if iteration == self.max_iter:
                leaving[:] = True
            if not leaving.any():
                continue
            if outliers is None and rows.size == n and leaving.all():  # nothing to put together
                codes = np.ascontiguousarray(current, dtype=X.dtype)
                n_iter[:] = iteration
                break
            gone = rows[leaving]
            codes[gone], n_iter[gone] = current[leaving], iteration
            if outliers is not None:
                own = self.solver.outliers(block, state)
                assert own is not None
                own[~finite] = 0
                outliers[gone] = own[leaving]
            rows = rows[~leaving]
            if rows.size:
                block = block.rows(~leaving)
                state = {name: values[~leaving] for name, values in state.items()}
        certificate = np.full(n, np.nan, dtype=X.dtype)
        if self.stop.certifies:
            certificate = problem.certificate(X, codes, weight)
        return Encoding(codes, status, n_iter, certificate, outliers)
