"""Codes under losses with kinks, on any set: the block encoder, until the objective has settled."""

from dataclasses import dataclass, field
from typing import Any

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.iterate import Encoder, Encoding, SmallChange
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.linalg import Array

_SETTLED = 1e-3  # of the tolerance, in one round


@dataclass(frozen=True)
class SettledBlocks:
    """Nothing in closed form tells how far such codes are; so a row ends when it rests."""

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
        settled = SmallChange(_SETTLED * self.tol)
        rounds = Encoder(self.block, settled, self.max_iter, certify=False)
        return rounds.encode(problem, X, weight, start)
