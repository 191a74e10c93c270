"""Codes of any smooth loss: a few cheap steps that get most rows there, Newton for the others."""

from dataclasses import dataclass, field, replace
from typing import Any

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.block_newton import BlockNewton
from thresher.encoding.iterate import Certified, Encoder, Encoding, Never, RowSolver, Status
from thresher.encoding.multiplicative import MultiplicativeUpdates
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.linalg import Array

_STEPS_BEFORE_NEWTON = 8
_START_ROUNDS = 5
_NEWTON_STEPS = 50  # on a bounded set, before the first method goes on; most rows need below ten
# Up to here a Newton step, of K(K + 1)/2 products an entry, costs less than two rounds of the first
# method, of 2K products each: given codes are then finished at once. Heuristic, for speed alone.
_FEW_ATOMS = 8


@dataclass(frozen=True)
class BlocksThenNewton:
    """Rounds of the block encoder first: for convex losses and dense rows, on any set."""

    tol: float = 1e-4
    max_iter: int = 1000
    block: BlockADMM = field(default_factory=BlockADMM)

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A proximal map of the loss, which convex ones have."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.convex else "a convex loss"

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        self.block.prepare(problem)
        prepare_newton(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        return finished(self.block, self.tol, self.max_iter, problem, X, weight, start)


@dataclass(frozen=True)
class UpdatesThenNewton:
    """Multiplicative updates first: for losses that are not convex, and for sparse rows.

    Where a loss is not convex, they start from codes of its convex neighbour.
    """

    tol: float = 1e-4
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """What the updates require; at kinks they stand still far from the optimum."""
        if not problem.loss.smooth:
            return "a loss without kinks"
        return MultiplicativeUpdates().requires(problem, rows)

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        MultiplicativeUpdates().prepare(problem)
        prepare_neighbour(problem)
        prepare_newton(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        start = neighbouring_codes(problem, X, weight) if start is None else start
        updates = MultiplicativeUpdates()
        return finished(updates, self.tol, self.max_iter, problem, X, weight, start)


def finished(
    first: RowSolver,
    tol: float,
    max_iter: int,
    problem: CodingProblem,
    X: Any,
    weight: Array | None,
    start: Array | None,
) -> Encoding:
    """Steps of the first method, and Newton steps for the rows that need them, where it can."""
    newton = BlockNewton().requires(problem, Rows.of(X, weight)) is None
    warm = start is not None and len(problem.D) <= _FEW_ATOMS
    before = 1 if warm else _STEPS_BEFORE_NEWTON
    steps = min(before if newton else max_iter, max_iter)
    encoding = Encoder(first, Certified(tol), steps).encode(problem, X, weight, start)
    late = encoding.status != Status.CONVERGED
    if not newton or not late.any() or max_iter <= steps:
        return encoding
    remaining = max_iter - steps
    stages: list[tuple[RowSolver, int, int]] = [(BlockNewton(), 1, remaining)]
    if not problem.regulariser.form.is_orthant:  # a model step may stall at the surface of a set
        steps_in_set = min(_NEWTON_STEPS, remaining)
        stages = [(BlockNewton(), 1, steps_in_set), (first, 4, remaining - steps_in_set)]
    for solver, look, most in stages:
        if late.any() and most > 0:
            w = None if weight is None else weight[late]
            finish = Encoder(solver, Certified(tol, look), most)
            rest = finish.encode(problem, X[late], w, encoding.codes[late])
            encoding.codes[late], encoding.certificate[late] = rest.codes, rest.certificate
            encoding.status[late], encoding.n_iter[late] = rest.status, steps + rest.n_iter
            steps, late = steps + most, encoding.status != Status.CONVERGED
    return encoding


def prepare_newton(problem: CodingProblem) -> None:
    """Multiply the pairs of atoms once, if the Newton steps will need them."""
    if BlockNewton().requires(problem, DENSE) is None:
        BlockNewton().prepare(problem)


def prepare_neighbour(problem: CodingProblem) -> None:
    """Compute once what starts from the convex neighbour need."""
    neighbour = _neighbour(problem)
    if neighbour is not problem:
        BlockADMM().prepare(neighbour)


def neighbouring_codes(problem: CodingProblem, X: Any, weight: Array | None) -> Array | None:
    """Codes of the convex neighbour of a loss that is not: a start without chance."""
    neighbour = _neighbour(problem)
    if neighbour is problem:
        return None
    few = Encoder(BlockADMM(), Never(), _START_ROUNDS, certify=False)
    return few.encode(neighbour, X, weight).codes


def _neighbour(problem: CodingProblem) -> CodingProblem:
    convex = problem.loss.convex_surrogate
    if convex is problem.loss:
        return problem

    def make() -> CodingProblem:
        return replace(problem, loss=convex)

    neighbour: CodingProblem = problem.remember("convex neighbour", make)
    return neighbour
