"""Codes under losses with kinks, on any set: the block encoder, until its copies agree."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.iterate import Block, Encoder, Encoding, RowSolver, State, Stop
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.linalg import Array


@dataclass(frozen=True)
class Agrees(Stop):
    """Stop a row when its two copies of the prediction agree, and rest: the residuals of ADMM.

    Both are relative to the size of the sample. An objective that hardly changes tells nothing:
    ADMM creeps where it has many entries to sort out.
    """

    tol: float = 1e-4

    def next_look(self, iteration: int) -> int:
        """A fifth as far again."""
        return iteration + max(4, iteration // 5)

    def done(self, solver: RowSolver, block: Block, state: State) -> NDArray[np.bool_]:
        """Compare the split prediction with that of the codes, and with itself at the last look."""
        Y = (state["Q"] + state["V"]) / 2
        before, state["before"] = state.get("before"), Y
        if before is None:
            return np.zeros(len(Y), dtype=bool)

        def length(V: Array) -> Array:
            seen = V if block.weight is None else np.where(block.weight > 0, V, 0)
            return np.asarray(np.linalg.norm(seen, axis=1))

        apart = length(Y - solver.codes(block, state) @ block.problem.D)
        moved, size = length(Y - before), length(block.X)
        return np.asarray((apart <= self.tol * size) & (moved <= self.tol * size))


@dataclass(frozen=True)
class SettledBlocks:
    """Nothing in closed form tells how far such codes are; so a row ends when ADMM does."""

    tol: float = 1e-4
    max_iter: int = 1000
    block: BlockADMM = field(default_factory=BlockADMM)

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Kinks, and dense samples."""
        if rows.sparse:
            return "dense samples"
        return "a loss with kinks" if problem.loss.smooth else None

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        self.block.prepare(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        rounds = Encoder(self.block, Agrees(self.tol), self.max_iter, certify=False)
        return rounds.encode(problem, X, weight, start)
